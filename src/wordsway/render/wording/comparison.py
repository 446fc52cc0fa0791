"""What every medium says of a language model on two prompts."""

from __future__ import annotations

from wordsway.escape import one_line, shortened
from wordsway.format import format_seconds
from wordsway.probing.compare import Comparison, NextToken, Side
from wordsway.probing.differences import Edit
from wordsway.render.numbers import small

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


def divergences(result: Comparison) -> str:
    if result.kl_ab is None:
        return f"cosine distance of the embeddings {small(result.cosine)}"
    return f"KL(a‖b) = {small(result.kl_ab)} nats · KL(b‖a) = {small(result.kl_ba)} nats"


def token_name(token: NextToken) -> str:
    """A token with its spaces and new lines to be seen; a part of a character says so."""
    shown = one_line(token.text.replace("\n", "⏎").replace(" ", "␣"))
    return shown + (" (part)" if "�" in token.text else "")


def notes(result: Comparison) -> tuple[str, str]:
    """How the rows line up, and how the numbers came about."""
    lengths = dict.fromkeys((len(result.a.ids), len(result.b.ids)))
    chat = " with the chat template" if result.chat else ""
    tokens = f"{' and '.join(map(str, lengths))} tokens{chat}"
    before = "" if result.prefix >= result.aligned else f", {result.prefix} before the difference"
    how = f"{result.model.get('dtype', '')} · {format_seconds(result.seconds)}"
    greedy = "" if result.kl_ab is None else "answers are greedy: the same on every run · "
    return f"{tokens} · {result.aligned} rows line up{before}", f"{greedy}{how}"
