"""Other changes than that of one row in the Frobenius norm: other norms, several rows at once.

An objective is a norm N of the features' change, and S is measured relative to the text's own,

    N(φ(X′) − φ(X)) / N(φ(X)).

All of these norms are at most the Frobenius norm, so a certificate of the latter, times
‖φ(X)‖/N(φ(X)), is one of theirs.

Rows that move together are searched as one vector of m·d numbers, each row in its own set. Fully
connected maps treat them as one block of V; other maps are evaluated by their definition, and
attention is certified by the hull of the moved text (Theorem 21 of docs/statements/wrappers.md).

A text X′ with a word more or less has other rows of features than X. Features of a fixed size are
compared as they are; of features with a row for each word, the rows of the words that both texts
have are compared, and S is still relative to ‖φ(X)‖. An inserted word is a zero row that moves:
with X⁰ the text with a zero row, or a short one, at that place (Theorem 19),

    ‖φ(X′) − φ(X)‖ ≤ S(X⁰)·‖φ(X⁰)‖ + ‖φ(X⁰) − φ(X)‖.
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
from wordsway.maps.attention.heads import HeadsLayer, HeadsView
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.attention.one_matrix.view import AttentionView
from wordsway.maps.base import (
    FeatureMap,
    FeatureRangeError,
    Readout,
    TracedReadout,
    View,
    nonzero_norm,
)
from wordsway.maps.dense.definition import FullyConnected
from wordsway.maps.dense.view import FullyConnectedView
from wordsway.maps.rigorous import SAFE, Certificate, norm_lower_bound, opnorm_upper_bound, relative
from wordsway.maps.rows import Derived, Moving, RowView
from wordsway.maps.wrappers import NormedView, ReadOutView, ResidualView

#: The norm of a short row that is inserted before it moves, as a share of the radius.
NEARLY_ZERO = 1e-6
EDITS = ("replace", "insert", "delete")
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
    """The changes of all features in a norm; ``like`` is a view of the same text, for starts."""

    def __init__(self, like: View, norm: ChangeNorm, before: torch.Tensor) -> None:
        super().__init__(like.X, replace(like.plan, solver="ascent"))
        self.like, self.norm, self.small, self._before = like, norm, like.small, before
        self.dimension, self.rows_moved = like.dimension, like.rows_moved
        self.bytes_per_point = like.bytes_per_point + 6 * before.numel() * like.X.itemsize
        self.bytes_retained_per_eval, self.max_batch = like.bytes_retained_per_eval, like.max_batch

    @abstractmethod
    def changes(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        """φ(X′) − φ(X) of each point, (B, …), differentiable in Δ."""

    def traced(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        return self.norm.squares(self.changes(rows, delta)) / self.norm.size**2

    def suggest(
        self, problems: Sequence[int], count: int, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        return self.like.within(self.reach).suggest(problems, count, noise)

    @property
    def rounding(self) -> float:
        return self.like.rounding


@final
class NormView(ChangeView):
    """The view of one row, or of rows together, in another norm."""

    def smoothed(self, width: float) -> View:
        like = self.like.smoothed(width)
        return self if like is self.like else self.copied(like=like)

    def landmark(self, problem: int) -> torch.Tensor:
        return self.like.landmark(problem)

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate | None:
        """The certificate in the Frobenius norm, as one in this norm."""
        found = self.like.within(self.reach, self.constraint).certify(rows, radius, progress)
        if found is None:
            return None
        error = self.rounding
        below = self.norm.size * (1 - 1e-9) - error * SAFE
        scale = relative((float(self._before.norm()) + error) * SAFE, max(0.0, below))
        return found.replaced([upper * scale * SAFE for upper in found.upper.tolist()])

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
        super().__init__(like, ChangeNorm("frobenius", before[0]), before)
        if together and self.plan.widths:  # kinks of a definition stay; generations find more
            self.plan = replace(self.plan, widths=(), rounds=2)
        self._map, self.together = phi, together
        self.rows_moved = len(together or (0,))
        self.dimension = self.rows_moved * sample.d
        self.bytes_per_point = self.rows_moved * like.bytes_per_point
        self.bytes_per_point += 8 * (sample.X.numel() + before.numel()) * like.X.itemsize

    def changes(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        X, each = self.X, torch.arange(len(rows), device=self.X.device)[:, None]
        places = rows[:, None] if self.together is None else torch.tensor([self.together])
        moved = X.new_zeros(len(rows), *X.shape)
        moved = moved.index_put(
            (each, places.to(X.device)), delta.unflatten(-1, (self.rows_moved, -1))
        )
        return self._map.features(X + moved, X.dtype) - self._before

    def readout(self, thetas: torch.Tensor) -> Readout:
        theta, before = thetas.to(self.X), self._before
        return TracedReadout(
            lambda *move: (before + self.changes(*move)).flatten(1) @ theta.T, self.X
        )

    def suggest(
        self, problems: Sequence[int], count: int, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        """The single rows' suggestions side by side."""
        if self.together is None:
            return super().suggest(problems, count, noise)
        alone = self.like.within(self.reach / self.rows_moved**0.5)
        every = [[row] * len(problems) for row in self.together]
        return torch.cat([alone.suggest(rows, count, noise) for rows in every], -1)

    def landmark(self, problem: int) -> torch.Tensor:
        return -self.X[list(self.together or (problem,))].flatten()

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate | None:
        if self.rows_moved == 1:
            return self.like.certify(rows, radius, progress)
        view = _around_hull(self.like, self.together or ())
        return None if view is None else view.certify(rows[:1], radius, progress)


