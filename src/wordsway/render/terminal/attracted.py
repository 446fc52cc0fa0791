"""A Δ that attracts attention, in a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.escape import one_line
from wordsway.format import format_seconds
from wordsway.probing.attract import Attracted
from wordsway.render.numbers import largest, number
from wordsway.render.terminal import panels
from wordsway.render.terminal.tables import Column, bar, explained, table
from wordsway.render.wording.attracted import MEANINGS, attention_drawn, moved
from wordsway.render.wording.provenance import model_name


@panels.register(Attracted)
def attracted_panel(result: Attracted) -> RenderableType:
    """Every layer's change beside noise of the same norm, and who looks at the token now."""
    top = largest(result.profile)
    rows = [
        (layer, number(change), number(noise), f"{factor:.1f}×", bar(change, top, 36))
        for layer, (change, noise, factor) in enumerate(
            zip(result.profile, result.noise, result.factors, strict=True)
        )
    ]
    columns = ("layer", "change", "noise", "times", Column("", "left", style="dark_orange3"))
    name = one_line(model_name(result.model))
    how = f"Δ at the input, ρ = {result.reach:g} · seed {result.seed}"
    return Group(
        Text(moved(result), style="bold"),
        table(columns, rows),
        Text(attention_drawn(result)),
        explained(MEANINGS),
        Text(f"{name} · {how} · {format_seconds(result.seconds)}", style="dim"),
    )
