"""`wordsway length`: how long may a text be before one word drowns?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from wordsway.cli import options as opt
from wordsway.cli.output import print_result, progress_line
from wordsway.core.errors import InputError

OUT = Path("out/length")


@opt.grouped
def length_command(
    encoders: opt.EncoderOptions,
    running: opt.RunningOptions,
    data: Annotated[
        str,
        typer.Option(
            "--data",
            help="Where edited sentences come from: imdb (reviews), a file of documents, gold or "
            "one of its domains, or a file of triples (text,rewording,change) or pairs (a,b,kind).",
        ),
    ] = "imdb",
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind", help="A kind of meaning-changing edit; may be repeated; default negation."
        ),
    ] = None,
    windows: Annotated[
        str, typer.Option("--windows", help="Sentences of the texts, separated by commas.")
    ] = "1,2,4,8,16",
    texts: Annotated[
        int | None,
        typer.Option("--texts", help="Number of texts; default 200, or 40 with --quick."),
    ] = None,
    quick: Annotated[bool, opt.flag("--quick", help="Use a fifth of the texts.")] = False,
    host: Annotated[
        str | None,
        typer.Option(
            "--host",
            help="What surrounds the sentence: own (its document), filler (other texts of the "
            "data) or a file of documents.",
        ),
    ] = None,
    place: Annotated[
        str,
        typer.Option("--place", help="Where it stands among them: own, beginning, middle or end."),
    ] = "own",
    target: Annotated[
        str,
        typer.Option("--target", help="Output to measure: pooled, last-token or a layer's number."),
    ] = "pooled",
    level: Annotated[
        float,
        typer.Option(
            "--level", help="The cosine distance below which a change counts as invisible."
        ),
    ] = 0.05,
    baselines: Annotated[
        bool,
        typer.Option(
            "--baselines/--no-baselines",
            help="Also measure random weights, mean word vectors and random maps.",
        ),
    ] = True,
    seed: opt.Seed = 0,
    encoding: opt.Encoding = None,
    device: opt.Device = "cpu",
    out: opt.Folder = OUT,
    forecast: opt.Forecast = False,
    as_json: opt.AsJson = False,
) -> None:
    """How long may a text be before one word drowns?

    Puts an edited sentence into longer and longer texts, and reports by which law its effect fades.

    An interrupted run resumes with the same command.

    Example: wordsway length --model minilm --quick
    """
    from wordsway.lengths.length import LengthRequest, forecast_length, length

    asked: dict[str, Any] = {
        "kinds": kind,
        "windows": _sizes(windows),
        "texts": texts,
        "quick": quick,
        "host": host,
        "place": place,
        "target": target,
        "level": level,
        "baselines": baselines,
        "seed": seed,
        "encoding": encoding,
        "device": device,
    }
    with progress_line() as progress:
        if forecast:
            request = LengthRequest(encoders.models, data, **asked)
            cost = forecast_length(request, out=out, workers=running.workers, progress=progress)
        else:
            found = length(
                encoders.models, data, **asked, out=out, **running.options, progress=progress
            )
    if forecast:
        print_result(cost, as_json)
        return
    print_result(found, as_json)
    if not as_json:
        typer.echo(f"written: {', '.join(str(path) for path in found.files)}")
    if found.failed or found.interrupted:
        raise typer.Exit(1)


def _sizes(windows: str) -> tuple[int, ...]:
    try:
        return tuple(int(one) for one in windows.split(","))
    except ValueError:
        raise InputError(
            "numbers of sentences such as 1,4,16", repr(windows), "use commas"
        ) from None
