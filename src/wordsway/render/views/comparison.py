"""A language model on two prompts: answers, layers, next token."""

from __future__ import annotations

import math
from collections.abc import Sequence

from wordsway.core.chart import Chart, Curve, Panel
from wordsway.core.escape import one_line, same_length, shortened
from wordsway.core.format import format_seconds
from wordsway.probing.compare import Comparison, LayerChange, NextToken, Side
from wordsway.probing.differences import WordEdit
from wordsway.render import blocks as b
from wordsway.render.numbers import small
from wordsway.render.views.common import model_name, provenance

#: Edits that are named, and characters of a prompt that is shown with marks.
EDITS, LONG = 6, 600


def comparison_view(result: Comparison) -> b.ResultView:
    blocks: list[b.Block] = [b.headline(f"{model_name(result.model)} on two prompts")]
    for name, side in (("a", result.a), ("b", result.b)):
        blocks += _side(result, name, side)
    blocks += [b.soft(_differences(result)), b.Fold("How far every layer moves", [_layers(result)])]
    if result.kl_ab is None:
        blocks.append(b.headline(divergences(result)))
    else:
        blocks.append(b.Fold(f"Next token: {divergences(result)}", [_next_tokens(result)]))
    blocks += [b.source(note) for note in _notes(result)]
    facts = provenance(result, {"chat template": "yes" if result.chat else "no"})
    return b.ResultView("Two prompts", blocks, facts, lambda: _picture(result))


def _side(result: Comparison, name: str, side: Side) -> list[b.Block]:
    style: b.Style = "first" if name == "a" else "second"
    label = b.Span(name.upper(), style)
    spans = [edit.a_span if name == "a" else edit.b_span for edit in result.edits]
    blocks: list[b.Block] = [b.RunningText(_marked(side.prompt, spans, style), label)]
    if result.kl_ab is not None:
        ending = f"(ends after {side.answer_tokens} tokens)"
        if side.cut:
            ending = f"… (cut at {side.answer_tokens} tokens)"
        answer = side.answer.strip() or "(empty answer)"
        blocks.append(b.RunningText((answer, " ", b.Span(ending, "soft")), quoted=True))
    return blocks


def _marked(prompt: str, spans: Sequence[tuple[int, int]], style: b.Style) -> tuple[b.Inline, ...]:
    """The prompt with the differing words marked; a long one is cut, without marks."""
    if len(prompt) > LONG:
        return (shortened(prompt, LONG),)
    text, done = same_length(prompt), 0
    parts: list[b.Inline] = []
    for start, end in spans:
        parts += [text[done:start], b.Span(text[start:end], style)]
        done = end
    return (*parts, text[done:])


def _differences(result: Comparison) -> str:
    if result.same_tokens:
        return "both prompts have the same tokens for this model: nothing can differ"
    if not result.edits:
        return "the same words: only white space differs"
    more = f" and {len(result.edits) - EDITS} more" if len(result.edits) > EDITS else ""
    return f"differs: {', '.join(_edit(edit) for edit in result.edits[:EDITS])}{more}"


def _edit(edit: WordEdit) -> str:
    first, second = (f"“{shortened(text, 60)}”" if text else "nothing" for text in (edit.a, edit.b))
    return f"{first} → {second} (word {(edit.a_words or edit.b_words)[0]})"


