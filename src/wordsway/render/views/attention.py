"""Attention of one or two texts, and the difference of two."""

from __future__ import annotations

from wordsway.core.format import format_seconds
from wordsway.probing.attention import Attention
from wordsway.render.blocks import Matrices, Matrix, View, headline, source
from wordsway.render.views.provenance import model_name, provenance


def view(result: Attention) -> View:
    """One matrix per text on one scale, and second − first."""
    top = max(float(text.matrix.max()) for text in result.texts) or 1.0
    change = result.difference
    pairs = (
        list(zip(result.texts[0].labels, result.texts[1].labels, strict=True))
        if change is not None
        else []
    )
    differ = [row for row, (a, b) in enumerate(pairs) if a != b]
    matrices = [Matrix(text.text, text.labels, text.matrix, top, differ) for text in result.texts]
    if change is not None:
        reach = float(abs(change).max()) or 1.0
        names = [a if a == b else f"{a}→{b}" for a, b in pairs]
        title = f"second − first (full colour: {reach:.2g})"
        matrices.append(Matrix(title, names, change, reach, differ, "change of attention"))
    cut = "" if result.special else "; special tokens cut, rows not rescaled"
    head = f"{model_name(result.model)} · attention of {result.name}"
    note = "rows attend to columns; rows sum to 1"
    if any(text.kept < 0.995 for text in result.texts):
        shares = " and ".join(f"{text.kept:.2f}" for text in result.texts)
        note = f"rows attend to columns; rows sum to {shares} on average, the rest is attention "
        note += "to special tokens, which are cut"
    special = "kept" if result.special else "cut, rows not rescaled"
    return View(
        "Attention",
        [
            headline(f"{head} (full colour: {top:.2g})"),
            *matrices,
            source(f"{note} · {format_seconds(result.seconds)}"),
        ],
        provenance(result, {"special tokens": special}),
        lambda: Matrices(head + cut, matrices),
    )
