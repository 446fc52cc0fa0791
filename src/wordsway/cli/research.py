"""Commands of the group *Research*: random maps (`measure`, `learn`, `verify`), studies that resume
(`sweep`, `reproduce`), and `data`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from wordsway.cli import options as opt
from wordsway.cli.output import command_line, echo_json, finish, print_result, progress_line
from wordsway.core.errors import InputError, WordswayError
from wordsway.data import entry, get, present
from wordsway.data.fetch import catalogue


@dataclass(frozen=True)
class SetOptions:
    """The rows that move, and how far: fields of a `Request`."""

    radius: float | None = opt.option(None, "Maximum norm of Δ; √d by default.")
    constraint: str | None = opt.option(
        None,
        "Shape of the set of Δ: l2 (default), linf, l1 or shell. Without --radius it is the "
        "largest such set inside the ball of radius √d.",
    )
    together: str | None = opt.option(None, "Rows that change together, such as 0,3 or 0-7.")


@dataclass(frozen=True)
class MoveOptions:
    """How a row is edited, and what is measured: fields of a `Request`."""

    objective: str = opt.option(
        "frobenius", "Norm of the change: frobenius, largest-row, operator, or row:J for row J."
    )
    edit: str = opt.option("replace", "How a word is edited: replace, insert or delete.")
    layer: str = opt.option(
        "input",
        "Embeddings to use: input (as in the paper), words (word vectors only), a layer's "
        "number, or last.",
        group=opt.TEXTS,
    )
    certificate: bool = opt.flag(
        "--certificate/--no-certificate", "Also compute the upper bound.", default=True
    )
    average: int | None = opt.option(
        None, "Also average over this many random Δ (on real text, also real words) per row."
    )


@opt.grouped
def measure_command(
    ctx: typer.Context,
    drawn: opt.TrialOptions,
    columns: opt.ColumnOptions,
    within: SetOptions,
    moves: MoveOptions,
    proof: Path | None = opt.option(
        None, "Verify the upper bound and write its proof to this file (see wordsway verify)."
    ),
    memory: float = opt.MEMORY,
    forecast: bool = opt.FORECAST,
    as_json: bool = opt.AS_JSON,
) -> None:
    """Measure how far one word can move a random map.

    S is the largest relative change of the map's features when one row of the text changes by Δ,
    ‖Δ‖ ≤ √d.

    Prints an interval for S: the largest value found, and a certified upper bound.

    Example: wordsway measure --map raf --n 120 --d 768 --trials 10
    """
    from wordsway.studies.forecast import forecast as predict
    from wordsway.studies.measure import run_trials

    request = drawn.request(
        ctx, columns, memory=opt.bytes_of(memory), **vars(within), **vars(moves)
    )
    if proof is not None and request.trials != 1:
        raise InputError("one trial with --proof", f"--trials {request.trials}", "omit --trials")
    if proof is not None and not moves.certificate:
        got, remedy = "--no-certificate", "omit --no-certificate"
        raise InputError("a certificate with --proof", got, remedy)
    if proof is not None:
        opt.check_folder(proof)
    if forecast:
        print_result(predict(request), as_json)
        return
    with progress_line() as progress:
        result = run_trials(request, progress=progress, proof=proof is not None)
    proved = [trial.proof for trial in result.trials if trial.proof is not None]
    print_result(result, as_json)
    if proof is not None and proved:
        opt.write(proved[0], [proof], as_json)
    if result.interrupted:
        raise typer.Exit(1)
    if proof is not None and not proved:
        raise WordswayError(f"{proof} was not written: the warning above states the reason")


@opt.grouped
def learn_command(
    ctx: typer.Context,
    drawn: opt.TrialOptions,
    columns: opt.ColumnOptions,
    within: SetOptions,
    train: int = opt.option(..., "Number of training texts."),
    update: str = opt.option("fine-tune", "Update of the model: fine-tune or retrain."),
    loss: str = opt.option("penalised", "Loss that Δ minimises: align, direct or penalised."),
    penalty: float | None = opt.option(None, "Weight of γ² with --loss penalised; 1 by default."),
    real_words: bool = opt.flag(
        "--real-words", "Also try every word of the model's vocabulary in place of the word."
    ),
    forecast: bool = opt.FORECAST,
    as_json: bool = opt.AS_JSON,
) -> None:
    """Can a model learn that one word flips the label?

    A model that interpolates its training texts is fine-tuned or re-trained on one more text. Then
    one word of that text changes, by the Δ that minimises the loss, and the text's label flips.
    Prints the error on the changed text.

    Gaussian texts are labelled by a linear teacher; a corpus is padded as in the paper.

    Example: wordsway learn --map raf --n 40 --d 384 --train 100 --data imdb --trials 5
    """
    from wordsway.studies.flips import run_learning_trials
    from wordsway.studies.forecast import forecast as predict
    from wordsway.studies.request import LearningOptions

    learning = LearningOptions(train, update, loss, penalty, real_words)
    request = drawn.request(ctx, columns, learning=learning, **vars(within))
    with progress_line() as progress:
        result = predict(request) if forecast else run_learning_trials(request, progress=progress)
    print_result(result, as_json)
    if getattr(result, "interrupted", False):
        raise typer.Exit(1)


def verify_command(
    file: Annotated[
        Path, typer.Argument(help="A proof that measure --proof wrote.", metavar="FILE")
    ],
    as_json: bool = opt.AS_JSON,
) -> None:
    """Verify a proof in ball arithmetic, and print the bound that it proves.

    Exit status: 0 if every inequality holds; otherwise 1, and the error (with --json also the field
    reason) names the first that fails; 2 if the file cannot be read.

    Example: wordsway verify raf.proof
    """
    from wordsway.maps.proof import NotProvedError, verify

    try:
        result = verify(file)
    except NotProvedError as error:
        if as_json:
            echo_json({"verified": False, "reason": str(error).removeprefix("not proved: ")})
        raise
    print_result(result, as_json)


@dataclass(frozen=True)
class ReproduceRun(opt.RunOptions):
    out: Path = opt.folder(Path("out/reproduce"))


@opt.grouped
def reproduce_command(
    run: ReproduceRun,
    figures: Annotated[
        list[str] | None,
        typer.Argument(
            help="Figures to reproduce: a number (1 to 5), a panel (1-left, 2-right, 3.3, "
            "4-minilm, …), all, a study beyond the paper (ingredients, phase, readout, length, "
            "training), or studies (all of these).",
            metavar="FIGURE|all",
        ),
    ] = None,
    quick: bool = opt.flag(
        "--quick",
        "A subset: d = 192 and 3 trials (2-right: d = 768; 4 and 5: d = 384, 10 and 6 trials).",
    ),
    seed: int = opt.SEED,
    text: Path | None = opt.option(
        None, "File with your text for Figure 3.3, such as an abstract."
    ),
    style: str = opt.option(
        "screen", "screen, or icml: PNG and PDF for print, in column or text width, with serifs."
    ),
) -> None:
    """Reproduce the paper's figures, with bands of ± 1 sd, theory curves and certificates.

    An interrupted run resumes with the same command.

    Figures, and what they need beyond Gaussian texts:

    - 1-left: attention to two texts (bert-base or minilm)

    - 1-right: answers to two prompts (smollm2)

    - 2-left, 2-right: S of RF and DRF (imdb, embedded by the installed encoders)

    - 3.1, 3.2: S of softmax and ReLU attention (the same)

    - 3.3, 3.4: a Δ that attracts attention (bert-base or minilm)

    - 4-DATA, 5-DATA: learning a flipped label; DATA is gaussian, minilm, mpnet or bert-base

    Exit status: 1 if cells failed or are unfinished, or if a named figure could not be drawn.

    Example: wordsway reproduce --quick
    """
    from wordsway.paper.reproduce import forecast_reproduction, not_drawn, reproduce

    names = figures or []
    how: dict[str, Any] = {"quick": quick, "seed": seed}
    if run.forecast:
        cost = forecast_reproduction(names, **how, out=run.out, workers=run.workers)
        print_result(cost, run.as_json)
        return
    command = ["reproduce", *names, *(["--quick"] if quick else []), "--out", str(run.out)]
    command += ["--text", str(text)] if text else []
    command += ["--style", style] if style != "screen" else []
    how |= {"text": text, "style": style, "command": command_line(command)}
    with progress_line() as progress:
        result = reproduce(names, **how, **run.options, progress=progress)
    finish(result, run.as_json, command)
    if undrawn := not_drawn(names, result):
        reasons = [f"{found.claim}: {found.measured}" for found in result if not found.series]
        raise WordswayError(f"not drawn: {', '.join(undrawn)} ({'; '.join(reasons)})")


@opt.grouped
def sweep_command(
    file: Annotated[
        Path, typer.Argument(help="The grid; see examples/grid.toml.", metavar="FILE.toml")
    ],
    run: opt.RunOptions,
    shard: str | None = opt.option(
        None, "Part of the grid to run, as INDEX/COUNT, such as 3/64.", group=opt.RUNNING
    ),
    merge: list[Path] | None = opt.option(
        None,
        "Folder of another run, whose cells are added first; may be repeated.",
        group=opt.RUNNING,
    ),
) -> None:
    """Measure random maps over the grid that a TOML file describes.

    Writes to --out: the cells as CSV and Parquet, and a plot of the means against n, sweep.png.

    An interrupted sweep resumes with the same command.

    Example: wordsway sweep grid.toml --out out/grid
    """
    from wordsway.engine.store import store_in
    from wordsway.studies.sweep import forecast_sweep, sweep

    if run.forecast:
        for other in merge or []:
            store_in(other)
        print_result(forecast_sweep(file, run.out, workers=run.workers), run.as_json)
        return
    with progress_line() as progress:
        result = sweep(file, **run.options, shard=shard, merge=merge or [], progress=progress)
    if find_spec("matplotlib") and not result.cells.empty:
        picture = result.save(run.out / "sweep.png")
        typer.echo(f"picture: {picture}", err=True)
    again = [] if shard is None else ["--shard", shard]
    finish(result, run.as_json, ["sweep", str(file), "--out", str(run.out), *again])


data_app = typer.Typer(help="List and download corpora and models.", no_args_is_help=True)


@data_app.command("list")
def list_command(as_json: bool = opt.AS_JSON) -> None:
    """List corpora and models with their sources and licences."""
    print_result(catalogue(), as_json)


@data_app.command("get")
def get_command(
    names: Annotated[
        list[str],
        typer.Argument(help="Names from wordsway data list, such as imdb.", metavar="NAME"),
    ],
    folder: Path | None = opt.option(
        None, "Copy the files from this folder instead of downloading.", "--from"
    ),
    as_json: bool = opt.AS_JSON,
) -> None:
    """Download and verify corpora and models; skip those already present."""
    found = []
    for name in names:
        entry(name)
    for name in names:
        before = present(name)
        with progress_line() as progress:
            here = get(name, progress=progress, folder=folder)
        found.append(
            {
                "name": name,
                "folder": str(here.folder),
                "from": here.source,
                "sha256": here.digest,
                "files": dict(here.files),
            }
        )
        if not as_json:
            checked = "verified" if folder is None else "its hashes recorded or verified"
            already = "already " if before == here and folder is None else ""
            typer.echo(f"{name}: {already}in {here.folder} (from {here.source}), {checked}")
    if as_json:
        echo_json(found[0] if len(found) == 1 else found)