def _layers(result: Comparison) -> b.Table:
    rows_name = "all rows" if len(result.a.ids) == len(result.b.ids) else "common rows"
    predicts = result.kl_ab is not None
    equal_rows = ""
    if result.scaling != "frobenius":
        equal_rows = (
            " A few tokens hold most of the norm of some layers (an attention sink), so every "
            "token counts the same."
        )

    def overall(layer: LayerChange) -> float | None:
        return layer.rows if result.scaling == "rows" else layer.change

    def drawn(layer: LayerChange) -> float:
        return (layer.last if predicts else overall(layer)) or 0.0

    top = max((drawn(layer) for layer in result.layers), default=0.0)
    last = ", from which the next one is predicted." if predicts else "."
    bar_name = "last row" if predicts else rows_name
    columns = [
        b.Column("layer", cell=lambda layer: str(layer.layer)),
        b.Column(rows_name, cell=lambda layer: small(overall(layer))),
        b.Column("from the word on", cell=lambda layer: small(layer.behind)),
        b.Column("last row", cell=lambda layer: small(layer.last)),
        b.Column(bar_name, "bar", cell=lambda layer: b.Bar(drawn(layer), top)),
    ]
    notes = {
        rows_name: "Change of the layer from A to B over all tokens that line up, relative to its "
        f"size in A.{equal_rows}",
        "from the word on": "The same for the tokens from the first difference on.",
        "last row": f"The same for the last token{last}",
    }
    return b.table_of(result.layers, columns, shown=200, on_page=200, notes=notes)


def divergences(result: Comparison) -> str:
    """How far the next token's distributions, or the embeddings, are apart."""
    if result.kl_ab is None:
        return f"cosine distance of the embeddings {small(result.cosine)}"
    return f"KL(a‖b) = {small(result.kl_ab)} nats · KL(b‖a) = {small(result.kl_ba)} nats"


def _next_tokens(result: Comparison) -> b.Table:
    columns = []
    for name, other in ("AB", "BA"):
        columns += [b.Column(f"after {name}", "text"), b.Column("p"), b.Column(f"p after {other}")]
    rows = [
        [cell for token in pair for cell in _token(token)]
        for pair in zip(result.a.next, result.b.next, strict=True)
    ]
    notes = {
        "KL(a‖b)": "How far the next token's probabilities after B are from those after A, in "
        "nats: 0 is no difference.",
        "p": "The probability of a token as the next one.",
    }
    return b.Table(columns, rows, shown=5, on_page=10, notes=notes)


def _token(token: NextToken) -> tuple[str, str, str]:
    """A token with visible spaces and new lines, and its probabilities."""
    shown = one_line(token.text.replace("\n", "⏎").replace(" ", "␣"))
    shown += " (part)" if "�" in token.text else ""
    return shown, small(token.probability), small(token.other)


def _notes(result: Comparison) -> tuple[str, str]:
    """How the rows line up, and how the numbers were computed."""
    lengths = dict.fromkeys((len(result.a.ids), len(result.b.ids)))
    chat = " with the chat template" if result.chat else ""
    tokens = f"{' and '.join(map(str, lengths))} tokens{chat}"
    before = "" if result.prefix >= result.aligned else f", {result.prefix} before the difference"
    how = f"{result.model.get('dtype', '')} · {format_seconds(result.seconds)}"
    greedy = "" if result.kl_ab is None else "answers are greedy: the same on every run · "
    return f"{tokens} · {result.aligned} rows line up{before}", f"{greedy}{how}"


def _picture(result: Comparison) -> b.Texts:
    """Prompts and answers, and the change of every layer next to them."""
    texts = []
    sides: tuple[tuple[b.Style, Side], ...] = (("first", result.a), ("second", result.b))
    for style, side in sides:
        texts += [b.Span(side.prompt, style), b.Span(side.answer + (" …" if side.cut else ""))]
    layers = [layer.layer for layer in result.layers]
    curves = [
        Curve(label, layers, [math.nan if one is None else one for one in values], colour=colour)
        for colour, label, values in (
            (2, "tokens from the word on", [layer.behind for layer in result.layers]),
            (3, "last token", [layer.last for layer in result.layers]),
        )
    ]
    panel = Panel(
        ("next token: " if result.kl_ab is not None else "") + divergences(result),
        curves,
        x_label="layer (0 is the input)",
        y_label="relative change, ‖H(a) − H(b)‖/‖H(a)‖",
    )
    return b.Texts(texts, Chart([panel]))
