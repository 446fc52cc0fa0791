"""Words over a corpus, for a person at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from wordsway.escape import one_line
from wordsway.render.numbers import largest, number, times
from wordsway.render.terminal.tables import Fitted, bar
from wordsway.render.terminal.tables import text_cell as cell
from wordsway.render.terminal.words import SHOWN

if TYPE_CHECKING:
    import pandas

#: From so many texts on, words that stand in a single one are left out of the view (the files have
#: all of them).
MANY = 20
NARROW = 64


def batch_panel(
    found: dict[str, pandas.DataFrame], model: str, layer: int, texts: int, tokens: int
) -> RenderableType:
    """The words that move the layer most, the fifths of the texts, and the layers; from
    `wordsway.experiments.batches.aggregates`.
    """
    if not texts:
        return Text("no text was probed yet")
    words = int(found["by_place"]["words"].sum())
    layers = int(found["by_layer"]["layer"].max())
    counts = f"{words:,} words of {texts:,} text{'s' if texts > 1 else ''}, at most {tokens} tokens of each"
    head = Text(f"{one_line(model)}, layer {layer} of {layers}: {counts}", style="bold")

    def drawn(width: int, colours: bool) -> RenderableType:
        parts = [*_words(found["by_word"], layer, texts, width), Text()]
        parts += [
            Text("by fifth of the text; relative: S over the mean S of its text"),
            _places(found["by_place"], width),
            Text(),
        ]
        parts += [
            Text("by layer: mean change by the words' worst Δ, and by noise of the same norm")
        ]
        return Group(head, Text(), *parts, _layers(found["by_layer"], layer, width))

    return Fitted(drawn)


def least_texts(texts: int) -> int:
    """Texts in which a word has to stand to be shown: one of a few, two of many, one in a hundred
    of very many.

    >>> least_texts(6), least_texts(60), least_texts(1000)
    (1, 2, 10)
    """
    return 1 if texts < MANY else max(2, texts // 100)


def _words(by_word: pandas.DataFrame, layer: int, texts: int, width: int) -> list[RenderableType]:
    least = least_texts(texts)
    some = by_word[by_word["texts"] >= least]
    shown = some.head(SHOWN)
    title = Text(
        f"words that move layer {layer} most"
        + (f", of those in at least {least} texts" if least > 1 else "")
    )
    table = _table()
    table.add_column("\nword", max_width=max(8, width // 4), no_wrap=True, overflow="ellipsis")
    for name in ("in\ntexts", "\nuses", "mean\nS", "largest\nS", "rank\nshare", "times\nnoise"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    top = largest([float(value) for value in shown["mean_sensitivity"]])
    for row in shown.to_dict("records"):
        noise = row["mean_over_noise"]
        numbers = [
            f"{row['texts']:,}",
            f"{row['occurrences']:,}",
            number(row["mean_sensitivity"]),
            number(row["max_sensitivity"]),
        ]
        numbers += [f"{row['mean_rank_share']:.2f}", times(None if noise != noise else noise)]
        table.add_row(cell(str(row["word"])), *numbers, _bar(row["mean_sensitivity"], top, width))
    more = len(some) - len(shown)
    tail = (
        f"… and {more:,} more spelling{'s' if more > 1 else ''}, none above {number(shown['mean_sensitivity'].iloc[-1])}"
        if more
        else ""
    )
    legend = Text(
        "rank share: of its text's words, the share that moves the layer less; itself counts half",
        style="dim",
    )
    return [title, table, *([Text(tail, style="dim")] if tail else []), legend]


def _places(by_place: pandas.DataFrame, width: int) -> Table:
    table = _table()
    table.add_column("fifth", justify="right")
    for name in ("words", "mean S", "relative"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    top = largest([float(value) for value in by_place["mean_relative"] if value == value])
    for row in by_place.to_dict("records"):
        empty = not row["words"]
        values = (
            ["–", "–"]
            if empty
            else [number(row["mean_sensitivity"]), f"{row['mean_relative']:.3f}"]
        )
        table.add_row(
            str(row["fifth"]),
            f"{row['words']:,}",
            *values,
            _bar(0.0 if empty else row["mean_relative"], top, width),
        )
    return table


def _layers(by_layer: pandas.DataFrame, layer: int, width: int) -> Table:
    table = _table()
    for name in ("layer", "change", "noise", "ratio"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    top = largest([float(value) for value in by_layer["mean_change"]])
    for row in by_layer.to_dict("records"):
        ratio = row["mean_change"] / row["mean_noise"] if row["mean_noise"] > 0 else None
        mark = Text(f"{row['layer']}", style="bold" if row["layer"] == layer else "")
        table.add_row(
            mark,
            number(row["mean_change"]),
            number(row["mean_noise"]),
            times(ratio),
            _bar(row["mean_change"], top, width),
        )
    return table


def _table() -> Table:
    return Table(box=None, pad_edge=False, header_style="dim")


def _bar(value: float, top: float, width: int) -> Text:
    return Text(
        bar(value, top, 20 if width >= NARROW + 16 else 8 if width >= NARROW else 0),
        style="dark_orange3",
    )
