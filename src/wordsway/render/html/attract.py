"""A Δ that attracts attention, as HTML: a fragment for a notebook, and a page around it."""

from __future__ import annotations

import numpy as np

from wordsway.probing.attract import Attracted
from wordsway.render.html import blocks
from wordsway.render.html.attention import LARGEST, NUMBERED
from wordsway.render.html.parts import largest, model_name, number, origin, share
from wordsway.render.html.sheet import around
from wordsway.render.letters import escaped_line
from wordsway.render.terminal.attract import looks, moved


def attracted_fragment(result: Attracted) -> str:
    """Every layer's change beside noise of the same norm, and the first layer's attention before
    and after.
    """
    top = largest(result.profile)
    heads = [
        *((name, blocks.RIGHT) for name in ("layer", "change", "noise", "times")),
        ("", f"{blocks.LEFT};width:18em"),
    ]
    rows = [
        (
            str(layer),
            number(change),
            number(noise),
            f"{factor:.1f}×",
            blocks.bar(share(change, top)),
        )
        for layer, (change, noise, factor) in enumerate(
            zip(result.profile, result.noise, result.factors, strict=True)
        )
    ]
    parts = [
        f"<div><b>{escaped_line(moved(result))}</b></div>",
        blocks.table(heads, rows),
        f"<div>{escaped_line(looks(result))}</div>",
    ]
    n = len(result.tokens)
    for name, matrix in (
        (("before", result.before), ("after", result.after)) if n <= LARGEST else ()
    ):
        parts.append(f'<div style="margin-top:.8em">attention of layer 1, {name}</div>')
        parts.append(
            blocks.heat(
                result.tokens, np.array(matrix), 1.0, numbers=n <= NUMBERED, bold=result.rows
            )
        )
    return blocks.frame(
        [
            *parts,
            blocks.source(
                f"{model_name(result.model)} · ρ = {result.reach:g} · seed {result.seed}"
            ),
        ]
    )


def attracted_page(result: Attracted) -> str:
    facts = origin(
        result, {"reach": f"ρ = {result.reach:g} of the token's own norm", "Δ is added to": "input"}
    )
    return around("Attention drawn to a word", attracted_fragment(result), facts, result.to_dict())
