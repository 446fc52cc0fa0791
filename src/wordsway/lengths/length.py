"""The verb `length`: how far one word moves a model as the text around it grows."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from wordsway.auditing.encoder import BlackBoxEncoder, encoder_for
from wordsway.auditing.running import (
    EditsJob,
    Effects,
    EncoderRequest,
    effects_here,
    encoder_of,
    in_chunks,
    output_folder,
    results_store,
    stored_effects,
)
from wordsway.core.checks import Count, FilePath, Several, takes, validated
from wordsway.core.errors import InputError, WordswayError
from wordsway.core.progress import Progress, silent
from wordsway.core.reading import word_spans
from wordsway.core.result import versions
from wordsway.engine.job import Job
from wordsway.engine.run import Machines, run_jobs
from wordsway.engine.store import Store
from wordsway.lengths.responses import Response, WindowText, responses, versions_of
from wordsway.lengths.result import Length, MeasuredText, ModelLength
from wordsway.lengths.theory import THEORY, RandomMaps
from wordsway.lengths.windows import PLACES, HostedTexts, default_windows, hosted_texts
from wordsway.models.endpoint import Endpoint
from wordsway.models.files import ModelName, locate
from wordsway.models.probe import Probe
from wordsway.text.corpora import unknown_corpus
from wordsway.text.files import path_exists

#: The cosine distance below which a change is invisible.
LEVEL = 0.05
TARGETS = ("pooled", "last-token")
#: Sentences of a job.
CHUNK = 32
#: Texts of the models' twins, and of random maps, whose curves differ less from text to text.
TWIN_TEXTS, THEORY_TEXTS = 32, 20


@dataclass(frozen=True)
class LengthJob(EditsJob):
    """Texts of one window with their edits, the model with the hash of its files, and the target;
    or the name of a random map of the model's word vectors, and its seed.
    """

    texts: tuple[WindowText, ...]
    model: str
    model_sha256: str
    target: str
    device: str = "cpu"
    theory: str = ""
    seed: int = 0
    kind = "length"
    version = 2
    effect = Response

    def measure(self) -> Sequence[list[Response] | InputError]:
        encoder = encoder_of(self.model, self.model_sha256, "cosine", self.device)
        if self.theory:
            measure = RandomMaps(encoder.probe, self.seed).measure(self.theory)
            return [measure(text) for text in self.texts]
        return responses(encoder, self.texts, self.target)

    def trial(self) -> LengthJob:
        return replace(self, texts=self.texts[:1])

    @property
    def family(self) -> Hashable:
        return (super().family, self.theory)

    def peak_bytes(self) -> float:
        """The states of all layers, of every token, in addition."""
        config = locate(ModelName.of(self.model).model).config()
        width = config.get("hidden_size", 1024) * (config.get("num_hidden_layers", 24) + 1)
        return super().peak_bytes() + 4 * width * self.tokens

    @property
    def tokens(self) -> float:
        return sum(
            (1.25 * len(word_spans(text)) + 3) * (1 + len(places)) for text, places in self.texts
        )


@dataclass(frozen=True)
class LengthRequest(EncoderRequest):
    """What `length` measures.

    Parameters
    ----------
    models : one or several encoders, as in `audit`; "minilm:random" is a twin with random weights
    data : where edited sentences come from: "imdb" (reviews), a file or a list of documents, "gold"
        or one of its fields, or a file of triples or pairs
    kinds : kinds of meaning-changing edits, which take turns; negation by default, and all kinds of
        a file of triples or pairs
    windows : sentences of each text; 1, 2, 4, 8, 16 by default, or those that a small table of
        triples or pairs has texts for
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

    data: str | Path | Several[str] = "imdb"
    target: int | str = "pooled"
    windows: Several[Count] | None = None
    host: str | Path | Several[str] | None = None
    place: str = "own"
    level: float = LEVEL

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.place not in ("own", *PLACES):
            raise InputError(
                f"a place among own, {', '.join(PLACES)}", repr(self.place), "choose one of them"
            )
        named = (None, "own", "filler", "imdb")
        host = self.host if isinstance(self.host, (str, Path)) else None
        if host not in named and not path_exists(host):
            raise unknown_corpus(host, "own, filler, ")
        if len(self.sizes) < 3:
            raise InputError("at least three windows", str(list(self.sizes)), "such as 1, 4, 16")
        if str(self.target) not in (*TARGETS, "input", "last") and not str(self.target).isdigit():
            raise InputError(
                f"a target: {', '.join(TARGETS)} or a layer", repr(self.target), "choose one"
            )
        if not 0 < self.level <= 2:
            raise InputError("a cosine distance above 0 and at most 2", self.level, "such as 0.05")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Sentences of the windows in growing order, each once."""
        if self.windows is None:
            return default_windows(self.data, self.host, self.encoding)
        return tuple(sorted(set(self.windows)))

    def hosted(self, progress: Progress = silent) -> HostedTexts:
        """The texts and their edits; each fits into every model."""

        @cache
        def readers() -> list[Probe]:
            """The models, loaded when the first text was found."""
            probes = [
                Probe(one.model, device=self.device) if isinstance(one, ModelName) else one
                for one in self.encoders
            ]
            return [one for one in probes if isinstance(one, Probe)]

        def fits(texts: Sequence[str]) -> bool:
            try:
                for one in readers():
                    one.ids_of(texts)
            except InputError:
                return False
            return True

        return hosted_texts(
            self.data,
            host=self.host,
            kinds=self.kinds,
            texts=self.count,
            longest=self.sizes[-1],
            fits=fits,
            seed=self.seed,
            encoding=self.encoding,
            progress=progress,
        )

    def texts_sent(self, endpoint: Endpoint, progress: Progress) -> list[str]:
        windows = self.in_windows(self.hosted(progress))
        return [one for some in windows for text in some for one in versions_of(text)]

    def texts_read(self, progress: Progress) -> int:
        windows = self.in_windows(self.hosted(progress))
        return sum(1 + len(places) for some in windows for _, places in some)

    def in_windows(self, hosted: HostedTexts) -> list[list[WindowText]]:
        return [[text.window(size, self.place) for text in hosted.texts] for size in self.sizes]

    def jobs(self, hosted: HostedTexts) -> dict[str, list[list[LengthJob]]]:
        """The jobs of every named model, twin and random map, by window."""
        windows = self.in_windows(hosted)
        found = {}
        for name in (*self.names, *self.twins):
            texts = TWIN_TEXTS if name in self.twins else None
            found[self.label(name)] = self._jobs(name, windows, texts)
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
        seed = self.seed if theory else 0
        return [
            [
                LengthJob(part, *files, theory, seed)
                for part in in_chunks(every[:texts], max(1, CHUNK // size))
            ]
            for size, every in zip(self.sizes, windows, strict=True)
        ]

    def all_jobs(self, progress: Progress) -> list[Job]:
        every = self.jobs(self.hosted(progress)).values()
        return [job for windows in every for some in windows for job in some]

    def measured(
        self, name: str, hosted: HostedTexts, windows: Sequence[Sequence[Effects]]
    ) -> ModelLength:
        """A model from its responses by window; texts that lack one are listed with the reason."""
        measured, failed = [], []
        for text, own in zip(hosted.texts, zip(*windows, strict=True), strict=False):
            found = [one for one in own if isinstance(one, list)]
            if len(found) < len(own):
                reasons = [one for one in own if isinstance(one, str)]
                failed.append(f"{text.id}: {(*reasons, 'not measured')[0]}")
                continue
            roles = tuple(dict(zip(text.roles, one, strict=True)) for one in found)
            measured.append(MeasuredText(text.id, text.kind, roles))
        if not measured:
            raise WordswayError(
                f"{name} has no results ({failed[0]}): fix the cause and run again with "
                "--retry-failed (retry_failed=True in Python)"
            )
        rest = self.sizes, tuple(measured), tuple(failed)
        return ModelLength(name, *rest, self.level, self.seed)

    def stored(
        self, name: str, hosted: HostedTexts, jobs: Sequence[Sequence[LengthJob]], store: Store
    ) -> ModelLength:
        windows = [list(stored_effects(some, store)) for some in jobs]
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
            rewording=hosted.rewording,
            overlaps=hosted.overlaps,
            moves_positions=hosted.moves_positions,
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
    folder = output_folder(out)
    hosted = request.hosted(progress)
    with results_store(folder) as store:
        jobs = request.jobs(hosted)
        tally = run_jobs(
            [job for windows in jobs.values() for some in windows for job in some],
            store,
            Machines(workers, cluster, memory),
            retry_failed=retry_failed,
            what="batches of texts",
            progress=progress,
        )
        named = {name: request.stored(name, hosted, some, store) for name, some in jobs.items()}
        here = {} if tally.interrupted else _here(request, hosted, progress)
    seconds = time.perf_counter() - started
    result = request.result(hosted, named, here, tally.interrupted, seconds)
    return result if folder is None else write(result, folder)


def _here(
    request: LengthRequest, hosted: HostedTexts, progress: Progress
) -> dict[str, ModelLength]:
    """The encoders that were given as objects, which run in this process."""
    found = {}
    for name, given in request.objects.items():
        encoder = encoder_for(given)
        measure = partial(responses, encoder, target=request.target)
        windows = [
            list(effects_here(measure, texts, CHUNK, progress, f"{name}, {size} sentences"))
            for size, texts in zip(request.sizes, request.in_windows(hosted), strict=True)
        ]
        unit = "words" if isinstance(encoder, BlackBoxEncoder) else "tokens"
        found[name] = replace(request.measured(name, hosted, windows), unit=unit)
    return found


def write(found: Length, folder: Path) -> Length:
    """Write the page, a picture and the tables; return the result with its files."""
    names = ("index.html", "length.svg", "length.png", "length.csv", "length.json")
    full = replace(found, files=tuple(folder / name for name in names))
    for path in full.files:
        full.save(path)
    return full
