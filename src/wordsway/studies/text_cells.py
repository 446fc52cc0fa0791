"""A text as a job: every word of one text of a corpus, searched in a pretrained model."""

from __future__ import annotations

import hashlib
import json
import math
import threading
import time
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from wordsway import data
from wordsway.core.errors import InputError, WordswayError, positive
from wordsway.core.reading import word_spans
from wordsway.core.result import fields_of
from wordsway.core.runtime import single_thread
from wordsway.core.seeds import derive
from wordsway.engine.job import PROCESS_WITH_MODEL, Job, canonical
from wordsway.models.files import locate
from wordsway.models.probe import EMBEDDING_STAGES, Probe
from wordsway.probing.forecasting import forecast, passes_per_word
from wordsway.probing.inputs import check
from wordsway.probing.local import PASSES
from wordsway.probing.real_words import DRAWS
from wordsway.probing.results import WordSway
from wordsway.probing.targets import check_target, target_of
from wordsway.probing.words import chosen_tiers, words
from wordsway.text import Text
from wordsway.text.clean import checked

#: What tells these jobs from cells of a grid.
KIND = "words"
#: What a stored text means; raise it when the same content would give other numbers.
VERSION = 4
#: Bytes that a search may take beside the model. It decides how words are batched, so it is the
#: same everywhere.
MEMORY = 512 * 2**20
#: Tokens of a text that are read, and the effort of a curve S(ρ), where a reach asks for one.
TOKENS, EFFORT = 64, 0.2
#: Processor seconds that a process takes to start and to import torch and transformers.
STARTING = 3.0
#: Names in a content that do not decide its seed.
UNSEEDED = ("id", "model", "device")
#: Hooks on a model's layers are the process's own: one search at a time.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class TextCell(Job):
    """The words of one text in one model: the text with its id, the model with the hash of its
    files, and how to search.
    """

    text: str
    id: str
    model: str
    model_sha256: str
    layer: int
    reach: float | None = None
    at: str = "words"
    effort: float = EFFORT
    tokens: int = TOKENS
    seed: int = 0
    target: str = "layer"
    tiers: tuple[str, ...] = ()
    scaling: str = "auto"
    passes: int | None = None
    draws: int | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        positive("tokens", self.tokens)
        check(1.0 if self.reach is None else self.reach, self.effort)
        check_target(self.layer if self.target == "layer" else self.target, self.scaling)
        chosen_tiers(self.tiers)
        for name in ("passes", "draws"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name))
        if self.at not in EMBEDDING_STAGES:
            raise InputError(
                f"a place among {', '.join(EMBEDDING_STAGES)}",
                repr(self.at),
                "words moves rows of the embedding matrix",
            )
        if self.layer < (1 if self.at == "input" else 0):
            raise InputError(
                "a layer behind the one that moves",
                f"layer {self.layer}",
                "take layer 1 or later, or move the words",
            )
        checked(self.text)

    @cached_property
    def sha256(self) -> str:
        """Of the whole text, also where it is cut."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def content(self) -> dict[str, Any]:
        reach = None if self.reach is None else float(self.reach)
        numbers = {"reach": reach, "effort": float(self.effort), "tiers": list(self.tiers)}
        about = {"kind": KIND, "sha256": self.sha256, "version": VERSION}
        plain = fields_of(self) | numbers | about
        # The processor is not named: stores keep their names.
        return {name: plain[name] for name in plain if (name, plain[name]) != ("device", "cpu")}

    @cached_property
    def own_seed(self) -> int:
        """From the seed and the content, without names: a text has the same numbers wherever it and
        the model lie.
        """
        return derive(
            self.seed,
            canonical(
                {name: value for name, value in self.content.items() if name not in UNSEEDED}
            ),
        )

    @classmethod
    def of(cls, content: dict[str, Any]) -> TextCell:
        """The cell of a stored content."""
        named = ("kind", "sha256", "version")
        plain = {name: value for name, value in content.items() if name not in named}
        return cls(**plain | {"tiers": tuple(content["tiers"])})

    @property
    def measured(self) -> tuple[str, ...]:
        """The tiers that are measured: mean local, and those that are requested."""
        return chosen_tiers(("mean-local", *self.tiers), None, self.reach) or ()

    def peak_bytes(self) -> float:
        """Weights in float32 and the search's budget."""
        return PROCESS_WITH_MODEL + 4 * parameters_of(self.model, self.model_sha256) + MEMORY

    @cached_property
    def size(self) -> float:
        """Tokens through the model and back, from the characters of the text: words are counted,
        their tokens guessed.
        """
        count = max(1, min(len(word_spans(self.text[: 40 * self.tokens])), self.tokens))
        tokens = min(self.tokens, round(1.25 * count) + 2)
        count = min(count, max(1, round(tokens / 1.25)))
        each = passes_per_word(
            self.measured,
            count,
            reach=self.reach or 1.0,
            effort=self.effort,
            passes=self.passes or PASSES,
            draws=self.draws or DRAWS,
        )
        return count * tokens * each

    @property
    def family(self) -> Hashable:
        what = (self.layer, self.at, self.target, self.measured)
        return (KIND, self.model, self.model_sha256, *what)

    def estimate(self) -> float:
        """Processor seconds, by measuring some of the words; a text that will fail counts as a
        typical one.
        """
        asked = {name: value for name, value in self._asked.items() if name != "scaling"}
        probe = probe_of(self.model, self.model_sha256, self.device)
        try:
            with single_thread(True):
                text = probe.cut(self.text, self.tokens)
                found = forecast(text, probe, **asked, clock=time.process_time)
        except InputError:
            return 6.0 * parameters_of(self.model, self.model_sha256) * self.size / 1e10
        return found.seconds

    def startup(self) -> float:
        """Processor seconds of a process with the model; it stays in memory for `estimate`."""
        probe_of.cache_clear()
        started = time.process_time()
        probe_of(self.model, self.model_sha256)
        return STARTING + time.process_time() - started

    @property
    def _asked(self) -> dict[str, Any]:
        """What the verb is asked for."""
        how: dict[str, Any] = {"layer": self.layer, "target": self.target, "tiers": self.measured}
        how |= {"reach": self.reach, "at": self.at, "scaling": self.scaling}
        counts = {"passes": self.passes, "draws": self.draws}
        how |= {name: value for name, value in counts.items() if value is not None}
        return how | {"effort": self.effort, "memory": MEMORY}

    def run(self) -> dict[str, Any]:
        """The words of the text's first tokens. One thread, so that they are the same for any
        number of workers.
        """
        with _ONE_AT_A_TIME, single_thread(True):
            probe = probe_of(self.model, self.model_sha256, self.device)
            text = probe.cut(self.text, self.tokens)
            found = words(text, probe, **self._asked, seed=self.own_seed)
        kept = ["index", "word", "start", "end", "pieces", "sensitivity"]
        kept += ["mean_local", "mean_local_error", "local"]
        rows = [
            {name: getattr(word, name) for name in kept}
            | {"profile": list(word.profile or ()), "noise": list(word.noise or ())}
            | _real(word)
            for word in found.words
        ]
        if not all(
            math.isfinite(value)
            for word in found.words
            for value in (*(word.profile or ()), *(word.noise or ()))
        ):
            raise WordswayError("the model gives numbers that are not finite for this text")
        about = {
            "layer": found.layer,
            "layers": found.layers,
            "status": found.status,
            "tokens": len(found.tokens),
        }
        return {"words": rows, **about, "characters": len(text), "seed": self.own_seed}


