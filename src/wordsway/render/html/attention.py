"""Attention as HTML: tables of heat, for a notebook, and a page around them."""

from __future__ import annotations

from wordsway.format import format_seconds
from wordsway.probing.attention import Attention
from wordsway.render.html import blocks
from wordsway.render.html.parts import model_name, origin
from wordsway.render.html.sheet import around
from wordsway.render.letters import escaped_line, escaped_name, shortened

#: Up to so many tokens cells carry their numbers; more than the second are left to a picture.
NUMBERED, LARGEST = 14, 128


def attention_fragment(result: Attention) -> str:
    """A table per text on one scale, and their difference."""
    top = max(float(one.matrix.max()) for one in result.texts) or 1.0
    told = f"attention of {escaped_line(result.name)}; each row is a token that looks, and the fullest colour is {top:.2g}"
    parts = [f"<div><b>{escaped_name(model_name(result.model))}</b>, {told}</div>"]
    for one in result.texts:
        parts.append(f'<div style="margin-top:.8em">{escaped_name(shortened(one.text, 200))}</div>')
        n = len(one.tokens)
        if n > LARGEST:
            parts.append(
                f'<div style="{blocks.SOFT}">{n} tokens are too many for a table: save a picture instead</div>'
            )
        else:
            parts.append(blocks.heat(one.labels, one.matrix, top, numbers=n <= NUMBERED))
    change = result.difference
    if change is not None and len(change) <= LARGEST:
        pairs = list(zip(result.texts[0].labels, result.texts[1].labels, strict=True))
        names, reach = (
            [a if a == b else f"{a} → {b}" for a, b in pairs],
            float(abs(change).max()) or 1.0,
        )
        parts.append(
            f'<div style="margin-top:.8em">second − first; the fullest colour is {reach:.2g}</div>'
        )
        differ = [at for at, (a, b) in enumerate(pairs) if a != b]
        parts.append(blocks.heat(names, change, reach, numbers=len(names) <= NUMBERED, bold=differ))
    kept = " and ".join(f"{one.kept:.2f}" for one in result.texts)
    return blocks.frame(
        [*parts, blocks.source(f"rows sum to {kept} on average · {format_seconds(result.seconds)}")]
    )


def attention_page(result: Attention) -> str:
    facts = origin(
        result, {"special tokens": "kept" if result.special else "cut, rows not rescaled"}
    )
    return around("Attention", attention_fragment(result), facts, result.to_dict())
