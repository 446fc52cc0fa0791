"""Words over a corpus: one table of all texts, and what it says by word, by part of the text and by
layer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordsway.engine.store import Store
from wordsway.engine.tables import FACTS, export, save_table

if TYPE_CHECKING:
    import numpy
    import pandas

#: The kind of a job about the words of one text.
KIND = "words"
#: Columns of the table of words, before the layers'.
TEXT = ("key", "text_id", "text_sha256", "tokens", "layer", "layers", "status", "seed")
WORD = (
    *("index", "word", "start", "end", "pieces"),
    *("mean_local", "mean_local_error", "local", "sensitivity"),
)
#: Columns of real words, where they were measured.
REAL = ("real_mean", "real_error", "real_q90", "real_worst", "real_worst_word", "real_draws")
#: Parts of a text, by the order of its words.
PARTS = 5


def words_frame(
    store: Store, keys: Iterable[str] | None = None, *, facts: bool = False
) -> pandas.DataFrame:
    """A data frame, a row per text and word: texts in the order of ``keys`` (of all: sorted), words
    in the order of the text.

    ``change_0 … change_L`` is the relative change of every layer by the word's worst Δ, ``noise_0 …
    noise_L`` by noise of the same norm; ``mean_local`` and ``local`` are the word's tiers at
    ``layer``, ``sensitivity`` the change of it by the Δ.
    Without ``facts`` the frame is the same for every run.
    """
    import numpy
    import pandas

    wanted = None if keys is None else list(dict.fromkeys(keys))
    found = {
        key: record for key, record in store.records(wanted) if record.content.get("kind") == KIND
    }
    texts = [(key, found[key]) for key in (found if wanted is None else wanted) if key in found]
    counts = [len(record.outputs["words"]) for _, record in texts]
    about = [
        (
            key,
            record.content["id"],
            record.content["sha256"],
            *(record.outputs[name] for name in TEXT[3:]),
        )
        for key, record in texts
    ]
    columns: dict[str, Any] = {
        name: numpy.repeat(_column([row[at] for row in about]), counts) if about else []
        for at, name in enumerate(TEXT)
    }
    for name in WORD:
        columns[name] = [word[name] for _, record in texts for word in record.outputs["words"]]
    for name in REAL:
        found_real = [word.get(name) for _, record in texts for word in record.outputs["words"]]
        if any(value is not None for value in found_real):
            columns[name] = found_real
    depth = max((record.outputs["layers"] for _, record in texts), default=-1) + 1
    for name, part in (("change", "profile"), ("noise", "noise")):
        values = numpy.full((sum(counts), depth), numpy.nan)
        at = 0
        for (_, record), count in zip(texts, counts, strict=True):
            for row, word in enumerate(record.outputs["words"], at):
                values[row, : len(word[part])] = word[part]
            at += count
        columns |= {f"{name}_{layer}": values[:, layer] for layer in range(depth)}
    if facts:
        for name in FACTS:
            columns[name] = (
                numpy.repeat(_column([record.facts.get(name) for _, record in texts]), counts)
                if texts
                else []
            )
    return pandas.DataFrame(columns)


def _column(values: Sequence[Any]) -> numpy.ndarray[Any, Any]:
    """Values as an array: of numbers where they are numbers, of objects otherwise."""
    import numpy

    numbers = all(isinstance(value, (int, float)) for value in values)
    return numpy.array(values) if numbers else numpy.array(values, dtype=object)


def aggregates(frame: pandas.DataFrame, lead: str = "mean_local") -> dict[str, pandas.DataFrame]:
    """What the words of a corpus have in common, from `words_frame`; words with the largest
    ``lead`` (a column of by_word) come first.

    by_word : per spelling (case folded) the texts and occurrences, its pieces, mean and largest
        mean local, the mean rank share and the mean ratio of the layer's change by the worst small
        Δ to that by noise, whatever the target. A word's rank share is the share of its text's
        words with a smaller mean local; itself and ties count half, so 0.5 is average.
        ``mean_real``: the mean change by real words, where measured. ``mean_local_error`` and
        ``mean_real_error``: the standard error of the mean, from how its uses differ, and no less
        than their own errors make it; of a single use, its own.
    by_place : per fifth of the text (by the order of its words) the mean of mean local, and of it
        over the mean of its text.
    by_layer : per layer the mean change by the words' worst Δ, and by noise.
    """
    import numpy
    import pandas

    texts = frame.groupby("key", sort=False)
    small = frame["mean_local"].astype(float)
    count = texts["mean_local"].transform("size").astype(float)
    times = numpy.full(len(frame), numpy.nan)
    for layer in frame["layer"].unique():
        here = (frame["layer"] == layer).to_numpy()
        change, noise = (frame.loc[here, f"{name}_{layer}"] for name in ("change", "noise"))
        times[here] = (change / noise.where(noise > 0)).astype(float)
    table = pandas.DataFrame(
        {
            "key": frame["key"],
            "word": frame["word"].astype(object).map(lambda word: str(word).casefold()),
            "fifth": (PARTS * texts.cumcount() // count.clip(lower=1)).astype(int) + 1,
            "small": small,
            "small_error": frame["mean_local_error"].astype(float),
            "pieces": frame["pieces"],
            "rank_share": (texts["mean_local"].rank(method="average").astype(float) - 0.5) / count,
            "over_noise": times,
            "relative": small
            / texts["mean_local"].transform("mean").astype(float).where(lambda mean: mean > 0),
        }
    )
    more = {}
    if "real_mean" in frame:
        table["real"] = frame["real_mean"].astype(float)
        table["real_error"] = frame["real_error"].astype(float)
        more["mean_real"] = ("real", "mean")
    uses = table.groupby("word", sort=True)
    by_word = (
        uses.agg(
            texts=("key", "nunique"),
            occurrences=("key", "size"),
            pieces=("pieces", "max"),
            mean_local=("small", "mean"),
            max_local=("small", "max"),
            mean_rank_share=("rank_share", "mean"),
            mean_over_noise=("over_noise", "mean"),
            **more,
        )
        .assign(**{f"mean_{_NAMES[name]}_error": _errors(uses, name) for name in _measured(table)})
        .reset_index()
        .sort_values([lead, "word"], ascending=[False, True], kind="stable", ignore_index=True)
    )
    by_place = (
        table.groupby("fifth")
        .agg(
            texts=("key", "nunique"),
            words=("key", "size"),
            mean_local=("small", "mean"),
            mean_relative=("relative", "mean"),
        )
        .reindex(pandas.RangeIndex(1, PARTS + 1, name="fifth"))
        .fillna({"texts": 0, "words": 0})
        .astype({"texts": int, "words": int})
        .reset_index()
    )
    layers = sorted(
        int(name.removeprefix("change_"))
        for name in frame.columns
        if re.fullmatch(r"change_\d+", str(name))
    )
    by_layer = pandas.DataFrame(
        {
            "layer": layers,
            "words": [int(frame[f"change_{layer}"].count()) for layer in layers],
            "mean_change": [float(frame[f"change_{layer}"].mean()) for layer in layers],
            "mean_noise": [float(frame[f"noise_{layer}"].mean()) for layer in layers],
        }
    )
    return {"by_word": by_word, "by_place": by_place, "by_layer": by_layer}


#: Columns that words are averaged over, and what their means are called.
_NAMES = {"small": "local", "real": "real"}


def _measured(table: pandas.DataFrame) -> list[str]:
    return [name for name in _NAMES if name in table]


def _errors(uses: Any, name: str) -> pandas.Series[float]:
    """Standard errors of the words' means over their uses."""
    count = uses[name].count()
    between = uses[name].std() / count**0.5
    own = uses[f"{name}_error"].agg(lambda errors: (errors**2).sum() ** 0.5) / count
    return between.where(between > own, own)


def write_batch(
    facts: pandas.DataFrame, found: dict[str, pandas.DataFrame], folder: Path
) -> list[Path]:
    """words.csv and the aggregates, the same for every run, and words.parquet with the facts of
    each run beside it.
    """
    paths = export(facts, folder, "words")
    return [*paths, *(save_table(table, folder / f"{name}.csv") for name, table in found.items())]
