"""Pictures of the figures about pretrained models, kept beside their numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wordsway.atomic import atomic
from wordsway.paper.model_figures import ModelFigure
from wordsway.render.plot.attract import draw_layers
from wordsway.render.plot.curves import FORMATS
from wordsway.render.views import view_of


def make(figure: ModelFigure, folder: Path, model: str, seed: int) -> dict[str, Any]:
    """The figure's numbers, from an earlier run or measured now, with its files in the folder."""
    kept = figure.kept(folder, model, seed)
    if kept is not None:
        return kept
    result = figure.measure(model, seed)
    draw: Callable[[Any, Path, str], None] = (
        draw_layers if figure.kind == "layers" else view_of(result).draw
    )
    for kind in FORMATS:
        with atomic(folder / f"{figure.name}.{kind}") as partial:
            draw(result, partial, kind)
    payload = result.to_dict() | {"key": figure.key(model, seed)}
    with atomic(folder / f"{figure.name}.csv") as partial:
        result.frame().to_csv(partial, index=False)
    with atomic(folder / f"{figure.name}.json") as partial:
        partial.write_text(json.dumps(payload, ensure_ascii=False, allow_nan=False), "utf-8")
    return payload


def told(figure: ModelFigure, payload: dict[str, Any]) -> str:
    """How to read the figure."""
    model = f"{payload['model']['name']}. "
    if figure.kind == "attention":
        return (
            model
            + "Mean attention of the first layer over its heads: each row is a token that looks, special tokens are cut."
        )
    if figure.kind == "answers":
        return (
            model
            + "Greedy answers to two prompts that differ in one word, and the relative change of every layer’s hidden states."
        )
    if figure.kind == "layers":
        return (
            model
            + f"Relative change of every layer when token {payload['row']} of {len(payload['tokens'])} moves by its own norm: towards "
            "what attracts the attention of all other tokens in the first layer, and by Gaussian noise (mean of 8 draws)."
        )
    return (
        model
        + f"Token {payload['row']} moves by its own norm so that head {payload['head']} of the first layer looks at it."
    )
