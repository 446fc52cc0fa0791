"""Read triples, pairs or texts from a user's file; unusable rows are reported."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wordsway.auditing.gold import FIELDS
from wordsway.core.errors import InputError
from wordsway.text import corpus
from wordsway.text.files import expanded, open_text, path_exists
from wordsway.text.readers import table_cells

#: Maximum number of characters of a text.
LONGEST = 20_000
#: Accepted names of columns, in order of preference.
FIRST = ("a", "text_a", "first", "original", "sentence1")
SECOND = ("b", "text_b", "second", "edited", "sentence2")
TEXT = ("text", "sentence", "review", "content")
WORD = ("word", "old")
REPLACEMENT = ("replacement", "new")
QUERIES = ("query", "document", "query2", "document2")
REWORDING = ("rewording", "paraphrase")
CHANGE = ("change", "changed")
KIND = ("kind", "type")
#: The kinds of changes in tables without a column kind.
OWN, RETRIEVAL = "own", "retrieval"
_PAIRS = "a,b[,kind] or text,word,replacement[,kind]"
#: Accepted columns of any table, of pairs and of texts, for error messages.
LAYOUTS = {
    "": f"text,rewording,change[,kind] or {_PAIRS} or query,document,query2,document2 or text",
    "pairs": _PAIRS,
    "texts": "text",
}
#: Data that come with wordsway.
NAMES = ("gold", *FIELDS, "imdb")
#: Columns that are ignored in every table.
UNUSED = ("", "id", "row", "label", "source")
SEPARATORS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True)
class PairRow:
    """Two texts of a table; ``row`` counts from 1 below the header, ``kind`` may be empty."""

    row: int
    a: str
    b: str
    kind: str = ""


@dataclass(frozen=True)
class TripleRow:
    """A text, a rewording that preserves its meaning and a change that does not. In a table for
    retrieval the text is a query (``query`` 1 or 2 of its row), the rewording its document and the
    change the document of the row's other query.
    """

    row: int
    text: str
    rewording: str
    change: str
    kind: str = OWN
    query: int = 0

    @property
    def name(self) -> str:
        """
        >>> TripleRow(3, "", "", "").name, TripleRow(3, "", "", "", query=2).name
        ('row 3', 'row 3 query 2')
        """
        return f"row {self.row} query {self.query}" if self.query else f"row {self.row}"


@dataclass(frozen=True)
class RefusedRow:
    """A row that cannot be used, and why."""

    row: int
    reason: str

    def __str__(self) -> str:
        return f"row {self.row}: {self.reason}"


@dataclass(frozen=True)
class PairTable:
    """The contents of a file: triples, pairs or texts, and the rows that were refused."""

    triples: tuple[TripleRow, ...] = ()
    pairs: tuple[PairRow, ...] = ()
    texts: tuple[tuple[int, str], ...] = ()
    refused: tuple[RefusedRow, ...] = ()


Row = TripleRow | PairRow | RefusedRow | tuple[int, str]


def read_table(path: str | Path, encoding: str | None = None, only: str = "") -> PairTable:
    """Read the triples, the pairs or the texts of a table, by the names of its columns (`LAYOUTS`).

    A .txt file has one text per line; files of other kinds are read as a corpus. ``only`` is what
    the caller can use, for error messages: "pairs" or "texts".
    """
    accepted = LAYOUTS[only]
    if not path_exists(path) or not expanded(path).is_file():
        nearest = [] if only else difflib.get_close_matches(str(path), NAMES, 1)
        names = "" if only else f", or one of {', '.join(NAMES)}"
        raise InputError(
            f"a file of {only or 'triples, pairs or texts'}{names}",
            f"{path}, which does not exist",
            f"did you mean {nearest[0]}?" if nearest else "check its path",
        )
    file = expanded(path)
    separator = SEPARATORS.get(file.suffix.lower())
    if file.suffix.lower() == ".txt":
        return _lines(file, encoding)
    if separator is None:
        texts = enumerate(corpus(file, encoding=encoding), 1)
        return table_of(checked_text(row, one.text) for row, one in texts)
    # Texts that are too long are refused row by row.
    rows = list(filter(None, table_cells(file, separator, encoding, longest=None)))
    if len(rows) < 2:
        raise InputError(
            f"rows below the header of {file.name}",
            "none" if rows else "an empty file",
            f"write columns {accepted}",
        )
    header = [name.strip().lower() for name in rows[0]]
    body = list(enumerate(rows[1:], 1))
    kind = _find(header, KIND)
    layouts: tuple[tuple[Callable[..., Row | list[Row]], tuple[Sequence[str], ...]], ...] = (
        (_queries, tuple((name,) for name in QUERIES)),
        (_checked_triple, (TEXT, REWORDING, CHANGE)),
        (checked_pair, (FIRST, SECOND)),
        (_replacement, (TEXT, WORD, REPLACEMENT)),
    )
    for read, named in layouts:
        columns = [column for names in named if (column := _find(header, names)) is not None]
        if len(columns) == len(named):
            _refuse_others(file.name, accepted, header, *columns, kind)
            found: list[Row] = []
            for row, cells in body:
                if len(cells) != len(header):
                    reason = f"{len(cells)} cells, the header has {len(header)}"
                    found.append(RefusedRow(row, reason))
                    continue
                label = "" if kind is None else cells[kind].strip().lower()
                one = read(row, *(cells[at].strip() for at in columns), label)
                found += one if isinstance(one, list) else [one]
            return table_of(found)
    _refuse_incomplete(file.name, header, [named for _, named in layouts])
    text = 0 if len(header) == 1 else _find(header, TEXT)
    if text is None:
        raise InputError(
            f"columns {accepted} in {file.name}",
            ", ".join(header)[:80],
            "name them in the first line",
        )
    _refuse_others(file.name, accepted, header, text)
    return table_of(
        checked_text(row, cells[text] if text < len(cells) else "") for row, cells in body
    )


def _refuse_incomplete(
    name: str, header: Sequence[str], layouts: Iterable[Sequence[Sequence[str]]]
) -> None:
    """Refuse a table with some columns of a layout, besides texts, that lacks others."""
    if len(header) == 1 and header[0].count(";") > 1:
        raise InputError(f"a table of commas in {name}", "semicolons", "save it with commas")

    begun = [
        layout
        for layout in layouts
        if any(_find(header, names) is not None for names in layout if names is not TEXT)
    ]
    if not begun or len(header) == 1:
        return
    layout = max(begun, key=lambda one: sum(_find(header, names) is not None for names in one))
    missing = [names[0] for names in layout if _find(header, names) is None]
    known = {*UNUSED, *KIND, *(name for names in layout for name in names)}
    others = ", ".join(column for column in header if column not in known)
    raise InputError(
        f"columns {','.join(names[0] for names in layout)} in {name}",
        f"no column {', '.join(missing)}",
        f"rename or remove {others[:80]}" if others else "name it in the first line",
    )


def table_of(found: Iterable[Row]) -> PairTable:
    rows = list(found)
    return PairTable(
        tuple(row for row in rows if isinstance(row, TripleRow)),
        tuple(row for row in rows if isinstance(row, PairRow)),
        tuple(row for row in rows if isinstance(row, tuple)),
        tuple(row for row in rows if isinstance(row, RefusedRow)),
    )


def without_repeats(table: PairTable) -> tuple[PairTable, int]:
    """Return the table without rows that repeat an earlier one, and the number of these rows."""
    by_row: dict[int, list[object]] = {row: [text] for row, text in table.texts}
    rows: list[TripleRow | PairRow] = [*table.triples, *table.pairs]
    for one in rows:
        by_row.setdefault(one.row, []).append(replace(one, row=0))
    # Reversed, so that the first of equal rows stays.
    kept = {tuple(content): row for row, content in reversed(by_row.items())}
    first = set(kept.values())
    unique = replace(
        table,
        triples=tuple(one for one in table.triples if one.row in first),
        pairs=tuple(one for one in table.pairs if one.row in first),
        texts=tuple(one for one in table.texts if one[0] in first),
    )
    return unique, len(by_row) - len(first)


def _find(header: Sequence[str], names: Sequence[str]) -> int | None:
    return next((header.index(name) for name in names if name in header), None)


def _refuse_others(name: str, accepted: str, header: Sequence[str], *used: int | None) -> None:
    """Raise an error if a table has columns that would be ignored."""
    others = [column for at, column in enumerate(header) if at not in used and column not in UNUSED]
    if others:
        raise InputError(
            f"columns {accepted} in {name}",
            f"also {', '.join(others)[:80]}",
            "rename or remove them: they would be ignored",
        )


def _lines(path: Path, encoding: str | None) -> PairTable:
    """One text per line; a line that is too long is skipped in bounded memory, and reported."""
    found: list[tuple[int, str] | RefusedRow] = []
    row = 0
    with open_text(path, encoding) as file:
        while head := file.readline(LONGEST + 2):
            row += 1
            length, rest = len(head.rstrip("\n")), head
            while not rest.endswith("\n") and (rest := file.readline(LONGEST)):
                length += len(rest.rstrip("\n"))
            if reason := too_long(length):
                found.append(RefusedRow(row, reason))
            elif head.strip():
                found.append(checked_text(row, head.strip()))
    if not found:
        raise InputError(f"texts in {path.name}", "an empty file", "write one per line")
    return table_of(found)


def checked_pair(row: int, a: str, b: str, kind: str = "") -> PairRow | RefusedRow:
    """Return the pair, or why it cannot be measured."""
    reason = unusable(a) or unusable(b) or ("the two texts are the same" if a == b else None)
    return RefusedRow(row, reason) if reason else PairRow(row, a, b, kind)


def _checked_triple(
    row: int, text: str, rewording: str, change: str, kind: str = "", query: int = 0
) -> Row:
    """Return the triple, or why it cannot be measured."""
    texts = (text, rewording, change)
    reason = next(filter(None, map(unusable, texts)), None)
    if reason is None and len(set(texts)) < 3:
        reason = "two of the three texts are the same"
    return RefusedRow(row, reason) if reason else TripleRow(row, *texts, kind or OWN, query)


def _queries(row: int, one: str, its: str, two: str, other: str, kind: str = "") -> list[Row]:
    """Return a triple for each of the two queries of a row, or why there is none."""
    found = [
        _checked_triple(row, one, its, other, kind or RETRIEVAL, 1),
        _checked_triple(row, two, other, its, kind or RETRIEVAL, 2),
    ]
    refused: list[Row] = [each for each in found if isinstance(each, RefusedRow)]
    return refused[:1] or found


def checked_text(row: int, text: str) -> tuple[int, str] | RefusedRow:
    """Return the row and its text, or why it cannot be measured."""
    reason = unusable(text)
    return RefusedRow(row, reason) if reason else (row, text)


def _replacement(row: int, text: str, word: str, new: str, kind: str = "") -> PairRow | RefusedRow:
    """Return the pair made by replacing the first occurrence of a word, or why there is none."""
    reason = unusable(text)
    found = None
    if reason is None and word:
        whole = rf"(?<!\w){re.escape(word)}(?!\w)"
        found = re.search(whole, text) or re.search(whole, text, flags=re.IGNORECASE)
    if reason is None and found is None:
        reason = f"the text has no word {word[:40]!r}" if word else "no word to replace"
    if reason is None and word == new:
        reason = "the word and its replacement are the same"
    if reason or found is None:
        return RefusedRow(row, reason or "")
    b = " ".join((text[: found.start()] + new + text[found.end() :]).split())
    return PairRow(row, " ".join(text.split()), b, kind)


def too_long(length: int) -> str | None:
    """Return why a text with this number of characters cannot be measured, or None."""
    if length <= LONGEST:
        return None
    return f"a text of {length:,} characters, more than {LONGEST:,}"


def unusable(text: str) -> str | None:
    """Return why a text cannot be measured, or None.

    >>> unusable("A text."), unusable(" ")
    (None, 'an empty text')
    """
    if not text.strip():
        return "an empty text"
    if reason := too_long(len(text)):
        return reason
    if not any(char.isalnum() for char in text):
        return "a text without letters or digits"
    if re.search("[\ud800-\udfff]", text):
        return "bytes that are not UTF-8: set the encoding, for example --encoding cp1252"
    return None
