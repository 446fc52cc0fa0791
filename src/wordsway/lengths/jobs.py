"""The jobs of `length`: texts of one window through one model, or through a random map."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

from wordsway.auditing.jobs import encoder_of
from wordsway.core.errors import InputError, WordswayError, first_line
from wordsway.core.reading import word_spans
from wordsway.core.result import fields_of
from wordsway.core.runtime import single_thread
from wordsway.lengths.responses import Response, WindowText, responses
from wordsway.lengths.theory import RandomMaps
from wordsway.models.files import ModelName, locate
from wordsway.models.jobs import ONE_AT_A_TIME, TextsJob


@dataclass(frozen=True)
class LengthJob(TextsJob):
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

    def run(self) -> dict[str, Any]:
        """What each edit changes, or why a text cannot be read: in one thread, and always the same
        texts in a batch, so that the numbers are the same for any number of workers.
        """
        with ONE_AT_A_TIME, single_thread(True):
            encoder = encoder_of(self.model, self.model_sha256, "cosine", self.device)
            if self.theory:
                measure = RandomMaps(encoder.probe, self.seed).measure(self.theory)
                found: list[list[Response] | InputError] = [measure(text) for text in self.texts]
            else:
                found = responses(encoder, self.texts, self.target)
        return {"texts": [_output(one) for one in found]}

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


def _output(found: list[Response] | InputError) -> dict[str, Any]:
    if isinstance(found, InputError):
        return {"error": first_line(found)}
    if not all(math.isfinite(one.change) for one in found):
        raise WordswayError("hidden states became NaN or Inf")
    return {"edits": [fields_of(one) for one in found]}


def responses_in(output: dict[str, Any]) -> list[Response] | str:
    """The responses of a text in the output of a job, or why it could not be read."""
    if "error" in output:
        return str(output["error"])
    return [
        Response(**(row | {"layers": {name: tuple(v) for name, v in row["layers"].items()}}))
        for row in output["edits"]
    ]
