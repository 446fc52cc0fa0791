"""A language model on two prompts, as HTML: a fragment for a notebook, and a page around it."""

from __future__ import annotations

from wordsway.probing.compare import Comparison, Side
from wordsway.render.compare_parts import (
    differences,
    divergences,
    ending,
    notes,
    rows_name,
    small,
    spelled,
)
from wordsway.render.html import blocks
from wordsway.render.html.parts import model_name, origin, share
from wordsway.render.html.sheet import around
from wordsway.render.letters import escaped, escaped_line, escaped_name

#: Next tokens shown of each prompt.
SHOWN = 10
COLOURS = {"a": blocks.COLD, "b": blocks.HEAT}


def comparison_fragment(result: Comparison) -> str:
    """What differs, both answers, the next token, and every layer."""
    parts = [
        f"<div><b>{escaped_name(model_name(result.model))}</b> on two prompts; {escaped_line(differences(result))}</div>"
    ]
    parts += [_side(result, name, side) for name, side in (("a", result.a), ("b", result.b))]
    parts.append(blocks.folded(f"Next token: {escaped_line(divergences(result))}", _next(result)))
    parts.append(
        blocks.folded("Relative change of every layer, ‖H(a) − H(b)‖/‖H(a)‖", _layers(result))
    )
    return blocks.frame([*parts, *(blocks.source(note) for note in notes(result))])


def comparison_page(result: Comparison) -> str:
    facts = origin(result, {"chat template": "yes" if result.chat else "no"})
    return around("Two prompts", comparison_fragment(result), facts, result.to_dict())


def _side(result: Comparison, name: str, side: Side) -> str:
    spans = [edit.a_span if name == "a" else edit.b_span for edit in result.edits]
    prompt = blocks.flow(
        f'<b style="color:rgb({COLOURS[name]})">{name.upper()}</b> {blocks.marked(side.prompt, spans, COLOURS[name])}'
    )
    said = escaped(side.answer.strip()) or "(says nothing)"
    answer = blocks.flow(f'{said}<span style="opacity:.7">{escaped_line(ending(side))}</span>')
    return f'{prompt}<div style="margin-left:1.4em;padding-left:.8em;border-left:3px solid rgba({COLOURS[name]},.5)">{answer}</div>'


def _next(result: Comparison) -> str:
    heads = [
        head
        for name, other in ("AB", "BA")
        for head in (
            (f"after {name}", blocks.LEFT),
            ("p", blocks.RIGHT),
            (f"after {other}", blocks.RIGHT),
        )
    ]
    rows = [
        [
            cell
            for one in pair
            for cell in (escaped_name(spelled(one)), small(one.probability), small(one.other))
        ]
        for pair in list(zip(result.a.next, result.b.next, strict=True))[:SHOWN]
    ]
    return blocks.table(heads, rows)


def _layers(result: Comparison) -> str:
    names = ("layer", rows_name(result), "from the word on", "last row")
    heads = [*((name, blocks.RIGHT) for name in names), ("", f"{blocks.LEFT};width:18em")]
    top = max((one.last or 0.0 for one in result.layers), default=0.0)
    rows = [
        (
            str(one.layer),
            small(one.change),
            small(one.behind),
            small(one.last),
            blocks.bar(share(one.last or 0.0, top)),
        )
        for one in result.layers
    ]
    return blocks.table(heads, rows)
