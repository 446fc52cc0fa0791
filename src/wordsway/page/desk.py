"""What a lane works with: models in memory, recent answers, and a way to say how far it is."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, silent
from wordsway.data.catalogue import CATALOGUE
from wordsway.models.probe import Probe

Value = TypeVar("Value")
#: Answers that a second visit gets at once.
ANSWERS = 64


class Recent(Generic[Value]):
    """The values used last, at most ``most`` of them.

    >>> kept = Recent[int](2)
    >>> [kept.get(name, lambda: len(name)) for name in ("a", "bb", "a", "ccc")], list(kept.values)
    ([1, 2, 1, 3], ['a', 'ccc'])
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.values: OrderedDict[str, Value] = OrderedDict()

    def get(self, name: str, make: Callable[[], Value]) -> Value:
        """The value of this name, made where it is not there; room is made first."""
        if name not in self.values:
            while len(self.values) >= self.most:
                self.values.popitem(last=False)
            self.values[name] = make()
        self.values.move_to_end(name)
        return self.values[name]

    def keep(self, name: str, value: Value) -> None:
        self.values.pop(name, None)
        self.get(name, lambda: value)


class Desk:
    """One lane's desk. ``progress`` is that of the step that is being done."""

    def __init__(
        self,
        models: tuple[str, ...] = (),
        most_models: int = 3,
        store: Path | None = None,
        audits: Path | None = None,
    ) -> None:
        self.allowed = models
        self.store, self.audits = store, audits
        self.progress: Progress = silent
        self.probes = Recent[Probe](most_models)
        self.eager = Recent[Probe](most_models)
        self.answers = Recent[Any](ANSWERS)

    def probe(self, name: str, *, eager: bool = False) -> Probe:
        """The model of this name: in memory once, those used longest ago leave.

        ``eager`` gives attention away; it shares every weight with the other one.
        """
        self.checked(name)
        if name not in self.probes.values:
            self.progress("loading the model", 0, 0)
        loaded = self.probes.get(name, lambda: Probe(name, progress=self._fetching(name)))
        self.eager.values = OrderedDict(
            (key, one) for key, one in self.eager.values.items() if key in self.probes.values
        )
        if not eager:
            return loaded
        return self.eager.get(name, lambda: _sharing(loaded))

    def checked(self, name: str) -> str:
        """The name of a model, if it is one that this server offers."""
        known = [entry.name for entry in CATALOGUE.values() if entry.kind == "model"]
        if name not in (*known, *self.allowed):
            raise InputError(
                f"a model among {', '.join((*known, *self.allowed))}",
                repr(name),
                f"start the page with it: wordsway serve --model {name}",
            )
        return name

    def _fetching(self, name: str) -> Any:
        return lambda done, total: self.progress(f"fetching {name}", done, total)


def _sharing(loaded: Probe) -> Probe:
    """The same model with attention that can be read, on the same weights in memory."""
    readable = loaded.with_eager_attention()
    readable.layers.model.load_state_dict(loaded.layers.model.state_dict(), assign=True)
    return readable


def key_of(what: str, ask: Mapping[str, Any]) -> str:
    """The name under which an answer is kept."""
    return what + json.dumps(ask, sort_keys=True, ensure_ascii=False)
