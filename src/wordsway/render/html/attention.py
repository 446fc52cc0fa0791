"""Attention as HTML: tables of heat."""

from __future__ import annotations

from wordsway.escape import html_line, html_name, shortened
from wordsway.format import format_seconds
from wordsway.probing.attention import Attention
from wordsway.render.html import elements, fragments, pages
from wordsway.render.html.page import page_around
from wordsway.render.wording.provenance import model_name, provenance

#: Up to so many tokens cells carry their numbers; more than the second are left to a picture.
NUMBERED, LARGEST = 14, 128


@fragments.register(Attention)
def attention_fragment(result: Attention) -> str:
    """A table per text on one scale, and their difference."""
    top = max(float(text.matrix.max()) for text in result.texts) or 1.0
    scale = f"each row is a token that looks, and the fullest colour is {top:.2g}"
    name = html_name(model_name(result.model))
    parts = [elements.paragraph(f"<b>{name}</b>, attention of {html_line(result.name)}; {scale}")]
    for text in result.texts:
        parts.append(elements.heading(html_name(shortened(text.text, 200))))
        n = len(text.tokens)
        if n > LARGEST:
            parts.append(
                elements.soft(f"{n} tokens are too many for a table: save a picture instead")
            )
        else:
            parts.append(elements.heat(text.labels, text.matrix, top, numbers=n <= NUMBERED))
    parts += _difference(result)
    kept = " and ".join(f"{text.kept:.2f}" for text in result.texts)
    sums = f"rows sum to {kept} on average · {format_seconds(result.seconds)}"
    return elements.frame([*parts, elements.source(sums)])


def _difference(result: Attention) -> list[str]:
    change = result.difference
    if change is None or len(change) > LARGEST:
        return []
    pairs = list(zip(result.texts[0].labels, result.texts[1].labels, strict=True))
    names = [a if a == b else f"{a} → {b}" for a, b in pairs]
    differ = [row for row, (a, b) in enumerate(pairs) if a != b]
    top = float(abs(change).max()) or 1.0
    title = f"second − first, more in orange, less in blue; the fullest colour is {top:.2g}"
    heat = elements.heat(names, change, top, numbers=len(names) <= NUMBERED, bold=differ)
    return [elements.heading(title), heat]


@pages.register(Attention)
def attention_page(result: Attention) -> str:
    special = "kept" if result.special else "cut, rows not rescaled"
    facts = provenance(result, {"special tokens": special})
    return page_around("Attention", attention_fragment(result), facts, result.to_dict())
