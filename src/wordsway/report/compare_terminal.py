"""Comparisons and attention for a person at a terminal: 80 columns are enough, and no text can drive the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from wordsway.memory import duration
from wordsway.probe.attention import Attention
from wordsway.probe.compare import Comparison, NextToken, Side
from wordsway.probe.differences import Edit
from wordsway.report.terminal import bar, plain

#: Next tokens shown of each prompt, characters of a prompt, and edits.
SHOWN, LONG, EDITS = 5, 600, 6
#: Shades from light to dark, so that a matrix can be read without colours, and the columns that it may take.
SHADES, WIDTH = " ░▒▓█", 80
COLOURS = {"a": "cyan", "b": "yellow"}


def comparison_panel(result: Comparison) -> RenderableType:
    """What differs, both answers, every layer, and the next token."""
    parts: list[RenderableType] = [Text(f"{plain(str(result.model['name']))} on two prompts", style="bold")]
    for name, side in (("a", result.a), ("b", result.b)):
        spans = [edit.a_span if name == "a" else edit.b_span for edit in result.edits]
        parts.append(_labelled(name, _marked(side.prompt, spans, COLOURS[name])))
    parts += [_differences(result.edits, result.same_tokens), Text("")]
    parts += [_labelled(name, _answer(side)) for name, side in (("a", result.a), ("b", result.b))]
    return Group(*parts, Text(""), _layers(result), Text(""), *_next(result), _note(result))


def one_line(text: str, limit: int = LONG) -> str:
    """A text on one line, without control characters, cut in the middle when it is long."""
    shown = plain(" ".join(text.split()))
    return shown if len(shown) <= limit else f"{shown[: limit // 2]} … {shown[-limit // 2 :]}"


def _labelled(name: str, text: Text) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(Text(name.upper(), style=f"bold {COLOURS[name]}"), text)
    return table


def _marked(prompt: str, spans: Sequence[tuple[int, int]], colour: str) -> Text:
    """The prompt with the differing words marked; a long one is cut, without marks."""
    if len(prompt) > LONG:
        return Text(one_line(prompt))
    shown = Text("".join(" " if char.isspace() else char if char.isprintable() else "�" for char in prompt))
    for start, end in spans:
        shown.stylize(f"bold underline {colour}", start, end)
    return shown


def _differences(edits: Sequence[Edit], same: bool) -> Text:
    if same:
        return Text("the model reads both prompts as the same tokens: nothing can differ", style="dim")
    if not edits:
        return Text("the same words: only white space differs", style="dim")
    said = [_edit(edit) for edit in edits[:EDITS]]
    more = f" and {len(edits) - EDITS} more" if len(edits) > EDITS else ""
    return Text(f"differs: {', '.join(said)}{more}", style="dim")


def _edit(edit: Edit) -> str:
    first, second = (f"“{one_line(text, 60)}”" if text else "nothing" for text in (edit.a, edit.b))
    places = edit.a_words or edit.b_words
    return f"{first} → {second} (word {places[0]})"


def _answer(side: Side) -> Text:
    text = plain_lines(side.answer.strip())
    tail = f" … (cut at {side.answer_tokens} tokens)" if side.cut else f" (ends after {side.answer_tokens} tokens)"
    return Text.assemble(text or "(says nothing)", (tail, "dim"))


def plain_lines(text: str) -> str:
    """A text of several lines without any other control characters."""
    return "\n".join(plain(line.replace("\t", " ")) for line in text.split("\n"))


def _layers(result: Comparison) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("layer", justify="right")
    table.add_column("all rows" if len(result.a.ids) == len(result.b.ids) else "common rows", justify="right")
    table.add_column("behind", justify="right")
    table.add_column("last row", justify="right")
    table.add_column("‖H(a) − H(b)‖/‖H(a)‖, last row", no_wrap=True)
    top = max((one.last or 0.0 for one in result.layers), default=0.0) or 1.0
    for one in result.layers:
        table.add_row(str(one.layer), _number(one.change), _number(one.behind), _number(one.last), bar(one.last or 0.0, None, top))
    return table


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}" if value >= 0.001 or not value else f"{value:.1e}"


def _next(result: Comparison) -> list[RenderableType]:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for side in "ab":
        table.add_column(f"next after {side.upper()}", max_width=18, no_wrap=True, overflow="ellipsis")
        table.add_column("p", justify="right", no_wrap=True)
        table.add_column(f"after {'B' if side == 'a' else 'A'}", justify="right", no_wrap=True)
        if side == "a":
            table.add_column("")
    for first, second in list(zip(result.a.next, result.b.next, strict=True))[:SHOWN]:
        table.add_row(*_token(first), "", *_token(second))
    head = Text.assemble(("next token  ", "bold"), f"KL(a‖b) = {_number(result.kl_ab)} nats · KL(b‖a) = {_number(result.kl_ba)} nats")
    return [head, table]


def _token(one: NextToken) -> tuple[Text, str, str]:
    part = " (part)" if "�" in one.text else ""
    return Text(plain(one.text.replace("\n", "⏎").replace(" ", "␣")) + part), _number(one.probability), _number(one.other)


def _note(result: Comparison) -> RenderableType:
    lengths = dict.fromkeys((len(result.a.ids), len(result.b.ids)))
    tokens = f"{' and '.join(map(str, lengths))} tokens{' with the chat template' if result.chat else ''}"
    rows = f"{result.aligned} rows line up, {result.prefix} before the difference"
    if result.prefix >= result.aligned:
        rows = f"{result.aligned} rows line up"
    end = f"answers are greedy: the same on every run · {result.model['dtype']} · {duration(result.seconds)}"
    return Group(Text(f"{tokens} · {rows}", style="dim"), Text(end, style="dim"))


def attention_panel(result: Attention) -> RenderableType:
    """Shaded matrices with their numbers, all on one scale; a text that is too long for 80 columns is sent to a file."""
    top = max(float(one.matrix.max()) for one in result.texts) or 1.0
    head = Text(f"{plain(str(result.model['name']))} · attention of {result.name} · █ is {top:.2g}", style="bold")
    parts: list[RenderableType] = [head]
    blocks = [_block(one_line(one.text, 76), one.labels, one.matrix, top) for one in result.texts]
    change = result.difference
    if change is not None and blocks[0] is not None:
        reach = float(abs(change).max()) or 1.0
        names = [a if a == b else f"{a}→{b}" for a, b in zip(result.texts[0].labels, result.texts[1].labels, strict=True)]
        blocks.append(_block(f"second − first (█ is {reach:.2g})", names, change, reach))
    for one, block in zip([*result.texts, None], blocks, strict=False):
        if block is None and one is not None:
            said = f"{len(one.tokens)} tokens are too many for a terminal: write a picture or a table with --out FILE.png, .svg, .pdf, .csv"
            block = Text.assemble((one_line(one.text, 76), "bold"), "\n", said)
        if block is not None:
            parts += [Text(""), block]
    shares = " and ".join(f"{one.kept:.2f}" for one in result.texts)
    note = "rows look at columns; rows sum to 1"
    if any(one.kept < 0.995 for one in result.texts):
        note = f"rows look at columns; rows sum to {shares} on average, the rest goes to special tokens, which are cut"
    return Group(*parts, Text(""), Text(f"{note} · {duration(result.seconds)}", style="dim"))


def _block(title: str, labels: Sequence[str], matrix: np.ndarray, top: float) -> Text | None:
    """One matrix as lines: rows with their names, columns with names where there is room for numbers; None if it does not fit."""
    names = [_fit(plain(label), 14) for label in labels]
    left = max(cell_len(name) for name in names)
    signed = bool((matrix < 0).any())
    room = (WIDTH - left - 4) // len(names)
    if (room < 3 and len(names) > 9) or room < 2:
        return None
    numbers = room >= (7 if signed else 6)
    width = min(room, 10) if numbers else min(room, 3)
    heads = [_fit(name, width - 1) if numbers else str(column + 1) for column, name in enumerate(names)]
    out = Text(no_wrap=True)
    out.append(f"{title}\n", style="bold")
    out.append(" " * (left + 4) + "".join(_right(head, width) for head in heads) + "\n", style="dim")
    for row, name in enumerate(names):
        out.append(f"{row + 1:>3} ", style="dim")
        out.append(set_cell_size(name, left))
        for value in matrix[row]:
            out.append_text(_cell(float(value), top, width, numbers, signed))
        out.append("\n" if row + 1 < len(names) else "")
    return out


def _cell(value: float, top: float, width: int, numbers: bool, signed: bool) -> Text:
    """A shade, with the number where there is room for it; colours tell gains from losses."""
    share = min(1.0, abs(value) / top)
    shade = SHADES[min(len(SHADES) - 1, round(share * (len(SHADES) - 1)))]
    style = "red" if signed and value > 0 else "blue" if signed else "cyan"
    if not numbers:
        sign = ("+" if value > 0 else "−") if signed and shade != " " else shade
        return Text(" " + (sign + shade if width == 3 else shade), style=style)
    number = hundredths(value, signed)
    return Text.assemble(" " * (width - len(number) - 1), (shade, style), number)


def hundredths(value: float, signed: bool) -> str:
    """Two decimals; a change has a sign unless it rounds to nothing.

    >>> hundredths(0.234, False), hundredths(-0.234, True), hundredths(-0.001, True)
    ('0.23', '−0.23', '0.00')
    """
    shown = f"{abs(value):.2f}"
    return shown if not signed or shown == "0.00" else f"{'+' if value > 0 else '−'}{shown}"


def _fit(text: str, width: int) -> str:
    """A text cut to so many columns of the terminal (wide letters take two)."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def _right(text: str, width: int) -> str:
    return " " * max(0, width - cell_len(text)) + text
