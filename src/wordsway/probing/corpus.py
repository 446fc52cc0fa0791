"""The words of many texts in a pretrained model, aggregated over texts; resumes per text."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordsway.core.checks import Count, check_fields, validated
from wordsway.core.errors import InputError, WordswayError
from wordsway.core.progress import Progress, silent
from wordsway.core.reading import word_spans
from wordsway.core.result import Result
from wordsway.core.runtime import single_thread
from wordsway.core.seeds import derive
from wordsway.engine.forecast import SweepForecast, forecast_unfinished
from wordsway.engine.job import canonical
from wordsway.engine.run import Machines, Tally, run_jobs
from wordsway.engine.store import Store
from wordsway.engine.tables import FACTS, export, save_table, writable
from wordsway.models.files import labels_of, locate, parameters_of
from wordsway.models.jobs import ONE_AT_A_TIME, ModelJob, probe_of
from wordsway.probing.request import DRAWS, PASSES, WordsRequest
from wordsway.probing.targets import target_of
from wordsway.probing.words import forecast, measure
from wordsway.text import Text, corpus, draw
from wordsway.text.clean import checked

if TYPE_CHECKING:
    import pandas


#: The kind of a job about the words of one text.
KIND = "words"
#: Outputs of a text and of its words that are columns, and real words where they were measured.
TEXT = ("tokens", "layer", "layers", "status", "seed")
WORD = (
    *("index", "word", "start", "end", "pieces"),
    *("mean_local", "mean_local_error", "local", "sensitivity"),
)
REAL = ("mean", "error", "q90", "worst", "worst_word", "draws")
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
    import pandas

    wanted = None if keys is None else list(dict.fromkeys(keys))
    found = {
        key: record for key, record in store.records(wanted) if record.content.get("kind") == KIND
    }
    texts = [(key, found[key]) for key in (found if wanted is None else wanted) if key in found]
    depth = max((record.outputs["layers"] for _, record in texts), default=-1) + 1
    missing = [math.nan] * depth
    tried = any("real_mean" in word for _, record in texts for word in record.outputs["words"])
    real = [f"real_{name}" for name in REAL] if tried else []
    rows = [
        {"key": key, "text_id": record.content["id"], "text_sha256": record.content["sha256"]}
        | {name: record.outputs[name] for name in TEXT}
        | {name: word[name] for name in WORD}
        | {name: word.get(name) for name in real}
        | {
            f"{name}_{layer}": value
            for name, part in (("change", "profile"), ("noise", "noise"))
            for layer, value in zip(range(depth), [*word[part], *missing], strict=False)
        }
        | {name: record.facts.get(name) for name in (FACTS if facts else ())}
        for key, record in texts
        for word in record.outputs["words"]
    ]
    empty = ["key", "text_id", "text_sha256", *TEXT, *WORD]
    return pandas.DataFrame(rows, columns=None if rows else empty)


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
    mean = texts["mean_local"].transform("mean").astype(float)
    table = pandas.DataFrame(
        {
            "key": frame["key"],
            "word": frame["word"].astype(object).map(lambda word: str(word).casefold()),
            "fifth": (PARTS * texts.cumcount() // count.clip(lower=1)).astype(int) + 1,
            "local": small,
            "local_error": frame["mean_local_error"].astype(float),
            "pieces": frame["pieces"],
            "rank_share": (texts["mean_local"].rank(method="average").astype(float) - 0.5) / count,
            "over_noise": times,
            "relative": small / mean.where(mean > 0),
        }
    )
    measured = ["local"]
    if "real_mean" in frame:
        measured.append("real")
        for name in ("mean", "error"):
            table[f"real_{name}".removesuffix("_mean")] = frame[f"real_{name}"].astype(float)
    uses = table.groupby("word", sort=True)
    by_word = uses.agg(
        texts=("key", "nunique"),
        occurrences=("key", "size"),
        pieces=("pieces", "max"),
        mean_local=("local", "mean"),
        max_local=("local", "max"),
        mean_rank_share=("rank_share", "mean"),
        mean_over_noise=("over_noise", "mean"),
        **{f"mean_{name}": (name, "mean") for name in measured[1:]},
    )
    by_word = by_word.assign(**{f"mean_{name}_error": _errors(uses, name) for name in measured})
    by_place = table.groupby("fifth").agg(
        texts=("key", "nunique"),
        words=("key", "size"),
        mean_local=("local", "mean"),
        mean_relative=("relative", "mean"),
    )
    by_place = by_place.reindex(pandas.RangeIndex(1, PARTS + 1, name="fifth"))
    layers = range(sum(str(name).startswith("change_") for name in frame.columns))
    by_layer = [
        {
            "layer": layer,
            "words": int(frame[f"change_{layer}"].count()),
            "mean_change": float(frame[f"change_{layer}"].mean()),
            "mean_noise": float(frame[f"noise_{layer}"].mean()),
        }
        for layer in layers
    ]
    return {
        "by_word": by_word.reset_index().sort_values(
            [lead, "word"], ascending=[False, True], kind="stable", ignore_index=True
        ),
        "by_place": by_place.fillna({"texts": 0, "words": 0})
        .astype({"texts": int, "words": int})
        .reset_index(),
        "by_layer": pandas.DataFrame(
            by_layer, columns=["layer", "words", "mean_change", "mean_noise"]
        ),
    }


def _errors(uses: Any, name: str) -> pandas.Series[float]:
    """Standard errors of the words' means over their uses."""
    count = uses[name].count()
    between = uses[name].std() / count**0.5
    own = uses[f"{name}_error"].agg(lambda errors: (errors**2).sum() ** 0.5) / count
    return between.where(between > own, own)


