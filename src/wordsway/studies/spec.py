"""A study as data: cells, from Python or from a TOML file whose errors name the key, the line and
what is allowed.

seed = 0
trials = 10

[[grid]]
map = ["raf", "relu-raf"]
n = [10, 50, 250]
d = 192
data = ["gaussian", "imdb"]
positions = "all"
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from wordsway.core.atomic import read_text
from wordsway.core.errors import InputError
from wordsway.engine.job import Job
from wordsway.maps.registry import all_options
from wordsway.studies.cells import jobs_of
from wordsway.studies.pairing import MOST, Draw, draws_of, paired_names
from wordsway.studies.request import LearningOptions, Request, first_row, request_of
from wordsway.studies.texts import TextOptions


@dataclass(frozen=True)
class Study:
    """A name and its cells, each once; cells share draws across the parameters ``pair_by``."""

    name: str
    cells: tuple[Job, ...]
    pair_by: tuple[str, ...] = ()

    @cached_property
    def key(self) -> str:
        """One hash for the whole study, whatever the order of its cells."""
        return hashlib.sha256("".join(sorted(cell.key for cell in self.cells)).encode()).hexdigest()


#: The keys of a file's head; those of a grid are the fields of a request and of its parts, and the
#: options of the maps.
_HEAD = ("name", "seed", "trials", "certificate", "effort", "pair_by")
_TEXTS = tuple(field.name for field in fields(TextOptions))
_LEARNING = tuple(field.name for field in fields(LearningOptions))
_PARTS = ("options", "texts", "learning", "seed")
_REQUEST = tuple(field.name for field in fields(Request) if field.name not in _PARTS)
_GRID = (*_REQUEST, *all_options(), *_TEXTS, *_LEARNING)


def load_study(path: Path | str) -> Study:
    """The study of a TOML file."""
    return parse_study(read_text(Path(path), "a TOML file"), Path(path).stem)


def parse_study(text: str, name: str = "study") -> Study:
    """The study of a TOML text.

    >>> study = parse_study('trials = 2\\n[[grid]]\\nmap = "raf"\\nn = [5, 9]\\nd = 4')
    >>> [(cell.request.n, cell.trial) for cell in study.cells]
    [(5, 0), (5, 1), (9, 0), (9, 1)]
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError("TOML", error, "fix this line") from None
    grids = tables.pop("grid", [])
    if not isinstance(grids, list) or {type(grid) for grid in grids} != {dict}:
        raise InputError(
            "at least one [[grid]] table", "none", "write [[grid]] and below it map, n and d"
        )
    _check_keys(text, None, tables, _HEAD)
    found: dict[tuple[Request, Draw], int] = {}
    names = tables.pop("pair_by", [])
    try:
        paired = paired_names(names if isinstance(names, list) else str(names), _GRID)
    except InputError as error:
        raise _with_line(error, text, 0, {"pair_by": names}, {}) from None
    for number, grid in enumerate(grids):
        _check_keys(text, number, grid, _GRID)
        for missing in ("map", "n", "d"):
            if missing not in grid:
                raise InputError(
                    f"the key {missing} in [[grid]] number {number + 1}",
                    "none",
                    f"write {missing} = … below it",
                )
        for point in _points(text, number, tables, grid):
            if point in found:
                other = found[point]
                where = f"[[grid]] number {number + 1}" + (
                    " twice" if other == number else f" and number {other + 1}"
                )
                one, draw = point
                what = f"map {one.map}, n {one.n}, d {one.d}, {one.data}, trial {draw}"
                raise InputError("every cell once", f"{what} in {where}", "leave one of them out")
            found[point] = number
            if len(found) > MOST:
                raise InputError(f"at most {MOST:,} cells", "more", "split the study")
    return Study(str(tables.get("name", name)), tuple(jobs_of(found, paired)), paired)


def _points(
    text: str, number: int, head: dict[str, Any], grid: dict[str, Any]
) -> Iterator[tuple[Request, Draw]]:
    """The requests of a grid with their trials."""
    merged = {key: value for key, value in head.items() if key != "name"} | grid
    spans = {key: _values(key, value) for key, value in merged.items()}
    count = math.prod(map(len, spans.values()))
    for values in itertools.product(*spans.values()):
        point = dict(zip(spans, values, strict=True))
        if "layer" in point:
            point["layer"] = str(point["layer"])
        if point.get("positions") == "first":
            point["positions"] = 0
        elif not {"positions", "together", "train"} & set(point):
            point["positions"] = first_row(point.get("data", "gaussian"))
        try:
            draws = draws_of(point.pop("trials", 1), count)
            request = request_of(**point)
        except InputError as error:
            raise _with_line(error, text, number, head, grid) from None
        yield from ((request, draw) for draw in draws)


def _values(key: str, value: Any) -> Sequence[Any]:
    """The values of a key over which the grid goes."""
    if not isinstance(value, list) or key in ("seed", "trials"):
        return [value]
    if key == "positions" and value:
        several = any(isinstance(row, list) or row in ("first", "all", "words") for row in value)
        rows = [tuple(row) if isinstance(row, list) else row for row in value]
        return rows if several else [tuple(rows)]
    return value


def _check_keys(text: str, grid: int | None, table: dict[str, Any], known: Sequence[str]) -> None:
    """Refuse unknown keys, and lists without an entry."""
    for key, value in table.items():
        where = f"on line {_line(text, grid, key)}"
        if key not in known:
            raise InputError(
                f"a key among {', '.join(known)}", f"{key!r} {where}", "check its spelling"
            )
        if value == []:
            raise InputError(
                f"at least one {key}", f"an empty list {where}", "name at least one value"
            )


def _with_line(
    error: InputError, text: str, number: int, head: dict[str, Any], grid: dict[str, Any]
) -> InputError:
    """The error of a request, with the line of the key that it names (or of the grid)."""
    named = [key for key in (*grid, *head) if re.search(rf"\b{key}\b", error.expected)]
    key = named[0] if named else ""
    line = _line(text, None if key in head and key not in grid else number, key)
    return InputError(error.expected, f"{error.got} on line {line}", error.remedy)


def _line(text: str, grid: int | None, key: str) -> int:
    """The line of a key in a [[grid]] table (None: before all of them), or of its head."""
    table, head = -1, 1
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*\[\[\s*grid\s*\]\]", line):
            table += 1
            head = number if table == grid else head
        elif (
            key
            and table == (-1 if grid is None else grid)
            and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line)
        ):
            return number
    return head
