"""What the library raises: one line that says what was expected, what came, and what to do."""

from __future__ import annotations


class WordswayError(Exception):
    """Base of everything wordsway raises on purpose."""


class InputError(WordswayError, ValueError):
    """The request is wrong, and the caller can mend it.

    >>> str(InputError("a text of rank 2", "an array of shape (3,)", "pass an n×d array"))
    'expected a text of rank 2, got an array of shape (3,): pass an n×d array'
    """

    def __init__(self, expected: str, got: object, remedy: str) -> None:
        self.expected, self.got, self.remedy = expected, str(got), remedy
        super().__init__(f"expected {expected}, got {got}: {remedy}")


class MemoryBudgetError(WordswayError):
    """The request is right but does not fit the memory budget."""
