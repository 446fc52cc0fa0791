"""Jobs that run texts through one model."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Hashable
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from wordsway.core.errors import InputError
from wordsway.core.result import fields_of
from wordsway.engine.job import PROCESS_WITH_MODEL, Job
from wordsway.models.files import ModelName, parameters_of
from wordsway.models.probe import Probe

#: Hooks on a model's layers belong to the process: one job at a time.
ONE_AT_A_TIME = threading.Lock()


class ModelJob(Job):
    """A job with one model, which has a name and the hash of its files."""

    model: str
    model_sha256: str
    device: str
    #: Bytes of a batch, in addition to the weights.
    batch_bytes: ClassVar[int] = 200_000_000

    @property
    def probe(self) -> Probe:
        """The model, loaded once per process."""
        return probe_of(self.model, self.model_sha256, self.device)

    def peak_bytes(self) -> float:
        parameters = parameters_of(ModelName.of(self.model).model, self.model_sha256)
        return PROCESS_WITH_MODEL + 4 * parameters + self.batch_bytes

    @property
    def holds(self) -> str:
        return self.model


class TextsJob(ModelJob):
    """Texts through one model; the first text, run alone, gives the time of all."""

    kind: ClassVar[str]
    #: The meaning of a stored job; raise it when the same content would give other numbers.
    version: ClassVar[int]
    texts: Any

    @cached_property
    def content(self) -> dict[str, Any]:
        own = {
            name: one for name, one in fields_of(self).items() if (name, one) != ("device", "cpu")
        }
        return own | {"kind": self.kind, "version": self.version}

    @property
    @abstractmethod
    def tokens(self) -> float:
        """Tokens that go through the model, estimated from the number of words."""

    @abstractmethod
    def trial(self) -> TextsJob:
        """Return a job of the first text, whose time is measured."""

    @property
    def size(self) -> float:
        return self.tokens

    @property
    def family(self) -> Hashable:
        return (self.kind, self.model, self.model_sha256, getattr(self, "target", None))

    def estimate(self) -> float:
        tried = self.trial()
        tried.run()  # the first run of a process takes longer
        started = time.perf_counter()
        tried.run()
        return (time.perf_counter() - started) * self.tokens / tried.tokens


@lru_cache(maxsize=1)
def probe_of(model: str, sha256: str, device: str = "cpu") -> Probe:
    """The model, loaded once per process; its files have to be those that the job means."""
    name = ModelName.of(model)
    probe = Probe(name.model, twin=name.twin, device=device)
    if probe.files.digest != sha256:
        raise InputError(
            f"{name.model} with the files {sha256[:12]}…",
            f"other files ({probe.files.digest[:12]}…)",
            "use the same model on every machine",
        )
    return probe
