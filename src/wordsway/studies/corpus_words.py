"""The verb `probe_corpus`: the words of many texts in a pretrained model, and what they have in
common; resumes per text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordsway.core.errors import positive
from wordsway.core.progress import Progress, silent
from wordsway.core.result import Result
from wordsway.engine.forecast import SweepForecast, forecast_jobs
from wordsway.engine.run import Machines, Tally, run_jobs
from wordsway.engine.store import Store
from wordsway.models.files import labels_of, locate
from wordsway.studies.batches import aggregates, words_frame, write_batch
from wordsway.studies.sweep import writable
from wordsway.studies.text_cells import TextCell, probe_of, text_cells
from wordsway.studies.texts import TextOptions
from wordsway.text import Text, corpus, draw

if TYPE_CHECKING:
    import pandas

OUT = Path("out/words")
#: Which fields of a job say how all texts were searched.
HOW = (
    *("model", "model_sha256", "layer", "target", "measured", "scaling"),
    *("reach", "at", "effort", "tokens", "seed"),
)


@dataclass(frozen=True)
class CorpusWords(Result, brief="probed folder"):
    """What the words of a corpus have in common (``by_word``, ``by_place``, ``by_layer``), and what
    the run did; ``frame()`` has a row per text and word.
    """

    jobs: tuple[TextCell, ...]
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
            **{name: getattr(self.jobs[0], name) for name in HOW},
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


def lead_of(jobs: Sequence[TextCell], words: pandas.DataFrame) -> str:
    """Real words where they alone are requested, else mean local, which is always measured."""
    alone = all(job.tiers == ("real-words",) for job in jobs)
    return "mean_real" if alone and "real_mean" in words else "mean_local"


def corpus_texts(
    data: str,
    *,
    limit: int | None = None,
    options: TextOptions | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> list[Text]:
    """Texts of a corpus, each once: all of them, or as many as asked for, drawn by seed. Labels are
    read only where they are named.
    """
    most = None if limit is None else positive("limit", limit)
    columns = (options or TextOptions()).columns
    reviews = corpus(
        data,
        **columns | {"label_column": columns["label_column"] or ""},
        progress=lambda done, total: progress(f"fetching {data}", done, total),
    )
    first: dict[str, Text] = {}
    for text in reviews:
        first.setdefault(text.sha256, text)
        if most is not None and len(first) > most:
            return draw(reviews, most, seed)
    return list(first.values())


def corpus_jobs(
    texts: list[Text], model: str, *, progress: Progress = silent, **how: Any
) -> list[TextCell]:
    """The jobs of these texts; ``how`` is layer, target, tiers, scaling, passes, draws, reach, at,
    effort, tokens, seed, device. The model is
    loaded here, so that a wrong request is refused before any work, and put away again.
    """
    progress("loading the model", 0, 0)
    files = locate(model, lambda done, total: progress(f"fetching {model}", done, total))
    jobs = text_cells(texts, probe_of(model, files.digest, how.get("device", "cpu")), model, **how)
    probe_of.cache_clear()  # the workers load it for themselves
    return jobs


def probe_corpus(
    texts: list[Text],
    jobs: list[TextCell],
    out: Path | str = OUT,
    *,
    machines: Machines | None = None,
    retry_failed: bool = False,
    progress: Progress = silent,
) -> CorpusWords:
    """Run what the store in ``out`` does not have yet, and write the tables."""
    folder = writable(Path(out))
    store = Store(folder / "store")
    jobs = as_stored(jobs, store)
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


def as_stored(jobs: list[TextCell], store: Store) -> list[TextCell]:
    """The jobs under the names that the store has for them: an older version may have hashed the
    same model's files in another way.
    """
    former = locate(jobs[0].model).former if jobs else ()
    found = []
    for job in jobs:
        names = [replace(job, model_sha256=digest) for digest in former]
        found.append(next((name for name in names if name.key in store), job))
    return found


def forecast_corpus(
    jobs: list[TextCell], out: Path | str = OUT, *, workers: int | None = None
) -> SweepForecast:
    """Time and memory of what is left of these texts on this machine."""
    store = Store(writable(Path(out)) / "store")
    machines = Machines(workers)
    left = [job for job in as_stored(jobs, store) if job.key not in store]
    return forecast_jobs(
        left, workers=machines.count, memory=machines.limit, what="texts", total=len(jobs)
    )
