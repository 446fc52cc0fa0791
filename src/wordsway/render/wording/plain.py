"""Any result as cells of text."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from wordsway.escape import shortened
from wordsway.render.numbers import number
from wordsway.result import Result

if TYPE_CHECKING:
    import pandas


def title_of(result: Result) -> str:
    """The name of its class, in words."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", type(result).__name__).lower()
    return name.capitalize()


def cells_of(result: Result) -> tuple[list[str], list[list[str]], list[bool]]:
    """Names of the columns of ``frame()``, cells, and which columns hold numbers.

    A result without a table shows the single values of ``to_dict()``.
    """
    try:
        frame = result.frame()
    except NotImplementedError:
        single = {
            name: value
            for name, value in result.to_dict().items()
            if not isinstance(value, (dict, list, tuple))
        }
        rows = [[shortened(name, 40), cell(value)] for name, value in single.items()]
        return ["what", "value"], rows, [False, True]
    return frame_cells(frame)


def frame_cells(frame: pandas.DataFrame) -> tuple[list[str], list[list[str]], list[bool]]:
    """The same of a data frame."""
    names = [shortened(name, 24) for name in frame.columns]
    rows = [[cell(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    return names, rows, [kind.kind in "iuf" for kind in frame.dtypes]


def cell(value: Any) -> str:
    """One value.

    >>> cell(0.123456), cell(7), cell(None), cell(float("nan"))
    ('0.1235', '7', '–', '–')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)) or str(value) == "<NA>":
        return "–"
    return number(value) if isinstance(value, float) else shortened(value, 60)
