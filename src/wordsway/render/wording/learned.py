"""What every medium says of the error after a one-word change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Columns of a table of changed rows: f before the update on X and on X^i(Δ), then after it.
HEADS = ("y", "before", "→ Δ", "after", "→ Δ", "error", "floor", "γ", "A")
KEY = (
    "before, after: the prediction on the text and, behind →, on the changed one; asked for: −y; "
    "floor: what the certified S sets under the error"
)
_NUMBERS = (
    "before_original",
    "before_changed",
    "after_original",
    "after_changed",
    "error",
    "bound",
    "gamma",
    "alignment",
)


def learned_cells(row: Mapping[str, Any]) -> list[str]:
    """The cells under `HEADS`."""
    values = [row[name] for name in _NUMBERS]
    return [f"{row['label']:+d}", *("–" if value is None else f"{value:.3g}" for value in values)]


def place(row: Mapping[str, Any]) -> str:
    """A row's number and, where it is known, its word."""
    return f"{row['position']}" + (f" {row['word']}" if row.get("word") else "")


def update_line(update: str, loss: str, penalty: float, train: int) -> str:
    """How the model was updated, and what Δ minimises."""
    weight = f" (p = {penalty:g})" if penalty else ""
    return f"{update} on {train:,} training texts and one more, {loss} loss{weight}"
