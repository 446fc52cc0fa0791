"""A language model on two prompts, for a person at a terminal: 80 columns are enough."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from wordsway.escape import one_line, readable, same_length, shortened
from wordsway.probing.compare import Comparison, NextToken, Side
from wordsway.render.numbers import small
from wordsway.render.terminal import panels
from wordsway.render.terminal.tables import Column, bar, explained, table
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
from wordsway.render.wording.provenance import model_name

#: Next tokens shown of each prompt, and characters of a prompt.
SHOWN, LONG = 5, 600
COLOURS = {"a": "cyan", "b": "yellow"}


@panels.register(Comparison)
def comparison_panel(result: Comparison) -> RenderableType:
    """What differs, both answers, every layer, and the next token."""
    name = one_line(model_name(result.model))
    parts: list[RenderableType] = [Text(f"{name} on two prompts", style="bold")]
    for name, side in (("a", result.a), ("b", result.b)):
        spans = [edit.a_span if name == "a" else edit.b_span for edit in result.edits]
        parts.append(_labelled(name, _marked(side.prompt, spans, COLOURS[name])))
    parts += [Text(differences(result), style="dim"), Text("")]
    if result.kl_ab is not None:
        sides = (("a", result.a), ("b", result.b))
        parts += [_labelled(name, _answer(side)) for name, side in sides]
        parts.append(Text(""))
    return Group(
        *parts,
        _layers(result),
        Text(""),
        *_next(result),
        Text(""),
        explained(meanings(result)),
        *(Text(note, style="dim") for note in notes(result)),
    )


def _labelled(name: str, text: Text) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(name.upper(), style=f"bold {COLOURS[name]}"), text)
    return grid


def _marked(prompt: str, spans: Sequence[tuple[int, int]], colour: str) -> Text:
    """The prompt with the differing words marked; a long one is cut, without marks."""
    if len(prompt) > LONG:
        return Text(shortened(prompt, LONG))
    shown = Text(same_length(prompt))
    for start, end in spans:
        shown.stylize(f"bold underline {colour}", start, end)
    return shown


def _answer(side: Side) -> Text:
    return Text.assemble(readable(side.answer.strip()) or "(says nothing)", (ending(side), "dim"))


def _layers(result: Comparison) -> RenderableType:
    top = max((drawn_value(result, layer) or 0.0 for layer in result.layers), default=0.0)
    columns = (
        "layer",
        rows_name(result),
        "behind",
        "last row",
        Column(drawn_column(result), "left", style="cyan"),
    )
    rows = [
        (
            layer.layer,
            small(change_of(result, layer)),
            small(layer.behind),
            small(layer.last),
            bar(drawn_value(result, layer) or 0.0, top),
        )
        for layer in result.layers
    ]
    return table(columns, rows)


def _next(result: Comparison) -> list[RenderableType]:
    if result.kl_ab is None:
        return [Text(divergences(result), style="bold")]
    first = (Column("next after A", "left", width=18), "p", "p after B")
    second = (Column("next after B", "left", width=18), "p", "p after A")
    rows = [
        (*_token(a), "", *_token(b))
        for a, b in list(zip(result.a.next, result.b.next, strict=True))[:SHOWN]
    ]
    head = Text.assemble(("next token  ", "bold"), divergences(result))
    return [head, table([*first, "", *second], rows)]


def _token(token: NextToken) -> tuple[str, str, str]:
    return token_name(token), small(token.probability), small(token.other)
