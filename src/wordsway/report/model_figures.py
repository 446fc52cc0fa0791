"""Pictures of the figures about pretrained models, kept beside their numbers."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from wordsway.probe.attention import Attention
from wordsway.probe.attract import Attracted
from wordsway.probe.compare import Comparison, Side
from wordsway.report.attention_plot import draw_attention
from wordsway.report.attract_plot import FORMATS, draw_attracted, draw_layers
from wordsway.report.panels import LOOK
from wordsway.report.plot import STYLE, save
from wordsway.report.terminal import plain
from wordsway.studies.model_figures import ModelFigure
from wordsway.whole import whole


def make(figure: ModelFigure, folder: Path, model: str, seed: int) -> dict[str, Any]:
    """The figure's numbers, from an earlier run or measured now, with its files in the folder."""
    kept = figure.kept(folder, model, seed)
    if kept is not None:
        return kept
    result = figure.measure(model, seed)
    path = folder / figure.name
    if isinstance(result, Attention):
        for kind in FORMATS:
            draw_attention(result, path.with_name(f"{figure.name}.{kind}"))
    elif isinstance(result, Comparison):
        _answers(result, path)
    elif isinstance(result, Attracted):
        (draw_layers if figure.kind == "layers" else draw_attracted)(result, path)
    payload = result.to_dict() | {"key": figure.key(model, seed)}
    with whole(path.with_name(f"{figure.name}.csv")) as partial:
        result.frame().to_csv(partial, index=False)
    with whole(path.with_name(f"{figure.name}.json")) as partial:
        partial.write_text(json.dumps(payload, ensure_ascii=False, allow_nan=False), "utf-8")
    return payload


def told(figure: ModelFigure, payload: dict[str, Any]) -> str:
    """How to read the figure."""
    model = f"{payload['model']['name']}. "
    if figure.kind == "attention":
        return model + "Mean attention of the first layer over its heads: each row is a token that looks, special tokens are cut."
    if figure.kind == "answers":
        return model + "Greedy answers to two prompts that differ in one word, and the relative change of every layer’s hidden states."
    if figure.kind == "layers":
        return (
            model
            + f"Relative change of every layer when token {payload['row']} of {len(payload['tokens'])} moves by its own norm: towards "
            "what attracts the attention of all other tokens in the first layer, and by Gaussian noise (mean of 8 draws)."
        )
    return model + f"Token {payload['row']} moves by its own norm so that head {payload['head']} of the first layer looks at it."


def _answers(result: Comparison, path: Path) -> None:
    with plt.rc_context(STYLE):
        drawn, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained", width_ratios=(1.1, 1))
        left.axis("off")
        place = 1.0
        for colour, side in ((LOOK[0][0], result.a), (LOOK[1][0], result.b)):
            for text, weight, ink in ((_wrapped(side.prompt, 52), "bold", colour), (_wrapped(_answer(side), 58), "normal", "#222222")):
                left.text(0, place, text, va="top", fontsize=10, fontweight=weight, color=ink, transform=left.transAxes, parse_math=False)
                place -= 0.062 * (text.count("\n") + 1) + 0.025
            place -= 0.05
        layers = [one.layer for one in result.layers]
        for at, (label, name) in enumerate((("rows from the word on", "behind"), ("last row", "last"))):
            values = [getattr(one, name) for one in result.layers]
            shown = [np.nan if value is None else value for value in values]
            right.plot(layers, shown, marker=LOOK[at][1], color=LOOK[at + 2][0], markersize=4, label=label)
        right.set_xlabel("layer")
        right.set_ylabel("relative change")
        right.set_ylim(bottom=0)
        right.set_title(f"next-token KL {result.kl_ab:.3g} nats", fontsize=11)
        right.legend(fontsize=9)
        save(drawn, path)
        plt.close(drawn)


def _answer(side: Side) -> str:
    return side.answer + (" …" if side.cut else "")


def _wrapped(text: str, width: int) -> str:
    lines = [line for part in plain(text).splitlines() if part.strip() for line in textwrap.wrap(part, width)]
    return "\n".join(lines[:7] + (["…"] if len(lines) > 7 else []))
