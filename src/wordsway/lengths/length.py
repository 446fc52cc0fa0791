"""The verb `length`: how far one word moves a model as the text around it grows."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wordsway.auditing.encoder import RequestOfModels, encoder_for
from wordsway.core.checks import (
    Count,
    FilePath,
    Seed,
    Several,
    check_fields,
    takes,
    validated,
)
from wordsway.core.errors import InputError, WordswayError
from wordsway.core.progress import Progress, silent
from wordsway.core.result import versions
from wordsway.core.runtime import checked_device
from wordsway.engine.forecast import SweepForecast, forecast_unfinished
from wordsway.engine.run import Machines, run_jobs
from wordsway.engine.store import Store
from wordsway.engine.tables import writable
from wordsway.lengths.jobs import LengthJob, responses_in
from wordsway.lengths.responses import Response, WindowText, responses
from wordsway.lengths.result import Length, MeasuredText, ModelLength
from wordsway.lengths.theory import THEORY
from wordsway.lengths.windows import PLACES, HostedTexts, hosted_texts
from wordsway.models.files import ModelName, labels_of, locate
from wordsway.models.probe import Probe
from wordsway.text.files import Encoding

#: Sentences of a window, texts, and the cosine distance below which a change is invisible.
WINDOWS, TEXTS, QUICK, LEVEL = (1, 2, 4, 8, 16), 200, 40, 0.05
TARGETS = ("pooled", "last-token")
#: Sentences of a job.
CHUNK = 32
#: Texts of the models' twins, and of random maps, whose curves differ less from text to text.
TWIN_TEXTS, THEORY_TEXTS = 32, 20


@dataclass(frozen=True)
class LengthRequest(RequestOfModels):
    """What `length` measures.

    Parameters
    ----------
    models : one or several encoders, as in `audit`; "minilm:random" is a twin with random weights
    data : where edited sentences come from: "imdb" (reviews), a file or a list of documents, "gold"
        or one of its fields, or a file of triples or pairs
    kinds : kinds of meaning-changing edits, which take turns; negation by default, and all kinds of
        a file of triples or pairs
    windows : sentences of each text
    texts : how many, one per document: 200, 40 if ``quick``
    host : what surrounds the sentence: "own" (its document), "filler" (other texts of the data), or
        a file or a list of documents. By default "own", and "filler" for triples and pairs
    place : where it stands among them: "own", "beginning", "middle" or "end"
    target : "pooled" (the embedding), "last-token", or a layer (its pooled states)
    level : the cosine distance below which a change counts as invisible
    baselines : whether to measure the models' twins with random weights, the mean of word vectors,
        random features, random attention and a random transformer, too
    device : the device that the models run on
    """

    models: Any = "minilm"
    data: str | Path | Several[str] = "imdb"
    kinds: Several[str] | None = None
    windows: Several[Count] = WINDOWS
    texts: Count | None = None
    quick: bool = False
    host: str | Path | Several[str] | None = None
    place: str = "own"
    target: int | str = "pooled"
    level: float = LEVEL
    baselines: bool = True
    seed: Seed = 0
    encoding: Encoding | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_fields(self)
        checked_device(self.device)
        if self.place not in ("own", *PLACES):
            raise InputError(
                f"a place among own, {', '.join(PLACES)}", repr(self.place), "choose one of them"
            )
        if len(self.sizes) < 3:
            raise InputError("at least three windows", str(list(self.windows)), "such as 1, 4, 16")
        if str(self.target) not in (*TARGETS, "input", "last") and not str(self.target).isdigit():
            raise InputError(
                f"a target: {', '.join(TARGETS)} or a layer", repr(self.target), "choose one"
            )
        if not 0 < self.level <= 2:
            raise InputError("a cosine distance above 0", self.level, "such as 0.05")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sentences of the windows in growing order, each once."""
        return tuple(sorted(set(self.windows)))

    def hosted(self, progress: Progress = silent) -> HostedTexts:
        """The texts and their edits; each fits into every model."""
        probes = [
            Probe(one.model, device=self.device) if isinstance(one, ModelName) else one
            for one in self.encoders
        ]
        readers = [one for one in probes if isinstance(one, Probe)]

        def fits(texts: Sequence[str]) -> bool:
            try:
                for one in readers:
                    one.ids_of(texts)
            except InputError:
                return False
            return True

        return hosted_texts(
            self.data,
            host=self.host,
            kinds=self.kinds,
            texts=self.texts if self.texts is not None else QUICK if self.quick else TEXTS,
            longest=max(self.windows),
            fits=fits,
            seed=self.seed,
            encoding=self.encoding,
            progress=progress,
        )

    def in_windows(self, hosted: HostedTexts) -> list[list[WindowText]]:
        """The texts of every window."""
        return [[text.window(size, self.place) for text in hosted.texts] for size in self.sizes]

    def jobs(self, hosted: HostedTexts) -> dict[str, list[list[LengthJob]]]:
        """The jobs of every named model, twin and random map, by window."""
        labels = labels_of(name.model for name in self.names)
        windows = self.in_windows(hosted)
        found = {}
        for name in (*self.names, *self.twins):
            texts = TWIN_TEXTS if name in self.twins else None
            found[str(name._replace(model=labels[name.model]))] = self._jobs(name, windows, texts)
        if self.baselines and self.names:
            first = self.names[0]._replace(twin=None)
            found |= {theory: self._jobs(first, windows, THEORY_TEXTS, theory) for theory in THEORY}
        return found

    def _jobs(
        self,
        name: ModelName,
        windows: Sequence[Sequence[WindowText]],
        texts: int | None,
        theory: str = "",
    ) -> list[list[LengthJob]]:
        files = str(name), locate(name.model).digest, str(self.target), self.device
        found = []
        for size, every in zip(self.sizes, windows, strict=True):
            some, step = every[:texts], max(1, CHUNK // size)
            parts = [tuple(some[at : at + step]) for at in range(0, len(some), step)]
            seed = self.seed if theory else 0
            found.append([LengthJob(part, *files, theory, seed) for part in parts])
        return found

    def measured(
        self, name: str, hosted: HostedTexts, windows: Sequence[Sequence[list[Response] | str]]
    ) -> ModelLength:
        """A model from its responses by window: texts that were measured in all windows, and the
        others with the reason.
        """
        measured, failed = [], []
        for number, text in enumerate(hosted.texts[: len(windows[0])]):
            own = [window[number] for window in windows]
            found = [one for one in own if not isinstance(one, str)]
            if len(found) < len(own):
                failed.append(f"{text.id}: {next(one for one in own if isinstance(one, str))}")
                continue
            roles = tuple(dict(zip(text.roles, one, strict=True)) for one in found)
            measured.append(MeasuredText(text.id, text.kind, roles))
        if not measured:
            raise WordswayError(f"{name} has no results ({failed[0]}): run the same command again")
        rest = self.sizes, tuple(measured), tuple(failed)
        return ModelLength(name, *rest, self.level, self.seed)

    def stored(
        self, name: str, hosted: HostedTexts, jobs: Sequence[Sequence[LengthJob]], store: Store
    ) -> ModelLength:
        """A model from the jobs that are done."""
        every = [job.key for some in jobs for job in some]
        records = dict(store.records([key for key in every if key in store]))
        failures = store.failures()
        windows: list[list[list[Response] | str]] = []
        for some in jobs:
            windows.append([])
            for job in some:
                if job.key in records:
                    windows[-1] += map(responses_in, records[job.key].outputs["texts"])
                else:
                    windows[-1] += [failures.get(job.key, "not measured")] * len(job.texts)
        return replace(self.measured(name, hosted, windows), sha256=jobs[0][0].model_sha256)

    def result(
        self,
        hosted: HostedTexts,
        named: Mapping[str, ModelLength],
        here: Mapping[str, ModelLength],
        interrupted: bool = False,
        seconds: float = 0.0,
    ) -> Length:
        """The result: models by name, in the order of `jobs`, then those of this process."""
        count = len(self.names)
        return Length(
            (*list(named.values())[:count], *here.values()),
            tuple(named.values())[count:],
            hosted.source,
            hosted.host,
            self.place,
            tuple(dict.fromkeys(text.kind for text in hosted.texts)),
            str(self.target),
            self.sizes,
            len(hosted.texts),
            hosted.too_long,
            self.level,
            self.seed,
            interrupted,
            seconds,
            versions(),
        )


@takes(LengthRequest)
@validated
def length(
    models: Any = "minilm",
    data: str | Path | Several[str] = "imdb",
    *,
    out: FilePath | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    memory: int | None = None,
    retry_failed: bool = False,
    progress: Progress = silent,
    **options: Any,
) -> Length:
    """How far one word moves a model as the text around it grows, and by which law it fades.

    ``options`` are the other fields of `LengthRequest`, which explains them: kinds, windows, texts,
    quick, host, place, target, level, baselines, seed, encoding, device.

    Parameters
    ----------
    out : a folder for results; the same call resumes there
    """
    started = time.perf_counter()
    request = LengthRequest(models, data, **options)
    hosted = request.hosted(progress)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory()) if out is None else out
        store = Store(writable(Path(folder)) / "store")
        jobs = request.jobs(hosted)
        tally = run_jobs(
            [job for windows in jobs.values() for some in windows for job in some],
            store,
            Machines(workers, cluster, memory),
            retry_failed=retry_failed,
            what="parts",
            progress=progress,
        )
        named = {name: request.stored(name, hosted, some, store) for name, some in jobs.items()}
        here = {} if tally.interrupted else _here(request, hosted, progress)
    seconds = time.perf_counter() - started
    result = request.result(hosted, named, here, tally.interrupted, seconds)
    return result if out is None else write(result, Path(out))


