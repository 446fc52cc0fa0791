"""How sensitive layers are to small moves of the word that an edit changes.

For a text and a layer, `wordsway words` gives every word its mean local sensitivity: the root mean
square response to small random moves of its embedding. The share of the text's other words whose
response is smaller says where the edit's word stands, 0 to 1, one half in the middle: beside the
AUC of that layer it tells whether an edit is missed although the layer listens to the word.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from wordsway.auditing.cases import Case
from wordsway.auditing.edits.edit import Edit
from wordsway.auditing.job import STATES, encoder_of, named_device
from wordsway.auditing.models import ModelName
from wordsway.auditing.scores import intervals
from wordsway.core.cost import Cost
from wordsway.core.errors import InputError, first_line
from wordsway.core.reading import Word, word_spans
from wordsway.core.result import fields_of
from wordsway.core.runtime import single_thread
from wordsway.engine.job import PROCESS_WITH_MODEL, Job
from wordsway.models.probe import EncodedText, Probe
from wordsway.probing.local import mean_local, sketch_of
from wordsway.probing.targets import target_of
from wordsway.studies.text_cells import parameters_of

KIND, VERSION = "audit local", 1
#: Texts per kind, backward passes of each, depths at most, and texts of a job.
TEXTS, PASSES, DEPTHS, CHUNK = 12, 4, 7, 4
_ONE_AT_A_TIME = threading.Lock()

#: Characters from … to of each word that an edit changes.
Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class LocalScore:
    """A layer: the mean over texts of the share of words that it responds to less than to the
    edit's word, with its 95 % interval.
    """

    layer: int
    share: float
    low: float
    high: float


def changed_words(edit: Edit) -> tuple[str, Spans]:
    """The text in which the words of an edit stand, and where: the original, or the edited one if
    the edit only puts words in. Articles and words that stay are left out.

    >>> changed_words(Edit("It is good.", 6, "", "not ", "negation", "turning"))
    ('It is not good.', ((6, 9),))
    >>> changed_words(Edit("It is an old film.", 6, "an old", "a new", "antonyms", "turning"))
    ('It is an old film.', ((9, 12),))
    """
    gone, come = edit.before, edit.after
    text, part, other = (edit.text, gone, come) if gone.strip() else (edit.edited, come, gone)
    stay = {other[a:b].lower() for a, b in word_spans(other)} | {"a", "an"}
    spans = [(a, b) for a, b in word_spans(part) if part[a].isalnum()]
    changed = [(a, b) for a, b in spans if part[a:b].lower() not in stay] or spans
    return text, tuple((edit.start + a, edit.start + b) for a, b in changed)


@dataclass(frozen=True)
class LocalJob(Job):
    """Texts with the words that edits change, the model with the hash of its files, how many of its
    layers are asked at most, and by how many backward passes.
    """

    texts: tuple[tuple[str, tuple[Spans, ...]], ...]
    model: str
    model_sha256: str
    depths: int
    passes: int
    seed: int
    device: str = "cpu"

    @cached_property
    def content(self) -> dict[str, Any]:
        texts = [[text, [list(map(list, spans)) for spans in edits]] for text, edits in self.texts]
        plain = named_device(fields_of(self))
        return plain | {"texts": texts, "kind": KIND, "version": VERSION}

    def run(self) -> dict[str, Any]:
        """For each text and edit the share in every layer, or why the text cannot be read."""
        with _ONE_AT_A_TIME, single_thread(True):
            probe = encoder_of(self.model, self.model_sha256, "cosine", self.device).probe
            layers = spaced(probe.layers.count, self.depths)
            found = [self._measure(probe, layers, *text) for text in self.texts]
        return {"layers": list(layers), "texts": found}

    def _measure(
        self, probe: Probe, layers: Sequence[int], text: str, edits: tuple[Spans, ...]
    ) -> dict[str, Any]:
        try:
            encoded = probe.read(text)
            shares = [self._shares(probe, encoded, layer, edits) for layer in layers]
        except InputError as error:
            return {"error": first_line(error)}
        return {"edits": [list(one) for one in zip(*shares, strict=True)]}

    def _shares(
        self, probe: Probe, encoded: EncodedText, layer: int, edits: tuple[Spans, ...]
    ) -> list[float]:
        target = target_of(probe, encoded, layer)
        sketch = sketch_of(target, encoded, passes=self.passes, seed=self.seed)
        words = [word for word in encoded.words if word.text[0].isalnum()]
        values = [one.value for one in mean_local(sketch, encoded, words)]
        return [share_of(words, values, spans) for spans in edits]

    @property
    def passes_through(self) -> float:
        """Tokens that go through the whole model: half of it per depth, and backward for twice as
        much.
        """
        tokens = sum(1.25 * len(word_spans(text)) + 3 for text, _ in self.texts)
        return 3 * self.passes * 0.5 * self.depths * tokens

    def cost(self) -> Cost:
        parameters = parameters_of(ModelName.of(self.model).model, self.model_sha256)
        held = PROCESS_WITH_MODEL + 4 * parameters + STATES
        return Cost(held, 2.0 * parameters * self.passes_through)

    @property
    def family(self) -> Hashable:
        return (KIND, self.model, self.model_sha256)

    def estimate(self) -> float:
        """The first text is tried with its first edit."""
        tried = replace(self, texts=self.texts[:1])
        tried.run()  # the first run of a process takes longer
        started = time.perf_counter()
        tried.run()
        return (time.perf_counter() - started) * self.passes_through / tried.passes_through


def share_of(words: Sequence[Word], values: Sequence[float], spans: Spans) -> float:
    """The share of a text's other words that have a smaller value than those at ``spans``, ties
    half; one half where there is no other.
    """
    own = [any(word.start < b and a < word.end for a, b in spans) for word in words]
    inside = [value for value, mine in zip(values, own, strict=True) if mine]
    others = np.array([value for value, mine in zip(values, own, strict=True) if not mine])
    if not inside or not len(others):
        return 0.5
    return float(np.mean([np.mean((others < x) + 0.5 * (others == x)) for x in inside]))


def spaced(count: int, most: int) -> tuple[int, ...]:
    """At most so many layers from 0 to ``count``, evenly spaced.

    >>> spaced(6, 7), spaced(12, 7)
    ((0, 1, 2, 3, 4, 5, 6), (0, 2, 4, 6, 8, 10, 12))
    """
    steps = min(count, most - 1)
    return tuple(round(count * step / steps) for step in range(steps + 1)) if steps else (0,)


class LocalPlan:
    """The jobs of the first ``texts`` cases of every kind, and which answer is whose."""

    def __init__(
        self,
        cases: Sequence[Case],
        kinds: Sequence[str],
        name: ModelName,
        sha256: str,
        texts: int,
        seed: int,
        device: str = "cpu",
    ) -> None:
        left = dict.fromkeys(kinds, texts)
        found: dict[str, dict[Spans, None]] = {}
        self.wanted: list[tuple[str, str, Spans]] = []
        for case in cases:
            for edit in case.edits:
                if left.get(edit.kind, 0) and edit.role == "turning":
                    left[edit.kind] -= 1
                    text, spans = changed_words(edit)
                    found.setdefault(text, {})[spans] = None
                    self.wanted.append((edit.kind, text, spans))
        items = [(text, tuple(spans)) for text, spans in found.items()]
        self.jobs = [
            LocalJob(tuple(items[at : at + CHUNK]), str(name), sha256, DEPTHS, PASSES, seed, device)
            for at in range(0, len(items), CHUNK)
        ]

    def scores(self, outputs: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[LocalScore, ...]]:
        """For every kind the mean share in each layer, from the outputs of the jobs by key."""
        shares: dict[tuple[str, Spans], list[float]] = {}
        layers: list[int] = []
        for job in self.jobs:
            if job.key not in outputs:
                continue
            layers = list(outputs[job.key]["layers"])
            for (text, edits), output in zip(job.texts, outputs[job.key]["texts"], strict=True):
                if "error" not in output:
                    shares |= {
                        (text, spans): values
                        for spans, values in zip(edits, output["edits"], strict=True)
                    }
        by_kind: dict[str, list[list[float]]] = {}
        for kind, text, spans in self.wanted:
            if (text, spans) in shares:
                by_kind.setdefault(kind, []).append(shares[text, spans])
        return {kind: _scores(layers, np.array(rows)) for kind, rows in by_kind.items()}


def _scores(layers: Sequence[int], shares: np.ndarray) -> tuple[LocalScore, ...]:
    found = intervals(shares)
    return tuple(
        LocalScore(layer, score.auc, score.low, score.high)
        for layer, score in zip(layers, found, strict=True)
    )
