"""The words of many texts in a pretrained model, aggregated over texts; resumes per text."""

from __future__ import annotations

import hashlib
import math
import re
import threading
import time
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordsway.core.errors import InputError, WordswayError, positive
from wordsway.core.progress import Progress, silent
from wordsway.core.reading import word_spans
from wordsway.core.result import Result
from wordsway.core.runtime import single_thread
from wordsway.core.seeds import derive
from wordsway.engine.forecast import SweepForecast, forecast_jobs
from wordsway.engine.job import PROCESS_WITH_MODEL, Job, canonical
from wordsway.engine.run import Machines, Tally, run_jobs
from wordsway.engine.store import Store
from wordsway.engine.tables import FACTS, export, save_table, writable
from wordsway.models.files import labels_of, locate, parameters_of
from wordsway.models.probe import Probe
from wordsway.probing.forecasting import forecast, passes_per_word
from wordsway.probing.request import DRAWS, PASSES, WordsRequest
from wordsway.probing.results import WordSway
from wordsway.probing.targets import target_of
from wordsway.probing.words import measure
from wordsway.text import Text, corpus, draw
from wordsway.text.clean import checked

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
    """words.csv and the aggregates, the same for every run, and words.parquet, which adds the facts
    of each run.
    """
    paths = export(facts, folder, "words")
    return [*paths, *(save_table(table, folder / f"{name}.csv") for name, table in found.items())]


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
#: Hooks on a model's layers are the process's own: one search at a time.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class TextJob(Job):
    """The words of one text in one model: the text with its id, the model with the hash of its
    files, and the request, whose layer is a number; of each text the first ``tokens`` are read.
    """

    text: str
    id: str
    model: str
    model_sha256: str
    request: WordsRequest
    tokens: int = TOKENS
    device: str = "cpu"

    def __post_init__(self) -> None:
        positive("tokens", self.tokens)
        checked(self.text)

    @property
    def layer(self) -> int:
        return int(self.request.layer)

    @property
    def target(self) -> str:
        return self.request.target

    @property
    def asked(self) -> tuple[str, ...]:
        """The requested tiers."""
        tiers = self.request.tiers
        return (tiers,) if isinstance(tiers, str) else tuple(tiers or ())

    @property
    def measured(self) -> tuple[str, ...]:
        """The tiers that are measured: mean local, and the requested ones."""
        return self._whole.planned or ()

    @property
    def _whole(self) -> WordsRequest:
        return replace(self.request, tiers=("mean-local", *self.asked))

    @cached_property
    def sha256(self) -> str:
        """Of the whole text, also where it is cut."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def content(self) -> dict[str, Any]:
        how = {name: getattr(self.request, name) for name in FIELDS}
        how |= {"tiers": list(self.asked), "effort": float(self.request.effort)}
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
        """From the seed and the content, without names: a text has the same numbers wherever it and
        the model lie.
        """
        plain = {name: value for name, value in self.content.items() if name not in UNSEEDED}
        return derive(self.request.seed, canonical(plain))

    def peak_bytes(self) -> float:
        """Weights in float32 and the search's budget."""
        return PROCESS_WITH_MODEL + 4 * parameters_of(self.model, self.model_sha256) + MEMORY

    @cached_property
    def size(self) -> float:
        """Tokens through the model and back, from the characters of the text: words are counted,
        their tokens guessed.
        """
        count = max(1, min(len(word_spans(self.text[: 40 * self.tokens])), self.tokens))
        tokens = min(self.tokens, round(1.25 * count) + 2)
        count = min(count, max(1, round(tokens / 1.25)))
        return count * tokens * passes_per_word(self.measured, count, self.request)

    @property
    def family(self) -> Hashable:
        what = (self.layer, self.request.at, self.target, self.measured)
        return (KIND, self.model, self.model_sha256, *what)

    def estimate(self) -> float:
        """Processor seconds, by measuring some of the words; a text that will fail counts as a
        typical one.
        """
        probe = probe_of(self.model, self.model_sha256, self.device)
        try:
            with single_thread(True):
                text = probe.cut(self.text, self.tokens)
                return forecast(text, probe, self._whole, clock=time.process_time).seconds
        except InputError:
            return 6.0 * parameters_of(self.model, self.model_sha256) * self.size / 1e10

    def startup(self) -> float:
        """Processor seconds of a process with the model; it stays in memory for `estimate`."""
        probe_of.cache_clear()
        started = time.process_time()
        probe_of(self.model, self.model_sha256)
        return STARTING + time.process_time() - started

    def run(self) -> dict[str, Any]:
        """The words of the text's first tokens. One thread, so that they are the same for any
        number of workers.
        """
        with _ONE_AT_A_TIME, single_thread(True):
            probe = probe_of(self.model, self.model_sha256, self.device)
            text = probe.cut(self.text, self.tokens)
            *_, found = measure(text, probe, replace(self._whole, seed=self.own_seed))
        kept = ["index", "word", "start", "end", "pieces", "sensitivity"]
        kept += ["mean_local", "mean_local_error", "local"]
        rows = [
            {name: getattr(word, name) for name in kept}
            | {"profile": list(word.profile or ()), "noise": list(word.noise or ())}
            | _real(word)
            for word in found.words
        ]
        if not all(math.isfinite(value) for word in found.words for value in word.noise or ()):
            raise WordswayError("the model gives numbers that are not finite for this text")
        about = {
            "layer": found.layer,
            "layers": found.layers,
            "status": found.status,
            "tokens": len(found.tokens),
        }
        return {"words": rows, **about, "characters": len(text), "seed": self.own_seed}


