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
from dataclasses import asdict, dataclass
from typing import Any

import torch

from wordsway.errors import InputError, WordswayError
from wordsway.learning.descent import Loss, descend
from wordsway.learning.problem import UPDATES, Problem, pose
from wordsway.maps.base import FeatureMap
from wordsway.runtime import single_thread
from wordsway.sample import Sample
from wordsway.sensitivity import Positions, rows_of
from wordsway.vectors import exactly_inside

#: Starts and steps of the search over Δ, where a look is cheap and where every direction is drawn.
CHEAP, DRAWN = (48, 120), (2, 40)
__all__ = ["UPDATES", "Learned", "among", "learn", "outcome", "turn"]
#: How far rounding may carry an error below its floor.
SLACK = 1e-7
#: An error below this is 0: the label is turned, and only rounding tells such errors apart.
TURNED = 1e-12


def ease(error: float, gamma: float) -> tuple[float, float]:
    """The order of rows, easiest first: by the error, and among turned ones by γ, which the update
    cannot change.
    """
    return max(error, TURNED), gamma


@dataclass(frozen=True)
class Learned:
    """What became of one changed word: predictions before and after the update, on the original and
    the changed text.

    ``error`` is (after_changed − (−y))², ``gamma`` = |before_changed − before_original|,
    ``alignment`` = A(Δ), ``bound`` the floor that the certified ``sensitivity`` sets under the
    error (None without a certificate).
    """

    position: int
    before_original: float
    before_changed: float
    after_original: float
    after_changed: float
    error: float
    gamma: float
    alignment: float
    bound: float | None
    sensitivity: float | None
    v_norm: float
    phi_norm: float
    rank: int
    condition: float
    label: int
    seconds: float
    delta: torch.Tensor

    @property
    def ease(self) -> tuple[float, float]:
        """How easy it was to turn the label, easiest least."""
        return ease(self.error, self.gamma)

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "delta"}


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
) -> list[Learned]:
    """Update the interpolator of (train, labels) with (X, y), then look for the Δ that gets −y; one
    entry per searched row.

    Parameters
    ----------
    update : "fine-tune" (one step on the new text) or "retrain" (interpolate all N + 1)
    loss : what Δ minimises: "align", "direct" or "penalised" (with ``penalty``)
    positions : rows of X that may change, as in `sensitivity`; the first by default

    >>> texts = [Sample.gaussian(n=4, d=6, seed=seed) for seed in range(6)]
    >>> from wordsway.maps import RAF
    >>> found = learn(RAF(d=6, seed=0), texts[:5], [1, -1, 1, -1, 1], texts[5], -1)[0]
    >>> found.after_original, found.error < 1
    (-1.0, True)
    """
    rows = rows_of(positions, X)
    problem = pose(phi, train, labels, X, y, update=update, words=rows)
    return list(
        turn(
            problem,
            rows,
            loss=loss,
            penalty=penalty,
            radius=radius,
            seed=seed,
            certificate=certificate,
        )
    )


def turn(
    problem: Problem,
    rows: Sequence[int],
    *,
    loss: str,
    penalty: float = 0.0,
    radius: float | None = None,
    seed: int = 0,
    certificate: bool = True,
) -> Iterator[Learned]:
    """Look for the Δ of each row that turns the label, row after row, for a problem that is posed
    already.

    A row's matrix may be drawn for as long as it is looked at: ask about a result (`outcome`,
    `among`) before the next one.
    """
    if not (penalty >= 0 and math.isfinite(penalty)):
        raise InputError("a penalty ≥ 0", penalty, "the paper uses 1, 0.1 and 0.01")
    view = problem.view
    radius = math.sqrt(view.X.shape[1]) if radius is None else float(radius)
    if not 1e-9 <= radius <= 1e9:
        raise InputError(
            "a radius between 1e-9 and 1e9", radius, "√d is the paper's, and the default"
        )
    goal = Loss(loss, float(problem.y), problem.residual, problem.before, penalty)
    starts, steps = DRAWN if view.bytes_per_look else (min(CHEAP[0], view.plan.starts), CHEAP[1])
    for i in rows:
        started = time.perf_counter()
        with single_thread(view.small), torch.no_grad():
            bound = view.certify([i], radius) if certificate else None
            reached = descend(
                problem.look, view, i, goal, radius, seed=seed, starts=starts, steps=steps
            )
            delta = exactly_inside(reached.delta.to(torch.float64), radius)
            one = outcome(
                problem,
                i,
                delta,
                None if bound is None else float(bound.upper[0]),
                time.perf_counter() - started,
            )
        yield one


def outcome(
    problem: Problem, i: int, delta: torch.Tensor, sensitivity: float | None, seconds: float = 0.0
) -> Learned:
    """What the updated model says of X^i(Δ); with a certified sensitivity the floor is checked."""
    u, a = (
        float(one)
        for one in problem.look(torch.tensor([i]), delta[None].to(problem.view.X.dtype))[0][0]
    )
    changed = u + a * problem.residual
    error, gamma = (changed + problem.y) ** 2, abs(u - problem.before)
    bound = None if sensitivity is None else problem.floor(gamma, sensitivity)
    if not math.isfinite(error):
        raise WordswayError(
            f"the error at word {i} is not a number; please report it with the map, its seed and the texts"
        )
    if bound is not None and error < bound * (1 - SLACK) - SLACK:
        raise WordswayError(
            f"error {error:.9g} is below its certified floor {bound:.9g} at word {i}; this is a bug in wordsway "
            "(or an event of probability 1e-9): please report it with the map, its seed and the texts"
        )
    updates = problem.updates
    return Learned(
        position=i,
        before_original=problem.before,
        before_changed=u,
        after_original=round(problem.after, 12),
        after_changed=changed,
        error=error,
        gamma=gamma,
        alignment=a,
        bound=bound,
        sensitivity=sensitivity,
        v_norm=math.sqrt(problem.v2),
        phi_norm=math.sqrt(updates.norm2),
        rank=updates.rank,
        condition=updates.condition,
        label=problem.y,
        seconds=seconds,
        delta=delta,
    )


def among(problem: Problem, i: int, rows: torch.Tensor, batch: int = 256) -> torch.Tensor:
    """The error for each of many rows (V, d) that word i could become, evaluated exactly: real
    words, for example.
    """
    deltas = rows.to(torch.float64) - problem.view.X[i].to(torch.float64)
    errors = []
    with torch.no_grad():
        for part in deltas.split(batch):
            readings = problem.look(torch.full((len(part),), i), part.to(problem.view.X.dtype))[0]
            errors.append(problem.error(readings[:, 0], readings[:, 1]))
    return torch.cat(errors)
