"""The verb: after an update with one new text, can a one-word change of it get the opposite label?

With v = φ(X) (fine-tuned) or v = P⊥φ(X) (re-trained), A(Δ) = φ(X^i(Δ))·v/‖v‖², every single instance satisfies

    √Err ≥ 2 − γ − S·(‖φ(X)‖/‖v‖)·|y − f(X,θ*)|,   γ = |f(X^i(Δ),θ*) − f(X,θ*)|,

so a certified S is a floor for the error (Theorem 4), and a violation would be a bug.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from wordsway.bounds import certify
from wordsway.errors import InputError, WordswayError
from wordsway.learning.descent import Loss, descend
from wordsway.learning.interpolate import interpolate
from wordsway.learning.readout import readout
from wordsway.learning.stack import stack
from wordsway.maps.base import FeatureMap, View
from wordsway.sample import Sample
from wordsway.sway import Positions, rows_of
from wordsway.threads import one_thread
from wordsway.vectors import exactly_inside

UPDATES = ("fine-tune", "retrain")
#: Starts and steps of the search over Δ, where a look is cheap and where every direction is drawn.
CHEAP, DRAWN = (48, 120), (2, 40)
#: How far rounding may carry an error below its floor.
SLACK = 1e-7


@dataclass(frozen=True)
class Learned:
    """What became of one changed word: predictions before and after the update, on the original and the changed text.

    ``error`` is (after_changed − (−y))², ``gamma`` = |before_changed − before_original|, ``alignment`` = A(Δ), ``bound`` the floor
    that the certified ``sensitivity`` sets under the error (None without a certificate).
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
    """Update the interpolator of (train, labels) with (X, y), then look for the Δ that gets −y; one entry per searched row.

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
    _check(train, labels, X, y, update, penalty)
    started = time.perf_counter()
    rows = rows_of(positions, X)
    radius = math.sqrt(X.d) if radius is None else float(radius)
    stacked = stack(phi, list(train), X, words=len(rows))
    K = stacked.gram()
    found = interpolate(K, torch.tensor(labels, dtype=torch.float64), float(y))
    if update == "retrain" and not found.fresh2 > 0:
        raise InputError(
            "a new text whose features are not in the span of the training texts'",
            f"rank {found.rank} of {len(train)}",
            "take fewer training texts, or fine-tune",
        )
    v2 = found.norm2 if update == "fine-tune" else found.fresh2
    direction = found.fresh if update == "retrain" else torch.zeros_like(found.fresh).index_fill(0, torch.tensor([len(train)]), 1.0)
    thetas = stacked.combine(torch.stack([found.start, direction / v2]))
    after = found.fine_tuned if update == "fine-tune" else found.retrained
    view = stacked.phi.view(X, torch.float64)
    before = float(K[-1] @ found.start)
    goal = Loss(loss, float(y), found.residual, before, penalty)
    look = readout(view, thetas)
    starts, steps = DRAWN if view.bytes_per_look else CHEAP
    results = []
    with one_thread(view.small), torch.no_grad():
        uppers = _uppers(stacked.phi, view, rows, radius) if certificate else [None] * len(rows)
        for i, upper in zip(rows, uppers, strict=True):
            reached = descend(look, view, i, goal, radius, seed=seed, starts=starts, steps=steps)
            delta = exactly_inside(reached.delta.to(torch.float64), radius)
            u, a = (float(one) for one in look(torch.tensor([i]), delta[None].to(view.X.dtype))[0][0])
            changed = u + a * found.residual
            results.append(
                _entry(i, before, u, float(K[-1] @ after), changed, a, upper, v2, found, y, time.perf_counter() - started, delta)
            )
    return results


def _entry(
    i: int,
    before: float,
    u: float,
    original: float,
    changed: float,
    a: float,
    upper: float | None,
    v2: float,
    found: Any,
    y: int,
    seconds: float,
    delta: torch.Tensor,
) -> Learned:
    error, gamma = (changed + y) ** 2, abs(u - before)
    ratio = math.sqrt(found.norm2 / v2)
    bound = None if upper is None else max(0.0, 2 - gamma - upper * ratio * abs(found.residual)) ** 2
    if bound is not None and error < bound * (1 - SLACK) - SLACK:
        raise WordswayError(
            f"error {error:.9g} is below its certified floor {bound:.9g} at word {i}; this is a bug in wordsway "
            "(or an event of probability 1e-9): please report it with the map, its seed and the texts"
        )
    return Learned(
        position=i,
        before_original=before,
        before_changed=u,
        after_original=round(original, 12),
        after_changed=changed,
        error=error,
        gamma=gamma,
        alignment=a,
        bound=bound,
        sensitivity=upper,
        v_norm=math.sqrt(v2),
        phi_norm=math.sqrt(found.norm2),
        rank=found.rank,
        condition=found.condition,
        label=y,
        seconds=seconds,
        delta=delta,
    )


def _uppers(phi: FeatureMap, view: View, rows: list[int], radius: float) -> list[float | None]:
    bound = certify(phi, view, rows, radius)
    return [None] * len(rows) if bound is None else [float(one) for one in bound.upper]


def _check(train: Sequence[Sample], labels: Sequence[int], X: Sample, y: int, update: str, penalty: float) -> None:
    if not train:
        raise InputError("at least one training text", "none", "pass N ≥ 1 texts")
    if len(labels) != len(train):
        raise InputError(f"{len(train)} labels, one per training text", f"{len(labels)} labels", "pass one label per text")
    for one in [*labels, y]:
        if one not in (-1, 1):
            raise InputError("labels −1 or 1", repr(one), "map your labels to ±1")
    if len(set(labels)) < 2 and len(labels) > 1:
        raise InputError("training texts of both labels", f"only {labels[0]:+d}", "add texts of the other label")
    if any((one.n, one.d) != (X.n, X.d) for one in train):
        raise InputError(f"texts of one size, n={X.n} and d={X.d}", "texts of several sizes", "embed all of them with the same n and d")
    if update not in UPDATES:
        raise InputError(f"an update among {', '.join(UPDATES)}", repr(update), "choose one of them")
    if not (penalty >= 0 and math.isfinite(penalty)):
        raise InputError("a penalty ≥ 0", penalty, "the paper uses 1, 0.1 and 0.01")
