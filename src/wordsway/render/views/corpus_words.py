"""The words of a corpus: those with the largest numbers, the fifths of its texts, the layers."""

from __future__ import annotations

from collections.abc import Mapping

from wordsway.core.chart import Chart, Curve, Panel
from wordsway.core.format import count
from wordsway.probing.corpus import CorpusWords
from wordsway.probing.targets import named, sized
from wordsway.render import blocks as b
from wordsway.render.numbers import largest, number, spread, times
from wordsway.render.views.common import provenance
from wordsway.render.views.sweep import tally_line
from wordsway.render.views.words import moved_by

#: Names of the columns that words may be ordered by.
LEADS = {"mean_local": "mean local", "mean_real": "real words"}
#: Rows of the table of words in a terminal and on a page, and bars of the picture.
SHOWN, ON_PAGE, DRAWN = 15, 30, 25
#: What the columns mean.
MEANINGS = {
    "in texts": "Number of texts in which the word occurs.",
    "uses": "How often the word occurs in these texts.",
    "tokens": "Number of tokens in the word.",
    "mean local": "How strongly {target} responds to small random changes of the word, on average "
    "over directions and uses (change per change of the word, both relative).",
    "±": "One standard error of the mean over uses, or of the number itself for one use. "
    "Words that differ by less than two of them cannot be told apart.",
    "largest": "The mean local of the use with the largest one.",
    "rank share": "The share of its text's words with a smaller mean local; the word itself counts "
    "as half.",
}
REAL_WORDS = (
    "How far {target} moves, {size}, when a random real word with the same number of tokens "
    "replaces the word, on average."
)
TIMES_NOISE = (
    "How many times farther the worst small change moves the layer than Gaussian noise of the same "
    "length."
)
#: From this many texts on, words of a single text are not shown (the files have all of them).
MANY = 20


def corpus_words_view(result: CorpusWords) -> b.ResultView:
    """What the words have in common, what was done, and where the tables are."""
    blocks: list[b.Block] = [b.plain("no text has been measured yet")]
    if result.probed:
        found = result.aggregates
        words = count(int(found["by_place"]["words"].sum()), "word")
        texts = f"{count(result.probed, 'text')}, at most {result.jobs[0].tokens} tokens of each"
        blocks = [b.headline(f"{result.model}, {moved(result)}: {words} of {texts}")]
        blocks += [_words(result), _places(result)]
        blocks += [_layers(result)] if has_layers(result) else []
    tables = ", ".join(str(path) for path in result.tables)
    blocks += [
        b.soft(tally_line(result.tally, result.folder / "store")),
        b.source(f"tables: {tables}"),
    ]
    return b.ResultView("Words of a corpus", blocks, provenance(result), lambda: _picture(result))


def moved(result: CorpusWords) -> str:
    """The target in words; a layer is named with the number of layers."""
    return named(_target(result), int(result.aggregates["by_layer"]["layer"].max()))


def _target(result: CorpusWords) -> str:
    job = result.jobs[0]
    return f"layer {job.layer}" if job.target == "layer" else job.target


def has_layers(result: CorpusWords) -> bool:
    """Whether the changes of layers were measured."""
    return bool(result.aggregates["by_layer"]["mean_change"].notna().any())


