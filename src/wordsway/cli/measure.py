"""`wordsway measure`: the sensitivity of a random map."""

from __future__ import annotations

from typing import Annotated

import typer

from wordsway.cli.progress import echo_json, fetching, reporting
from wordsway.errors import InputError


def measure_command(
    map: Annotated[str, typer.Option("--map", help="rf, drf, raf or relu-raf.")],
    n: Annotated[int, typer.Option("--n", help="Tokens per text.")],
    d: Annotated[int, typer.Option("--d", help="Embedding dimension.")],
    k: Annotated[
        int | None, typer.Option("--k", help="Features of rf and drf; n·d by default.")
    ] = None,
    depth: Annotated[
        int | None, typer.Option("--depth", help="Layers of drf; 2 by default.")
    ] = None,
    positions: Annotated[
        str,
        typer.Option(
            "--positions",
            help="Rows that may change: all, words (no special tokens, no padding), numbers like 0,3, or words of the text "
            "like word:3. The paper uses the first row.",
        ),
    ] = "0",
    trials: Annotated[
        int, typer.Option("--trials", help="Independent draws of text and weights.")
    ] = 1,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same numbers.")] = 0,
    data: Annotated[
        str,
        typer.Option(
            "--data",
            help="Where texts come from: gaussian, imdb, imdb:MODEL, or a CSV, TSV, JSONL, Parquet or text file or a folder.",
        ),
    ] = "gaussian",
    model: Annotated[
        str | None,
        typer.Option(
            "--model", help="Model that embeds texts: minilm (default), mpnet, or a folder."
        ),
    ] = None,
    layer: Annotated[
        str,
        typer.Option(
            "--layer", help="input (the paper's), words (bare vectors), a number, or last."
        ),
    ] = "input",
    padding: Annotated[
        str,
        typer.Option(
            "--padding",
            help="none: only texts of at least n tokens; pad: fill short ones up; paper: under 240 tokens, padded, balanced labels.",
        ),
    ] = "none",
    text_column: Annotated[
        str | None, typer.Option("--text-column", help="Column of texts in a file.")
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option("--label-column", help="Column of labels in a file; empty for none."),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="Of a text file, if it is not UTF-8.")
    ] = None,
    certificate: Annotated[
        bool, typer.Option("--certificate/--no-certificate", help="Also compute the upper end.")
    ] = True,
    memory: Annotated[
        float, typer.Option("--memory", help="Memory budget of a search, in GiB.")
    ] = 2.0,
    forecast: Annotated[
        bool, typer.Option("--forecast", help="Say what it would cost, without running it.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document and nothing else.")
    ] = False,
) -> None:
    """Measure how far one word can move a random map: S between what was attained and what is
    certified.

    Example: wordsway measure --map raf --n 120 --d 768 --trials 10
    """
    from rich.console import Console

    from wordsway.experiments import Request, TextOptions, measure
    from wordsway.experiments.forecast import forecast as predict
    from wordsway.render.terminal.forecast import forecast_panel
    from wordsway.render.terminal.measurement import measurement_panel

    if not 0 < memory < 2**20:
        raise InputError(
            "a memory budget between 0 and 1,048,576 GiB",
            memory,
            "pass --memory in GiB, for example 2",
        )
    texts = TextOptions(model, layer, padding, text_column, label_column, encoding)
    request = Request(
        map,
        n,
        d,
        k,
        depth,
        parse_positions(positions),
        trials,
        seed,
        data,
        certificate,
        int(memory * 2**30),
        texts,
    )
    if forecast:
        cost = predict(request)
        fields = {
            "map": map,
            "n": n,
            "d": d,
            "k": request.features,
            "depth": request.layers,
            "trials": trials,
        }
        echo_json(fields | cost.to_dict()) if as_json else Console().print(
            forecast_panel(request, cost)
        )
        return
    with reporting(trials, "trial") as reporter, fetching() as download:
        result = measure(request, progress=reporter.trial, fetching=download)
    if as_json:
        echo_json(result.to_dict())
    else:
        Console().print(measurement_panel(result))
    if result.interrupted:
        raise typer.Exit(1)


def parse_positions(text: str) -> str | tuple[int | str, ...]:
    if text.strip() in ("all", "words"):
        return text.strip()
    parts = [part.strip() for part in text.split(",")]
    try:
        return tuple(part if part.startswith("word:") else int(part) for part in parts)
    except ValueError:
        raise InputError(
            "positions as all, words, numbers like 0,3 or word:3", repr(text), "count words from 0"
        ) from None
