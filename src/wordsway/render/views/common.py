"""Shared by views: where numbers come from, any result as a table, and charts."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wordsway.core.chart import Chart, Curve
from wordsway.core.escape import shortened
from wordsway.core.format import format_bytes, format_seconds
from wordsway.core.result import Result
from wordsway.render import blocks as b
from wordsway.render.numbers import number

if TYPE_CHECKING:
    import pandas


def model_name(model: Mapping[str, Any]) -> str:
    return str(model.get("model") or model.get("name") or "unnamed model")


def provenance(result: Result, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The model, the entries of ``more``, then seed, time, memory and versions."""
    model = getattr(result, "model", None)
    facts: dict[str, str] = {}
    if isinstance(model, Mapping):
        facts["model"] = model_name(model)
        facts |= {
            name.replace("_", " "): value
            if isinstance(value, str)
            else json.dumps(value, default=str, ensure_ascii=False)
            for name, value in model.items()
            if name not in ("model", "name") and value is not None
        }
    facts |= more or {}
    known = {} if hasattr(result, "versions") else result.to_dict()
    for name, spell in _FACTS.items():
        value = getattr(result, name, known.get(name))
        if value is not None:
            facts[_NAMES.get(name, name)] = spell(value)
    return facts


_NAMES = {"seconds": "time", "peak_mb": "peak memory"}
_FACTS: dict[str, Any] = {
    "seed": str,
    "seconds": format_seconds,
    "peak_mb": lambda megabytes: format_bytes(megabytes * 1e6),
    "versions": lambda versions: ", ".join(f"{name} {one}" for name, one in versions.items()),
}


def models_facts(models: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Every model with its hash and what else decides its numbers."""
    facts = {}
    for place, model in enumerate(models, 1):
        more = [
            f"{name} {model[name]}"
            for name in ("sha256", "type", "url", "pooling", "dtype", "twin", "random_words")
            if model.get(name) is not None
        ]
        facts[f"model {place}"] = ", ".join([str(model["name"]), *more])
    return facts


def refused_rows(rows: Sequence[object]) -> list[b.Block]:
    """Rows of a table that could not be used, the first ones with their reasons."""
    lines: list[b.Block] = [b.warning(str(row)) for row in rows[:5]]
    if (more := len(rows) - 5) > 0:
        lines.append(b.warning(f"… and {more:,} more rows refused"))
    return lines


def band(
    label: str, x: Sequence[float], ends: Sequence[tuple[float, float, float]], **look: Any
) -> Curve:
    """A curve of values with their lower and upper ends."""
    mean, low, high = zip(*ends, strict=True) if ends else ((), (), ())
    return Curve(shortened(label, 40), x, mean, (), high, lower=low, **look)


def chart_view(chart: Chart) -> b.ResultView:
    """The picture, and its numbers."""
    numbers = b.Fold("Numbers", [frame_table(chart.frame())], open=False)
    return b.ResultView(chart.title or "Chart", [chart, numbers], picture=lambda: chart)


def plain_view(result: Result) -> b.ResultView:
    """The class's name and the rows of ``frame()``."""
    title = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", type(result).__name__).lower().capitalize()
    table = frame_table(result.frame())
    return b.ResultView(title, [b.headline(title), table], provenance(result))


def frame_table(frame: pandas.DataFrame, shown: int = 20, intervals: Sequence[str] = ()) -> b.Table:
    """The rows of a data frame; columns of ``intervals`` are not cut, as numbers are not."""
    columns = [
        b.Column(
            shortened(name, 24),
            "number" if kind.kind in "iuf" or name in intervals else "text",
            optional=place > 0,
        )
        for place, (name, kind) in enumerate(zip(frame.columns, frame.dtypes, strict=True))
    ]
    rows = [[cell(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    return b.Table(columns, rows, shown=shown)


def cell(value: Any) -> str:
    """One value.

    >>> cell(0.123456), cell(7), cell(None), cell(float("nan"))
    ('0.1235', '7', '–', '–')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)) or str(value) == "<NA>":
        return "–"
    return number(value) if isinstance(value, float) else shortened(value, 60)
