"""The jobs of `length`: texts of one window through one model, or through a random map."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from wordsway.auditing.running import EditsJob, encoder_of
from wordsway.core.errors import InputError
from wordsway.core.reading import word_spans
from wordsway.lengths.responses import Response, WindowText, responses
from wordsway.lengths.theory import RandomMaps
from wordsway.models.files import ModelName, locate


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
