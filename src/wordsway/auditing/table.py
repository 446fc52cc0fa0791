"""Pairs and texts of a user's own file; a row that cannot be used is told, the others go on."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wordsway.core.errors import InputError
from wordsway.text import corpus
from wordsway.text.files import expanded, open_text, path_exists

#: Characters of a text; no model here reads more.
LONGEST = 20_000
#: Names of columns, in the order in which they are looked for.
FIRST = ("a", "text_a", "first", "original", "sentence1")
SECOND = ("b", "text_b", "second", "edited", "sentence2")
TEXT = ("text", "sentence", "review", "content")
WORD = ("word", "old")
REPLACEMENT = ("replacement", "new")
KIND = ("kind", "type")
#: Columns that may stand in any table and are not used.
UNUSED = ("", "id", "row", "label", "source")
SEPARATORS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True)
class PairRow:
    """Two texts of a table; ``row`` counts from 1 below the header, ``kind`` is "" where none is
    given.
    """

    row: int
    a: str
    b: str
    kind: str = ""


@dataclass(frozen=True)
class RefusedRow:
    """A row that cannot be used, and why."""

    row: int
    reason: str

    def __str__(self) -> str:
        return f"row {self.row}: {self.reason}"


@dataclass(frozen=True)
class PairTable:
    """What a file holds: pairs of texts, or texts, and the rows that were refused."""

    pairs: tuple[PairRow, ...] = ()
    texts: tuple[tuple[int, str], ...] = ()
    refused: tuple[RefusedRow, ...] = ()


def read_table(path: str | Path, encoding: str | None = None) -> PairTable:
    """The pairs of a table with columns a, b or text, word, replacement (kind is optional); or its
    texts.

    A .txt file has one text per line; files other than these are read as a corpus.
    """
    if not path_exists(path) or not expanded(path).is_file():
        raise InputError(
            "a file of pairs or texts", f"{path}, which is not there", "check its path"
        )
    file = expanded(path)
    separator = SEPARATORS.get(file.suffix.lower())
    if file.suffix.lower() == ".txt":
        return _lines(file, encoding)
    if separator is None:
        texts = [
            (number, one.text) for number, one in enumerate(corpus(file, encoding=encoding), 1)
        ]
        return _checked_texts(texts)
    rows = list(_rows(file, separator, encoding))
    if len(rows) < 2:
        raise InputError(
            f"rows below the header of {file.name}",
            "none" if rows else "an empty file",
            "write columns a,b or text,word,replacement",
        )
    header = [name.strip().lower() for name in rows[0]]
    body = list(enumerate(rows[1:], 1))
    first, second = _find(header, FIRST), _find(header, SECOND)
    text, word, new = _find(header, TEXT), _find(header, WORD), _find(header, REPLACEMENT)
    kind = _find(header, KIND)
    if first is not None and second is not None:
        _refuse_others(file.name, header, first, second, kind)
        return _pairs(body, len(header), (first, second), kind)
    if text is not None and word is not None and new is not None:
        _refuse_others(file.name, header, text, word, new, kind)
        return _replacements(body, len(header), (text, word, new), kind)
    if text is not None or len(header) == 1:
        at = text or 0
        _refuse_others(file.name, header, at)
        return _checked_texts([(row, cells[at] if at < len(cells) else "") for row, cells in body])
    raise InputError(
        f"columns a,b or text,word,replacement or text in {file.name}",
        ", ".join(header)[:80],
        "name them in the first line",
    )


def _refuse_others(name: str, header: Sequence[str], *used: int | None) -> None:
    """Refuse a table that has columns beside those that are used."""
    others = [column for at, column in enumerate(header) if at not in used and column not in UNUSED]
    if others:
        raise InputError(
            f"columns a,b,kind or text,word,replacement,kind or text in {name}",
            f"also {', '.join(others)[:80]}",
            "rename or remove them: they would not be used",
        )


def _rows(path: Path, separator: str, encoding: str | None) -> Iterator[list[str]]:
    before = csv.field_size_limit(2**31 - 1)  # lines are judged, not refused
    with open_text(path, encoding) as file:
        try:
            yield from (cells for cells in csv.reader(file, delimiter=separator) if cells)
        except csv.Error as error:
            raise InputError(f"a table in {path.name}", error, "check its quotes") from None
        finally:
            csv.field_size_limit(before)


def _lines(path: Path, encoding: str | None) -> PairTable:
    """One text per line; an endless line is passed over, and told."""
    good: list[tuple[int, str]] = []
    refused = []
    row = 0
    with open_text(path, encoding) as file:
        while head := file.readline(LONGEST + 2):
            row += 1
            length, rest = len(head.rstrip("\n")), head
            while not rest.endswith("\n") and (rest := file.readline(LONGEST)):
                length += len(rest.rstrip("\n"))
            text = head.strip()
            reason = too_long(length) or (unusable(text) if text else None)
            if reason:
                refused.append(RefusedRow(row, reason))
            elif text:
                good.append((row, text))
    if not good and not refused:
        raise InputError(f"texts in {path.name}", "an empty file", "write one per line")
    return PairTable(texts=tuple(good), refused=tuple(refused))


def _find(header: Sequence[str], names: Sequence[str]) -> int | None:
    return next((header.index(name) for name in names if name in header), None)


def _pairs(
    body: list[tuple[int, list[str]]], width: int, columns: tuple[int, int], kind: int | None
) -> PairTable:
    pairs, refused = [], []
    for row, cells in body:
        if len(cells) < width:
            refused.append(RefusedRow(row, f"{len(cells)} cells, the header has {width}"))
            continue
        a, b = cells[columns[0]].strip(), cells[columns[1]].strip()
        reason = unusable(a) or unusable(b) or ("the two texts are the same" if a == b else None)
        if reason:
            refused.append(RefusedRow(row, reason))
        else:
            pairs.append(PairRow(row, a, b, "" if kind is None else cells[kind].strip()))
    return PairTable(pairs=tuple(pairs), refused=tuple(refused))


def _replacements(
    body: list[tuple[int, list[str]]],
    width: int,
    columns: tuple[int, int, int],
    kind: int | None,
) -> PairTable:
    pairs, refused = [], []
    for row, cells in body:
        if len(cells) < width:
            refused.append(RefusedRow(row, f"{len(cells)} cells, the header has {width}"))
            continue
        text, word, new = (cells[column].strip() for column in columns)
        reason = unusable(text)
        found = None if reason else _whole_word(text, word)
        if reason is None and found is None:
            reason = f"the text has no word {word[:40]!r}" if word else "no word to replace"
        if reason is None and word == new:
            reason = "the word and its replacement are the same"
        if reason or found is None:
            refused.append(RefusedRow(row, reason or ""))
            continue
        b = " ".join((text[: found[0]] + new + text[found[1] :]).split())
        pairs.append(PairRow(row, " ".join(text.split()), b, "" if kind is None else cells[kind]))
    return PairTable(pairs=tuple(pairs), refused=tuple(refused))


def _whole_word(text: str, word: str) -> tuple[int, int] | None:
    """The first place where the word, or the words, stand alone."""
    if not word:
        return None
    found = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text)
    found = found or re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, flags=re.IGNORECASE)
    return None if found is None else found.span()


def _checked_texts(texts: Sequence[tuple[int, str]]) -> PairTable:
    good, refused = [], []
    for row, text in texts:
        reason = unusable(text)
        if reason:
            refused.append(RefusedRow(row, reason))
        else:
            good.append((row, text))
    return PairTable(texts=tuple(good), refused=tuple(refused))


def too_long(length: int) -> str | None:
    """Why a text of so many characters cannot be measured, or None."""
    if length <= LONGEST:
        return None
    return f"a text of {length:,} characters, more than {LONGEST:,}"


def unusable(text: str) -> str | None:
    """Why a text cannot be measured, or None.

    >>> unusable("A text."), unusable(" ")
    (None, 'an empty text')
    """
    if not text.strip():
        return "an empty text"
    if reason := too_long(len(text)):
        return reason
    if not any(char.isalnum() for char in text):
        return "a text without a word"
    if re.search("[\ud800-\udfff]", text):
        return "bytes that are no UTF-8"
    return None
