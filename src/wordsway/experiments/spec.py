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
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from wordsway.errors import InputError
from wordsway.experiments.cells import Cell
from wordsway.experiments.texts import PADDING, TextOptions
from wordsway.experiments.trials import MAPS
from wordsway.learning.loss import LOSSES
from wordsway.learning.problem import UPDATES

#: More cells than this are a slip of the pen.
MOST = 1_000_000


@dataclass(frozen=True)
class Study:
    """A name and its cells, each once."""

    name: str
    cells: tuple[Cell, ...]

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


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _positions(value: Any) -> bool:
    if isinstance(value, str):
        return value in ("first", "all", "words") or re.fullmatch(r"word:\d+", value) is not None
    return (
        isinstance(value, list)
        and bool(value)
        and all(_whole(0)(one) or (_text(one) and one.startswith("word:")) for one in value)
    )


_COMMON = {
    "trials": _Key("a whole number ≥ 1", _whole(1), spans=False),
    "certificate": _Key("true or false", lambda value: isinstance(value, bool), spans=False),
    "effort": _Key(
        "a number between 0.01 and 1000",
        lambda v: isinstance(v, (int, float)) and not isinstance(v, bool) and 0.01 <= v <= 1000,
    ),
}
_TOP = _COMMON | {
    "name": _Key("a text", _text, spans=False),
    "seed": _Key(
        "a whole number",
        lambda value: isinstance(value, int) and not isinstance(value, bool),
        spans=False,
    ),
}
_GRID = _COMMON | {
    "map": _Key(f"one of {', '.join(MAPS)}, or a list of them", lambda value: value in MAPS),
    "n": _Key("a whole number ≥ 1, or a list of them", _whole(1)),
    "d": _Key("a whole number ≥ 1, or a list of them", _whole(1)),
    "k": _Key("a whole number ≥ 1, or a list of them", _whole(1)),
    "depth": _Key("a whole number ≥ 1, or a list of them", _whole(1)),
    "data": _Key("gaussian, imdb, imdb:MODEL or a file's path, or a list of them", _text),
    "positions": _Key(
        '"first", "all", "words", "word:3" or a list of rows such as [0, 3]', _positions
    ),
    "padding": _Key(f"one of {', '.join(PADDING)}", lambda value: value in PADDING),
    "model": _Key("a model's name or path", _text),
    "layer": _Key(
        '"input", "words", "last" or a number', lambda value: _text(value) or _whole(0)(value)
    ),
    "train": _Key(
        "training texts of a cell that learns, a whole number ≥ 2, or a list of them", _whole(2)
    ),
    "update": _Key(
        f"one of {', '.join(UPDATES)}, or a list of them", lambda value: value in UPDATES
    ),
    "loss": _Key(f"one of {', '.join(LOSSES)}, or a list of them", lambda value: value in LOSSES),
    "penalty": _Key(
        "a number > 0, or a list of them",
        lambda v: isinstance(v, (int, float)) and not isinstance(v, bool) and v > 0,
    ),
    "text_column": _Key("a column's name", _text, spans=False),
    "label_column": _Key("a column's name", _text, spans=False),
    "encoding": _Key("an encoding's name", _text, spans=False),
}


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
    >>> [(cell.n, cell.trial) for cell in study.cells]
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
    found: dict[str, tuple[Cell, int]] = {}
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
        for cell in _cells(text, number, tables, grid):
            if cell.key in found:
                other = found[cell.key][1]
                where = f"[[grid]] number {number + 1}" + (
                    " twice" if other == number else f" and number {other + 1}"
                )
                what = f"map {cell.map}, n {cell.n}, d {cell.d}, {cell.data}, trial {cell.trial}"
                raise InputError("every cell once", f"{what} in {where}", "leave one of them out")
            found[cell.key] = (cell, number)
            if len(found) > MOST:
                raise InputError(f"at most {MOST:,} cells", "more", "split the study")
    return Study(str(tables.get("name", name)), tuple(cell for cell, _ in found.values()))


def _cells(text: str, number: int, top: dict[str, Any], grid: dict[str, Any]) -> list[Cell]:
    merged = {key: value for key, value in top.items() if key in _COMMON} | grid
    trials, certificate = int(merged.pop("trials", 1)), bool(merged.pop("certificate", True))
    fixed = {key: merged.pop(key) for key in list(merged) if not _GRID[key].spans}
    spans = {key: _values(key, value) for key, value in merged.items()}
    cells = []
    for values in itertools.product(*spans.values()):
        point = dict(zip(spans, values, strict=True)) | fixed
        options = {
            key: str(point.pop(key))
            for key in ("model", "layer", "padding", "text_column", "label_column", "encoding")
            if key in point
        }
        positions = point.pop("positions", "first")
        point["positions"] = (
            (0,)
            if positions == "first"
            else (positions,)
            if str(positions).startswith("word:")
            else positions
        )
        try:
            shared: dict[str, Any] = {
                "seed": int(top.get("seed", 0)),
                "certificate": certificate,
                "texts": TextOptions(**options),
            }
            cells += [Cell(**point, **shared, trial=trial) for trial in range(trials)]
        except InputError as error:
            raise InputError(
                error.expected,
                error.got,
                f"{error.remedy} ([[grid]] number {number + 1}, line {_line(text, number, '')})",
            ) from None
    return cells


def _values(key: str, value: Any) -> Sequence[Any]:
    if key == "positions" and isinstance(value, list):
        several = any(isinstance(one, list) or one in ("first", "all", "words") for one in value)
        return (
            [tuple(one) if isinstance(one, list) else one for one in value]
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
    for one in values:
        if not rule.good(list(one) if isinstance(one, tuple) else one):
            raise InputError(f"{key}: {rule.allowed}", f"{one!r} on {where}", "mend that line")


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
