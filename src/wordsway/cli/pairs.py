"""`wordsway pairs`: minimal pairs of texts in one or several models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from wordsway.cli import options as opt
from wordsway.cli.output import echo_json, progress_line
from wordsway.core.errors import InputError


@opt.grouped
def pairs_command(
    first: Annotated[
        str, typer.Argument(help="A text, or a file of pairs.", metavar="TEXT_A|FILE.csv")
    ],
    encoders: opt.EncoderOptions,
    output: opt.OutputOptions,
    second: Annotated[
        str | None, typer.Argument(help="The other text.", metavar="[TEXT_B]")
    ] = None,
    draws: Annotated[
        int,
        typer.Option("--draws", help="Number of random real words to compare each pair with."),
    ] = 100,
    seed: opt.Seed = 0,
    encoding: opt.Encoding = None,
    device: opt.Device = "cpu",
    forecast: opt.Forecast = False,
) -> None:
    """How different are two similar texts to a model?

    A file has the columns a,b or text,word,replacement, and optionally kind.

    Example: wordsway pairs "The drug is safe." "The drug is unsafe." --model minilm --model mpnet
    """
    if second is None and not Path(first).suffix:
        raise InputError(
            "two texts, or a table of pairs", repr(first[:40]), 'write both: "It is." "It is not."'
        )
    with progress_line("loading the model") as line:
        from wordsway.auditing.pairs import forecast_pairs, pairs
        from wordsway.core.result import fields_of

        how: dict[str, Any] = {"draws": draws, "seed": seed, "encoding": encoding, "device": device}
        if forecast:
            costs = forecast_pairs(first, second, encoders.models, **how)
        else:
            result = pairs(
                first,
                second,
                encoders.models,
                **how,
                progress=lambda stage, done, total, note="": line(stage, int(done), int(total)),
            )
    if not forecast:
        output.deliver(result)
    elif output.as_json:
        echo_json({"models": [fields_of(one) for one in costs]})
    else:
        typer.echo("\n".join(map(str, costs)))