def _around_hull(view: View, together: tuple[int, ...]) -> View | None:
    """The view with the attention in it certified for rows together; None where that is unknown."""
    if isinstance(view, AttentionView | HeadsView):
        scores = view.layer.scores if isinstance(view, AttentionView) else view.layer.setting.scores
        return None if scores.limit is None else HullView(view, together, scores.limit)
    if isinstance(view, ResidualView | NormedView | ReadOutView):
        inner = _around_hull(view.inner, together)
        return None if inner is None else view.copied(inner=inner)
    return None


@final
class HullView(RowView):
    """The view of attention, certified for rows that move together, by ``radius`` in all."""

    def __init__(
        self, view: AttentionView | HeadsView, together: tuple[int, ...], limit: str
    ) -> None:
        super().__init__(view.X, view.plan)
        self._view, self._together, self._limit = view, list(together), limit
        self.rows_before, self.norm = view.rows_before, view.norm

    @property
    def row_errors(self) -> torch.Tensor:
        return self._view.row_errors

    def rows_attending_to(self, i: int) -> torch.Tensor:
        return torch.stack([self._view.rows_attending_to(row) for row in self._together]).any(0)

    def moving(self, bases: torch.Tensor) -> Moving:
        return self._view.moving(bases)

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate:
        layer, each = self._view.layer, radius / len(self._together) ** 0.5
        terms = 1 if self._limit == "simplex" else len(self.X)  # values with an error in a bound
        if isinstance(layer, Layer):
            moves = self._moves(layer.s, layer.X, layer.phi, each) + layer.errors.rows
            moves = moves + layer.text_error * terms
        else:
            moves = self._of_heads(layer, each, terms)
        total = float(moves[self.rows_attending_to(rows[0])].norm()) * SAFE
        upper = relative(total, layer.norm_below)
        return Certificate.exact(torch.tensor([upper], dtype=torch.float64))

    def _moves(
        self, s: torch.Tensor, values: torch.Tensor, out: torch.Tensor, reach: float
    ) -> torch.Tensor:
        """How far the rows ``out`` of shares of ``values`` move, (n,)."""
        if self._limit == "simplex":
            apart = torch.cdist(out, values, compute_mode="donot_use_mm_for_euclid_dist")
            apart[:, self._together] += reach
            return torch.maximum(apart.amax(1), out.norm(dim=1))
        sizes = values.norm(dim=1)
        sizes[self._together] += reach
        terms = torch.where(s > -torch.inf, sizes, 0.0)
        found = terms[:, self._together].sum(1)
        found[self._together] = terms[self._together].sum(1)
        return found

    def _of_heads(self, layer: HeadsLayer, radius: float, terms: int) -> torch.Tensor:
        weights, H = layer.setting.weights, layer.setting.weights.heads
        total = torch.zeros(len(layer.X), dtype=torch.float64, device=layer.X.device)
        for h, errors in enumerate(layer.errors.heads):
            V, O = weights.value_matrix(h), weights.O
            reach = radius if V is None else radius * opnorm_upper_bound(V)
            moves = self._moves(layer.s[h], layer.v[:, h], layer.heads[:, h], reach)
            moves = moves + errors.rows + errors.text * terms
            size = 1.0 if O is None else opnorm_upper_bound(O.unflatten(0, (H, -1))[h])
            total = total + size * moves
        return total


