"""Other changes than that of one row in the Frobenius norm: other norms, several rows at once.

An objective is a norm N of the features' change, and S is measured relative to the text's own,

    N(φ(X′) − φ(X)) / N(φ(X)).

All of these norms are at most the Frobenius norm, so a certificate of the latter, times
‖φ(X)‖/N(φ(X)), is one of theirs.

Rows that move together are searched as one vector of m·d numbers, each row in its own set. Fully
connected maps treat them as one block of V; other maps are evaluated by their definition. Of
attention whose rows are means of the text's rows, φ_j(X′) lies in the convex hull of the rows of X′
and 0, so that a row that attends to a moved one changes by at most

    max(‖φ_j‖, ‖x_l − φ_j‖ for rows l that stay, ‖x_k − φ_j‖ + r for rows k that move).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, final

import torch

from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, silent
from wordsway.core.sample import Sample, float64
from wordsway.maps.attention.one_matrix.view import AttentionView
from wordsway.maps.base import FeatureMap, View, nonzero_norm
from wordsway.maps.dense.definition import FullyConnected
from wordsway.maps.dense.view import FullyConnectedView
from wordsway.maps.rigorous import SAFE, Certificate, relative
from wordsway.maps.rows import Derived, RowView

OBJECTIVES = ("frobenius", "largest-row", "operator", "row:J")


@final
class ChangeNorm:
    """N of changes (B, n, D) or (B, k) of the features ``before``, and ``size`` = N(before).

    ``objective`` is "frobenius", "largest-row" (the largest norm of a row), "operator", "row:J"
    (the norm of row J), or a direction θ of the features' shape: then N is |θ·φ|/‖θ‖, and ``size``
    is ‖φ(X)‖.

    >>> before = torch.tensor([[3.0, 4.0], [0.0, 1.0]]).double()
    >>> ChangeNorm("largest-row", before).size, ChangeNorm("row:1", before).size
    (5.0, 1.0)
    """

    def __init__(self, objective: Any, before: torch.Tensor) -> None:
        self.name, self.row = "direction", 0
        self.theta: torch.Tensor | None = None
        if isinstance(objective, str):
            self._named(objective, before)
            size = float(self(before[None])[0])
        else:
            self._direction(objective, before)
            size = float(before.norm())
        self.size = nonzero_norm(size, f"the objective {self.name}")

    def _named(self, objective: str, before: torch.Tensor) -> None:
        self.name = objective
        kind, _, row = objective.partition(":")
        known = objective in OBJECTIVES[:3] or (kind == "row" and row.isdecimal())
        if not known or (kind == "row" and int(row) >= len(before)):
            raise InputError(
                f"an objective among {', '.join(OBJECTIVES)} (J below {len(before)}), or a "
                "direction",
                repr(objective),
                "frobenius is the paper's",
            )
        if kind != "frobenius" and before.ndim != 2:
            raise InputError(
                f"features with rows for the objective {kind}",
                f"shape {tuple(before.shape)}",
                "use frobenius or a direction",
            )
        self.row = int(row or 0)

    def _direction(self, objective: Any, before: torch.Tensor) -> None:
        theta = float64(objective, "a direction of the features")
        if theta.shape != before.shape or not 0 < float(theta.norm()) < float("inf"):
            raise InputError(
                f"a direction of the features' shape {tuple(before.shape)}, not 0",
                f"shape {tuple(theta.shape)}",
                f"or an objective among {', '.join(OBJECTIVES)}",
            )
        self.theta = theta.flatten() / theta.norm()

    def __call__(self, changes: torch.Tensor) -> torch.Tensor:
        """N of each change, (B,)."""
        return self.squares(changes).sqrt()

    def squares(self, changes: torch.Tensor) -> torch.Tensor:
        """N² of each change, (B,), differentiable."""
        if self.theta is not None:
            return (changes.flatten(1) @ self.theta.to(changes)) ** 2
        if self.name == "operator":
            return torch.linalg.matrix_norm(changes, 2) ** 2
        if self.name == "frobenius":
            return (changes * changes).flatten(1).sum(1)
        rows = (changes * changes).sum(-1)
        return rows.amax(1) if self.name == "largest-row" else rows[:, self.row]


class ChangeView(View):
    """A view of which the changes of all features are known, measured by a norm; ``like`` is the
    view of the same text that it proposes points like.
    """

    def __init__(self, like: View, norm: ChangeNorm, features: int) -> None:
        super().__init__(like.X, replace(like.plan, solver="ascent"))
        self.like, self.norm, self.small = like, norm, like.small
        self.dimension, self.rows_moved = like.dimension, like.rows_moved
        self.bytes_per_point = like.bytes_per_point + 6 * features * like.X.itemsize
        self.bytes_retained_per_eval, self.max_batch = like.bytes_retained_per_eval, like.max_batch

    @abstractmethod
    def changes(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        """φ(X′) − φ(X) of each point, (B, …), differentiable in Δ."""

    def traced(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        return self.norm.squares(self.changes(rows, delta)) / self.norm.size**2

    def smoothed(self, width: float) -> View:
        like = self.like.smoothed(width)
        return self if like is self.like else self.copied(like=like)

    def suggest(
        self, problems: Sequence[int], count: int, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        return self.like.within(self.reach).suggest(problems, count, noise)

    def landmark(self, problem: int) -> torch.Tensor:
        return self.like.landmark(problem)

    @property
    def rounding(self) -> float:
        return self.like.rounding

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate | None:
        found = self.like.within(self.reach, self.constraint).certify(rows, radius, progress)
        return None if found is None else _in_norm(found, self.norm, self._before, self.rounding)

    @property
    @abstractmethod
    def _before(self) -> float:
        """‖φ(X)‖."""


def _in_norm(found: Certificate, norm: ChangeNorm, before: float, error: float) -> Certificate:
    """A certificate in the Frobenius norm as one in another."""
    below = norm.size * (1 - 1e-9) - error * SAFE
    scale = relative((before + error) * SAFE, max(0.0, below))
    return found.replaced([upper * scale * SAFE for upper in found.upper.tolist()])


@final
class NormView(ChangeView):
    """The view of one row, or of rows together, in another norm."""

    def __init__(self, like: View, norm: ChangeNorm, before: torch.Tensor) -> None:
        super().__init__(like, norm, before.numel())
        self._size = float(before.norm())

    @property
    def _before(self) -> float:
        return self._size

    def changes(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        like = self.like
        if isinstance(like, ChangeView):
            return like.changes(rows, delta)
        if isinstance(like, RowView):
            return like.moving_alone(rows, delta).dense()
        assert isinstance(like, FullyConnectedView)
        trace = like.trace

        def moved(delta: torch.Tensor) -> Any:
            change, layers = trace.forward(rows, delta)
            return change, lambda slope: trace.backward(rows, layers, slope)

        found: torch.Tensor = Derived.apply(delta, moved)  # type: ignore[no-untyped-call]
        return found


@final
class DefinitionView(ChangeView):
    """Moves of one row, or of ``together``, evaluated by the map's definition and autograd."""

    def __init__(
        self, phi: FeatureMap, sample: Sample, like: View, together: tuple[int, ...] | None
    ) -> None:
        with torch.no_grad():
            before = phi.features(like.X[None], like.X.dtype).clone()
        super().__init__(like, ChangeNorm("frobenius", before[0]), before.numel())
        self._map, self._features, self.together = phi, before, together
        self.rows_moved = len(together or (0,))
        self.dimension = self.rows_moved * sample.d
        self.bytes_per_point = self.rows_moved * like.bytes_per_point
        self.bytes_per_point += 8 * (sample.X.numel() + before.numel()) * like.X.itemsize

    @property
    def _before(self) -> float:
        return float(self._features.norm())

    def changes(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        X, each = self.X, torch.arange(len(rows), device=self.X.device)[:, None]
        places = rows[:, None] if self.together is None else torch.tensor([self.together])
        moved = X.new_zeros(len(rows), *X.shape)
        moved = moved.index_put(
            (each, places.to(X.device)), delta.unflatten(-1, (self.rows_moved, -1))
        )
        return self._map.features(X + moved, X.dtype) - self._features

    def smoothed(self, width: float) -> View:
        return self

    def suggest(
        self, problems: Sequence[int], count: int, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        """The single rows' suggestions side by side."""
        if self.together is None:
            return super().suggest(problems, count, noise)
        alone = self.like.within(self.reach / self.rows_moved**0.5)
        return torch.cat([alone.suggest([row], count, noise) for row in self.together], -1)

    def landmark(self, problem: int) -> torch.Tensor:
        return -self.X[list(self.together or (problem,))].flatten()

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate | None:
        if self.rows_moved == 1:
            return self.like.certify(rows, radius, progress)
        if not isinstance(self.like, AttentionView) or not self.like.layer.scores.normalised:
            return None
        return certify_hull(self.like, self.together or (), radius / self.rows_moved**0.5)


def certify_hull(view: AttentionView, together: Sequence[int], radius: float) -> Certificate:
    """The bound of the module's last formula, for rows that move by ``radius`` each."""
    layer = view.layer
    apart = torch.cdist(layer.phi, layer.X, compute_mode="donot_use_mm_for_euclid_dist")
    apart[:, list(together)] += radius
    moves = torch.maximum(apart.amax(1), layer.phi.norm(dim=1)) + layer.errors.rows
    moved = torch.stack([view.rows_attending_to(row) for row in together]).any(0)
    total = float((moves + layer.text_error)[moved].norm()) * SAFE
    return Certificate.exact(torch.tensor([relative(total, layer.norm_below)]).double())


def together_view(phi: FeatureMap, sample: Sample, rows: tuple[int, ...], like: View) -> View:
    """The view in which all of ``rows`` move, in the arithmetic of ``like``."""
    if isinstance(phi, FullyConnected):
        return phi.together(sample, rows, like.X.dtype)
    return DefinitionView(phi, sample, like, rows)


def norm_view(phi: FeatureMap, sample: Sample, like: View, norm: ChangeNorm) -> View:
    """The view of the same moves in another norm."""
    if not isinstance(like, ChangeView | RowView | FullyConnectedView):
        like = DefinitionView(phi, sample, like, None)
    return NormView(like, norm, phi.exact(sample))
