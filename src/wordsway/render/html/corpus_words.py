"""Words over a corpus, as HTML."""

from __future__ import annotations

from wordsway.core.escape import html_line, html_name
from wordsway.render.html import elements, fragments
from wordsway.render.html.blocks import block_html
from wordsway.render.numbers import largest, number, share, times
from wordsway.render.views.plain import frame_table
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

#: Rows of the table of words; the files have all of them.
SHOWN = 30


@fragments.register(CorpusWords)
def corpus_words_fragment(result: CorpusWords) -> str:
    """The words with the largest numbers, the fifths of the texts, and the layers."""
    head = (
        f"{html_name(result.model)}, {html_line(moved(result))}: words of {result.probed:,} texts"
    )
    tables = ", ".join(str(path) for path in result.tables)
    return elements.frame(
        [
            elements.paragraph(f"<b>{head}</b>"),
            elements.heading(f"words by their {LEADS[result.lead]}, the largest first"),
            _words(result),
            elements.explained(meanings(result)),
            elements.heading(
                "by fifth of the text; relative: mean local over the mean of its text"
            ),
            block_html(frame_table(result.aggregates["by_place"])),
            *(_layers(result) if has_layers(result) else ()),
            elements.soft(tally_line(result.tally, result.folder / "store")),
            elements.source(f"tables: {tables}"),
        ]
    )


def _layers(result: CorpusWords) -> list[str]:
    head = elements.heading("by layer: mean change by the words’ worst Δ, and by noise")
    return [head, block_html(frame_table(result.aggregates["by_layer"]))]


def _words(result: CorpusWords) -> str:
    table = result.aggregates["by_word"].head(SHOWN)
    top = largest(float(value) for value in table[result.lead])
    real, layers = has_real_words(result), has_layers(result)
    names = ["in texts", "uses", "pieces", "mean local", "±", "largest", "rank share"]
    names += [*(["real words", "±"] if real else ()), *(["times noise"] if layers else ())]
    heads = [("word", elements.WORD), *((name, elements.RIGHT) for name in names)]
    rows = []
    for row in table.to_dict("records"):
        noise = row["mean_over_noise"]
        rows.append(
            [
                html_name(row["word"]),
                f"{row['texts']:,}",
                f"{row['occurrences']:,}",
                str(row["pieces"]),
                number(row["mean_local"]),
                spread(row["mean_local_error"]),
                number(row["max_local"]),
                f"{row['mean_rank_share']:.2f}",
                *((number(row["mean_real"]), spread(row["mean_real_error"])) if real else ()),
                *((html_line(times(None if noise != noise else noise)),) if layers else ()),
                elements.bar(share(row[result.lead], top)),
            ]
        )
    return elements.table([*heads, ("", elements.BARS)], rows)
