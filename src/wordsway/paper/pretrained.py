"""Figures 1, 3.3 and 3.4: one measurement of a pretrained model each."""

from __future__ import annotations

import types
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from wordsway import data as catalogue
from wordsway.core.chart import Chart, Curve, Panel
from wordsway.core.errors import InputError
from wordsway.core.escape import shortened
from wordsway.core.result import Result, fields_of
from wordsway.engine.job import PROCESS_WITH_MODEL, Job
from wordsway.engine.store import Store
from wordsway.models.files import parameters_of
from wordsway.paper.figure import Data, Figure, Finding, Sources, check
from wordsway.probing.attention import AttentionMaps, attention
from wordsway.probing.attract import Attracted, attract
from wordsway.probing.compare import Comparison, compare

#: The kind of these jobs, and the version of their outputs: raise it when they change.
KIND, VERSION = "probe", 2
#: The verbs, and the results that they return.
VERBS: dict[str, tuple[Callable[..., Result], type[Result]]] = {
    "attention": (attention, AttentionMaps),
    "compare": (compare, Comparison),
    "attract": (attract, Attracted),
}
#: Tokens that a model reads for such a measurement, about.
TOKENS = 20_000
#: A Δ that attracts attention moves the first layers at least this many times as far as noise.
BEATS = 3.0
ENCODERS = ("bert-base", "minilm")
#: A text of a few hundred tokens.
LONG_TEXT = (
    "The old bridge had carried carts, buses and three generations of children before anyone "
    "thought of closing it. When the committee met in the spring, the engineer laid a small "
    "piece of rusted iron on the table and said nothing for a while. Everybody looked at the "
    "window. Outside, the river was high and brown, and a boy was throwing sticks into it from "
    "the railing. The mayor asked whether a coat of paint would help, and somebody laughed, and"
    " then nobody did. In the end they agreed to count the cars for a month, to ask the village"
    " on the other side what it thought, and to write to the ministry, which had not answered a"
    " letter since the flood. The engineer put the iron back into his pocket. On the way home "
    "he stopped in the middle of the bridge, as he had done on the first day, and listened: "
    "under the wheels of the last bus it sang a low note that he had never heard before, and he"
    " wrote down the hour."
)


@dataclass(frozen=True)
class ProbeJob(Job):
    """A verb with its arguments, as in JSON, on a model whose files have this hash."""

    verb: str
    arguments: Mapping[str, Any] = field(hash=False)
    model: str
    model_sha256: str

    @cached_property
    def content(self) -> dict[str, Any]:
        return fields_of(self) | {"kind": KIND, "version": VERSION}

    def run(self) -> dict[str, Any]:
        here = catalogue.present(self.model)
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
        """The result of `run`, from its stored outputs."""
        return restored(VERBS[self.verb][1], outputs)

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
    """An object of an annotated type from its JSON form.

    >>> from wordsway.core.reading import Word
    >>> restored(tuple[Word, ...], [{"index": 0, "text": "a", "start": 0, "end": 1, "rows": [1]}])
    (Word(index=0, text='a', start=0, end=1, rows=(1,), joined=1),)
    """
    if hasattr(kind, "from_dict"):
        return kind.from_dict(plain)
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        names = [one.name for one in fields(kind) if one.init]
        return kind(**{name: restored(hints[name], plain[name]) for name in names if name in plain})
    if kind is np.ndarray or get_origin(kind) is np.ndarray:
        return np.array(plain)
    if get_origin(kind) is tuple and isinstance(plain, (list, tuple)):
        return tuple(restored(get_args(kind)[0], item) for item in plain)
    if get_origin(kind) in (Union, types.UnionType) and plain is not None:
        own = [part for part in get_args(kind) if is_dataclass(part)]
        return restored(own[0], plain) if own else plain
    return plain


class ModelFigure(Figure[Data]):
    """One measurement: ``verb`` with ``arguments`` on the first installed model of ``models``."""

    verb: str
    models: tuple[str, ...] = ENCODERS

    @abstractmethod
    def arguments(self, seed: int) -> dict[str, Any]:
        """The arguments of the verb, as in JSON."""

    def jobs(self, sources: Sources, *, quick: bool = False, seed: int = 0) -> list[Job]:
        model = sources.first_model(self.models)
        if model is None:
            return []
        return [ProbeJob(self.verb, self.arguments(seed), model, sources.models[model])]

    def missing(self, sources: Sources) -> list[str]:
        if sources.first_model(self.models) is not None:
            return []
        return [f"Figure {self.name}: {sources.why_not(self.models[-1])}"]

    def read(self, store: Store, jobs: Sequence[Job]) -> Any:
        for job in jobs:
            for _, record in store.records([job.key] if job.key in store else []):
                assert isinstance(job, ProbeJob)
                return job.result(record.outputs)
        return None

    def drawing(self, data: Any) -> Result:
        return data

    def finding(
        self, claim: str, result: Any, measured: str, holds: bool, rule: str
    ) -> list[Finding]:
        """A finding on one text and one model, without an interval."""
        where = str(result.model["name"])
        return [Finding(self.name, claim, where, measured, check(holds), rule)]

    def tables(self, data: Any, folder: Path) -> list[Path]:
        return [data.save(folder / f"{self.name}.{ending}") for ending in ("csv", "json")]