def least_texts(texts: int) -> int:
    """The number of texts in which a word has to occur to be shown: one of a few, two of many, one
    in a hundred of very many.

    >>> least_texts(6), least_texts(60), least_texts(1000)
    (1, 2, 10)
    """
    return 1 if texts < MANY else max(2, texts // 100)


def _words(result: CorpusWords) -> b.Table:
    least, lead, target = least_texts(result.probed), result.lead, moved(result)
    by_word = result.aggregates["by_word"]
    records = by_word[by_word["texts"] >= least].to_dict("records")
    top = largest(float(row[lead]) for row in records)
    columns = [
        b.Column("word", "text", cell=lambda row: str(row["word"])),
        b.Column("in texts", cell=lambda row: f"{row['texts']:,}"),
        b.Column("uses", cell=lambda row: f"{row['occurrences']:,}"),
        b.Column("tokens", optional=True, cell=lambda row: str(row["pieces"])),
        b.Column("mean local", cell=lambda row: number(row["mean_local"])),
        b.Column("±", cell=lambda row: spread(row["mean_local_error"])),
        b.Column("largest", optional=True, cell=lambda row: number(row["max_local"])),
        b.Column("rank share", optional=True, cell=lambda row: f"{row['mean_rank_share']:.2f}"),
    ]
    notes = {name: about.format(target=target) for name, about in MEANINGS.items()}
    if "mean_real" in by_word and bool(by_word["mean_real"].notna().any()):
        columns += [
            b.Column("real words", cell=lambda row: number(row["mean_real"])),
            b.Column("±", cell=lambda row: spread(row["mean_real_error"])),
        ]
        notes["real words"] = REAL_WORDS.format(target=target, size=sized(_target(result)))
    if has_layers(result):
        ratio = b.Column("times noise", optional=True, cell=_times)
        columns.append(ratio)
        notes["times noise"] = TIMES_NOISE
    only = f", of those in at least {least} texts" if least > 1 else ""
    return b.table_of(
        records,
        [*columns, b.Column("", "bar", cell=lambda row: b.Bar(row[lead], top))],
        title=f"words by their {LEADS[lead]}, the largest first{only}",
        shown=SHOWN,
        on_page=ON_PAGE,
        rest=lambda shown: f"none above {number(records[shown - 1][lead])}",
        notes=notes,
    )


def _times(row: Mapping[str, float]) -> str:
    found = row["mean_over_noise"]
    return times(None if found != found else found)


def _places(result: CorpusWords) -> b.Table:
    records = result.aggregates["by_place"].to_dict("records")
    top = largest(float(row["mean_relative"]) for row in records)
    return b.table_of(
        records,
        [
            b.Column("fifth", cell=lambda row: str(row["fifth"])),
            b.Column("words", cell=lambda row: f"{row['words']:,}"),
            b.Column("mean local", cell=lambda row: number(row["mean_local"])),
            b.Column(
                "relative", cell=lambda row: f"{row['mean_relative']:.3f}" if row["words"] else "–"
            ),
            b.Column(
                "",
                "bar",
                cell=lambda row: b.Bar(row["mean_relative"], top) if row["words"] else "",
            ),
        ],
        title="by fifth of the text; relative: mean local divided by its mean over the text",
    )


def _layers(result: CorpusWords) -> b.Table:
    records = result.aggregates["by_layer"].to_dict("records")
    top, own = largest(float(row["mean_change"]) for row in records), result.jobs[0].layer
    return b.table_of(
        records,
        [
            b.Column(
                "layer",
                cell=lambda row: b.Span(str(row["layer"]), "bold" if row["layer"] == own else ""),
            ),
            b.Column("change", cell=lambda row: number(row["mean_change"])),
            b.Column("noise", cell=lambda row: number(row["mean_noise"])),
            b.Column("ratio", cell=_ratio),
            b.Column("", "bar", cell=lambda row: b.Bar(row["mean_change"], top)),
        ],
        title=f"by layer: mean change by the {moved_by('curve' in result.jobs[0].measured)} of "
        "each word, and by noise of the same norm",
        shown=200,
        on_page=200,
    )


def _ratio(row: Mapping[str, float]) -> str:
    noise = row["mean_noise"]
    return times(row["mean_change"] / noise if noise > 0 else None)


def _picture(result: CorpusWords) -> b.Bars:
    table = result.aggregates["by_word"].head(DRAWN)
    layers = result.aggregates["by_layer"]
    x = [int(layer) for layer in layers["layer"]]
    curves = [
        Curve("worst Δ", x, layers["mean_change"].tolist(), colour=1),
        Curve("noise of the same norm", x, layers["mean_noise"].tolist(), colour=0, dashed=True),
    ]
    panel = Panel("", curves, x_label="layer (0 is the input)", y_label="mean relative change")
    what = "small changes" if result.lead == "mean_local" else "another word there, on average"
    label = f"{LEADS[result.lead]}: response of {moved(result)} to {what}"
    return b.Bars(
        f"{result.model}, {result.probed:,} texts",
        [str(word) for word in table["word"]],
        [b.BarColumn(label, [float(value) for value in table[result.lead]])],
        beside=Chart([panel]) if has_layers(result) else None,
    )
