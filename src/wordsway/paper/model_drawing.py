"""Pictures of the figures about pretrained models, kept beside their numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wordsway.atomic import atomic
from wordsway.chart import Chart, Curve, Panel
from wordsway.paper.model_figures import ModelFigure
from wordsway.probing.attract import Attracted
from wordsway.result import Result


def make(figure: ModelFigure, folder: Path, model: str, seed: int) -> dict[str, Any]:
    """The figure's numbers, from an earlier run or measured now, with its files in the folder."""
    kept = figure.kept(folder, model, seed)
    if kept is not None:
        return kept
    result = figure.measure(model, seed)
    picture: Result = result
    if figure.kind == "layers" and isinstance(result, Attracted):
        picture = layers_chart(result)
    for kind in ("png", "svg", "pdf"):
        picture.save(folder / f"{figure.name}.{kind}")
    payload = result.to_dict() | {"key": figure.key(model, seed)}
    result.save(folder / f"{figure.name}.csv")
    with atomic(folder / f"{figure.name}.json") as partial:
        partial.write_text(json.dumps(payload, ensure_ascii=False, allow_nan=False), "utf-8")
    return payload


def layers_chart(result: Attracted) -> Chart:
    """The relative change of every layer, by the Δ and by noise of the same norm."""
    layers = list(range(len(result.profile)))
    factors = ["", *(f"{factor:.1f}×" for factor in result.factors[1:])]
    curves = [
        Curve("Δ that attracts attention", layers, result.profile, colour=1, labels=factors),
        Curve("Gaussian noise of the same norm", layers, result.noise, dashed=True),
    ]
    panel = Panel(
        "",
        curves,
        x_label="layer (0 is the input)",
        y_label="relative change of hidden states",
    )
    return Chart([panel])


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
