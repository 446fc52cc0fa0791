"""Which columns of a table hold texts and labels, and rows of mappings.

A row is (where, text, label or None).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from wordsway.core.errors import InputError

#: The longest text, in characters: beyond it, a file is not what it seems to be.
LONGEST = 1_000_000
TEXT_COLUMNS = ("text", "review", "sentence", "content", "t")
LABEL_COLUMNS = ("label", "sentiment", "s")

Row = tuple[str, str, object]


@dataclass(frozen=True)
class Columns:
    """Which columns hold texts and labels; None looks for the usual names, an empty label column
    reads no labels.
    """

    text: str | None = None
    label: str | None = None

    def find(self, names: Iterable[str], where: str) -> tuple[str, str | None]:
        """The text column and the label column among ``names``, or an error that names those that
        exist.
        """
        known = list(names)
        text = (
            self.text
            if self.text is not None
            else next((name for name in TEXT_COLUMNS if name in known), None)
        )
        if text is None and len(known) == 1:
            if self.text is None and any(mark in known[0] for mark in ";\t|"):
                raise InputError(
                    f"commas between the columns of {where}",
                    f"one column {known[0][:40]!r}",
                    "save it with commas, or as .tsv",
                )
            text = known[0]
        if text is None or text not in known:
            wanted = (
                f"a column {self.text!r}"
                if self.text
                else f"a column of texts ({', '.join(TEXT_COLUMNS[:4])})"
            )
            raise InputError(
                f"{wanted} in {where}",
                f"columns {_listed(known)}",
                "name one of them with --text-column",
            )
        if self.label == "":
            return text, None
        label = (
            self.label
            if self.label is not None
            else next((name for name in LABEL_COLUMNS if name in known and name != text), None)
        )
        if label is not None and label not in known:
            raise InputError(
                f"a column {label!r} in {where}",
                f"columns {_listed(known)}",
                "name one of them with --label-column",
            )
        return text, label


def _listed(names: list[str]) -> str:
    return ", ".join(str(name)[:40] for name in names[:12]) + (" …" if len(names) > 12 else "")


def records(items: Iterable[Any], columns: Columns, name: str) -> Iterator[Row]:
    """Rows of mappings (JSON objects, a `datasets` object's examples), or of bare strings."""
    for number, item in enumerate(items):
        where = f"{name}:{number + 1}"
        if isinstance(item, str):
            yield where, item, None
        elif isinstance(item, Mapping):
            text, label = columns.find([str(key) for key in item], f"{name}, item {number + 1}")
            yield (
                where,
                checked_text(item[text], name, number + 1),
                None if label is None else item[label],
            )
        else:
            raise InputError(
                f"objects or strings in {name}",
                f"{type(item).__name__} at item {number + 1}",
                "write one object per text",
            )


def checked_text(value: object, name: str, number: int) -> str:
    """The text of row ``number``: empty where there is none; other types and endless texts are
    refused.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(
            f"texts in {name}",
            f"{type(value).__name__} in row {number}",
            "name the column of texts with --text-column",
        )
    if len(value) > LONGEST:
        raise InputError(
            f"texts of at most {LONGEST:,} characters",
            f"a longer one in row {number} of {name}",
            "split it",
        )
    return value
