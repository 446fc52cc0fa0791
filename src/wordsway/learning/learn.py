"""The verb: after an update with one new text, can a one-word change of it get the opposite label?

With v = φ(X) (fine-tuned) or v = P⊥φ(X) (re-trained), A(Δ) = φ(X^i(Δ))·v/‖v‖², every single
instance satisfies

    √Err ≥ 2 − γ − S·(‖φ(X)‖/‖v‖)·|y − f(X,θ*)|,   γ = |f(X^i(Δ),θ*) − f(X,θ*)|,

so a certified S is a floor for the error (Theorem 4), and a violation would be a bug.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

import torch

from wordsway.errors import WordswayError
from wordsway.learning.loss import POLISH, Loss, NegativeLoss, starts_at_zero
from wordsway.learning.problem import Problem, update_interpolator
from wordsway.learning.results import Learned, Learning
from wordsway.maps.base import FeatureMap
from wordsway.optimize import maximise
from wordsway.progress import Progress, silent, stretch_of
from wordsway.result import versions
from wordsway.runtime import single_thread
from wordsway.sample import Positions, Sample, rows_of
from wordsway.seeds import check_seed
from wordsway.sensitivity import MEMORY
from wordsway.vectors import ball_radius, exactly_inside

__all__ = ["Learned", "Learning", "evaluate_change", "evaluate_words", "learn", "search_changes"]
#: How far rounding may carry an error below its floor.
SLACK = 1e-7


def learn(
    phi: FeatureMap,
    train: Sequence[Sample],
    labels: Sequence[int],
    X: Sample,
    y: int,
    *,
    update: str = "fine-tune",
    loss: str = "direct",
    penalty: float = 0.0,
    positions: Positions = 0,
    radius: float | None = None,
    seed: int = 0,
    certificate: bool = True,
    memory: int = MEMORY,
    progress: Progress = silent,
) -> Learning:
    """Update the interpolator of (train, labels) with (X, y), then search the Δ that gets −y; one
    entry per searched row.

    Parameters
    ----------
    update : "fine-tune" (one step on the new text) or "retrain" (interpolate all N + 1)
    loss : what Δ minimises: "align", "direct" or "penalised" (with ``penalty``)
    positions : rows of X that may change, as in `sensitivity`; the first by default
    radius : of the ball for Δ, √d by default
    seed : of the search, a whole number; the same seed gives the same numbers
    certificate : also certify S, which sets a floor under the error
    memory : budget of the search in bytes
    progress : called as progress(stage, done, total, note)

    >>> texts = [Sample.gaussian(n=4, d=6, seed=seed) for seed in range(6)]
    >>> from wordsway.maps import RAF
    >>> found = learn(RAF(d=6, seed=0), texts[:5], [1, -1, 1, -1, 1], texts[5], -1)
    >>> found.best.after_original, found[0].error < 1
    (-1.0, True)
    """
    started = time.perf_counter()
    seed = check_seed(seed)
    rows = rows_of(positions, X)
    steps = len(rows) + 1
    progress("interpolating", 0, steps)
    problem = update_interpolator(phi, train, labels, X, y, update=update, rows=rows)
    found = search_changes(
        problem,
        rows,
        loss=loss,
        penalty=penalty,
        radius=radius,
        seed=seed,
        certificate=certificate,
        memory=memory,
        progress=stretch_of(progress, 1, steps, steps),
    )
    return Learning(
        rows=tuple(found),
        update=update,
        loss=loss,
        penalty=penalty,
        train=len(train),
        radius=ball_radius(radius, X.d),
        n=X.n,
        d=X.d,
        seed=seed,
        seconds=time.perf_counter() - started,
        map=phi.describe(),
        versions=versions(),
    )


def search_changes(
    problem: Problem,
    rows: Sequence[int],
    *,
    loss: str,
    penalty: float = 0.0,
    radius: float | None = None,
    seed: int = 0,
    certificate: bool = True,
    memory: int = MEMORY,
    progress: Progress = silent,
) -> Iterator[Learned]:
    """Search the Δ of each row that flips the label, row after row, for an interpolator that has
    been updated already.

    A row's matrix may be drawn for as long as that row is searched: ask about a result
    (`evaluate_change`, `evaluate_words`) before the next one.
    """
    view = problem.view
    radius = ball_radius(radius, view.X.shape[1])
    goal = Loss(loss, float(problem.y), problem.residual, problem.before, penalty)
    objective = NegativeLoss(problem.search_readout, problem.search_view, goal, radius)
    exact = NegativeLoss(problem.readout, view, goal, radius)
    for number, row in enumerate(rows):
        started = time.perf_counter()
        with single_thread(view.small), torch.no_grad():
            upper = None
            if certificate:
                progress("certifying", number, len(rows))
                upper = problem.certified(row, radius)
            found = maximise(
                objective,
                torch.tensor([row], device=view.X.device),
                objective.plan,
                seed=seed,
                memory=memory,
                starts=starts_at_zero,
                stream="descent",
                progress=stretch_of(progress, number + 0.5, number + 1, len(rows)),
            )
            delta = found.x[0]
            if objective.dtype != exact.dtype and not exact.bytes_kept:
                delta = _polished(exact, row, delta.to(exact.dtype), seed, memory)
            delta = exactly_inside(delta, radius)
            learned = evaluate_change(problem, row, delta, upper, time.perf_counter() - started)
        yield learned


def _polished(
    objective: NegativeLoss, row: int, delta: torch.Tensor, seed: int, memory: int
) -> torch.Tensor:
    """A Δ that less precise arithmetic found, or a better one that is reached from there."""
    which = torch.tensor([row], device=objective.device)
    found = maximise(
        objective,
        which,
        POLISH,
        seed=seed,
        memory=memory,
        starts=lambda *_: delta[None, None],
        stream="polish",
    )
    kept = float(objective.value(which, delta[None])) >= float(found.value)
    return delta if kept else found.x[0]


def evaluate_change(
    problem: Problem, row: int, delta: torch.Tensor, sensitivity: float | None, seconds: float = 0.0
) -> Learned:
    """What the updated model predicts for X^i(Δ); with a certified sensitivity the floor is
    checked.
    """
    which, place = torch.tensor([row]), delta[None].to(problem.view.X.dtype)
    readings = problem.readout.values(which, place)
    before_changed, alignment = readings[0].tolist()
    changed = before_changed + alignment * problem.residual
    error = (changed + problem.y) ** 2
    gamma = abs(before_changed - problem.before)
    bound = None if sensitivity is None else problem.floor(gamma, sensitivity)
    if not math.isfinite(error):
        raise WordswayError(
            f"the error at word {row} is not a number; please report it with the map, its seed "
            "and the texts"
        )
    if bound is not None and error < bound * (1 - SLACK) - SLACK:
        raise WordswayError(
            f"error {error:.9g} is below its certified floor {bound:.9g} at word {row}; this is a "
            "bug in wordsway (or an event of probability 1e-9): please report it with the map, its "
            "seed and the texts"
        )
    updates = problem.updates
    return Learned(
        position=row,
        before_original=problem.before,
        before_changed=before_changed,
        after_original=round(problem.after, 12),
        after_changed=changed,
        error=error,
        gamma=gamma,
        alignment=alignment,
        bound=bound,
        sensitivity=sensitivity,
        v_norm=math.sqrt(problem.v_norm2),
        phi_norm=math.sqrt(updates.norm2),
        rank=updates.rank,
        condition=updates.condition,
        label=problem.y,
        seconds=seconds,
        delta=delta,
    )


def evaluate_words(
    problem: Problem, row: int, replacements: torch.Tensor, batch: int = 256
) -> torch.Tensor:
    """The error (V,) for each of many rows (V, d) that row i could become, evaluated exactly: real
    words, for example.
    """
    deltas = replacements.to(torch.float64) - problem.view.X[row].to(torch.float64)
    errors = []
    with torch.no_grad():
        for part in deltas.split(batch):
            which = torch.full((len(part),), row)
            readings = problem.readout.values(which, part.to(problem.view.X.dtype))
            errors.append(problem.error(readings[:, 0], readings[:, 1]))
    return torch.cat(errors)
