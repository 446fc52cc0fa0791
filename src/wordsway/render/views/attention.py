"""Attention of one or two texts with the difference of two, and a Δ that attracts attention."""

from __future__ import annotations

import numpy as np

from wordsway.core.chart import Chart, Curve, Panel
from wordsway.core.format import format_seconds
from wordsway.core.reading import word_spans
from wordsway.probing.attention import AttentionMaps
from wordsway.probing.attract import Attracted
from wordsway.render import blocks as b
from wordsway.render.numbers import largest, number
from wordsway.render.views.common import model_name, provenance

#: What the columns of an attracting Δ mean.
MEANINGS = {
    "change": "How far the layer moves, relative to its size. Where a few tokens hold most of its "
    "norm, every token counts the same.",
    "noise": "The same for random Δ of the same length, on average.",
    "times": "Change divided by noise.",
}


def attention_maps_view(result: AttentionMaps) -> b.ResultView:
    """One matrix per text on one scale, and second − first."""
    top = max(float(text.matrix.max()) for text in result.texts) or 1.0
    change = result.difference
    pairs = (
        list(zip(result.texts[0].labels, result.texts[1].labels, strict=True))
        if change is not None
        else []
    )
    differ = [row for row, (first, second) in enumerate(pairs) if first != second]
    matrices = [b.Matrix(text.text, text.labels, text.matrix, top, differ) for text in result.texts]
    if change is not None:
        reach = float(abs(change).max()) or 1.0
        names = [first if first == second else f"{first}→{second}" for first, second in pairs]
        title = f"second − first (full colour: {reach:.2g})"
        matrices.append(b.Matrix(title, names, change, reach, differ, "change of attention"))
    cut = "" if result.special else "; special tokens cut, rows not rescaled"
    head = f"{model_name(result.model)} · attention of {result.name}"
    note = "rows attend to columns; rows sum to 1"
    if any(text.kept < 0.995 for text in result.texts):
        shares = " and ".join(f"{text.kept:.2f}" for text in result.texts)
        note = f"rows attend to columns; rows sum to {shares} on average, the rest is attention "
        note += "to special tokens, which are cut"
    special = "kept" if result.special else "cut, rows not rescaled"
    return b.ResultView(
        "Attention",
        [
            b.headline(f"{head} (full colour: {top:.2g})"),
            *matrices,
            b.source(f"{note} · {format_seconds(result.seconds)}"),
        ],
        provenance(result, {"special tokens": special}),
        lambda: b.Matrices(head + cut, matrices),
    )


def attracted_view(result: Attracted) -> b.ResultView:
    top = largest(result.profile)
    columns = [
        b.Column("change", cell=lambda row: number(row[0])),
        b.Column("noise", cell=lambda row: number(row[1])),
        b.Column("times", cell=lambda row: f"{row[2]:.1f}×"),
        b.Column("", "bar", cell=lambda row: b.Bar(row[0], top)),
    ]
    layers = list(zip(result.profile, result.noise, result.factors, strict=True))
    matrices = [
        b.Matrix(
            f"attention of {_shown(result)}, {when}",
            result.tokens,
            np.array(values),
            1.0,
            result.rows,
        )
        for when, values in (("before", result.before), ("after", result.after))
    ]
    moved, (before, after) = _moved(result), result.drawn
    shares = f"{before:.3f} before, {after:.3f} after"
    drawn = f"mean attention of the other tokens to it, {_shown(result)}: {shares}"
    how = f"Δ at the input, ρ = {result.reach:g} · seed {result.seed}"
    facts = {"reach": f"ρ = {result.reach:g} of the token's own norm", "Δ is added to": "input"}
    return b.ResultView(
        "Attention drawn to a word",
        [
            b.headline(moved),
            b.table_of(layers, columns, numbered="layer", shown=100, notes=MEANINGS),
            b.plain(drawn),
            *(matrices if len(result.tokens) <= 9 else ()),
            b.source(f"{model_name(result.model)} · {how} · {format_seconds(result.seconds)}"),
        ],
        provenance(result, facts),
        lambda: b.Matrices(f"{moved}\n{drawn}", matrices, _layers(result)),
    )


def _moved(result: Attracted) -> str:
    heads = "all heads of layer 1 attend"
    if result.head != "mean":
        heads = f"head {result.head} of layer 1 attends"
    name, which = result.tokens[result.row], f"token {result.row}"
    if result.word is not None:
        start, end = word_spans(result.text)[result.word]
        name, which = result.text[start:end], f"word {result.word}"
    return f"“{name}” ({which}) changed so that {heads} to it"


def _shown(result: Attracted) -> str:
    """The layer and head whose attention is reported."""
    head = "mean of all heads" if result.shown_head == "mean" else f"head {result.shown_head}"
    return f"layer {result.layer}, {head}"


def _layers(result: Attracted) -> Chart:
    layers = list(range(len(result.profile)))
    curves = [
        Curve("this Δ", layers, result.profile, colour=1),
        Curve("random Δ of its length", layers, result.noise, colour=0, dashed=True),
    ]
    title, x_label = "relative change of hidden states", "layer (0 is the input)"
    return Chart([Panel(title, curves, x_label=x_label, y_label="")])
