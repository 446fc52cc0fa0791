"""Figures 1, 3.3 and 3.4: one measurement of a pretrained model each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordsway.core.chart import Chart, Curve, Panel
from wordsway.core.result import Result
from wordsway.engine.job import Job
from wordsway.engine.store import Store
from wordsway.paper.figure import Data, Figure, Finding, Sources, check
from wordsway.paper.probe_job import ProbeJob
from wordsway.probing.attention import Attention
from wordsway.probing.attract import Attracted
from wordsway.probing.compare import Comparison

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
        name = self.models[-1]
        return [f"Figure {self.name}: {name} is not present; run `wordsway data get {name}` first"]

    def read(self, store: Store, jobs: Sequence[Job]) -> Any:
        for job in jobs:
            for _, record in store.records([job.key] if job.key in store else []):
                assert isinstance(job, ProbeJob)
                return job.result(record.outputs)
        return None

    def finding(
        self, claim: str, result: Any, measured: str, holds: bool, rule: str
    ) -> list[Finding]:
        """A finding on one text and one model, without an interval."""
        where = str(result.model["name"])
        return [Finding(self.name, claim, where, measured, check(holds), rule)]

    def tables(self, data: Any, folder: Path) -> list[Path]:
        return [data.save(folder / f"{self.name}.{ending}") for ending in ("csv", "json")]


@dataclass(frozen=True)
class AttentionOfTwoTexts(ModelFigure[Attention]):
    """Figure 1, left."""

    name: str = "1-left"
    title: str = "Figure 1, left: one word changes the attention of the others"
    verb: str = "attention"
    texts: tuple[str, str] = ("I love her much", "I love her smile")

    def arguments(self, seed: int) -> dict[str, Any]:
        return {"text_a": self.texts[0], "text_b": self.texts[1], "layer": 1, "head": "mean"}

    def drawing(self, data: Attention) -> Result:
        return data

    def caption(self, data: Attention) -> str:
        return (
            f"{data.model['name']}. Attention of the first layer, mean over its heads: rows attend "
            "to columns; special tokens are left out."
        )

    def findings(self, data: Attention) -> list[Finding]:
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

    def drawing(self, data: Comparison) -> Result:
        return data

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
    row: int = 42

    def arguments(self, seed: int) -> dict[str, Any]:
        return {"text": self.text, "row": self.row, "head": "all", "seed": seed}

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
            f"{data.model['name']}. Relative change of every layer when token {data.row} of "
            f"{len(data.tokens)} moves by its own norm: by the Δ that attracts most attention of "
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
    text: str = "The old bridge over the brown river"
    row: int = 6
    head: int = 0

    def arguments(self, seed: int) -> dict[str, Any]:
        return {"text": self.text, "row": self.row, "head": self.head, "seed": seed}

    def drawing(self, data: Attracted) -> Result:
        return data

    def caption(self, data: Attracted) -> str:
        return (
            f"{data.model['name']}. Token {data.row} moves by its own norm so that head "
            f"{data.head} of the first layer attends to it."
        )

    def findings(self, data: Attracted) -> list[Finding]:
        before, after = data.drawn
        measured = (
            f"mean attention of the other tokens to it: {before:.3f} before, {after:.3f} after"
        )
        claim = "Attention goes to the moved token"
        rule = "more than twice as much after; one text"
        return self.finding(claim, data, measured, after > 2 * before, rule)
