"""Any result as a table: for results without a view of their own."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from wordsway.core.escape import shortened
from wordsway.core.result import Result
from wordsway.render.blocks import Column, Table, View, headline
from wordsway.render.numbers import number
from wordsway.render.views.provenance import provenance

if TYPE_CHECKING:
    import pandas


def plain_view(result: Result) -> View:
    """The class's name and the rows of ``frame()``."""
    title = title_of(result)
    return View(title, [headline(title), plain_table(result)], provenance(result))


def title_of(result: Result) -> str:
    """The name of its class, in words."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", type(result).__name__).lower()
    return name.capitalize()


def plain_table(result: Result) -> Table:
    """The rows of ``frame()``; without a table, the single values of ``to_dict()``."""
    try:
        frame = result.frame()
    except NotImplementedError:
        single = {
            name: value
            for name, value in result.to_dict().items()
            if not isinstance(value, (dict, list, tuple))
        }
        rows = [[shortened(name, 40), cell(value)] for name, value in single.items()]
        return Table([Column("name", "text"), Column("value")], rows)
    return frame_table(frame)


def frame_table(frame: pandas.DataFrame, title: str = "", shown: int = 20) -> Table:
    """The rows of a data frame."""
    columns = [
        Column(shortened(name, 24), "number" if kind.kind in "iuf" else "text", optional=place > 0)
        for place, (name, kind) in enumerate(zip(frame.columns, frame.dtypes, strict=True))
    ]
    rows = [[cell(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    return Table(columns, rows, title, shown=shown)


def cell(value: Any) -> str:
    """One value.

    >>> cell(0.123456), cell(7), cell(None), cell(float("nan"))
    ('0.1235', '7', '–', '–')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)) or str(value) == "<NA>":
        return "–"
    return number(value) if isinstance(value, float) else shortened(value, 60)
