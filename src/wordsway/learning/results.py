"""What became of a changed word after an update, and of all that were tried."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import torch

from wordsway.core.result import SequenceResult, fields_of

if TYPE_CHECKING:
    import pandas

#: An error below this is 0: the label has flipped, and only rounding tells such errors apart.
FLIPPED = 1e-12


def difficulty(error: float, gamma: float) -> tuple[float, float]:
    """The order of rows, easiest first: by the error, and among flipped ones by γ, which the update
    cannot change.

    >>> difficulty(1e-29, 0.3) < difficulty(1e-31, 0.4) < difficulty(0.5, 0.1)
    True
    """
    return max(error, FLIPPED), gamma


@dataclass(frozen=True)
class Learned:
    """What became of one changed row: predictions before and after the update, on the original and
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
    def difficulty(self) -> tuple[float, float]:
        """How hard it was to flip the label, easiest least."""
        return difficulty(self.error, self.gamma)

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "delta"}


@dataclass(frozen=True)
class Learning(SequenceResult[Learned], items="rows"):
    """One `Learned` per searched row, in the order asked for; ``best`` is the easiest of them.

    Iterating, indexing and ``len`` go over the rows. ``delta`` is the best row's Δ; check it with
    ``phi(X.replaced(position, delta))``.
    """

    rows: tuple[Learned, ...]
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

    @property
    def best(self) -> Learned:
        return min(self.rows, key=lambda row: row.difficulty)

    @property
    def position(self) -> int:
        return self.best.position

    @property
    def delta(self) -> torch.Tensor:
        return self.best.delta

    def to_dict(self) -> dict[str, Any]:
        """The best row's numbers and its Δ, those of every row, and what it takes to make them
        again.
        """
        rows = [row.to_dict() for row in self.rows]
        return (
            self.best.to_dict()
            | fields_of(self)
            | {"delta": self.delta.tolist(), "rows": rows, "versions": dict(self.versions)}
        )

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per searched row."""
        import pandas

        columns = [field.name for field in fields(Learned) if field.name != "delta"]
        return pandas.DataFrame([row.to_dict() for row in self.rows], columns=columns)

    def __repr__(self) -> str:
        best = self.best
        floor = "no bound" if best.bound is None else f"bound={best.bound:.4g}"
        return (
            f"Learning(error={best.error:.4g}, {floor}, gamma={best.gamma:.4g}, "
            f"position={best.position}, rows={len(self)})"
        )
