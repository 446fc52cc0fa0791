"""A language model on two prompts, for a person at a terminal: 80 columns are enough."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from wordsway.probing.compare import Comparison, NextToken, Side
from wordsway.render.compare_parts import (
    differences,
    divergences,
    ending,
    notes,
    rows_name,
    small,
    spelled,
)
from wordsway.render.letters import in_its_place, one_line, readable, shortened
from wordsway.render.terminal.tables import bar

#: Next tokens shown of each prompt, and characters of a prompt.
SHOWN, LONG = 5, 600
COLOURS = {"a": "cyan", "b": "yellow"}


def comparison_panel(result: Comparison) -> RenderableType:
    """What differs, both answers, every layer, and the next token."""
    parts: list[RenderableType] = [
        Text(f"{one_line(result.model['name'])} on two prompts", style="bold")
    ]
    for name, side in (("a", result.a), ("b", result.b)):
        spans = [edit.a_span if name == "a" else edit.b_span for edit in result.edits]
        parts.append(_labelled(name, _marked(side.prompt, spans, COLOURS[name])))
    parts += [Text(differences(result), style="dim"), Text("")]
    parts += [_labelled(name, _answer(side)) for name, side in (("a", result.a), ("b", result.b))]
    return Group(
        *parts,
        Text(""),
        _layers(result),
        Text(""),
        *_next(result),
        *(Text(note, style="dim") for note in notes(result)),
    )


def _labelled(name: str, text: Text) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(Text(name.upper(), style=f"bold {COLOURS[name]}"), text)
    return table


def _marked(prompt: str, spans: Sequence[tuple[int, int]], colour: str) -> Text:
    """The prompt with the differing words marked; a long one is cut, without marks."""
    if len(prompt) > LONG:
        return Text(shortened(prompt, LONG))
    shown = Text(in_its_place(prompt))
    for start, end in spans:
        shown.stylize(f"bold underline {colour}", start, end)
    return shown


def _answer(side: Side) -> Text:
    return Text.assemble(readable(side.answer.strip()) or "(says nothing)", (ending(side), "dim"))


def _layers(result: Comparison) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("layer", rows_name(result), "behind", "last row"):
        table.add_column(name, justify="right")
    table.add_column("‖H(a) − H(b)‖/‖H(a)‖, last row", no_wrap=True)
    top = max((one.last or 0.0 for one in result.layers), default=0.0) or 1.0
    for one in result.layers:
        table.add_row(
            str(one.layer),
            small(one.change),
            small(one.behind),
            small(one.last),
            bar(one.last or 0.0, None, top),
        )
    return table


def _next(result: Comparison) -> list[RenderableType]:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for side in "ab":
        table.add_column(
            f"next after {side.upper()}", max_width=18, no_wrap=True, overflow="ellipsis"
        )
        table.add_column("p", justify="right", no_wrap=True)
        table.add_column(f"after {'B' if side == 'a' else 'A'}", justify="right", no_wrap=True)
        if side == "a":
            table.add_column("")
    for first, second in list(zip(result.a.next, result.b.next, strict=True))[:SHOWN]:
        table.add_row(*_token(first), "", *_token(second))
    return [Text.assemble(("next token  ", "bold"), divergences(result)), table]


def _token(one: NextToken) -> tuple[Text, str, str]:
    return Text(spelled(one)), small(one.probability), small(one.other)