@dataclass(frozen=True)
class AttentionOfTwoTexts(ModelFigure[AttentionMaps]):
    """Figure 1, left."""

    name: str = "1-left"
    title: str = "Figure 1, left: one word changes the attention of the others"
    verb: str = "attention"
    texts: tuple[str, str] = ("I love her much", "I love her smile")

    def arguments(self, seed: int) -> dict[str, Any]:
        return {"text_a": self.texts[0], "text_b": self.texts[1], "layer": 1, "head": "mean"}

    def caption(self, data: AttentionMaps) -> str:
        return (
            f"{data.model['name']}. Attention of the first layer, mean over its heads: rows attend "
            "to columns; special tokens are left out."
        )

    def findings(self, data: AttentionMaps) -> list[Finding]:
        """The paper makes no claim here."""
        return []


@dataclass(frozen=True)
class AnswersToTwoPrompts(ModelFigure[Comparison]):
    """Figure 1, right."""

    name: str = "1-right"
    title: str = "Figure 1, right: one word changes the answer"
    verb: str = "compare"
    models: tuple[str, ...] = ("smollm2",)
    texts: tuple[str, str] = (
        "Write one sentence about a happy dog.",
        "Write one sentence about a hungry dog.",
    )

    def arguments(self, seed: int) -> dict[str, Any]:
        return {"a": self.texts[0], "b": self.texts[1]}

    def caption(self, data: Comparison) -> str:
        return (
            f"{data.model['name']}. Greedy answers to two prompts that differ in one word, and the "
            "relative change of every layer’s hidden states."
        )

    def findings(self, data: Comparison) -> list[Finding]:
        differ = data.a.answer != data.b.answer
        answers = "differ" if differ else "are the same"
        measured = f"next-token KL {data.kl_ab:.3g} nats; answers {answers}"
        claim = "One word changes a language model's answer"
        return self.finding(
            claim, data, measured, differ, "the answers differ; one pair of prompts"
        )


@dataclass(frozen=True)
class AttractedLayers(ModelFigure[Attracted]):
    """Figure 3.3."""

    name: str = "3.3"
    title: str = "Figure 3.3: a Δ that attracts attention, layer by layer"
    verb: str = "attract"
    text: str = LONG_TEXT
    #: The name of the text in the caption.
    source: str = "a paragraph of ours"
    row: int = 42

    def arguments(self, seed: int) -> dict[str, Any]:
        return {"text": self.text, "token": self.row, "head": "all", "seed": seed}

    def drawing(self, data: Attracted) -> Chart:
        """The relative change of every layer, by the Δ and by noise of the same norm."""
        layers = list(range(len(data.profile)))
        factors = ["", *(f"{factor:.1f}×" for factor in data.factors[1:])]
        curves = [
            Curve("Δ that attracts attention", layers, data.profile, colour=1, labels=factors),
            Curve("Gaussian noise of the same norm", layers, data.noise, dashed=True),
        ]
        x_label, y_label = "layer (0 is the input)", "relative change of hidden states"
        return Chart([Panel("", curves, x_label=x_label, y_label=y_label)])

    def caption(self, data: Attracted) -> str:
        return (
            f"{data.model['name']}. Relative change of every layer when token {data.row} of the "
            f"{len(data.tokens)} of {self.source} (“{shortened(self.text, 60)}”) moves by its own "
            "norm: by the Δ that attracts most attention of "
            "the other tokens in the first layer, and by Gaussian noise (mean of 8 draws)."
        )

    def findings(self, data: Attracted) -> list[Finding]:
        factors = data.factors[1:]
        each = ", ".join(f"{factor:.1f}" for factor in factors)
        holds = all(factor >= BEATS for factor in factors[:3]) and min(factors) > 1
        measured = f"times noise of the same norm, layers 1 to {len(factors)}: {each}"
        claim = "An attracting Δ moves layers far more than noise"
        rule = f"at least {BEATS:g} times in layers 1 to 3, more than once in all; one text"
        return self.finding(claim, data, measured, holds, rule)


@dataclass(frozen=True)
class AttractedAttention(ModelFigure[Attracted]):
    """Figure 3.4."""

    name: str = "3.4"
    title: str = "Figure 3.4: attention of layer 1, head 0 before and after"
    verb: str = "attract"
    text: str = (
        "Towards Understanding the Word Sensitivity of Attention Layers: A Study via Random "
        "Features"
    )
    row: int = 6
    head: int = 0

    def arguments(self, seed: int) -> dict[str, Any]:
        return {"text": self.text, "token": self.row, "head": self.head, "seed": seed}

    def caption(self, data: Attracted) -> str:
        return (
            f"{data.model['name']}. Token {data.row} of the paper's title moves by its own norm so "
            f"that head {data.head} of the first layer attends to it."
        )

    def findings(self, data: Attracted) -> list[Finding]:
        before, after = data.drawn
        measured = (
            f"mean attention of the other tokens to it: {before:.3f} before, {after:.3f} after"
        )
        claim = "Attention goes to the moved token"
        rule = "more than twice as much after; one text"
        return self.finding(claim, data, measured, after > 2 * before, rule)
