"""A Δ that attracts attention, in a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from wordsway.format import format_seconds
from wordsway.probing.attract import Attracted
from wordsway.render.letters import one_line


def attracted_panel(result: Attracted) -> RenderableType:
    """Every layer's change beside noise of the same norm, and who looks at the token now."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("layer", "change", "noise", "times", ""):
        table.add_column(name, justify="left" if name == "" else "right", no_wrap=True)
    top = max(result.profile) or 1.0
    for layer, (change, noise, factor) in enumerate(
        zip(result.profile, result.noise, result.factors, strict=True)
    ):
        table.add_row(
            str(layer),
            f"{change:.4g}",
            f"{noise:.4g}",
            f"{factor:.1f}×",
            "█" * round(36 * change / top),
        )
    name = one_line(result.model["name"])
    about = f"{name} · Δ at the input, ρ = {result.reach:g} · seed {result.seed} · {format_seconds(result.seconds)}"
    return Group(
        Text(moved(result), style="bold"), table, Text(looks(result)), Text(about, style="dim")
    )


def moved(result: Attracted) -> str:
    """What was done."""
    heads = (
        "all heads of layer 1 look"
        if result.head == "all"
        else f"head {result.head} of layer 1 looks"
    )
    names = " ".join(one_line(result.tokens[row]) for row in result.rows)
    which = (
        f"token {result.row}"
        if len(result.rows) == 1
        else f"tokens {', '.join(map(str, result.rows))}"
    )
    return f"“{names}” ({which}) moved so that {heads} at it"


def looks(result: Attracted) -> str:
    """How much the other tokens look at it, before and after."""
    before, after = result.drawn
    head = "all heads" if result.head == "all" else f"head {result.head}"
    return f"mean attention of the other tokens to it, layer 1, {head}: {before:.3f} before, {after:.3f} after"
