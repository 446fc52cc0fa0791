"""`wordsway learn`: the error after a one-word change."""

from __future__ import annotations

from typing import Annotated

import typer

from wordsway.cli import options as opt
from wordsway.cli.output import print_result, progress_line


@opt.grouped
def learn_command(
    ctx: typer.Context,
    drawn: opt.TrialOptions,
    columns: opt.ColumnOptions,
    train: Annotated[int, typer.Option("--train", help="Number of training texts.")],
    update: Annotated[str, typer.Option("--update", help="fine-tune or retrain.")] = "fine-tune",
    loss: Annotated[
        str, typer.Option("--loss", help="Loss that Δ minimises: align, direct or penalised.")
    ] = "direct",
    penalty: Annotated[
        float, typer.Option("--penalty", help="Weight of the penalty, with --loss penalised.")
    ] = 0.0,
    real_words: Annotated[
        bool,
        opt.flag("--real-words", help="Also try every word of the model's vocabulary."),
    ] = False,
    forecast: opt.Forecast = False,
    as_json: opt.AsJson = False,
) -> None:
    """Measure the error after one word of a text changes and its label flips.

    A model that interpolates its training texts is fine-tuned or retrained on one more text, then
    tested on that text with one word changed.

    Gaussian texts are labelled by a linear teacher; a corpus is padded as in the paper.

    Example: wordsway learn --map raf --n 40 --d 384 --train 100 --data imdb --trials 5
    """
    from wordsway.studies.flips import run_learning_trials
    from wordsway.studies.forecast import forecast as predict
    from wordsway.studies.request import LearningOptions

    learning = LearningOptions(train, update, loss, penalty, real_words)
    request = drawn.request(ctx, columns, learning=learning)
    with progress_line() as progress:
        result = predict(request) if forecast else run_learning_trials(request, progress=progress)
    print_result(result, as_json)
    if getattr(result, "interrupted", False):
        raise typer.Exit(1)
