"""The playground as one file: its modules, its style and its text put together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from wordsway.core.atomic import atomic
from wordsway.core.checks import FilePath, validated
from wordsway.core.errors import InputError
from wordsway.maps.attention.certificates import dual, problem
from wordsway.maps.attention.certificates.bounds import RowBounds
from wordsway.maps.attention.scores import relu
from wordsway.maps.attention.scores.relu import ReluBounds
from wordsway.maps.attention.scores.sigmoid import SigmoidBounds
from wordsway.maps.attention.scores.softmax import SoftmaxBounds
from wordsway.page.playground.instance import COLDEST, HOTTEST, SCORES
from wordsway.render.html.document import asset, bundled, document

HERE = "wordsway.page.playground"
TITLE = "How far can one word move a layer? A playground"
#: The basis of the ceiling of each kind of scores.
BOUNDS: dict[str, type[RowBounds]] = {
    "softmax": SoftmaxBounds,
    "sink": SoftmaxBounds,
    "sigmoid": SigmoidBounds,
    "relu": ReluBounds,
}


@dataclass(frozen=True, repr=False)
class Playground:
    """The page: ``html`` is all of it; a notebook shows it, `save` keeps it."""

    html: str

    @property
    def bytes(self) -> int:
        """How large the file is."""
        return len(self.html.encode())

    def save(self, path: str | Path) -> Path:
        """Write the page atomically."""
        target = Path(path)
        if target.suffix.lower() not in {".html", ".htm"}:
            raise InputError("a file that ends in .html", target.name, "name it playground.html")
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic(target) as partial:
            partial.write_text(self.html, encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        source = escape(self.html, quote=True)
        return f'<iframe srcdoc="{source}" title="{TITLE}" width="100%" height="900"></iframe>'

    def __repr__(self) -> str:
        return f"Playground({self.bytes:,} bytes)"


@validated
def playground(out: FilePath | None = None) -> Playground:
    """One self-contained page that computes random attention in the browser; ``out`` saves it.

    >>> playground().bytes < 500_000
    True
    """
    page = Playground(_page())
    if out is not None:
        page.save(out)
    return page


@cache
def _page() -> str:
    return document(
        TITLE,
        [asset("playground.html", HERE)],
        style=asset("chart.css") + asset("playground.css", HERE),
        data={"result": constants()},
        script=bundled("app.js", HERE),
    )


def constants() -> dict[str, Any]:
    """What the page takes over from Python: the certificates' grids, and the kinds of scores."""
    return {
        "scores": list(SCORES),
        "coldest": COLDEST,
        "hottest": HOTTEST,
        "nodes": problem.NODES,
        "reach": problem.REACH,
        "cells": dual.COARSE,
        "rounds": dual.SPLITS,
        "silenceCells": relu.CELLS,
        "silenceSteps": relu.STEPS,
        "tilts": {name: list(bound.reweightings) for name, bound in BOUNDS.items()},
        "splits": {
            name: [one for one in bound.young_parameters if one] for name, bound in BOUNDS.items()
        },
    }