def _real(word: WordSway) -> dict[str, Any]:
    """What real words do in the word's place, where that was measured."""
    names = ("mean", "error", "q90", "worst", "worst_word", "draws", "flips")
    if word.real is None:
        return {}
    return {f"real_{name}": getattr(word.real, name) for name in names}


@lru_cache(maxsize=2)
def probe_of(model: str, sha256: str, device: str = "cpu") -> Probe:
    """The model, loaded once per process; its files have to be those that the job means."""
    probe = Probe(model, device=device)
    if probe.files.digest != sha256:
        raise InputError(
            f"{model} with the files {sha256[:12]}…",
            f"other files ({probe.files.digest[:12]}…)",
            "use the same model on every machine",
        )
    return probe


@dataclass(frozen=True)
class CorpusWords(Result, brief="probed folder"):
    """What the words of a corpus have in common (``by_word``, ``by_place``, ``by_layer``), and what
    the run did; ``frame()`` has a row per text and word.
    """

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
        """The name of the model."""
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
    alone = all(job.asked == ("real-words",) for job in jobs)
    return "mean_real" if alone and "real_mean" in words else "mean_local"


def corpus_texts(
    data: str,
    *,
    limit: int | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    encoding: str | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> list[Text]:
    """Texts of a corpus, each once: all of them, or ``limit`` drawn by seed. Labels are read only
    from a named column.
    """
    most = None if limit is None else positive("limit", limit)
    reviews = corpus(
        data,
        text_column=text_column,
        label_column=label_column or "",
        encoding=encoding,
        progress=lambda done, total: progress(f"fetching {data}", done, total),
    )
    first: dict[str, Text] = {}
    for text in reviews:
        first.setdefault(text.sha256, text)
        if most is not None and len(first) > most:
            return draw(reviews, most, seed)
    return list(first.values())


def corpus_jobs(
    texts: Iterable[Text],
    model: str,
    *,
    tokens: int = TOKENS,
    device: str = "cpu",
    progress: Progress = silent,
    **options: Any,
) -> list[TextJob]:
    """The jobs of these texts, each text once, in their order; ``options`` are fields of
    `WordsRequest`. The model is loaded here, so that a wrong request is refused before any work.
    """
    request = WordsRequest(**{"effort": EFFORT, "memory": MEMORY} | options)
    progress("loading the model", 0, 0)
    files = locate(model, lambda done, total: progress(f"fetching {model}", done, total))
    probe = probe_of(model, files.digest, device)
    if probe.limit is not None and positive("tokens", tokens) > probe.limit:
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
    tables = write_batch(words, found, folder)
    return CorpusWords(tuple(jobs), words, found, tally, folder, tuple(tables))


def forecast_corpus(
    jobs: list[TextJob], out: Path | str = OUT, *, workers: int | None = None
) -> SweepForecast:
    """Time and memory of the remaining texts on this machine."""
    store = Store(writable(Path(out)) / "store")
    machines = Machines(workers)
    left = [job for job in jobs if job.key not in store]
    return forecast_jobs(
        left, workers=machines.count, memory=machines.limit, what="texts", total=len(jobs)
    )
