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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from wordsway.core.errors import InputError
from wordsway.learning.losses import LOSSES, UPDATES
from wordsway.maps.registry import MAPS, all_options
from wordsway.studies.cells import Cell, FlipJob, jobs_of
from wordsway.studies.request import LearningOptions, Request, as_rows
from wordsway.studies.texts import PADDING, TextOptions

#: More cells than this are a slip of the pen.
MOST = 1_000_000


@dataclass(frozen=True)
class Study:
    """A name and its cells, each once."""

    name: str
    cells: tuple[Cell | FlipJob, ...]

    @cached_property
    def key(self) -> str:
        """One hash for the whole study, whatever the order of its cells."""
        return hashlib.sha256("".join(sorted(cell.key for cell in self.cells)).encode()).hexdigest()


@dataclass(frozen=True)
class _Key:
    """What a key of the file may hold: a check, its description, and whether a list of values spans
    the grid.
    """

    allowed: str
    good: Callable[[Any], bool]
    spans: bool = True


def _whole(least: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def _number(low: float, high: float) -> Callable[[Any], bool]:
    return lambda value: _is_number(value) and low <= value <= high


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _positions(value: Any) -> bool:
    if isinstance(value, str):
        return value in ("first", "all", "words") or re.fullmatch(r"word:\d+", value) is not None
    return (
        isinstance(value, list)
        and bool(value)
        and all(_whole(0)(row) or (_text(row) and row.startswith("word:")) for row in value)
    )


def _among(names: Sequence[str]) -> _Key:
    return _Key(f"one of {', '.join(names)}, or a list of them", lambda value: value in names)


def _option(kind: type) -> _Key:
    """What an option of a map may be."""
    if kind is int:
        return _COUNT
    if kind is float:
        return _Key("a number, or a list of them", _is_number)
    if kind is bool:
        return _Key("true or false, or a list of them", lambda value: isinstance(value, bool))
    return _Key("a text, or a list of them", _text)


_COUNT = _Key("a whole number ≥ 1, or a list of them", _whole(1))
_COMMON = {
    "trials": _Key("a whole number ≥ 1", _whole(1), spans=False),
    "certificate": _Key("true or false", lambda value: isinstance(value, bool), spans=False),
    "effort": _Key("a number between 0.01 and 1000", _number(0.01, 1000)),
}
_TOP = _COMMON | {
    "name": _Key("a text", _text, spans=False),
    "seed": _Key("a whole number", _whole(-(2**63)), spans=False),
}
_TEXTS = {
    "padding": _Key(f"one of {', '.join(PADDING)}", lambda value: value in PADDING),
    "model": _Key("a model's name or path", _text),
    "layer": _Key(
        '"input", "words", "last" or a number', lambda value: _text(value) or _whole(0)(value)
    ),
    "text_column": _Key("a column's name", _text, spans=False),
    "label_column": _Key("a column's name", _text, spans=False),
    "encoding": _Key("an encoding's name", _text, spans=False),
}
_LEARNING = {
    "train": _Key(
        "training texts of a cell that learns, a whole number ≥ 2, or a list of them", _whole(2)
    ),
    "update": _among(UPDATES),
    "loss": _among(LOSSES),
    "penalty": _Key(
        "a number > 0, or a list of them", lambda value: _is_number(value) and value > 0
    ),
}
_OPTIONS = {name: _option(option.type) for name, option in all_options().items()}
_GRID = (
    _COMMON
    | {"map": _among(tuple(MAPS)), "n": _COUNT, "d": _COUNT}
    | _OPTIONS
    | {
        "data": _Key("gaussian, imdb, imdb:MODEL or a file's path, or a list of them", _text),
        "positions": _Key(
            '"first", "all", "words", "word:3" or a list of rows such as [0, 3]', _positions
        ),
        "radius": _Key("a number between 1e-9 and 1e9, or a list of them", _number(1e-9, 1e9)),
    }
    | _TEXTS
    | _LEARNING
)


def load_study(path: Path | str) -> Study:
    """The study of a TOML file."""
    path = Path(path)
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            "a TOML file", f"{path} ({error.__class__.__name__})", "check the path"
        ) from None
    return parse_study(text, path.stem)


