"""The common part of `audit` and `length`: models and texts, jobs about edits, stored effects."""

from __future__ import annotations

import json
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from wordsway.auditing.cases import QUICK, TEXTS
from wordsway.auditing.encoder import Encoder
from wordsway.core.checks import Count, Seed, Several, check_fields
from wordsway.core.errors import InputError, WordswayError, first_line, needs
from wordsway.core.progress import Progress, silent
from wordsway.core.result import fields_of
from wordsway.core.runtime import checked_device, single_thread
from wordsway.engine.forecast import SweepForecast, forecast_unfinished
from wordsway.engine.job import Job
from wordsway.engine.store import Store
from wordsway.engine.tables import writable
from wordsway.models.encoders import AnyModel, distinct_names, listed, names_a_model, opened
from wordsway.models.endpoint import Endpoint, EndpointForecast
from wordsway.models.files import LIBRARIES, ModelName, labels_of
from wordsway.models.jobs import ONE_AT_A_TIME, TextsJob, probe_of
from wordsway.text.files import Encoding

Item = TypeVar("Item")
#: The effects of a text's edits, or why it could not be read; None: it was not run.
Effects = list[Any] | str | None


def in_chunks(items: Sequence[Item], size: int) -> list[tuple[Item, ...]]:
    """
    >>> in_chunks("abcde", 2)
    [('a', 'b'), ('c', 'd'), ('e',)]
    """
    return [tuple(items[at : at + size]) for at in range(0, len(items), size)]


@dataclass(frozen=True)
class EncoderRequest:
    """Which models are measured on which edited texts."""

    models: Any = "minilm"
    data: str | Path | Several[str] = "gold"
    kinds: Several[str] | None = None
    texts: Count | None = None
    quick: bool = False
    target: int | str = "cosine"
    baselines: bool = True
    seed: Seed = 0
    encoding: Encoding | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_fields(self)
        checked_device(self.device)
        if any(map(names_a_model, listed(self.models))):
            needs("models", *LIBRARIES)

    @abstractmethod
    def all_jobs(self, progress: Progress) -> list[Job]:
        """Every job of the request."""

    @abstractmethod
    def texts_read(self, progress: Progress) -> int:
        """The number of texts that a model reads, at most."""

    @abstractmethod
    def texts_sent(self, endpoint: Endpoint, progress: Progress) -> list[str]:
        """The texts that an endpoint embeds."""

    @property
    def count(self) -> int:
        """The number of texts, per kind in an audit."""
        return self.texts if self.texts is not None else QUICK if self.quick else TEXTS

    @cached_property
    def encoders(self) -> list[ModelName | AnyModel]:
        """The models, each once: names, and encoders passed as objects."""
        given = {str(one) if names_a_model(one) else id(one): one for one in listed(self.models)}
        return [
            ModelName.of(key) if isinstance(key, str) else opened(one) for key, one in given.items()
        ]

    @property
    def names(self) -> list[ModelName]:
        """The models that were named; only these run in worker processes."""
        return [one for one in self.encoders if isinstance(one, ModelName)]

    @property
    def twins(self) -> list[ModelName]:
        """The twins with random weights that are measured as baselines."""
        if not self.baselines:
            return []
        twins = [name._replace(twin=0) for name in self.names if name.twin is None]
        return [twin for twin in twins if twin not in self.names]

    def label(self, name: ModelName) -> str:
        return str(name._replace(model=labels_of(one.model for one in self.names)[name.model]))

    @property
    def objects(self) -> dict[str, AnyModel]:
        """The encoders that were passed as objects, by their names in results."""
        given = [one for one in self.encoders if not isinstance(one, ModelName)]
        taken = [self.label(name) for name in self.names]
        names = distinct_names([*taken, *(one.name for one in given)])[len(taken) :]
        return dict(zip(names, given, strict=True))


