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
from typing import NamedTuple

import torch

from wordsway.core.checks import Bytes, NonNegative, Radius, Seed, validated
from wordsway.core.errors import WordswayError
from wordsway.core.progress import Progress, silent, stretch_of
from wordsway.core.result import versions
from wordsway.core.runtime import single_thread
from wordsway.core.sample import Positions, Sample, rows_of
from wordsway.core.seeds import check_seed, generator
from wordsway.core.vectors import ball_radius, exactly_inside
from wordsway.intervals import MEMORY
from wordsway.learning.loss import POLISH, Loss, NegativeLosses, check_loss, starts_at_zero
from wordsway.learning.problem import Problem, update_interpolator
from wordsway.learning.results import Learned, Learning
from wordsway.maps.base import Map
from wordsway.optimize import maximise

__all__ = [
    "Learned",
    "Learning",
    "Question",
    "evaluate_change",
    "evaluate_words",
    "learn",
    "search_changes",
]
#: How far rounding may carry an error below its floor.
SLACK = 1e-7


class Question(NamedTuple):
    """What may be asked of a lesson: which loss a Δ can reach after an update."""

    update: str
    loss: str
    penalty: float = 0.0


@validated
def learn(
    phi: Map,
    train: Sequence[Sample],
    labels: Sequence[int],
    X: Sample,
    y: int,
    *,
    update: str = "fine-tune",
    loss: str = "direct",
    penalty: NonNegative = 0.0,
    positions: Positions = 0,
    radius: Radius | None = None,
    seed: Seed = 0,
    certificate: bool = True,
    memory: Bytes = MEMORY,
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
    check_loss(loss, penalty)
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
    beside: Sequence[Question] = (),
    progress: Progress = silent,
) -> Iterator[Learned]:
    """Search the Δ of each row that flips the label, row after row, for an interpolator that has
    been updated already.

    ``beside`` is not used any more. A row's matrix may be drawn for
    as long as that row is searched: ask about a result (`evaluate_change`, `evaluate_words`) before
    the next one.
    """
    view = problem.view
    radius = ball_radius(radius, view.X.shape[1])
    goal = problem.loss(loss, penalty)
    assert goal is not None
    for number, row in enumerate(rows):
        started = time.perf_counter()
        with single_thread(view.small), torch.no_grad():
            upper = None
            if certificate:
                progress("certifying", number, len(rows))
                upper = problem.certified(row, radius)
            about = (row, radius, seed, memory)
            if (goal, about) not in problem.known:
                part = stretch_of(progress, number + 0.5, number + 1, len(rows))
                found = _search(problem, row, [goal], radius, seed, memory, part)
                problem.known.update({(one, about): delta for one, delta in found.items()})
            delta = problem.known[goal, about]
            learned = evaluate_change(problem, row, delta, upper, time.perf_counter() - started)
        yield learned


def _search(
    problem: Problem,
    row: int,
    losses: Sequence[Loss],
    radius: float,
    seed: int,
    memory: int,
    progress: Progress,
) -> dict[Loss, torch.Tensor]:
    """The Δ of each loss, all of which begin at the same places."""
    objective = NegativeLosses(problem.search_readout, problem.search_view, row, losses, radius)
    exact = NegativeLosses(problem.readout, problem.view, row, losses, radius)
    which = torch.arange(len(losses), device=objective.device)
    noise = generator(seed, "descent", row, device=objective.device)
    first = starts_at_zero(objective, [0], objective.plan.starts, [noise])
    found = maximise(
        objective,
        which,
        objective.plan,
        seed=seed,
        memory=memory,
        starts=lambda _, problems, *__: first.expand(len(problems), -1, -1),
        progress=progress,
    )
    x = found.x
    if objective.dtype != exact.dtype and not exact.bytes_kept:
        x = _polished(exact, which, x.to(exact.dtype), seed, memory)
    return {loss: exactly_inside(delta, radius) for loss, delta in zip(losses, x, strict=True)}


def _polished(
    objective: NegativeLosses, which: torch.Tensor, x: torch.Tensor, seed: int, memory: int
) -> torch.Tensor:
    """Each Δ that less precise arithmetic found, or a better one that is reached from there."""
    found = maximise(
        objective,
        which,
        POLISH,
        seed=seed,
        memory=memory,
        starts=lambda _, problems, *__: x[problems][:, None].expand(-1, POLISH.starts, -1),
    )
    twice = objective.value(which.repeat_interleave(2), x.repeat_interleave(2, 0))
    kept = twice[::2] >= found.value
    return torch.where(kept[:, None], x, found.x)


def evaluate_change(
    problem: Problem, row: int, delta: torch.Tensor, sensitivity: float | None, seconds: float = 0.0
) -> Learned:
    """What the updated model predicts for X^i(Δ); with a certified sensitivity the floor is
    checked.
    """
    which, place = torch.tensor([row]), delta[None].to(problem.view.X.dtype)
    readings = problem.readout.values(which, place)
    before_changed, alignment = readings[0, [0, problem.column]].tolist()
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
            errors.append(problem.error(readings[:, 0], readings[:, problem.column]))
    return torch.cat(errors)
