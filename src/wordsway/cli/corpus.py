"""`wordsway corpus`: the words of many texts; an interrupted run resumes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordsway.cli import options as opt
from wordsway.cli.output import finish, print_result, progress_line


@opt.grouped
def corpus_command(
    data: Annotated[
        str, typer.Argument(help="imdb, or a file or folder of texts.", metavar="FILE")
    ],
    columns: opt.ColumnOptions,
    running: opt.RunningOptions,
    probed: opt.ProbeOptions,
    limit: Annotated[
        int | None,
        typer.Option("--limit", help="Number of texts to sample; all by default."),
    ] = None,
    tokens: Annotated[
        int, typer.Option("--tokens", help="Maximum number of tokens per text.")
    ] = 64,
    device: opt.Device = "cpu",
    out: opt.Folder = Path("out/words"),
    forecast: opt.Forecast = False,
    as_json: opt.AsJson = False,
) -> None:
    """Which words of many texts move a pretrained model most?

    An interrupted run resumes with the same command.

    Example: wordsway corpus reviews.csv --limit 100 --out out/words
    """
    from wordsway.engine.run import Machines
    from wordsway.probing.corpus import corpus_jobs, corpus_texts, forecast_corpus, probe_corpus

    machines = Machines(running.workers, running.cluster, running.options["memory"])
    with progress_line(f"reading {data}") as progress:
        texts = corpus_texts(
            data, limit=limit, **vars(columns), seed=probed.seed, progress=progress
        )
        jobs = corpus_jobs(
            texts, probed.model, tokens=tokens, device=device, progress=progress, **probed.given
        )
        if not forecast:
            result = probe_corpus(
                texts,
                jobs,
                out,
                machines=machines,
                retry_failed=running.retry_failed,
                progress=progress,
            )
    if forecast:
        print_result(forecast_corpus(jobs, out, workers=running.workers), as_json)
        return
    finish(result, as_json, ["corpus", data])


def moved_arguments(arguments: list[str]) -> list[str]:
    """A command line in which `words --data FILE`, the name of `corpus FILE` before 0.3.0, is
    written in the new way, with a warning.

    >>> moved_arguments(["measure", "--data", "imdb"])
    ['measure', '--data', 'imdb']
    """
    names = [word.partition("=")[0] for word in arguments]
    if "words" not in names[:2] or "--data" not in names:
        return arguments
    typer.echo("wordsway: words --data is deprecated: use wordsway corpus FILE", err=True)
    at = names.index("--data")
    joined = "=" in arguments[at]
    data = [arguments[at].partition("=")[2]] if joined else arguments[at + 1 : at + 2]
    rest = [*arguments[:at], *arguments[at + (1 if joined else 2) :]]
    place = rest.index("words")
    return [*rest[:place], "corpus", *data, *rest[place + 1 :]]
