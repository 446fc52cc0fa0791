"""Names of models: a catalogue name, a hub id or a folder; ":random" asks for the twin."""

from __future__ import annotations

import re
from typing import NamedTuple


class ModelName(NamedTuple):
    """A model, and the seed of its twin with random weights where that is meant.

    >>> ModelName.of("minilm"), str(ModelName.of("minilm:random=3"))
    (ModelName(model='minilm', twin=None), 'minilm:random=3')
    """

    model: str
    twin: int | None = None

    @classmethod
    def of(cls, text: str) -> ModelName:
        found = re.fullmatch(r"(.+):random(?:=(\d+))?", text)
        return cls(text) if found is None else cls(found[1], int(found[2] or 0))

    def __str__(self) -> str:
        if self.twin is None:
            return self.model
        return f"{self.model}:random" + (f"={self.twin}" if self.twin else "")
