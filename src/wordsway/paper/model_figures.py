"""The paper's figures about pretrained models: 1 (attention, answers), 3.3 (layers) and 3.4
(attention drawn to a token).

They are single measurements of seconds, not grids. Each is kept as ``<name>.json`` beside its
picture, with a key over everything that decides it, and is measured again only when the key is
another one.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from wordsway import data
from wordsway.experiments.cells import Cell
from wordsway.paper.finding import FAILS, HOLDS, Finding
from wordsway.paper.sources import Sources
from wordsway.result import Result

#: What a kept measurement means; raise it when the same request would give other numbers.
VERSION = 1
#: How many times more than noise the first layers have to move by a Δ that attracts attention.
BEATS = 3.0
LONG_TEXT = (
    "The old bridge had carried carts, buses and three generations of children before anyone thought of closing it. When the "
    "committee met in the spring, the engineer laid a small piece of rusted iron on the table and said nothing for a while. "
    "Everybody looked at the window. Outside, the river was high and brown, and a boy was throwing sticks into it from the "
    "railing. The mayor asked whether a coat of paint would help, and somebody laughed, and then nobody did. In the end they "
    "agreed to count the cars for a month, to ask the village on the other side what it thought, and to write to the "
    "ministry, which had not answered a letter since the flood. The engineer put the iron back into his pocket. On the way "
    "home he stopped in the middle of the bridge, as he had done on the first day, and listened: under the wheels of the last "
    "bus it sang a low note that he had never heard before, and he wrote down the hour."
)


@dataclass(frozen=True)
class ModelFigure:
    """One figure: what is measured on which texts, with the first of the models that is here."""

    name: str
    title: str
    kind: Literal["attention", "answers", "layers", "attracted"]
    texts: tuple[str, ...]
    models: tuple[str, ...]
    row: int = 0
    head: int | str = "all"

    def cells(self, available: Sources, *, quick: bool = False, seed: int = 0) -> list[Cell]:
        """None: it is no grid."""
        return []

    def model(self) -> str | None:
        return next((name for name in self.models if data.present(name) is not None), None)

    def missing(self) -> str:
        wanted = self.models[-1]
        return (
            f"Figure {self.name}: {wanted} is not present; run `wordsway data get {wanted}` first"
        )

    def measure(self, model: str, seed: int) -> Result:
        from wordsway.probing.attention import attention
        from wordsway.probing.attract import attract
        from wordsway.probing.compare import compare

        if self.kind == "attention":
            return attention(self.texts[0], self.texts[1], model, layer=1, head="mean")
        if self.kind == "answers":
            return compare(self.texts[0], self.texts[1], model)
        return attract(self.texts[0], self.row, model, head=self.head, seed=seed)

    def key(self, model: str, seed: int) -> str:
        """Over the request, the model's files and the version of the measurement."""
        here = data.present(model)
        plain = [
            self.name,
            self.kind,
            self.texts,
            self.row,
            self.head,
            model,
            here.digest if here else None,
            seed,
            VERSION,
        ]
        return hashlib.sha256(json.dumps(plain).encode()).hexdigest()

    def kept(self, folder: Path, model: str, seed: int) -> dict[str, Any] | None:
        """The measurement of an earlier run, if it is the same one and its files are there."""
        try:
            payload = json.loads((folder / f"{self.name}.json").read_text("utf-8"))
        except (OSError, ValueError):
            return None
        files = [folder / f"{self.name}.{kind}" for kind in ("png", "svg", "pdf", "csv")]
        same = isinstance(payload, dict) and payload.get("key") == self.key(model, seed)
        return payload if same and all(path.is_file() for path in files) else None


ENCODERS = ("bert-base", "minilm")
MODEL_FIGURES = (
    ModelFigure(
        "1-left",
        "Figure 1, left: one word changes where the others look",
        "attention",
        ("I love her much", "I love her smile"),
        ENCODERS,
    ),
    ModelFigure(
        "1-right",
        "Figure 1, right: one word changes the answer",
        "answers",
        ("Write one sentence about a happy dog.", "Write one sentence about a hungry dog."),
        ("smollm2",),
    ),
    ModelFigure(
        "3.3",
        "Figure 3.3: a Δ that attracts attention, layer by layer",
        "layers",
        (LONG_TEXT,),
        ENCODERS,
        row=42,
    ),
    ModelFigure(
        "3.4",
        "Figure 3.4: attention of layer 1, head 1 before and after",
        "attracted",
        ("The old bridge over the brown river",),
        ENCODERS,
        row=6,
        head=1,
    ),
)


def model_finding(figure: ModelFigure, payload: dict[str, Any]) -> Finding | None:
    """The figure's claim beside its measurement; Figure 1's left half only shows."""
    where = payload["model"]["name"]
    if figure.kind == "answers":
        differ = payload["a"]["answer"] != payload["b"]["answer"]
        measured = f"next-token KL {payload['kl_ab']:.3g} nats; answers {'differ' if differ else 'are the same'}"
        return Finding(
            figure.name,
            "One word changes a language model's answer",
            where,
            measured,
            HOLDS if differ else FAILS,
        )
    if figure.kind == "layers":
        factors = payload["factors"][1:]
        told = ", ".join(f"{factor:.1f}" for factor in factors)
        holds = all(factor >= BEATS for factor in factors[:3]) and min(factors) > 1
        measured = f"times noise of the same norm, layers 1 to {len(factors)}: {told}"
        return Finding(
            figure.name,
            "An attracting Δ moves layers far more than noise",
            where,
            measured,
            HOLDS if holds else FAILS,
        )
    if figure.kind == "attracted":
        others = [at for at in range(len(payload["tokens"])) if at != payload["row"]]
        before, after = (
            sum(payload[when][at][payload["row"]] for at in others) / len(others)
            for when in ("before", "after")
        )
        measured = (
            f"mean attention of the other tokens to it: {before:.3f} before, {after:.3f} after"
        )
        return Finding(
            figure.name,
            "Attention goes to the moved token",
            where,
            measured,
            HOLDS if after > 2 * before else FAILS,
        )
    return None