def edited(X: torch.Tensor, edit: str, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
    """X (n×d) without each of the rows, or with Δ (B, d) inserted before it, (B, n ± 1, d)."""
    n, own = len(X), rows[:, None]
    if edit == "delete":
        order = torch.arange(n - 1, device=X.device)
        return X[order + (order >= own)]
    order = torch.arange(n + 1, device=X.device)
    places = torch.where(order == own, n, order - (order > own).long())
    longer = torch.cat([X.expand(len(rows), -1, -1), delta[:, None]], 1)
    return longer[torch.arange(len(rows), device=X.device)[:, None], places]


def aligned(
    before: torch.Tensor, edit: str, rows: torch.Tensor, after: torch.Tensor
) -> torch.Tensor:
    """The features ``after`` (B, …) of edited texts in the shape of φ(X), ``before``: row by row
    those of the same words. A deleted word's row is that of φ(X).
    """
    if after.shape[1:] == before.shape:
        return after
    n, more = len(before), 1 if edit == "insert" else -1
    if before.ndim != 2 or after.shape[1:] != (n + more, before.shape[1]):
        raise InputError(
            f"features of a fixed size, or with a row for each word, to {edit} a word",
            f"shapes {tuple(before.shape)} and {tuple(after.shape[1:])}",
            "read out the mean, or keep the rows",
        )
    order, own = torch.arange(n, device=rows.device), rows[:, None]
    each = torch.arange(len(rows), device=rows.device)[:, None]
    if edit == "insert":
        return after[each, order + (order >= own)]
    others = after[each, (order - (order > own).long()).clamp_max(n - 2)]
    return torch.where((order == own)[..., None], before, others)


@final
class EditView(ChangeView):
    """Texts with a word Δ inserted at each place, or deleted; by the definition and autograd."""

    def __init__(self, phi: FeatureMap, sample: Sample, like: View, edit: str) -> None:
        with torch.no_grad():
            before = phi.features(like.X[None], like.X.dtype)[0].clone()
        super().__init__(like, ChangeNorm("frobenius", before), before)
        self._map, self._sample, self._edit = phi, sample, edit
        self.bytes_per_point += 8 * (sample.X.numel() + sample.n**2) * like.X.itemsize

    def changes(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        after = self._map.features(edited(self.X, self._edit, rows, delta), self.X.dtype)
        return aligned(self._before, self._edit, rows, after) - self._before

    def suggest(
        self, problems: Sequence[int], count: int, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        """What the row at that place would be moved by."""
        rows = [min(place, self._sample.n - 1) for place in problems]
        return super().suggest(rows, count, noise)

    def landmark(self, problem: int) -> torch.Tensor:
        return self.X.new_zeros(self.dimension)

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate | None:
        """The module's last formula, place by place."""
        found = [self._certify(row, radius) for row in rows]
        certain = [one for one in found if one is not None]
        if len(certain) < len(found):
            return None
        return certain[0].replaced([float(one.upper[0]) for one in certain])

    def _certify(self, row: int, radius: float) -> Certificate | None:
        """From a zero row. Its scores are 0, and rounding may hide the sign of such a score: a row
        of ReLU attention with no positive score then has no certificate. A short row has one.
        """
        ones = torch.ones(self._sample.d, dtype=torch.float64)
        for base in (0 * ones, NEARLY_ZERO * radius / float(ones.norm()) * ones):
            found = self._certify_from(base, row, radius + float(base.norm()) * SAFE)
            if found is None or bool(found.upper.isfinite().all()):
                break
        return found

    def _certify_from(self, base: torch.Tensor, row: int, radius: float) -> Certificate | None:
        longer = self._sample.inserted(row, base)
        try:
            view = self._map.view(longer, torch.float64)
        except FeatureRangeError:  # φ(X⁰) = 0
            return None
        found = view.within(self.reach, self.constraint).certify([row], radius)
        if found is None:
            return None
        before = self._map.exact(longer)
        place = torch.tensor([row], device=before.device)
        apart = aligned(self._before, "insert", place, before[None])[0] - self._before
        off = view.rounding
        total = float(found.upper[0]) * (float(before.norm()) + off) + float(apart.norm())
        norm = norm_lower_bound(self._before, self.rounding)
        return found.replaced([relative((total + off + self.rounding) * SAFE, norm)])


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