def forecast_request(
    request: EncoderRequest,
    *,
    out: Path | None = None,
    workers: int | None = None,
    progress: Progress = silent,
) -> SweepForecast:
    """Time and memory of the unfinished part of a request on this machine; encoders that were
    passed as objects, which run in this process, are ``missing``.
    """
    store = Store(out / "store") if out is not None and out.exists() else None
    cost = forecast_unfinished(request.all_jobs(progress), store, workers)
    if not request.objects:
        return cost
    about = f"runs in this process, at most {request.texts_read(progress):,} texts"
    return replace(cost, missing=tuple(f"{name}: {about}" for name in request.objects))


def forecast_endpoints(
    request: EncoderRequest, progress: Progress = silent
) -> dict[str, EndpointForecast]:
    """What would be sent to each endpoint of a request; nothing is sent."""
    return {
        name: one.forecast(request.texts_sent(one, progress))
        for name, one in request.objects.items()
        if isinstance(one, Endpoint)
    }


def output_folder(out: str | Path | None) -> Path | None:
    """The folder for results; refused without the libraries that write its tables and picture."""
    if out is not None:
        needs("figures", "matplotlib", "pyarrow")
    return None if out is None else Path(out)


@contextmanager
def results_store(out: Path | None) -> Iterator[Store]:
    """The store of an output folder, or one that lasts as long as the call."""
    if out is not None:
        yield Store(writable(out) / "store")
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Store(Path(folder) / "store")


def effects_here(
    measure: Callable[[Sequence[Item]], Sequence[list[Any] | InputError]],
    texts: Sequence[Item],
    size: int,
    progress: Progress,
    name: str,
) -> Iterator[Effects]:
    """The effects of every text in an encoder of this process, ``size`` texts at a time."""
    done = 0
    for some in in_chunks(texts, size):
        for found in measure(some):
            yield first_line(found) if isinstance(found, InputError) else found
        done += len(some)
        progress(f"texts through {name}", done, len(texts))


@lru_cache(maxsize=1)
def encoder_of(model: str, sha256: str, target: str, device: str = "cpu") -> Encoder:
    """Return the model with a target, loaded once per process."""
    return Encoder(probe_of(model, sha256, device), target)


class EditsJob(TextsJob):
    """Texts with their edits through one model; one ``effect`` is stored per edit."""

    effect: ClassVar[type]

    @abstractmethod
    def measure(self) -> Sequence[Sequence[Any] | InputError]:
        """The effects of the edits of each text, or why it cannot be read."""

    def run(self) -> dict[str, Any]:
        """The effects of each text's edits.

        One thread, and always the same texts in a batch, so that the numbers are the same for any
        number of workers.
        """
        with ONE_AT_A_TIME, single_thread(True):
            found = self.measure()
        return {"texts": [_output(one) for one in found]}

    def effects_in(self, output: Mapping[str, Any]) -> list[Any] | str:
        """The effects of a text's edits in the output of a job, or why it could not be read."""
        if "error" in output:
            return str(output["error"])
        return [self.effect(**_with_tuples(row)) for row in output["edits"]]


def _output(found: Sequence[Any] | InputError) -> dict[str, Any]:
    if isinstance(found, InputError):
        return {"error": first_line(found)}
    rows = [fields_of(effect) for effect in found]
    try:
        json.dumps(rows, allow_nan=False)
    except ValueError:
        raise WordswayError("hidden states became NaN or Inf") from None
    return {"edits": rows}


def _with_tuples(value: Any) -> Any:
    """A value that was read from JSON with tuples in the place of lists."""
    if isinstance(value, dict):
        return {name: _with_tuples(one) for name, one in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value


def stored_effects(jobs: Sequence[EditsJob], store: Store) -> Iterator[Effects]:
    """The effects of every text of the jobs, or why its job failed."""
    records = dict(store.records([job.key for job in jobs if job.key in store]))
    failures = store.failures()
    for job in jobs:
        if job.key in records:
            yield from map(job.effects_in, records[job.key].outputs["texts"])
        else:
            yield from [failures.get(job.key)] * len(job.texts)
