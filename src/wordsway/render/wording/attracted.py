"""What every medium says of a Δ that attracts attention."""

from __future__ import annotations

from wordsway.escape import one_line
from wordsway.probing.attract import Attracted


def moved(result: Attracted) -> str:
    """What was done."""
    heads = "all heads of layer 1 look"
    if result.head != "all":
        heads = f"head {result.head} of layer 1 looks"
    names = " ".join(one_line(result.tokens[row]) for row in result.rows)
    which = f"token {result.row}" if result.word is None else f"word {result.word}"
    return f"“{names}” ({which}) moved so that {heads} at it"


def attention_drawn(result: Attracted) -> str:
    """How much the other tokens look at it, before and after."""
    before, after = result.drawn
    head = "all heads" if result.head == "all" else f"head {result.head}"
    shares = f"{before:.3f} before, {after:.3f} after"
    return f"mean attention of the other tokens to it, layer 1, {head}: {shares}"
