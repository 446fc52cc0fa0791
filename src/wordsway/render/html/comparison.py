"""A language model on two prompts, as HTML."""

from __future__ import annotations

from wordsway.escape import html_line, html_name, html_text
from wordsway.probing.compare import Comparison, Side
from wordsway.render.html import elements, fragments, pages
from wordsway.render.html.page import page_around
from wordsway.render.numbers import share, small
from wordsway.render.wording.comparison import (
    change_of,
    differences,
    divergences,
    drawn_column,
    drawn_value,
    ending,
    meanings,
    notes,
    rows_name,
    token_name,
)
from wordsway.render.wording.provenance import model_name, provenance

#: Next tokens shown of each prompt.
SHOWN = 10
COLOURS = {"a": elements.COLD, "b": elements.HEAT}


@fragments.register(Comparison)
def comparison_fragment(result: Comparison) -> str:
    """What differs, both answers, the next token, and every layer."""
    name = html_name(model_name(result.model))
    parts = [
        elements.paragraph(f"<b>{name}</b> on two prompts; {html_line(differences(result))}"),
        _side(result, "a", result.a),
        _side(result, "b", result.b),
        _summary(result),
        elements.folded("How far every layer moves", _layers(result)),
        elements.explained(meanings(result)),
    ]
    return elements.frame([*parts, *(elements.source(note) for note in notes(result))])


@pages.register(Comparison)
def comparison_page(result: Comparison) -> str:
    facts = provenance(result, {"chat template": "yes" if result.chat else "no"})
    return page_around("Two prompts", comparison_fragment(result), facts, result.to_dict())


def _summary(result: Comparison) -> str:
    said = html_line(divergences(result))
    if result.kl_ab is None:
        return elements.paragraph(said[:1].upper() + said[1:])
    return elements.folded(f"Next token: {said}", _next_tokens(result))


def _side(result: Comparison, name: str, side: Side) -> str:
    spans = [edit.a_span if name == "a" else edit.b_span for edit in result.edits]
    colour = COLOURS[name]
    letter = f'<span style="{elements.tint(0.6, colour)};padding:.05em .45em;border-radius:.25em">'
    prompt = f"{letter}<b>{name.upper()}</b></span> {elements.marked(side.prompt, spans, colour)}"
    if result.kl_ab is None:
        return elements.flow(prompt)
    answer = html_text(side.answer.strip()) or "(says nothing)"
    ended = f'<span style="opacity:.7">{html_line(ending(side))}</span>'
    look = f"margin-left:1.4em;padding-left:.8em;border-left:3px solid rgba({colour},.5)"
    return f'{elements.flow(prompt)}<div style="{look}">{elements.flow(answer + ended)}</div>'


def _next_tokens(result: Comparison) -> str:
    heads = [
        head
        for name, other in ("AB", "BA")
        for head in (
            (f"after {name}", elements.LEFT),
            ("p", elements.RIGHT),
            (f"p after {other}", elements.RIGHT),
        )
    ]
    rows = [
        [
            cell
            for token in pair
            for cell in (
                html_name(token_name(token)),
                small(token.probability),
                small(token.other),
            )
        ]
        for pair in list(zip(result.a.next, result.b.next, strict=True))[:SHOWN]
    ]
    return elements.table(heads, rows)


def _layers(result: Comparison) -> str:
    names = ("layer", rows_name(result), "behind", "last row")
    heads = [*((name, elements.RIGHT) for name in names), (drawn_column(result), elements.BARS)]
    top = max((drawn_value(result, layer) or 0.0 for layer in result.layers), default=0.0)
    rows = [
        (
            str(layer.layer),
            small(change_of(result, layer)),
            small(layer.behind),
            small(layer.last),
            elements.bar(share(drawn_value(result, layer) or 0.0, top)),
        )
        for layer in result.layers
    ]
    return elements.table(heads, rows)