def parse_study(text: str, name: str = "study") -> Study:
    """The study of a TOML text.

    >>> study = parse_study('trials = 2\\n[[grid]]\\nmap = "raf"\\nn = [5, 9]\\nd = 4')
    >>> [(cell.request.n, cell.trial) for cell in study.cells]
    [(5, 0), (5, 1), (9, 0), (9, 1)]
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError("TOML", error, "mend that line") from None
    grids = tables.pop("grid", [])
    if (
        not isinstance(grids, list)
        or not grids
        or not all(isinstance(grid, dict) for grid in grids)
    ):
        raise InputError(
            "at least one [[grid]] table", "none", "write [[grid]] and below it map, n and d"
        )
    for key, value in tables.items():
        _check(text, None, key, value, _TOP)
    found: dict[tuple[Request, int], int] = {}
    for number, grid in enumerate(grids):
        for key, value in grid.items():
            _check(text, number, key, value, _GRID)
        for missing in ("map", "n", "d"):
            if missing not in grid:
                raise InputError(
                    f"the key {missing} in [[grid]] number {number + 1}",
                    "none",
                    f"write {missing} = {_GRID[missing].allowed}",
                )
        for point in _points(text, number, tables, grid):
            if point in found:
                other = found[point]
                where = f"[[grid]] number {number + 1}" + (
                    " twice" if other == number else f" and number {other + 1}"
                )
                one, trial = point
                what = f"map {one.map}, n {one.n}, d {one.d}, {one.data}, trial {trial}"
                raise InputError("every cell once", f"{what} in {where}", "leave one of them out")
            found[point] = number
            if len(found) > MOST:
                raise InputError(f"at most {MOST:,} cells", "more", "split the study")
    return Study(str(tables.get("name", name)), tuple(jobs_of(found)))


def _points(
    text: str, number: int, top: dict[str, Any], grid: dict[str, Any]
) -> list[tuple[Request, int]]:
    """The requests of a grid with their trials."""
    merged = {key: value for key, value in top.items() if key in _COMMON} | grid
    trials = int(merged.pop("trials", 1))
    fixed = {key: merged.pop(key) for key in list(merged) if not _GRID[key].spans}
    spans = {key: _values(key, value) for key, value in merged.items()}
    if trials * math.prod(map(len, spans.values())) > MOST:  # before they are made
        raise InputError(f"at most {MOST:,} cells", "more", "split the study")
    points = []
    for values in itertools.product(*spans.values()):
        point = dict(zip(spans, values, strict=True)) | fixed
        try:
            request = _request(point, int(top.get("seed", 0)))
        except InputError as error:
            raise InputError(
                error.expected,
                error.got,
                f"{error.remedy} ([[grid]] number {number + 1}, line {_line(text, number, '')})",
            ) from None
        points += [(request, trial) for trial in range(trials)]
    return points


def _request(point: dict[str, Any], seed: int) -> Request:
    """The request of one point of a grid."""
    texts = {key: str(point.pop(key)) for key in _TEXTS if key in point}
    learning = {key: point.pop(key) for key in _LEARNING if key in point}
    options = {key: point.pop(key) for key in _OPTIONS if key in point}
    positions = point.pop("positions", "first")
    if learning and "train" not in learning:
        raise InputError(
            "train with update, loss and penalty",
            "none",
            "say how many training texts, or leave the others out",
        )
    return Request(
        **point,
        options=options,
        positions=as_rows(0 if positions == "first" else positions),
        seed=seed,
        texts=TextOptions(**texts),
        learning=LearningOptions(**learning) if learning else None,
    )


def _values(key: str, value: Any) -> Sequence[Any]:
    if key == "positions" and isinstance(value, list):
        several = any(isinstance(row, list) or row in ("first", "all", "words") for row in value)
        return (
            [tuple(row) if isinstance(row, list) else row for row in value]
            if several
            else [tuple(value)]
        )
    return value if isinstance(value, list) else [value]


def _check(text: str, grid: int | None, key: str, value: Any, known: dict[str, _Key]) -> None:
    where = f"line {_line(text, grid, key)}"
    if key not in known:
        raise InputError(
            f"a key among {', '.join(known)}", f"{key!r} on {where}", "check its spelling"
        )
    rule = known[key]
    values = _values(key, value) if rule.spans and isinstance(value, list) else [value]
    if not values:
        raise InputError(
            f"{key}: {rule.allowed}", f"an empty list on {where}", "name at least one value"
        )
    for single in values:
        if not rule.good(list(single) if isinstance(single, tuple) else single):
            raise InputError(f"{key}: {rule.allowed}", f"{single!r} on {where}", "mend that line")


def _line(text: str, grid: int | None, key: str) -> int:
    """The line of a key in the given [[grid]] table (or before all of them), or of the table's own
    head.
    """
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
