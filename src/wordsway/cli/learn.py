"""`wordsway learn`: the error after a one-word change."""

from __future__ import annotations

from typing import Annotated

import typer

from wordsway.cli.measure import parse_positions
from wordsway.cli.progress import echo_json, fetching, reporting


def learn_command(
    map: Annotated[str, typer.Option("--map", help="rf, drf, raf or relu-raf.")],
    n: Annotated[int, typer.Option("--n", help="Tokens per text.")],
    d: Annotated[int, typer.Option("--d", help="Embedding dimension.")],
    train: Annotated[int, typer.Option("--train", help="Training texts, N.")],
    update: Annotated[str, typer.Option("--update", help="fine-tune or retrain.")] = "fine-tune",
    loss: Annotated[
        str, typer.Option("--loss", help="What Δ minimises: align, direct or penalised.")
    ] = "direct",
    penalty: Annotated[float, typer.Option("--penalty", help="Of the penalised loss.")] = 0.0,
    k: Annotated[
        int | None, typer.Option("--k", help="Features of rf and drf; n·d by default.")
    ] = None,
    depth: Annotated[
        int | None, typer.Option("--depth", help="Layers of drf; 2 by default.")
    ] = None,
    positions: Annotated[
        str, typer.Option("--positions", help="Rows that may change: numbers, all, words, word:3.")
    ] = "0",
    trials: Annotated[int, typer.Option("--trials", help="New texts, each under new weights.")] = 1,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same numbers.")] = 0,
    data: Annotated[
        str,
        typer.Option(
            "--data", help="gaussian (labelled by a linear teacher), imdb, imdb:MODEL or a file."
        ),
    ] = "gaussian",
    model: Annotated[str | None, typer.Option("--model", help="Model that embeds texts.")] = None,
    padding: Annotated[
        str | None,
        typer.Option("--padding", help="none, pad or paper (the default with a corpus)."),
    ] = None,
    text_column: Annotated[
        str | None, typer.Option("--text-column", help="Column of texts in a file.")
    ] = None,
    label_column: Annotated[
        str | None, typer.Option("--label-column", help="Column of labels in a file.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="Of a text file, if it is not UTF-8.")
    ] = None,
    real_words: Annotated[
        bool,
        typer.Option(
            "--real-words", help="Also try every word of the model's vocabulary in that place."
        ),
    ] = False,
    forecast: Annotated[
        bool, typer.Option("--forecast", help="Say what it would cost, without running it.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document and nothing else.")
    ] = False,
) -> None:
    """Learn that one word flips the label: update an interpolator with a new text, change one word,
    ask for the other label.

    Example: wordsway learn --map raf --n 40 --d 384 --train 100 --data imdb --trials 5
    """
    from rich.console import Console

    from wordsway.experiments import Request, TextOptions
    from wordsway.experiments.lessons import Lesson, teach
    from wordsway.render.terminal.lessons import lessons_panel

    chosen = padding or ("none" if data == "gaussian" else "paper")
    texts = TextOptions(model, "input", chosen, text_column, label_column, encoding)
    request = Request(
        map, n, d, k, depth, parse_positions(positions), trials, seed, data, texts=texts
    )
    lesson = Lesson(request, train, update, loss, penalty, real_words)
    if forecast:
        from wordsway.experiments.lesson_cost import forecast_lesson
        from wordsway.render.terminal.forecast import forecast_panel

        cost = forecast_lesson(lesson)
        about = {
            "map": map,
            "n": n,
            "d": d,
            "k": request.features,
            "depth": request.layers,
            "train": train,
            "trials": trials,
        }
        echo_json(about | cost.to_dict()) if as_json else Console().print(
            forecast_panel(request, cost)
        )
        return
    with reporting(trials, "trial") as reporter, fetching() as download:
        result = teach(lesson, progress=reporter.show, fetching=download)
    if as_json:
        echo_json(result.to_dict())
    else:
        Console().print(lessons_panel(result))
    if result.interrupted:
        raise typer.Exit(1)
