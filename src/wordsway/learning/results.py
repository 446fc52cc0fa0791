"""The results of `learn`: one row of the new text that changes, and all rows that were searched."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import torch

from wordsway.core.chart import ReferenceLine
from wordsway.core.result import SequenceResult, fields_of

if TYPE_CHECKING:
    import pandas

#: An error below this counts as 0: the label has flipped, and smaller errors are rounding.
FLIPPED = 1e-12
#: A flip changes the output by 2. Above this γ, the old model makes most of that change, and the
#: error, (2 − γ)² without learning, says little about the update.
SMALL_GAMMA = 1.0


def difficulty(error: float, gamma: float) -> tuple[float, float]:
    """A key that sorts rows, easiest first: by the error, and flipped ones by γ.

    >>> difficulty(1e-29, 0.3) < difficulty(1e-31, 0.4) < difficulty(0.5, 0.1)
    True
    """
    return max(error, FLIPPED), gamma


def ignored_share(error: float, gamma: float) -> float | None:
    """√Err/(2 − γ): 1 if the word is ignored, 0 if the flip is learnt; None above `SMALL_GAMMA`.

    >>> ignored_share(1.0, 1.0), ignored_share(0.25, 0.5), ignored_share(0.0, 1.8)
    (1.0, 0.3333333333333333, None)
    """
    return None if gamma > SMALL_GAMMA else math.sqrt(error) / (2 - gamma)


def blind_curve(label: str) -> ReferenceLine:
    """The error (2 − γ)² of a layer that ignores the changed word, for charts."""
    gamma = [step / 50 for step in range(101)]
    return ReferenceLine(label, gamma, [(2 - x) ** 2 for x in gamma], style="--")


@dataclass(frozen=True)
class FlipRow:
    """Predictions before and after the update, on the original text and with one row changed.

        error     = (after_changed + y)²
        gamma     = |before_changed − before_original|
        alignment = A(Δ) = φ(X^i(Δ))·v/‖v‖²

    ``bound`` is the lower bound of the error that the certified ``sensitivity`` implies, None
    without a certificate.
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
    def difficulty(self) -> tuple[float, float]:
        return difficulty(self.error, self.gamma)

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "delta"}


@dataclass(frozen=True)
class FlipResult(SequenceResult[FlipRow], items="rows"):
    """One `FlipRow` per searched row, in the order of ``positions``; ``best`` is the easiest.

    Iterating, indexing and ``len`` go over the rows. ``delta`` is the best row's Δ; check it with
    ``phi(X.replaced(position, delta))``. Rows that move ``together`` have one result, and a
    ``delta`` with a row for each of them.
    """

    rows: tuple[FlipRow, ...]
    update: str
    loss: str
    penalty: float
    train: int
    radius: float
    n: int
    d: int
    seed: int
    seconds: float
    map: dict[str, Any]
    versions: dict[str, str]
    together: tuple[int, ...] | None = None

    @property
    def best(self) -> FlipRow:
        return min(self.rows, key=lambda row: row.difficulty)

    @property
    def position(self) -> int:
        return self.best.position

    @property
    def delta(self) -> torch.Tensor:
        return self.best.delta

    def to_dict(self) -> dict[str, Any]:
        """The best row with its Δ, all rows, the settings and the versions."""
        rows = [row.to_dict() for row in self.rows]
        return (
            self.best.to_dict()
            | fields_of(self)
            | {"delta": self.delta.tolist(), "rows": rows, "versions": dict(self.versions)}
        )

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per searched row."""
        import pandas

        columns = [field.name for field in fields(FlipRow) if field.name != "delta"]
        return pandas.DataFrame([row.to_dict() for row in self.rows], columns=columns)

    def __repr__(self) -> str:
        best = self.best
        floor = "no bound" if best.bound is None else f"bound={best.bound:.4g}"
        return (
            f"FlipResult(error={best.error:.4g}, {floor}, gamma={best.gamma:.4g}, "
            f"position={best.position}, rows={len(self)})"
        )
