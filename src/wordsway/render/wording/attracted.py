"""What every medium says of a Δ that attracts attention."""

from __future__ import annotations

from wordsway.escape import one_line
from wordsway.probing.attract import Attracted
from wordsway.reading import word_spans


def moved(result: Attracted) -> str:
    """What was done."""
    heads = "all heads of layer 1 look"
    if result.head != "all":
        heads = f"head {result.head} of layer 1 looks"
    name, which = result.tokens[result.row], f"token {result.row}"
    if result.word is not None:
        start, end = word_spans(result.text)[result.word]
        name, which = result.text[start:end], f"word {result.word}"
    return f"“{one_line(name)}” ({which}) moved so that {heads} at it"


def attention_drawn(result: Attracted) -> str:
    """The attention that the other tokens give it, before and after."""
    before, after = result.drawn
    shares = f"{before:.3f} before, {after:.3f} after"
    return f"mean attention of the other tokens to it, {shown(result)}: {shares}"


def shown(result: Attracted) -> str:
    """Whose attention is reported."""
    head = "all heads" if result.shown_head == "all" else f"head {result.shown_head}"
    return f"layer {result.layer}, {head}"


#: One plain sentence for each column.
MEANINGS = {
    "change": "How far the layer moves, relative to its size. Where a few tokens hold most of its "
    "norm, every token counts alike.",
    "noise": "The same when random numbers of the same length are added to the word, on average.",
    "times": "How many times farther than by noise.",
}
