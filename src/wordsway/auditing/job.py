"""A few texts as a job: their edits, measured in one model."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from wordsway.auditing.background import Place
from wordsway.auditing.cases import Case
from wordsway.auditing.changes import Change, changes_of
from wordsway.auditing.encoder import Encoder
from wordsway.auditing.models import ModelName
from wordsway.auditing.scores import Measured
from wordsway.core.cost import Cost
from wordsway.core.errors import InputError, WordswayError, first_line
from wordsway.core.reading import word_spans
from wordsway.core.result import fields_of
from wordsway.core.runtime import single_thread
from wordsway.engine.job import PROCESS_WITH_MODEL, Job
from wordsway.models.probe import Probe
from wordsway.studies.text_cells import parameters_of

#: What tells these jobs from others.
KIND = "audit"
#: What a stored job means; raise it when the same content would give other numbers.
VERSION = 2
#: Texts of a job: a second or two of MiniLM, more than a worker spends between two jobs.
CHUNK = 16
#: Bytes of the states of a batch, beside the weights.
STATES = 200_000_000
#: Hooks on a model's layers are the process's own: one text at a time.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class AuditJob(Job):
    """Texts with their edits as (start, before, after), the model with the hash of its files, the
    target, and how many random words each edit is compared with.
    """

    texts: tuple[tuple[str, tuple[Place, ...]], ...]
    model: str
    model_sha256: str
    target: str
    draws: int
    seed: int
    device: str = "cpu"

    @cached_property
    def content(self) -> dict[str, Any]:
        texts = [[text, [list(place) for place in edits]] for text, edits in self.texts]
        plain = named_device(fields_of(self))
        return plain | {"texts": texts, "kind": KIND, "version": VERSION}

    def run(self) -> dict[str, Any]:
        """What each edit of each text changes, or why a text cannot be read. One thread, and always
        the same texts together, so that it is the same for any number of workers.
        """
        with _ONE_AT_A_TIME, single_thread(True):
            encoder = encoder_of(self.model, self.model_sha256, self.target, self.device)
            found = changes_of(encoder, self.texts, draws=self.draws, seed=self.seed)
        return {"texts": [_output(one) for one in found]}

    @property
    def passes(self) -> float:
        """Tokens that go through the model, guessed from the words."""
        return sum(
            (1.25 * len(word_spans(text)) + 3) * (1 + len(edits) * (1 + self.draws))
            for text, edits in self.texts
        )

    def cost(self) -> Cost:
        parameters = parameters_of(ModelName.of(self.model).model, self.model_sha256)
        held = PROCESS_WITH_MODEL + 4 * parameters + STATES
        return Cost(held, 2.0 * parameters * self.passes)

    @property
    def family(self) -> Hashable:
        return (KIND, self.model, self.model_sha256, self.target)

    def estimate(self) -> float:
        """The first text is run without random words; what it takes is scaled."""
        tried = replace(self, texts=self.texts[:1], draws=0)
        tried.run()  # the first run of a process takes longer
        started = time.perf_counter()
        tried.run()
        return (time.perf_counter() - started) * self.passes / tried.passes


def named_device(content: dict[str, Any]) -> dict[str, Any]:
    """A job's content, in which the device is named where it is not the CPU."""
    return {name: value for name, value in content.items() if (name, value) != ("device", "cpu")}


def _output(found: list[Change] | InputError) -> dict[str, Any]:
    if isinstance(found, InputError):
        return {"error": first_line(found)}
    for change in found:
        if not all(map(math.isfinite, (change.value, *change.distances, *change.layers))):
            raise WordswayError("the model gives numbers that are not finite")
    return {"edits": [fields_of(change) for change in found]}


def jobs_of(
    cases: Sequence[Case],
    name: ModelName,
    sha256: str,
    target: str,
    draws: int,
    seed: int,
    device: str = "cpu",
) -> list[AuditJob]:
    """The jobs of all cases in a model, `CHUNK` texts each, in their order."""
    texts = [
        (case.text, tuple(Place(edit.start, edit.before, edit.after) for edit in case.edits))
        for case in cases
    ]
    return [
        AuditJob(
            tuple(texts[start : start + CHUNK]), str(name), sha256, target, draws, seed, device
        )
        for start in range(0, len(texts), CHUNK)
    ]


def measured_of(case: Case, output: dict[str, Any]) -> Measured:
    """A case with what its job found."""
    found = []
    for row in output["edits"]:
        layers = {name: tuple(row[name]) for name in ("distances", "layers")}
        found.append(Change(**(row | layers)))
    return Measured(case.id, case.text, case.edits, tuple(found))


@lru_cache(maxsize=1)
def encoder_of(model: str, sha256: str, target: str, device: str = "cpu") -> Encoder:
    """The model, loaded once per process; its files have to be those that the job means."""
    name = ModelName.of(model)
    probe = Probe(name.model, twin=name.twin, device=device)
    if probe.files.digest != sha256:
        raise InputError(
            f"{name.model} with the files {sha256[:12]}…",
            f"other files ({probe.files.digest[:12]}…)",
            "use the same model on every machine",
        )
    return Encoder(probe, target)
