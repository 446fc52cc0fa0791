"""What the views of a comparison share: its numbers and its words."""

from __future__ import annotations

from wordsway.format import format_seconds
from wordsway.probing.compare import Comparison, NextToken, Side
from wordsway.probing.differences import Edit
from wordsway.render.letters import one_line, shortened

#: Edits that are named.
EDITS = 6


def differences(result: Comparison) -> str:
    """In which words the prompts differ."""
    if result.same_tokens:
        return "the model reads both prompts as the same tokens: nothing can differ"
    if not result.edits:
        return "the same words: only white space differs"
    more = f" and {len(result.edits) - EDITS} more" if len(result.edits) > EDITS else ""
    return f"differs: {', '.join(_edit(edit) for edit in result.edits[:EDITS])}{more}"


def _edit(edit: Edit) -> str:
    first, second = (f"“{shortened(text, 60)}”" if text else "nothing" for text in (edit.a, edit.b))
    places = edit.a_words or edit.b_words
    return f"{first} → {second} (word {places[0]})"


def ending(side: Side) -> str:
    """How the answer ends."""
    return (
        f" … (cut at {side.answer_tokens} tokens)"
        if side.cut
        else f" (ends after {side.answer_tokens} tokens)"
    )


def rows_name(result: Comparison) -> str:
    return "all rows" if len(result.a.ids) == len(result.b.ids) else "common rows"


def small(value: float | None) -> str:
    """Three decimals, or as many as it takes; – where there is nothing.

    >>> small(0.25), small(0.00002), small(0.0), small(None)
    ('0.250', '2.0e-05', '0.000', '–')
    """
    return (
        "–" if value is None else f"{value:.3f}" if value >= 0.001 or not value else f"{value:.1e}"
    )


def divergences(result: Comparison) -> str:
    return f"KL(a‖b) = {small(result.kl_ab)} nats · KL(b‖a) = {small(result.kl_ba)} nats"


def spelled(one: NextToken) -> str:
    """A token with its spaces and new lines to be seen; a part of a character says so."""
    return one_line(one.text.replace("\n", "⏎").replace(" ", "␣")) + (
        " (part)" if "�" in one.text else ""
    )


def notes(result: Comparison) -> tuple[str, str]:
    """How the rows line up, and how the numbers came about."""
    lengths = dict.fromkeys((len(result.a.ids), len(result.b.ids)))
    tokens = f"{' and '.join(map(str, lengths))} tokens{' with the chat template' if result.chat else ''}"
    before = "" if result.prefix >= result.aligned else f", {result.prefix} before the difference"
    said = f"answers are greedy: the same on every run · {result.model['dtype']} · {format_seconds(result.seconds)}"
    return f"{tokens} · {result.aligned} rows line up{before}", said
