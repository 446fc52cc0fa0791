"""`wordsway measure`: the sensitivity of a random map."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordsway.cli import options as opt
from wordsway.cli.output import print_result, progress_line
from wordsway.core.errors import InputError, WordswayError


@opt.grouped
def measure_command(
    ctx: typer.Context,
    drawn: opt.TrialOptions,
    columns: opt.ColumnOptions,
    radius: Annotated[
        float | None, typer.Option("--radius", help="Maximum norm of Δ; √d by default.")
    ] = None,
    constraint: Annotated[
        str | None,
        typer.Option(
            "--constraint",
            help="Set of Δ of this radius: l2 (default), linf, l1 or shell. By default it is the "
            "largest inside the ball of radius √d.",
        ),
    ] = None,
    objective: Annotated[
        str,
        typer.Option(
            "--objective",
            help="Norm of the change: frobenius, largest-row, operator, or row:J for row J.",
        ),
    ] = "frobenius",
    together: Annotated[
        str | None,
        typer.Option("--together", help="Rows that all move at once: 0,3 or 0-7."),
    ] = None,
    layer: Annotated[
        str,
        typer.Option(
            "--layer",
            help="Embeddings to use: input (as in the paper), words (word vectors only), a layer's "
            "number, or last.",
            rich_help_panel=opt.TEXTS,
        ),
    ] = "input",
    certificate: Annotated[
        bool, opt.flag("--certificate/--no-certificate", help="Also compute the upper bound.")
    ] = True,
    proof: Annotated[
        Path | None,
        typer.Option(
            "--proof", help="Verify the upper bound and write its proof; for wordsway verify."
        ),
    ] = None,
    average: Annotated[
        int | None,
        typer.Option(
            "--average", help="Also average over this number of random Δ (and real words) per row."
        ),
    ] = None,
    memory: opt.Memory = 2.0,
    forecast: opt.Forecast = False,
    as_json: opt.AsJson = False,
) -> None:
    """Measure how far one word can move a random map.

    Prints an interval for S: a lower bound attained by the best Δ found, and a certified upper
    bound.

    Example: wordsway measure --map raf --n 120 --d 768 --trials 10
    """
    from wordsway.studies.forecast import Forecast
    from wordsway.studies.forecast import forecast as predict
    from wordsway.studies.measure import Measurement, run_trials

    request = drawn.request(
        ctx,
        columns,
        layer=layer,
        radius=radius,
        certificate=certificate,
        memory=opt.bytes_of(memory),
        average=average,
        constraint=constraint,
        objective=objective,
        together=together,
    )
    if proof is not None and request.trials != 1:
        raise InputError(
            "one trial with --proof", f"--trials {request.trials}", "leave --trials away"
        )
    with progress_line() as progress:
        result: Forecast | Measurement
        if forecast:
            result = predict(request)
        else:
            result = run_trials(request, progress=progress, proof=proof is not None)
    if isinstance(result, Measurement) and proof is not None:
        found = result.trials[0].proof if result.trials else None
        if found is None:
            raise WordswayError(f"{request.map} has no verifier: its upper bound rests on float64")
        found.save(proof)
    print_result(result, as_json)
    if getattr(result, "interrupted", False):
        raise typer.Exit(1)
