"""A measurement of a pretrained model as a job: a verb with its arguments, and the model."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from wordsway import data
from wordsway.core.errors import InputError
from wordsway.core.result import Result
from wordsway.engine.job import PROCESS_WITH_MODEL, Job
from wordsway.models.files import parameters_of
from wordsway.probing.attention import Attention, attention
from wordsway.probing.attract import Attracted, attract
from wordsway.probing.compare import Comparison, compare

#: What tells these jobs from others; what stored outputs mean (raise it when they change).
KIND, VERSION = "probe", 1


def _attract_row(*, row: int, **how: Any) -> Attracted:
    """`attract` with the name that jobs of all versions have for the token."""
    return attract(token=row, **how)


#: The verbs, and what they return.
VERBS: dict[str, tuple[Callable[..., Result], type[Result]]] = {
    "attention": (attention, Attention),
    "compare": (compare, Comparison),
    "attract": (_attract_row, Attracted),
}
#: Passes of a model over a few hundred tokens that such a measurement takes, about.
TOKENS = 20_000


@dataclass(frozen=True)
class ProbeJob(Job):
    """A verb of `wordsway.probing` with its arguments, as JSON has them, on a model whose files
    have this hash.
    """

    verb: str
    arguments: Mapping[str, Any] = dataclasses.field(hash=False)
    model: str
    model_sha256: str

    @cached_property
    def content(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "verb": self.verb,
            "arguments": dict(self.arguments),
            "model": self.model,
            "model_sha256": self.model_sha256,
            "version": VERSION,
        }

    def run(self) -> dict[str, Any]:
        here = data.present(self.model)
        if here is None or here.digest != self.model_sha256:
            found = "none" if here is None else f"other files ({here.digest[:12]}…)"
            raise InputError(
                f"{self.model} with the files {self.model_sha256[:12]}…",
                found,
                "use the same model on every machine",
            )
        function, _ = VERBS[self.verb]
        return function(**self.arguments, model=self.model).to_dict()

    def result(self, outputs: Mapping[str, Any]) -> Result:
        """The result that `run` gave, made again from its numbers."""
        found: Result = restored(VERBS[self.verb][1], outputs)
        return found

    def peak_bytes(self) -> float:
        return PROCESS_WITH_MODEL + 8.0 * parameters_of(self.model, self.model_sha256)

    @property
    def size(self) -> float:
        return 1.0

    @property
    def family(self) -> Hashable:
        return (KIND, self.verb, self.model)

    def estimate(self) -> float:
        """Passes of a text of `TOKENS` tokens, at ten billion operations per second."""
        return 2.0 * parameters_of(self.model, self.model_sha256) * TOKENS / 1e10


def restored(kind: Any, plain: Any) -> Any:
    """An object of a type annotation from what JSON keeps of it.

    >>> from wordsway.core.reading import Word
    >>> restored(tuple[Word, ...], [{"index": 0, "text": "a", "start": 0, "end": 1, "rows": [1]}])
    (Word(index=0, text='a', start=0, end=1, rows=(1,), joined=1),)
    """
    if hasattr(kind, "from_dict"):
        return kind.from_dict(plain)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        names = [field.name for field in dataclasses.fields(kind) if field.init]
        return kind(**{name: restored(hints[name], plain[name]) for name in names if name in plain})
    if kind is np.ndarray or get_origin(kind) is np.ndarray:
        return np.array(plain)
    if get_origin(kind) is tuple and isinstance(plain, (list, tuple)):
        return tuple(restored(get_args(kind)[0], item) for item in plain)
    if get_origin(kind) in (Union, types.UnionType) and plain is not None:
        own = [part for part in get_args(kind) if dataclasses.is_dataclass(part)]
        return restored(own[0], plain) if own else plain
    return plain
