"""Numbers read back out of texts, documents and pictures."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

_NUMBER = re.compile(r"[-−+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)


def numbers_in_text(text: str) -> list[float]:
    """Every number that a text says.

    >>> numbers_in_text("30,522 of −0.5× and 1e-05")
    [30522.0, -0.5, 1e-05]
    """
    found = [match.replace(",", "").replace("−", "-") for match in _NUMBER.findall(text)]
    return [float(match) for match in found]


def numbers_in_data(value: Any) -> list[float]:
    """Every number of a JSON document."""
    if isinstance(value, dict):
        return [number for item in value.values() for number in numbers_in_data(item)]
    if isinstance(value, list):
        return [number for item in value for number in numbers_in_data(item)]
    if isinstance(value, str):
        return numbers_in_text(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [float(value)]
    return []


def numbers_in_figure(figure: Figure) -> list[float]:
    """Everything a picture draws or says: lines, bars, images, points, texts."""
    found: list[float] = []
    for text in figure.findobj(lambda artist: hasattr(artist, "get_text")):
        found += numbers_in_text(str(text.get_text()))  # type: ignore[attr-defined]
    for axes in figure.axes:
        for line in axes.lines:
            found += _flat(line.get_xdata()) + _flat(line.get_ydata())
        for patch in axes.patches:
            found += [
                float(getattr(patch, name)())
                for name in ("get_width", "get_height")
                if hasattr(patch, name)
            ]
        for drawn in [*axes.images, *axes.collections]:
            array = drawn.get_array()
            found += [] if array is None else _flat(array)
        for collection in axes.collections:
            found += _flat(np.asarray(collection.get_offsets()))
            for path in collection.get_paths():
                found += _flat(path.vertices)
    return [number for number in found if math.isfinite(number)]


def _flat(values: Any) -> list[float]:
    filled: Any = np.ma.filled(np.ma.asarray(values, float), np.nan)
    return [float(value) for value in filled.ravel()]


def says(numbers: Iterable[float], wanted: float) -> bool:
    """Whether a number is among others that may be rounded to three digits."""
    return any(math.isclose(number, wanted, rel_tol=6e-3, abs_tol=1e-12) for number in numbers)