def _real(word: WordSway) -> dict[str, Any]:
    """What real words do in the word's place, where that was measured."""
    names = ("mean", "error", "q90", "worst", "worst_word", "draws", "flips")
    if word.real is None:
        return {}
    return {f"real_{name}": getattr(word.real, name) for name in names}


def text_cells(
    texts: Iterable[Text],
    probe: Probe,
    model: str,
    *,
    layer: int | str = "last",
    tokens: int = TOKENS,
    **how: Any,
) -> list[TextCell]:
    """Cells of these texts, each text once (by its characters), in their order; ``how`` is reach,
    at, effort, seed, target, tiers, scaling, passes, draws, device.

    ``model`` is the name by which a worker finds the model that ``probe`` holds.
    """
    number = probe.layers.number(layer)
    if probe.limit is not None and tokens > probe.limit:
        raise InputError(
            f"at most {probe.limit} tokens, the positions of {probe.files.name}",
            f"{tokens:,}",
            "take fewer --tokens",
        )
    if how.get("target", "layer") != "layer":  # a model without that head is refused here
        target_of(probe, probe.read("a", how.get("at", "words")), how["target"])
    once: dict[str, Text] = {}
    for text in texts:
        once.setdefault(text.sha256, text)
    return [
        TextCell(text.text, text.id, model, probe.files.digest, number, tokens=tokens, **how)
        for text in once.values()
    ]


@lru_cache(maxsize=2)
def probe_of(model: str, sha256: str, device: str = "cpu") -> Probe:
    """The model, loaded once per process; its files have to be those that the cell means."""
    probe = Probe(model, device=device)
    if not probe.files.known_as(sha256):
        raise InputError(
            f"{model} with the files {sha256[:12]}…",
            f"other files ({probe.files.digest[:12]}…)",
            "use the same model on every machine",
        )
    return probe


@lru_cache(maxsize=64)
def parameters_of(model: str, sha256: str) -> int:
    """Numbers in a model's weight files, counted from their headers; nothing is loaded, and
    quantised files (half a byte per number) are not unpacked.
    """
    here = data.present(model) if model in data.CATALOGUE else None
    folder = locate(model).folder if here is None else here.folder
    total = sum(2 * path.stat().st_size for path in folder.glob("*.gguf"))
    for path in folder.glob("*.safetensors"):
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(min(length, 2**27)))
        tensors = [about for name, about in header.items() if name != "__metadata__"]
        total += sum(math.prod(about["shape"]) for about in tensors)
    return total
