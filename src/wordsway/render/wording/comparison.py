"""What every medium says of a language model on two prompts."""

from __future__ import annotations

from wordsway.escape import one_line, shortened
from wordsway.format import format_seconds
from wordsway.probing.compare import Comparison, NextToken, Side
from wordsway.probing.differences import Edit
from wordsway.probing.layer_changes import LayerChange
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


def change_of(result: Comparison, layer: LayerChange) -> float | None:
    """The change over all rows: where a few of them hold most of the norm, all count alike."""
    return layer.rows if result.scaling == "rows" else layer.change


def drawn_column(result: Comparison) -> str:
    """The column that bars show: the row that predicts the next token, of an encoder all rows."""
    return "last row" if result.kl_ab is not None else rows_name(result)


def drawn_value(result: Comparison, layer: LayerChange) -> float | None:
    return layer.last if result.kl_ab is not None else change_of(result, layer)


def meanings(result: Comparison) -> dict[str, str]:
    """One plain sentence for each column, and for the numbers of the next token."""
    alike = (
        ""
        if result.scaling == "frobenius"
        else (
            " A few tokens hold most of the norm of some layers (an attention sink), so that every "
            "token counts alike."
        )
    )
    said = {
        rows_name(result): "How far what the layer makes of all tokens that line up moves from A "
        f"to B, relative to its size in A.{alike}",
        "behind": "The same for the tokens from the first difference on.",
        "last row": "The same for the last token"
        + (", from which the next one is predicted." if result.kl_ab is not None else "."),
    }
    if result.kl_ab is None:
        return said | {
            "distance": "1 − cosine of both texts' embeddings: 0 is the same direction, 1 a "
            "right angle."
        }
    return said | {
        "KL(a‖b)": "How far the next token's probabilities after B are from those after A, in "
        "nats: 0 is no difference.",
        "p": "The probability of a token as the next one.",
    }


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