def _here(
    request: LengthRequest, hosted: HostedTexts, progress: Progress
) -> dict[str, ModelLength]:
    """The encoders that were given as objects, which run in this process."""
    found = {}
    every = request.in_windows(hosted)
    for given in request.encoders:
        if isinstance(given, ModelName):
            continue
        encoder, done = encoder_for(given), 0
        windows: list[list[list[Response] | str]] = []
        for texts in every:
            windows.append([])
            for at in range(0, len(texts), CHUNK):
                some = responses(encoder, texts[at : at + CHUNK], request.target)
                windows[-1] += [str(one) if isinstance(one, InputError) else one for one in some]
                done += len(some)
                progress(f"texts through {given.name}", done, len(every) * len(texts))
        found[given.name] = request.measured(given.name, hosted, windows)
    return found


def write(found: Length, folder: Path) -> Length:
    """Write the page, a picture and the tables; return the result with its files."""
    names = ("index.html", "length.svg", "length.png", "length.csv", "length.json")
    full = replace(found, files=tuple(folder / name for name in names))
    for path in full.files:
        full.save(path)
    return full


def forecast_length(
    request: LengthRequest,
    *,
    out: Path | None = None,
    workers: int | None = None,
    progress: Progress = silent,
) -> SweepForecast:
    """Time and memory of the unfinished part on this machine."""
    hosted = request.hosted(progress)
    jobs = [job for one in request.jobs(hosted).values() for some in one for job in some]
    store = Store(out / "store") if out is not None and out.exists() else None
    return forecast_unfinished(jobs, store, workers)