OUT = Path("out/words")
#: The version of stored texts; raise it when the same content would give other numbers.
VERSION = 4
#: Bytes that a search may take in addition to the model. It decides how words are batched, so it is
#: the same everywhere.
MEMORY = 512 * 2**20
#: Tokens of a text that are read, and the effort of a curve S(ρ), if a reach requires one.
TOKENS, EFFORT = 64, 0.2
#: Processor seconds that a process takes to start and to import torch and transformers.
STARTING = 3.0
#: Fields of a request that decide a text's numbers.
FIELDS = (
    *("layer", "reach", "at", "effort", "seed", "target", "tiers", "scaling"),
    *("passes", "draws"),
)
#: Which fields of a job's content say how all texts were searched.
HOW = (
    *("model", "model_sha256", "layer", "target", "scaling"),
    *("reach", "at", "effort", "tokens", "seed"),
)
#: Names in a content that do not decide its seed.
UNSEEDED = ("id", "model", "device")


@dataclass(frozen=True)
class TextJob(ModelJob):
    """The words of one text in one model: the text with its id, the model with the hash of its
    files, and the request, whose layer is a number; of each text the first ``tokens`` are read.
    """

    text: str
    id: str
    model: str
    model_sha256: str
    request: WordsRequest
    tokens: Count = TOKENS
    device: str = "cpu"
    batch_bytes = MEMORY

    def __post_init__(self) -> None:
        check_fields(self)
        checked(self.text)

    @property
    def layer(self) -> int:
        return int(self.request.layer)

    @property
    def target(self) -> str:
        return str(self.request.target)

    @property
    def measured(self) -> tuple[str, ...]:
        """The tiers that are measured: mean local, and the requested ones."""
        return self._whole.planned or ()

    @property
    def _whole(self) -> WordsRequest:
        return replace(self.request, tiers=("mean-local", *self.request.requested))

    @cached_property
    def sha256(self) -> str:
        """Of the whole text, also where it is cut."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def content(self) -> dict[str, Any]:
        how = {name: getattr(self.request, name) for name in FIELDS}
        how |= {"tiers": list(self.request.requested), "effort": float(self.request.effort)}
        how |= {"reach": None if self.request.reach is None else float(self.request.reach)}
        # Defaults are not named, so that stores keep their names.
        how |= {"passes": None} if self.request.passes == PASSES else {}
        how |= {"draws": None} if self.request.draws == DRAWS else {}
        how |= {"device": self.device} if self.device != "cpu" else {}
        about = {"text": self.text, "id": self.id, "model": self.model}
        about |= {"model_sha256": self.model_sha256, "kind": KIND, "sha256": self.sha256}
        return how | about | {"tokens": self.tokens, "version": VERSION}

    @cached_property
    def own_seed(self) -> int:
        """From the seed and the content, without the names of the text and the model."""
        plain = {name: value for name, value in self.content.items() if name not in UNSEEDED}
        return derive(self.request.seed, canonical(plain))

    @cached_property
    def size(self) -> float:
        """Tokens², since every word is measured in a pass over the text, or tokens for mean local,
        which measures all words at once; guessed from the characters of the text.
        """
        count = max(1, min(len(word_spans(self.text[: 40 * self.tokens])), self.tokens))
        tokens = min(self.tokens, round(1.25 * count) + 2)
        return tokens if self.measured == ("mean-local",) else tokens * tokens

    @property
    def family(self) -> Hashable:
        what = (self.layer, self.request.at, self.target, self.measured)
        return (KIND, self.model, self.model_sha256, *what)

    def estimate(self) -> float:
        """Processor seconds from some of the words; a failing text counts as typical."""
        try:
            with single_thread(True):
                text = self.probe.cut(self.text, self.tokens)
                return forecast(text, self.probe, self._whole, clock=time.process_time).seconds
        except InputError:
            passes = self.request.passes * self.size
            return 6.0 * parameters_of(self.model, self.model_sha256) * passes / 1e10

    def startup(self) -> float:
        """Processor seconds of a process with the model; it stays in memory for `estimate`."""
        probe_of.cache_clear()
        started = time.process_time()
        _ = self.probe
        return STARTING + time.process_time() - started

    def run(self) -> dict[str, Any]:
        """The words of the first tokens, in one thread: the same for any number of workers."""
        with ONE_AT_A_TIME, single_thread(True):
            probe = self.probe
            text = probe.cut(self.text, self.tokens)
            *_, found = measure(text, probe, replace(self._whole, seed=self.own_seed))
        rows = [
            {name: getattr(word, name) for name in WORD}
            | {"profile": list(word.profile or ()), "noise": list(word.noise or ())}
            | {f"real_{name}": getattr(word.real, name) for name in (*REAL, "flips") if word.real}
            for word in found.words
        ]
        if not all(math.isfinite(value) for word in found.words for value in word.noise or ()):
            raise WordswayError("the model gives numbers that are not finite for this text")
        about = {"layer": found.layer, "layers": found.layers, "status": found.status}
        about |= {"tokens": len(found.tokens), "characters": len(text), "seed": self.own_seed}
        return {"words": rows} | about


@dataclass(frozen=True)
class CorpusWords(Result, brief="probed folder"):
    """``by_word``, ``by_place`` and ``by_layer`` of a corpus; ``frame()`` has a row per word."""

    jobs: tuple[TextJob, ...]
    words: pandas.DataFrame
    aggregates: dict[str, pandas.DataFrame]
    tally: Tally
    folder: Path
    tables: tuple[Path, ...]

    @property
    def lead(self) -> str:
        """The column of ``by_word`` that words are ordered by."""
        return lead_of(self.jobs, self.words)

    @property
    def model(self) -> str:
        name = self.jobs[0].model
        return labels_of([name])[name]

    @property
    def probed(self) -> int:
        """How many texts are done."""
        return int(self.words["key"].nunique())

    def to_dict(self) -> dict[str, Any]:
        ids = {job.key: job.id for job in self.jobs}
        failed = {ids[key]: error for key, error in self.tally.failures.items()}
        return {
            **{name: self.jobs[0].content[name] for name in HOW},
            "measured": self.jobs[0].measured,
            "model": self.model,
            "texts": self.tally.total,
            "probed": self.probed,
            "done": self.tally.done,
            "before": self.tally.before,
            "failed": dict(sorted(failed.items())),
            "interrupted": self.tally.interrupted,
            "tables": [str(path) for path in self.tables],
            **{
                name: table.astype(object).where(table.notna(), None).to_dict("records")
                for name, table in self.aggregates.items()
            },
        }

    def frame(self) -> pandas.DataFrame:
        return self.words


def lead_of(jobs: Sequence[TextJob], words: pandas.DataFrame) -> str:
    """Real words where they alone are requested, else mean local, which is always measured."""
    alone = all(job.request.requested == ("real-words",) for job in jobs)
    return "mean_real" if alone and "real_mean" in words else "mean_local"


@validated
def corpus_texts(
    data: str,
    *,
    limit: Count | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    encoding: str | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> list[Text]:
    """Texts, each once: all or ``limit`` drawn by seed; labels come from a named column only."""
    reviews = corpus(
        data,
        text_column=text_column,
        label_column=label_column or "",
        encoding=encoding,
        progress=progress,
    )
    first: dict[str, Text] = {}
    for text in reviews:
        first.setdefault(text.sha256, text)
        if limit is not None and len(first) > limit:
            return draw(reviews, limit, seed)
    return list(first.values())


@validated
def corpus_jobs(
    texts: Iterable[Text],
    model: str,
    *,
    tokens: Count = TOKENS,
    device: str = "cpu",
    progress: Progress = silent,
    **options: Any,
) -> list[TextJob]:
    """The jobs of these texts, each text once, in their order; ``options`` are fields of
    `WordsRequest`. The model is loaded here, so that a wrong request is refused before any work.
    """
    request = WordsRequest(**{"effort": EFFORT, "memory": MEMORY} | options)
    progress("loading the model", 0, 0)
    files = locate(model, progress)
    probe = probe_of(model, files.digest, device)
    if probe.limit is not None and tokens > probe.limit:
        raise InputError(
            f"at most {probe.limit} tokens, the positions of {probe.files.name}",
            f"{tokens:,}",
            "take fewer --tokens",
        )
    request = replace(request, layer=probe.layers.number(request.layer))
    target_of(probe, probe.read("a", request.at), request.wanted)  # raises here, if at all
    once: dict[str, Text] = {}
    for text in texts:
        once.setdefault(text.sha256, text)
    jobs = [
        TextJob(text.text, text.id, model, probe.files.digest, request, tokens, device)
        for text in once.values()
    ]
    probe_of.cache_clear()  # the workers load it for themselves
    return jobs


def probe_corpus(
    texts: list[Text],
    jobs: list[TextJob],
    out: Path | str = OUT,
    *,
    machines: Machines | None = None,
    retry_failed: bool = False,
    progress: Progress = silent,
) -> CorpusWords:
    """Run what the store in ``out`` does not have yet, and write the tables."""
    folder = writable(Path(out))
    store = Store(folder / "store")
    tally = run_jobs(
        jobs,
        store,
        machines or Machines(),
        retry_failed=retry_failed,
        what="texts",
        progress=progress,
    )
    words = words_frame(store, [job.key for job in jobs if job.key in store], facts=True)
    kinds = {text.sha256: text.kind for text in texts}
    if any(kind is not None for kind in kinds.values()):
        place = list(words.columns).index("text_sha256") + 1
        words.insert(place, "label", words["text_sha256"].map(kinds))
    found = aggregates(words, lead_of(jobs, words))
    tables = export(words, folder, "words")
    tables += [save_table(table, folder / f"{name}.csv") for name, table in found.items()]
    return CorpusWords(tuple(jobs), words, found, tally, folder, tuple(tables))


def forecast_corpus(
    jobs: list[TextJob], out: Path | str = OUT, *, workers: int | None = None
) -> SweepForecast:
    """Time and memory of the remaining texts on this machine."""
    store = Store(writable(Path(out)) / "store")
    return forecast_unfinished(jobs, store, workers, "texts")
