"""The verb `learn`: after an update with one new text, does a one-word change flip its label?"""

from __future__ import annotations

import time
from collections.abc import Sequence

from wordsway.constraints import Choices, Constraint
from wordsway.core.checks import Bytes, NonNegative, Radius, Seed, validated
from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, silent, stretch_of
from wordsway.core.result import versions
from wordsway.core.sample import Positions, Sample, rows_of
from wordsway.intervals import MEMORY, reached
from wordsway.learning.features import TrainingFeatures
from wordsway.learning.losses import check_setting
from wordsway.learning.problem import FlipProblem
from wordsway.learning.results import FlipResult
from wordsway.maps.base import Map


@validated
def learn(
    phi: Map,
    train: Sequence[Sample],
    labels: Sequence[int],
    X: Sample,
    y: int,
    *,
    update: str = "fine-tune",
    loss: str = "penalised",
    penalty: NonNegative | None = None,
    positions: Positions = 0,
    radius: Radius | None = None,
    constraint: Constraint | Choices | str | None = None,
    together: Positions | None = None,
    seed: Seed = 0,
    certificate: bool = True,
    memory: Bytes = MEMORY,
    progress: Progress = silent,
) -> FlipResult:
    """Update the interpolator of (train, labels) with (X, y), then search for the Δ that gets −y.

    Parameters
    ----------
    update : "fine-tune" (one step on the new text) or "retrain" (interpolate all N + 1)
    loss : the loss that Δ minimises: "penalised", "direct" or "align"
    penalty : the weight p of γ² in the penalised loss, 1 by default
    positions : rows of X that may change, as in `sensitivity`; the first by default
    radius : of the ball for Δ, √d by default
    constraint : another set for Δ, as in `sensitivity`
    together : rows that all move at once, each in the set, in place of ``positions``
    seed : seed of the search; the same seed gives the same numbers
    certificate : also certify S, which gives a lower bound of the error
    memory : budget of the search in bytes
    progress : called as progress(stage, done, total, note)

    >>> texts = [Sample.gaussian(n=4, d=6, seed=seed) for seed in range(6)]
    >>> from wordsway.maps import RAF
    >>> found = learn(RAF(d=6, seed=0), texts[:5], [1, -1, 1, -1, 1], texts[5], -1)
    >>> found.best.after_original, found[0].error < 1
    (-1.0, True)
    """
    started = time.perf_counter()
    setting = check_setting(update, loss, penalty)
    _check_texts(train, labels, X)
    phi.check(X.n, X.d)
    rows = rows_of(positions if together is None else together, X)
    constraint, reach = reached(constraint, radius, X.X[rows])
    moved = None if together is None else tuple(rows)
    searched = rows if moved is None else rows[:1]
    steps = len(searched) + 1
    progress("interpolating", 0, steps)
    features = TrainingFeatures(phi, lambda number: train[number].X, len(train), rows)
    problem = FlipProblem(features, labels, X, y, moved)
    found = [
        problem.search(
            row,
            [setting],
            radius=reach,
            constraint=constraint,
            seed=seed,
            certificate=certificate,
            memory=memory,
            progress=stretch_of(progress, number, number + 1, steps),
        )[0]
        for number, row in enumerate(searched, 1)
    ]
    return FlipResult(
        rows=tuple(found),
        update=update,
        loss=loss,
        penalty=setting.penalty,
        train=len(train),
        radius=reach,
        n=X.n,
        d=X.d,
        seed=seed,
        seconds=time.perf_counter() - started,
        map=phi.describe(),
        versions=versions(),
        together=moved,
    )


def _check_texts(train: Sequence[Sample], labels: Sequence[int], X: Sample) -> None:
    if not len(train):
        raise InputError("at least one training text", "none", "pass N ≥ 1 texts")
    if len(labels) != len(train):
        raise InputError(
            f"{len(train)} labels, one per training text",
            f"{len(labels)} labels",
            "pass one label per text",
        )
    for number, text in enumerate(train):
        if text.X.shape != X.X.shape:
            raise InputError(
                f"texts of one size, n={X.n} and d={X.d}",
                f"n={text.n}, d={text.d} at training text {number}",
                "embed all of them with the same n and d",
            )
