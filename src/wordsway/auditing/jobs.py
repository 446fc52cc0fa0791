"""The jobs of an audit, a few texts each: what edits change, and how sensitive layers are to the
edited words.

For a text and a layer, `wordsway words` gives every word its mean local sensitivity: the root mean
square response to small random moves of its embedding. The share of the text's other words whose
response is smaller ranks the edited word from 0 to 1. Next to the AUC of that layer it shows
whether an edit is missed although the layer responds to the word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wordsway.auditing.cases import Case
from wordsway.auditing.changes import EditedText, EditEffect, changes_of
from wordsway.auditing.edits.edit import Edit
from wordsway.auditing.running import EditsJob, encoder_of, in_chunks
from wordsway.auditing.scores import intervals
from wordsway.core.errors import InputError, first_line
from wordsway.core.reading import Word, word_spans
from wordsway.core.runtime import single_thread
from wordsway.models.files import ModelName
from wordsway.models.jobs import ONE_AT_A_TIME, TextsJob
from wordsway.models.probe import EncodedText, Probe
from wordsway.probing.local import mean_local, sketch_of
from wordsway.probing.targets import target_of

#: Texts of a job: a second or two of MiniLM, more than a worker spends between two jobs.
CHUNK, LOCAL_CHUNK = 16, 4
#: Of the local part: texts per kind, backward passes of each, layers at most.
LOCAL_TEXTS, PASSES, DEPTHS = 4, 4, 7
#: Characters from … to of each word that an edit changes.
Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class AuditJob(EditsJob):
    """Texts with their edits as (start, before, after) and the number of those that are compared
    with ``draws`` random words each, the model with the hash of its files, and the target.
    """

    texts: tuple[EditedText, ...]
    model: str
    model_sha256: str
    target: str
    draws: int
    seed: int
    device: str = "cpu"
    kind = "audit"
    version = 4
    effect = EditEffect

    def measure(self) -> list[list[EditEffect] | InputError]:
        encoder = encoder_of(self.model, self.model_sha256, self.target, self.device)
        return changes_of(encoder, self.texts, draws=self.draws, seed=self.seed)

    def trial(self) -> AuditJob:
        return replace(self, texts=self.texts[:1], draws=0)

    @property
    def tokens(self) -> float:
        return sum(
            (1.25 * len(word_spans(text)) + 3) * (1 + len(edits) + compared * self.draws)
            for text, edits, compared in self.texts
        )


def places_of(cases: Sequence[Case]) -> list[EditedText]:
    """Return each text with the places of its edits, and how many have random words."""
    return [(case.text, tuple(edit.place for edit in case.edits), case.compared) for case in cases]


@dataclass(frozen=True)
class LocalScore:
    """A layer's mean share of words to which it responds less than to the edited one."""

    layer: int
    share: float
    low: float
    high: float


def changed_words(edit: Edit) -> tuple[str, Spans]:
    """Return the text that has the changed words of an edit, and their spans: the original, or the
    edited text if the edit only inserts words. Articles and unchanged words are left out.

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
class LocalJob(TextsJob):
    """Texts with the words that edits change, the model with the hash of its files, the number of
    its layers that are measured at most, and of backward passes.
    """

    texts: tuple[tuple[str, tuple[Spans, ...]], ...]
    model: str
    model_sha256: str
    depths: int
    passes: int
    seed: int
    device: str = "cpu"
    kind = "audit local"
    version = 1

    def run(self) -> dict[str, Any]:
        """Return for each text and edit the share in every layer, or why it cannot be read."""
        with ONE_AT_A_TIME, single_thread(True):
            probe = self.probe
            layers = spaced(probe.layers.count, self.depths)
            found = [self._measure(probe, layers, *text) for text in self.texts]
        return {"layers": list(layers), "texts": found}

    def _measure(
        self, probe: Probe, layers: Sequence[int], text: str, edits: tuple[Spans, ...]
    ) -> dict[str, Any]:
        try:
            prepared = probe.read(text)
            shares = [self._shares(probe, prepared, layer, edits) for layer in layers]
        except InputError as error:
            return {"error": first_line(error)}
        return {"edits": [list(one) for one in zip(*shares, strict=True)]}

    def _shares(
        self, probe: Probe, prepared: EncodedText, layer: int, edits: tuple[Spans, ...]
    ) -> list[float]:
        target = target_of(probe, prepared, layer)
        sketch = sketch_of(target, passes=self.passes, seed=self.seed)
        words = [word for word in prepared.words if word.text[0].isalnum()]
        values = [one.value for one in mean_local(sketch, prepared, words)]
        return [share_of(words, values, spans) for spans in edits]

    def trial(self) -> LocalJob:
        return replace(self, texts=self.texts[:1])

    @property
    def tokens(self) -> float:
        """Half of the model per layer on average, and backward for twice as much."""
        tokens = sum(1.25 * len(word_spans(text)) + 3 for text, _ in self.texts)
        return 3 * self.passes * 0.5 * self.depths * tokens


def share_of(words: Sequence[Word], values: Sequence[float], spans: Spans) -> float:
    """The share of other words with a smaller value than those at ``spans``, ties half."""
    own = [any(word.start < b and a < word.end for a, b in spans) for word in words]
    inside = [value for value, mine in zip(values, own, strict=True) if mine]
    others = np.array([value for value, mine in zip(values, own, strict=True) if not mine])
    if not inside or not len(others):
        return 0.5
    return float(np.mean([np.mean((others < x) + 0.5 * (others == x)) for x in inside]))


def spaced(count: int, most: int) -> tuple[int, ...]:
    """Return at most ``most`` layers from 0 to ``count``, evenly spaced.

    >>> spaced(6, 7), spaced(12, 7)
    ((0, 1, 2, 3, 4, 5, 6), (0, 2, 4, 6, 8, 10, 12))
    """
    steps = min(count, most - 1)
    return tuple(round(count * step / steps) for step in range(steps + 1)) if steps else (0,)


class LocalPlan:
    """The local jobs of the first ``texts`` cases of every kind, and their scores."""

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
        rest = (str(name), sha256, DEPTHS, PASSES, seed, device)
        self.jobs = [LocalJob(chunk, *rest) for chunk in in_chunks(items, LOCAL_CHUNK)]

    def scores(self, outputs: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[LocalScore, ...]]:
        """Return for every kind the mean share in each layer, from the jobs' outputs by key."""
        shares: dict[tuple[str, Spans], list[float]] = {}
        layers: list[int] = []
        for job in self.jobs:
            if job.key not in outputs:
                continue
            layers = list(outputs[job.key]["layers"])
            for (text, edits), output in zip(job.texts, outputs[job.key]["texts"], strict=True):
                found = output.get("edits", ())
                shares |= {(text, spans): row for spans, row in zip(edits, found, strict=False)}
        by_kind: dict[str, list[list[float]]] = {}
        for kind, text, spans in self.wanted:
            if (text, spans) in shares:
                by_kind.setdefault(kind, []).append(shares[text, spans])
        return {
            kind: tuple(
                LocalScore(layer, one.auc, one.low, one.high)
                for layer, one in zip(layers, intervals(np.array(rows)), strict=True)
            )
            for kind, rows in by_kind.items()
        }
