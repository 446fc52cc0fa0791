"""A column of a table, for every medium."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Row = TypeVar("Row")


@dataclass(frozen=True)
class ToldColumn(Generic[Row]):
    """Its name, its cell of a row, and what it says in one plain sentence."""

    name: str
    cell: Callable[[Row], str]
    sentence: str
