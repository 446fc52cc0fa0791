"""One learning problem: an interpolator, a new text, and the Δ of one row that flips its label."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import torch

from wordsway.constraints import L2, Choices, Constraint, euclidean, exactly_in
from wordsway.core.errors import InputError, WordswayError
from wordsway.core.progress import Progress, silent
from wordsway.core.runtime import single_thread
from wordsway.core.sample import Sample
from wordsway.core.seeds import generator
from wordsway.intervals import MEMORY
from wordsway.learning.features import Stack, TrainingFeatures
from wordsway.learning.interpolate import interpolate
from wordsway.learning.losses import POLISH, UPDATES, FlipSetting, NegativeLosses
from wordsway.learning.results import FlipRow
from wordsway.maps.base import Readout, View, nonzero_norm, search_view_of
from wordsway.maps.objectives import together_view
from wordsway.optimize import maximise

#: How far rounding may carry an error below its certified bound.
SLACK = 1e-7


class FlipProblem:
    """The interpolator of the first N texts of ``features``, to be updated with (X, y).

    After an update along v, v = φ(X) (fine-tuned) or v = P⊥φ(X) (re-trained), the prediction for
    the text with row i changed by Δ follows from two readouts, u = f(X^i(Δ), θ*) and the alignment
    A(Δ) = φ(X^i(Δ))·v/‖v‖²:

        f(X^i(Δ), θ′) = u + A(Δ)·(y − f(X, θ*)),

    and the changed text is to get −y. Features, Gram matrix and factorisation serve every row, both
    updates and all losses. With rows ``together``, Δ is (m, d), and all of them move.
    """

    def __init__(
        self,
        features: TrainingFeatures,
        labels: Sequence[int],
        X: Sample,
        y: int,
        together: tuple[int, ...] | None = None,
    ) -> None:
        _check_labels([*labels, y])
        stack = Stack(features, len(labels), X)
        self.phi, self.X, self.y, self.together = stack.phi, X, int(y), together
        self.train = len(labels)
        found = interpolate(stack, torch.tensor(labels, dtype=torch.float64), float(y))
        self.updates = found
        nonzero_norm(math.sqrt(found.norm2), self.phi.name)
        self.before = float(found.own @ found.start)
        thetas = [found.start, found.own / found.norm2]
        if found.fresh2 > 0:
            thetas.append(found.fresh / found.fresh2)
        self.view, self.readout = self._seen(self.phi.view(X, torch.float64), thetas)
        self.search_view, self.search_readout = self.view, self.readout
        fast = search_view_of(self.phi, X)
        if fast.X.dtype != torch.float64 and not fast.plan.widths:  # losses with kinks gain nothing
            self.search_view, self.search_readout = self._seen(fast, thetas)

    def _seen(self, view: View, thetas: list[torch.Tensor]) -> tuple[View, Readout]:
        """The view of the rows that move, from that of one row, and its readouts."""
        if self.together is not None:
            view = together_view(self.phi, self.X, self.together, view)
        return view, view.readout(torch.stack(thetas))

    @property
    def residual(self) -> float:
        """y − f(X, θ*)."""
        return self.updates.residual

    def v_norm2(self, update: str) -> float:
        """‖v‖² of an update; raises where φ(X) adds no direction to re-train on."""
        found = self.updates
        if update == "fine-tune":
            return found.norm2
        if not found.fresh2 > 0:
            raise InputError(
                "a new text whose features are not in the span of those of the training texts",
                f"rank {found.rank} of {self.train}",
                "take fewer training texts, or fine-tune",
            )
        return found.fresh2

    def search(
        self,
        row: int,
        settings: Sequence[FlipSetting],
        *,
        radius: float,
        constraint: Constraint | Choices | None = None,
        seed: int = 0,
        certificate: bool = True,
        memory: int = MEMORY,
        progress: Progress = silent,
    ) -> list[FlipRow]:
        """The Δ of one row that minimises the loss of each setting, all settings in one search.

        ``constraint`` is a set in the ball of this radius, the ball by default. Where weights are
        drawn on demand, those of a row are only kept until the next row is searched: evaluate
        a row's other changes before that. Rows together have the set, or the ball, each.
        """
        started = time.perf_counter()
        for setting in settings:
            self.v_norm2(setting.update)
        reach = radius * math.sqrt(len(self.together or (0,)))
        with single_thread(self.view.small), torch.no_grad():
            upper = None
            if certificate:
                progress("certifying", 0, 1)
                bound = self.view.certify([row], reach)
                end = math.inf if bound is None else float(bound.upper[0])
                upper = end if end < math.inf else None
            if isinstance(constraint, Choices):
                deltas = self._choose(row, settings, constraint)
            else:
                ball = None if euclidean(constraint) else constraint
                if self.together is not None and ball is None:
                    ball = L2(radius)
                deltas = self._minimise(row, settings, reach, ball, seed, memory, progress)
                if self.together is not None:
                    deltas = deltas.unflatten(1, (len(self.together), -1))
                deltas = exactly_in(ball, deltas, radius)
            seconds = (time.perf_counter() - started) / len(settings)
            return [
                self.evaluate(row, delta, setting.update, upper, seconds)
                for delta, setting in zip(deltas, settings, strict=True)
            ]

    def _choose(self, row: int, settings: Sequence[FlipSetting], choices: Choices) -> torch.Tensor:
        """The best Δ of each setting among the vectors, (T, d) or (T, m, d)."""
        losses = self._losses(self.readout, self.view, row, settings, 1.0, None).bounded(256)
        deltas = choices.vectors - self.X.X[row]
        if self.together is not None:
            deltas = choices.combined(self.X.X[list(self.together)])
        found = []
        for number in range(len(settings)):
            index = torch.full((len(deltas),), number)
            found.append(deltas[losses.values(index, deltas.flatten(1)).argmax()])
        return torch.stack(found)

    def _minimise(
        self,
        row: int,
        settings: Sequence[FlipSetting],
        radius: float,
        constraint: Constraint | None,
        seed: int,
        memory: int,
        progress: Progress,
    ) -> torch.Tensor:
        """The best Δ of each setting, (T, d); all begin at the same places."""
        sets = (row, settings, radius, constraint)
        how: dict[str, Any] = {"seed": seed, "memory": memory}
        rough = self._losses(self.search_readout, self.search_view, *sets)
        noise = generator(seed, "descent", row, device=rough.device)
        first = rough.starts(rough.plan.starts, noise)
        which = torch.arange(len(settings), device=rough.device)

        def at_first(_: Any, problems: Any, *__: Any) -> torch.Tensor:
            return first.expand(len(problems), -1, -1)

        x = maximise(rough, which, rough.plan, starts=at_first, progress=progress, **how).x
        if self.search_view is self.view or self.view.bytes_retained_per_eval:
            return x
        exact = self._losses(self.readout, self.view, *sets)
        x = x.to(exact.dtype)
        polished = maximise(
            exact, which, POLISH, starts=lambda _, problems, *__: x[problems, None], **how
        )
        better = polished.value > exact.value(which, x)
        return torch.where(better[:, None], polished.x, x)

    def _losses(
        self,
        readout: Readout,
        view: View,
        row: int,
        settings: Sequence[FlipSetting],
        radius: float,
        constraint: Constraint | None,
    ) -> NegativeLosses:
        how: dict[str, Any] = {"y": float(self.y), "residual": self.residual}
        return NegativeLosses(readout, view, row, radius, settings, **how, constraint=constraint)

    def _predictions(
        self, row: int, delta: torch.Tensor, update: str
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """u and A(Δ), each (B,), for Δ (B, d) or (B, m, d)."""
        rows = torch.full((len(delta),), row)
        readings = self.readout.values(rows, delta.flatten(1).to(self.view.X.dtype))
        return readings[:, 0], readings[:, UPDATES.index(update) + 1]

    def evaluate(
        self,
        row: int,
        delta: torch.Tensor,
        update: str,
        sensitivity: float | None = None,
        seconds: float = 0.0,
    ) -> FlipRow:
        """The predictions of the updated model for X^i(Δ).

        Every instance satisfies

            √Err ≥ 2 − γ − S·(‖φ(X)‖/‖v‖)·|y − f(X, θ*)|,   γ = |u − f(X, θ*)|,

        so that a certified S is a lower bound of the error (docs/learning.md). It is checked: a
        violation is a bug.
        """
        u, a = (float(one) for one in self._predictions(row, delta[None], update))
        changed = u + a * self.residual
        error = (changed + self.y) ** 2
        gamma = abs(u - self.before)
        found, v_norm2 = self.updates, self.v_norm2(update)
        theta = found.fine_tuned if update == "fine-tune" else found.retrained
        bound = None
        if sensitivity is not None:
            moved = sensitivity * math.sqrt(found.norm2 / v_norm2) * abs(self.residual)
            bound = max(0.0, 2 - gamma - moved) ** 2
        if not math.isfinite(error):
            raise WordswayError(
                f"the error at word {row} is not a number; please report it with the map, its seed "
                "and the texts"
            )
        if bound is not None and error < bound * (1 - SLACK) - SLACK:
            raise WordswayError(
                f"error {error:.9g} is below its certified bound {bound:.9g} at word {row}; this "
                "is a bug in wordsway (or, for a certificate 1 − 1e-9, that event): please report "
                "it with the map, its seed and the texts"
            )
        return FlipRow(
            position=row,
            before_original=self.before,
            before_changed=u,
            after_original=round(float(found.own @ theta), 12),
            after_changed=changed,
            error=error,
            gamma=gamma,
            alignment=a,
            bound=bound,
            sensitivity=sensitivity,
            v_norm=math.sqrt(v_norm2),
            phi_norm=math.sqrt(found.norm2),
            rank=found.rank,
            condition=found.condition,
            label=self.y,
            seconds=seconds,
            delta=delta,
        )

    def errors(self, row: int, replacements: torch.Tensor, update: str) -> torch.Tensor:
        """The error (V,) for each of the vectors (V, d), real words, say, in the place of row i."""
        deltas = replacements.to(torch.float64) - self.view.X[row].to(torch.float64)
        found = []
        with torch.no_grad():
            for part in deltas.split(256):
                u, a = self._predictions(row, part, update)
                found.append((u + a * self.residual + self.y) ** 2)
        return torch.cat(found)


def _check_labels(labels: Sequence[int]) -> None:
    """Refuse labels other than ±1, and training texts of one label. The new text's comes last."""
    for label in labels:
        if label not in (-1, 1):
            raise InputError("labels −1 or 1", repr(label), "map your labels to ±1")
    if len(labels) > 2 and len(set(labels[:-1])) < 2:
        raise InputError(
            "training texts of both labels",
            f"only {int(labels[0]):+d}",
            "add texts of the other label",
        )
