"""Words over a corpus, for a person at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.core.escape import one_line
from wordsway.render.numbers import count, largest, number, times
from wordsway.render.terminal import panels
from wordsway.render.terminal.tables import BarCell, explained, table
from wordsway.render.terminal.tables import TerminalColumn as Column
from wordsway.render.views.sweep import tally_line
from wordsway.render.wording.corpus_words import (
    LEADS,
    has_layers,
    has_real_words,
    meanings,
    moved,
    spread,
)
from wordsway.studies.corpus_words import CorpusWords

if TYPE_CHECKING:
    import pandas

#: Rows of the table of words; what is left is counted.
SHOWN = 15
#: From so many texts on, words that stand in a single one are left out of the view (the files have
#: all of them).
MANY = 20


@panels.register(CorpusWords)
def corpus_words_panel(result: CorpusWords) -> RenderableType:
    """What the words have in common, what was done, and where the tables are."""
    tables = ", ".join(str(path) for path in result.tables)
    return Group(
        *(_aggregates(result) if result.probed else [Text("no text was probed yet")]),
        Text(),
        Text(one_line(tally_line(result.tally, result.folder / "store")), overflow="fold"),
        Text(one_line(f"tables: {tables}"), overflow="fold"),
    )


def _aggregates(result: CorpusWords) -> list[RenderableType]:
    """The words with the largest numbers, the fifths of the texts, and the layers."""
    job = result.jobs[0]
    found = result.aggregates
    words = count(int(found["by_place"]["words"].sum()), "word")
    where = f"{one_line(result.model)}, {moved(result)}"
    texts = f"{count(result.probed, 'text')}, at most {job.tokens} tokens of each"
    return [
        Text(f"{where}: {words} of {texts}", style="bold"),
        Text(),
        *_words(result),
        Text(),
        Text("by fifth of the text; relative: mean local over the mean of its text"),
        _places(found["by_place"]),
        *(_layers(found["by_layer"], job.layer) if has_layers(result) else ()),
    ]


def least_texts(texts: int) -> int:
    """Texts in which a word has to stand to be shown: one of a few, two of many, one in a hundred
    of very many.

    >>> least_texts(6), least_texts(60), least_texts(1000)
    (1, 2, 10)
    """
    return 1 if texts < MANY else max(2, texts // 100)


def _words(result: CorpusWords) -> list[RenderableType]:
    by_word, least = result.aggregates["by_word"], least_texts(result.probed)
    real, layers = has_real_words(result), has_layers(result)
    some = by_word[by_word["texts"] >= least]
    shown = some.head(SHOWN)
    only = f", of those in at least {least} texts" if least > 1 else ""
    lead = result.lead
    top = largest(float(value) for value in shown[lead])
    columns: list[Column | str] = [
        Column("\nword", "left", width=20),
        *(
            "in\ntexts",
            "\nuses",
            "\npieces",
            "mean\nlocal",
            "\n±",
            "\nlargest",
            "rank\nshare",
            *(("real\nwords", "\n±") if real else ()),
            *(("times\nnoise",) if layers else ()),
        ),
        Column("", "left"),
    ]
    rows = []
    for row in shown.to_dict("records"):
        noise = row["mean_over_noise"]
        rows.append(
            (
                row["word"],
                f"{row['texts']:,}",
                f"{row['occurrences']:,}",
                str(row["pieces"]),
                number(row["mean_local"]),
                spread(row["mean_local_error"]),
                number(row["max_local"]),
                f"{row['mean_rank_share']:.2f}",
                *((number(row["mean_real"]), spread(row["mean_real_error"])) if real else ()),
                *((times(None if noise != noise else noise),) if layers else ()),
                BarCell(row[lead], None, top, 20),
            )
        )
    parts: list[RenderableType] = [
        Text(f"words by their {LEADS[lead]}, the largest first{only}"),
        table(columns, rows),
    ]
    more = len(some) - len(shown)
    if more:
        below = number(shown[lead].iloc[-1])
        parts.append(Text(f"… and {count(more, 'more spelling')}, none above {below}", style="dim"))
    return [*parts, Text(), explained(meanings(result))]


def _places(by_place: pandas.DataFrame) -> RenderableType:
    top = largest(float(value) for value in by_place["mean_relative"] if value == value)
    rows: list[tuple[object, ...]] = []
    for row in by_place.to_dict("records"):
        if row["words"]:
            relative = row["mean_relative"]
            values = (number(row["mean_local"]), f"{relative:.3f}")
            rows.append((row["fifth"], row["words"], *values, BarCell(relative, None, top, 20)))
        else:
            rows.append((row["fifth"], 0, "–", "–", ""))
    return table(["fifth", "words", "mean local", "relative", Column("", "left")], rows)


def _layers(by_layer: pandas.DataFrame, layer: int) -> list[RenderableType]:
    top = largest(float(value) for value in by_layer["mean_change"])
    rows = []
    for row in by_layer.to_dict("records"):
        change = row["mean_change"]
        noise = row["mean_noise"]
        name = Text(str(row["layer"]), style="bold" if row["layer"] == layer else "")
        ratio = times(change / noise if noise > 0 else None)
        rows.append((name, number(change), number(noise), ratio, BarCell(change, None, top, 20)))
    head = "by layer: mean change by the words' worst Δ, and by noise of the same norm"
    shown = table(["layer", "change", "noise", "ratio", Column("", "left")], rows)
    return [Text(), Text(head), shown]
