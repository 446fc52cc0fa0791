"""A Δ that attracts attention, as HTML."""

from __future__ import annotations

import numpy as np

from wordsway.escape import html_line
from wordsway.probing.attract import Attracted
from wordsway.render.html import elements, fragments, pages
from wordsway.render.html.attention import LARGEST, NUMBERED
from wordsway.render.html.page import page_around
from wordsway.render.numbers import largest, number, share
from wordsway.render.wording.attracted import MEANINGS, attention_drawn, moved, shown
from wordsway.render.wording.provenance import model_name, provenance


@fragments.register(Attracted)
def attracted_fragment(result: Attracted) -> str:
    """Every layer's change beside noise of the same norm, and one layer's attention before and
    after.
    """
    top = largest(result.profile)
    heads = [(name, elements.RIGHT) for name in ("layer", "change", "noise", "times")]
    rows = [
        (
            str(layer),
            number(change),
            number(noise),
            f"{factor:.1f}×",
            elements.bar(share(change, top)),
        )
        for layer, (change, noise, factor) in enumerate(
            zip(result.profile, result.noise, result.factors, strict=True)
        )
    ]
    parts = [
        elements.paragraph(f"<b>{html_line(moved(result))}</b>"),
        elements.table([*heads, ("", elements.BARS)], rows),
        elements.paragraph(html_line(attention_drawn(result))),
        elements.explained(MEANINGS),
    ]
    n, about = len(result.tokens), shown(result)
    if n <= LARGEST:
        for name, matrix in (("before", result.before), ("after", result.after)):
            parts.append(elements.heading(f"attention of {about}, {name}; the fullest colour is 1"))
            parts.append(
                elements.heat(
                    result.tokens, np.array(matrix), 1.0, numbers=n <= NUMBERED, bold=result.rows
                )
            )
    how = f"{model_name(result.model)} · ρ = {result.reach:g} · seed {result.seed}"
    return elements.frame([*parts, elements.source(how)])


@pages.register(Attracted)
def attracted_page(result: Attracted) -> str:
    more = {"reach": f"ρ = {result.reach:g} of the token's own norm", "Δ is added to": "input"}
    return page_around(
        "Attention drawn to a word",
        attracted_fragment(result),
        provenance(result, more),
        result.to_dict(),
    )
