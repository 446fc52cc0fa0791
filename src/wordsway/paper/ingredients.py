"""Which ingredient of attention keeps a word? S against n, one choice changed at a time.

The paper's layer comes first in each panel; the others differ from it as their name says. A slope
of log S against log n of 0 keeps a word; a slope of −1/2 loses it, as fully connected features do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from wordsway.core.chart import Chart, Panel
from wordsway.paper.figure import OWN, Finding, GridFigure, Sources, decide, texts_for
from wordsway.paper.sensitivity_curves import (
    QUICK_TRIALS,
    TRIALS,
    certificates,
    mean_curve,
    minus,
    series_slope,
)
from wordsway.studies.cells import Cell
from wordsway.studies.request import Request

if TYPE_CHECKING:
    import pandas

#: A slope above this keeps a word, one below loses it: half way between the paper's two rates.
BETWEEN = -0.25


@dataclass(frozen=True)
class Ingredient:
    """One map of a study: its label, its options, and what is expected of it.

    ``keeps`` is what a small experiment or the paper suggested before this was measured: True if S
    should stay as texts grow, False if it should fall; None where nothing was known.
    """

    label: str
    map: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    keeps: bool | None = True

    def request(self, n: int, d: int, data: str, seed: int) -> Request:
        """S of the first row of texts of n rows."""
        return Request(
            self.map, n=n, d=d, options=self.options, data=data, seed=seed, texts=texts_for(data)
        )


def scores(name: str, label: str | None = None, *, keeps: bool = True) -> Ingredient:
    """Attention with other scores."""
    return Ingredient(label or name, "attention", {"scores": name}, keeps)


SOFTMAX = Ingredient("softmax (RAF)", "raf")
#: One panel each: a question, and the ingredients that are compared.
Questions = Mapping[str, Sequence[Ingredient]]
QUESTIONS: Questions = {
    "How are scores scaled?": (
        SOFTMAX,
        scores("sink", "softmax with a sink"),
        scores("softmax-log-n", "scores × log n"),
        scores("softmax-1/d", "scores over d", keeps=False),
        scores("qk-norm", "QK-norm", keeps=False),
        scores("l2", "L2 distances", keeps=False),
    ),
    "What replaces softmax?": (
        SOFTMAX,
        scores("sigmoid"),
        scores("differential"),
        scores("sparsemax"),
        Ingredient("ReLU, normalised", "relu-raf", keeps=False),
        scores("linear-attention", "linear attention", keeps=False),
    ),
    "Without a normaliser?": (
        SOFTMAX,
        scores("relu/n", "ReLU / n", keeps=False),
        scores("linear/n", "linear / n", keeps=False),
    ),
    "Heads, masks, positions?": (
        Ingredient("8 heads, Q K V O", "attention", {"heads": 8}),
        Ingredient("… causal", "attention", {"heads": 8, "mask": "causal"}),
        Ingredient("… RoPE", "attention", {"heads": 8, "pe": "rope"}),
        Ingredient("… ALiBi", "attention", {"heads": 8, "pe": "alibi"}),
        Ingredient("… sinusoidal", "attention", {"heads": 8, "pe": "sinusoidal"}),
    ),
    "What stands around it?": (
        SOFTMAX,
        Ingredient("X + RAF", "raf", {"residual": True}, keeps=False),
        Ingredient("LayerNorm(RAF)", "raf", {"norm": "layer"}, keeps=None),
        Ingredient("LayerNorm(X + RAF)", "raf", {"residual": True, "norm": "layer"}, keeps=False),
        Ingredient("RF, no attention", "rf", keeps=False),
    ),
}
READ_OUTS: Questions = {
    "What is read?": (
        SOFTMAX,
        Ingredient("their mean", "raf", {"read_out": "mean"}, keeps=False),
        Ingredient("one other row", "raf", {"read_out": "1"}),
        Ingredient("the last row", "raf", {"read_out": "last"}),
    ),
    "… behind a residual stream?": (
        Ingredient("X + RAF", "raf", {"residual": True}, keeps=False),
        Ingredient("their mean", "raf", {"residual": True, "read_out": "mean"}, keeps=False),
        Ingredient("one other row", "raf", {"residual": True, "read_out": "1"}, keeps=None),
    ),
}


@dataclass(frozen=True)
class IngredientStudy(GridFigure):
    """S against n for each ingredient of each question, Gaussian texts and reviews."""

    questions: Questions = field(default_factory=lambda: QUESTIONS, hash=False)
    n: tuple[int, ...] = (16, 32, 64, 128, 256)
    quick_n: tuple[int, ...] = (16, 32, 64)
    #: Data and widths: reviews have the width of the model.
    widths: tuple[tuple[str, int], ...] = (("gaussian", 256), ("imdb:minilm", 384))
    study: ClassVar[bool] = True

    @property
    def ingredients(self) -> list[Ingredient]:
        every = [one for compared in self.questions.values() for one in compared]
        return [one for place, one in enumerate(every) if one not in every[:place]]

    def jobs(self, sources: Sources, *, quick: bool = False, seed: int = 0) -> list[Cell]:
        here = {name for names in sources.by_width.values() for name in names}
        texts = [(data, d) for data, d in self.widths if data in here][: 1 if quick else None]
        return [
            Cell(ingredient.request(n, d, data, seed), trial)
            for data, d in texts
            for ingredient in self.ingredients
            for n in (self.quick_n if quick else self.n)
            for trial in range(QUICK_TRIALS if quick else TRIALS)
        ]

    def explain(self, frame: pandas.DataFrame, trials: int) -> str:
        return (
            f"Mean over {trials} trials, shaded ± 1 sd, logarithmic axes; the first row may "
            "change. Thin: the mean certified upper bound where there is one. The table has the "
            "slopes of log S against log n with 95 % intervals: 0 keeps a word, −1/2 loses it."
        )

    def rows_of(self, data: pandas.DataFrame, ingredient: Ingredient) -> pandas.DataFrame:
        """The cells of one ingredient."""
        mask = data["map"] == ingredient.map
        for name in OPTIONS:
            wanted = ingredient.options.get(name)
            if name in data:
                mask &= data[name].isna() if wanted is None else data[name] == wanted
            elif wanted is not None:
                return data[:0]
        return data[mask]

    def findings(self, data: pandas.DataFrame) -> list[Finding]:
        rule = f"keeps: slope above {minus(BETWEEN, 'g')}; loses: below"
        found = []
        for name, some in data.groupby("data"):
            for ingredient in self.ingredients:
                slope = series_slope(self.rows_of(some, ingredient))
                if slope is None:
                    continue
                keeps = slope.value > BETWEEN if ingredient.keeps is None else ingredient.keeps
                claim = f"{ingredient.label}: {'keeps' if keeps else 'loses'} a word"
                verdict = decide(slope, least=BETWEEN) if keeps else decide(slope, most=BETWEEN)
                measured = f"slope {slope}"
                found.append(Finding(self.name, claim, str(name), measured, verdict, rule, OWN))
        return [*found, certificates(self.name, data)]

    def drawing(self, data: pandas.DataFrame) -> Chart:
        panels = []
        for name, some in data.groupby("data"):
            for question, compared in self.questions.items():
                curves = []
                for colour, ingredient in enumerate(compared):
                    rows = self.rows_of(some, ingredient)
                    if rows.empty:
                        continue
                    slope = series_slope(rows)
                    ending = "" if slope is None else f": {minus(slope.value, '.2f')}"
                    curves.append(mean_curve(rows, ingredient.label + ending, colour))
                if curves:
                    title = f"{question} · {name}, d = {int(some['d'].iloc[0])}"
                    panels.append(Panel(title, curves, logarithmic=True, y_label="S"))
        return Chart(panels, columns=min(4, len(self.questions)))


#: Options of maps by which ingredients differ.
OPTIONS = tuple(
    dict.fromkeys(
        name
        for compared in (*QUESTIONS.values(), *READ_OUTS.values())
        for ingredient in compared
        for name in ingredient.options
    )
)


INGREDIENTS = IngredientStudy("ingredients", "Ingredients: what keeps a word, and what loses it?")
READ_OUT = IngredientStudy(
    "readout", "Read-out: all rows, their mean, or one of them", questions=READ_OUTS
)
