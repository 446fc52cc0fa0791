"""The paper's figures, and the studies beside them, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wordsway.core.errors import InputError
from wordsway.paper.figure import Figure
from wordsway.paper.ingredients import ingredients, read_outs
from wordsway.paper.learned_flips import flips
from wordsway.paper.phase import PhaseDiagram
from wordsway.paper.pretrained import (
    AnswersToTwoPrompts,
    AttentionOfTwoTexts,
    AttractedAttention,
    AttractedLayers,
)
from wordsway.paper.random_attention import ReluAttention, SoftmaxAttention
from wordsway.paper.random_features import DeepRandomFeatures, RandomFeatures

_ALL: tuple[Figure[Any], ...] = (
    AttentionOfTwoTexts(),
    AnswersToTwoPrompts(),
    RandomFeatures(),
    DeepRandomFeatures(),
    SoftmaxAttention(),
    ReluAttention(),
    AttractedLayers(),
    AttractedAttention(),
    *flips(),
    ingredients(),
    PhaseDiagram(),
    read_outs(),
)
FIGURES = {figure.name: figure for figure in _ALL}


def choose(names: Sequence[str]) -> list[Figure[Any]]:
    """Figures by name: "2-left", "2" for both of Figure 2, "3" for 3.1 to 3.4, "4" for Figure 4 on
    all data, "all" (or none) for the whole paper, "studies" for what goes beyond it.

    >>> [figure.name for figure in choose(["2", "3.1", "phase"])]
    ['2-left', '2-right', '3.1', 'phase']
    """
    chosen: dict[str, Figure[Any]] = {}
    for name in names or ["all"]:
        found = {
            key: figure
            for key, figure in FIGURES.items()
            if name == key
            or name == ("studies" if figure.study else "all")
            or key.startswith((f"{name}-", f"{name}."))
        }
        if not found:
            raise InputError(
                f"figures among {', '.join(FIGURES)}, 1, 2, 3, 4, 5, all, studies",
                repr(name),
                "leave it out for all of the paper",
            )
        chosen |= found
    return list(chosen.values())
