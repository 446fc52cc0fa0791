"""An updated interpolator seen from the new text: its predictions with one row moved."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch

from wordsway.core.errors import InputError
from wordsway.core.sample import Sample
from wordsway.learning.interpolate import Updates, interpolate
from wordsway.learning.loss import Loss
from wordsway.learning.stack import Features, Listed, Stack, Texts
from wordsway.maps.base import FeatureMap, Readout, View, nonzero_norm, search_view_of

UPDATES = ("fine-tune", "retrain")


@dataclass(frozen=True)
class Problem:
    """An interpolator after an update with (X, y), seen from X: for a row i and a Δ, u = f(X^i(Δ),
    θ*) and the alignment a = A(Δ) tell everything.

    f(X^i(Δ), θ′) = u + a·(y − f(X, θ*)), and the changed text is meant to get −y. ``readout`` gives
    u and the a of every update, this one's at ``column``; ``search_readout`` the same where less
    than float64 finds the same places; ``before`` and ``after`` are f(X, θ*) and f(X, θ′);
    ``v_norm2`` is ‖v‖²; ``ends`` are the rows' certified S so far, and ``known`` the Δ that were
    found for this update and others of the same lesson.
    """

    phi: FeatureMap
    view: View
    readout: Readout
    search_view: View
    search_readout: Readout
    updates: Updates
    y: int
    before: float
    after: float
    v_norm2: float
    column: int
    ends: dict[tuple[int, float], float | None] = field(default_factory=dict)
    known: dict[Hashable, torch.Tensor] = field(default_factory=dict)

    def certified(self, row: int, radius: float) -> float | None:
        """The certified S of one row, asked for once; None where there is no certificate."""
        if (row, radius) not in self.ends:
            bound = self.view.certify([row], radius)
            end = math.inf if bound is None else float(bound.upper[0])
            self.ends[row, radius] = end if end < math.inf else None
        return self.ends[row, radius]

    def loss(self, name: str, penalty: float = 0.0, update: str | None = None) -> Loss | None:
        """What a Δ minimises after this update, or another; None where that one is impossible."""
        column = self.column if update is None else UPDATES.index(update) + 1
        if column > len(UPDATES) - (not self.updates.fresh2 > 0):
            return None
        return Loss(name, float(self.y), self.residual, self.before, penalty, column)

    @property
    def residual(self) -> float:
        """y − f(X, θ*)."""
        return self.updates.residual

    @property
    def ratio(self) -> float:
        """‖φ(X)‖/‖v‖."""
        return math.sqrt(self.updates.norm2 / self.v_norm2)

    def error(self, u: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        """(f(X^i(Δ), θ′) + y)²."""
        return (u + a * self.residual + self.y) ** 2

    def floor(self, gamma: float, sensitivity: float) -> float:
        """The error's lower bound, (2 − γ − S·(‖φ(X)‖/‖v‖)·|y − f(X,θ*)|)₊²."""
        return max(0.0, 2 - gamma - sensitivity * self.ratio * abs(self.residual)) ** 2


class Lesson:
    """The interpolator of the training texts and a new one (X, y) to update it with, by either
    update: features, Gram matrix and factorisation are shared by all questions about it.
    """

    def __init__(
        self,
        features: Features,
        train: Texts,
        labels: Sequence[int],
        X: Sample,
        y: int,
        rows: Sequence[int],
    ) -> None:
        _check(len(train), labels, y)
        stacked = Stack(features, train, X, rows)
        self.phi = stacked.phi
        self.texts = len(train)
        self.X = X
        self.y = int(y)
        self.updates = interpolate(stacked, torch.tensor(labels, dtype=torch.float64), float(y))
        nonzero_norm(math.sqrt(self.updates.norm2), self.phi.name)
        self._ends: dict[tuple[int, float], float | None] = {}
        self._known: dict[Hashable, torch.Tensor] = {}

    def updated(self, update: str) -> Problem:
        """The problem of one update."""
        check_update(update)
        found = self.updates
        if update == "retrain" and not found.fresh2 > 0:
            raise InputError(
                "a new text whose features are not in the span of the training texts'",
                f"rank {found.rank} of {self.texts}",
                "take fewer training texts, or fine-tune",
            )
        if update == "fine-tune":
            v_norm2, theta = found.norm2, found.fine_tuned
        else:
            v_norm2, theta = found.fresh2, found.retrained
        readout, search_readout = self._readouts
        return Problem(
            phi=self.phi,
            view=self._view,
            readout=readout,
            search_view=self._search_view,
            search_readout=search_readout,
            updates=found,
            y=self.y,
            before=float(found.own @ found.start),
            after=float(found.own @ theta),
            v_norm2=v_norm2,
            column=UPDATES.index(update) + 1,
            ends=self._ends,
            known=self._known,
        )

    @cached_property
    def _readouts(self) -> tuple[Readout, Readout]:
        """Of θ* and of every update's v/‖v‖²."""
        found = self.updates
        thetas = [found.start, found.own / found.norm2]
        if found.fresh2 > 0:
            thetas.append(found.fresh / found.fresh2)
        stacked = torch.stack(thetas)
        readout = self._view.readout(stacked)
        if self._search_view is self._view:
            return readout, readout
        return readout, self._search_view.readout(stacked)

    @cached_property
    def _view(self) -> View:
        return self.phi.view(self.X, torch.float64)

    @cached_property
    def _search_view(self) -> View:
        found = search_view_of(self.phi, self.X)
        return self._view if found.X.dtype == torch.float64 else found


def update_interpolator(
    phi: FeatureMap,
    train: Sequence[Sample],
    labels: Sequence[int],
    X: Sample,
    y: int,
    *,
    update: str,
    rows: Sequence[int],
) -> Problem:
    """Interpolate the training texts, update with (X, y), and get ready for Δ at these rows of X,
    one after another.
    """
    check_update(update)
    return Lesson(Features(phi), Listed(train), labels, X, y, rows).updated(update)


def check_update(update: str) -> None:
    """Refuse an update of another name."""
    if update not in UPDATES:
        raise InputError(
            f"an update among {', '.join(UPDATES)}", repr(update), "choose one of them"
        )


def _check(texts: int, labels: Sequence[int], y: int) -> None:
    if not texts:
        raise InputError("at least one training text", "none", "pass N ≥ 1 texts")
    if len(labels) != texts:
        raise InputError(
            f"{texts} labels, one per training text",
            f"{len(labels)} labels",
            "pass one label per text",
        )
    for label in [*labels, y]:
        if label not in (-1, 1):
            raise InputError("labels −1 or 1", repr(label), "map your labels to ±1")
    if len(set(labels)) < 2 and len(labels) > 1:
        raise InputError(
            "training texts of both labels",
            f"only {int(labels[0]):+d}",
            "add texts of the other label",
        )
