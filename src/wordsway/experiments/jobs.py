"""A job: what a sweep runs and a store keeps, whichever kind it is. Its content is its name."""

from __future__ import annotations

from typing import Any, Protocol

from wordsway.errors import InputError
from wordsway.experiments.cells import Cell
from wordsway.experiments.text_cells import KIND, TextCell


class Job(Protocol):
    """One unit of work, named by its content; it runs anywhere, in any order, with the same
    outputs.
    """

    @property
    def key(self) -> str:
        """The job's name: SHA-256 of its content."""

    @property
    def content(self) -> dict[str, Any]:
        """Everything that decides the outputs, as JSON has it; ``version`` says what the outputs
        mean.
        """

    def run(self) -> dict[str, Any]:
        """The outputs, as JSON has them."""

    def __hash__(self) -> int: ...


def job_of(content: dict[str, Any]) -> Cell | TextCell:
    """The job of a stored content.

    >>> job_of(Cell("raf", 5, 4).content) == Cell("raf", 5, 4)
    True
    """
    kind = content.get("kind")
    if kind is None:
        return Cell.of(content)
    if kind == KIND:
        return TextCell.of(content)
    raise InputError(
        f"a cell, or one of the kind {KIND}",
        f"the kind {kind!r}",
        "read it with the version that wrote it",
    )
