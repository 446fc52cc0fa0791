"""How far every layer moves between two texts, on the rows that line up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from wordsway.models.causal import States
from wordsway.probing.layer_target import chosen_scaling, row_weights


@dataclass(frozen=True)
class LayerChange:
    """‖H(a) − H(b)‖/‖H(a)‖ of a layer (None where H(a) is 0).

    ``change`` is over all rows that line up, ``behind`` over those of them behind the common
    prefix, ``last`` on the last row. The first token's row is the largest by far in the middle
    layers of many models, and cannot change: it makes ``change`` small, not ``behind``. ``rows``
    lets all rows that line up count alike: the root mean square of each row's relative change.
    """

    layer: int
    change: float | None
    behind: float | None
    last: float | None
    rows: float | None = None


def layer_changes(
    a: States, b: States, rows: Sequence[tuple[int, int]], prefix: int
) -> tuple[tuple[LayerChange, ...], str]:
    """Relative changes of all layers, in float64, and how rows count: "rows", alike, where a few
    of them hold most of the norm of some layer, else "frobenius".
    """
    of_a, of_b = (torch.tensor(some) for some in zip(*rows, strict=True))
    start = min(prefix, len(rows) - 1)
    found, seen = [], []
    for layer, (mine, other) in enumerate(zip(a.hidden, b.hidden, strict=True)):
        before, after = mine[of_a].double(), other[of_b].double()
        seen.append(before)
        found.append(
            LayerChange(
                layer,
                _relative(before, after),
                _relative(before[start:], after[start:]),
                _relative(before[-1], after[-1]),
                _alike(before, after),
            )
        )
    return tuple(found), chosen_scaling(seen, "auto")


def _relative(before: torch.Tensor, after: torch.Tensor) -> float | None:
    size = float(before.norm())
    return float((after - before).norm()) / size if size else None


def _alike(before: torch.Tensor, after: torch.Tensor) -> float | None:
    if not bool(before.any(dim=1).all()):
        return None
    return float(((after - before) * row_weights(before, "rows")[:, None]).norm())
