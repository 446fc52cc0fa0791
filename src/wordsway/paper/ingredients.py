"""Which ingredient of attention keeps a word? S against n, one choice changed at a time.

The paper's layer is the first of each panel; every other one differs from it by what its name
says. A slope of log S against log n of 0 keeps a word, one of −1/2 loses it as fully connected
features do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from wordsway.core.chart import Chart, Curve, Panel
from wordsway.paper.figure import GridFigure
from wordsway.paper.finding import FAILS, HOLDS, OWN, UNDECIDED, Finding
from wordsway.paper.sensitivity_curves import certificates, minus, series_slope
from wordsway.paper.sources import Sources, texts_for
from wordsway.studies.cells import Cell
from wordsway.studies.request import Request
from wordsway.studies.slopes import Slope

if TYPE_CHECKING:
    import pandas

TRIALS, QUICK_TRIALS = 10, 3
#: A slope whose interval lies above keeps a word, one whose interval lies below loses it: half way
#: between the paper's two rates.
BETWEEN = -0.25


@dataclass(frozen=True)
class Ingredient:
    """One map of a study: its name in the key, how it is asked for, and what is expected of it.

    ``keeps`` is what a small experiment or the paper suggested before this was measured: True if S
    should stay as texts grow, False if it should fall; None where nobody knew.
    """

    label: str
    map: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    keeps: bool | None = True

    def request(self, n: int, d: int, data: str, seed: int) -> Request:
        """The first row of a text of n rows may change."""
        return Request(
            self.map, n=n, d=d, options=self.options, data=data, seed=seed, texts=texts_for(data)
        )


@dataclass(frozen=True)
class Question:
    """One panel: the ingredients that answer it."""

    title: str
    ingredients: tuple[Ingredient, ...]


def scores(name: str, label: str | None = None, *, keeps: bool = True) -> Ingredient:
    """Attention with other scores."""
    return Ingredient(label or name, "attention", {"scores": name}, keeps)


SOFTMAX = Ingredient("softmax (RAF)", "raf")
QUESTIONS = (
    Question(
        "How are scores scaled?",
        (
            SOFTMAX,
            scores("sink", "softmax with a sink"),
            scores("softmax-log-n", "scores × log n"),
            scores("softmax-1/d", "scores over d", keeps=False),
            scores("qk-norm", "QK-norm", keeps=False),
            scores("l2", "L2 distances", keeps=False),
        ),
    ),
    Question(
        "What replaces softmax?",
        (
            SOFTMAX,
            scores("sigmoid"),
            scores("differential"),
            scores("sparsemax"),
            Ingredient("ReLU, normalised", "relu-raf", keeps=False),
            scores("linear-attention", "linear attention", keeps=False),
        ),
    ),
    Question(
        "Without a normaliser?",
        (
            SOFTMAX,
            scores("relu/n", "ReLU / n", keeps=False),
            scores("linear/n", "linear / n", keeps=False),
        ),
    ),
    Question(
        "Heads, masks, positions?",
        (
            Ingredient("8 heads, Q K V O", "attention", {"heads": 8}),
            Ingredient("… causal", "attention", {"heads": 8, "mask": "causal"}),
            Ingredient("… RoPE", "attention", {"heads": 8, "pe": "rope"}),
            Ingredient("… ALiBi", "attention", {"heads": 8, "pe": "alibi"}),
            Ingredient("… sinusoidal", "attention", {"heads": 8, "pe": "sinusoidal"}),
        ),
    ),
    Question(
        "What stands around it?",
        (
            SOFTMAX,
            Ingredient("X + RAF", "raf", {"residual": True}, keeps=False),
            Ingredient("LayerNorm(RAF)", "raf", {"norm": "layer"}, keeps=None),
            Ingredient(
                "LayerNorm(X + RAF)", "raf", {"residual": True, "norm": "layer"}, keeps=False
            ),
            Ingredient("RF, no attention", "rf", keeps=False),
        ),
    ),
)

READ_OUTS = (
    Question(
        "What is read?",
        (
            SOFTMAX,
            Ingredient("their mean", "raf", {"read_out": "mean"}, keeps=False),
            Ingredient("one other row", "raf", {"read_out": "1"}),
            Ingredient("the last row", "raf", {"read_out": "last"}),
        ),
    ),
    Question(
        "… behind a residual stream?",
        (
            Ingredient("X + RAF", "raf", {"residual": True}, keeps=False),
            Ingredient("their mean", "raf", {"residual": True, "read_out": "mean"}, keeps=False),
            Ingredient("one other row", "raf", {"residual": True, "read_out": "1"}, keeps=None),
        ),
    ),
)


@dataclass(frozen=True)
class Answer:
    """An ingredient's slope on one kind of text."""

    ingredient: Ingredient
    data: str
    slope: Slope

    @property
    def keeps(self) -> bool | None:
        """What the 95 % interval says: True, False, or None where it allows both."""
        if self.slope.low > BETWEEN:
            return True
        return False if self.slope.high < BETWEEN else None

    @property
    def verdict(self) -> str:
        """What was measured beside what was expected."""
        if self.keeps is None:
            return UNDECIDED
        return HOLDS if self.ingredient.keeps in (None, self.keeps) else FAILS

    @property
    def claim(self) -> str:
        """What was expected; where nothing was, what is seen."""
        expected = self.keeps if self.ingredient.keeps is None else self.ingredient.keeps
        told = {True: "keeps a word", False: "loses a word", None: "keeps or loses a word"}
        return f"{self.ingredient.label}: {told[expected]}"


@dataclass(frozen=True)
class Comparison(GridFigure):
    """S against n for each ingredient of each question, Gaussian texts and reviews."""

    questions: tuple[Question, ...] = QUESTIONS
    n: tuple[int, ...] = (16, 32, 64, 128, 256)
    quick_n: tuple[int, ...] = (16, 64)
    #: Gaussian texts in the zoo's dimension; reviews as the model gives them.
    widths: tuple[tuple[str, int], ...] = (("gaussian", 256), ("imdb:minilm", 384))
    study: ClassVar[bool] = True

    @property
    def ingredients(self) -> list[Ingredient]:
        every = [one for question in self.questions for one in question.ingredients]
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
            f"Mean ± 1 sd over {trials} trials, logarithmic axes; the first row may change; shaded "
            "up to the certified end where there is one. Slopes of log S against log n with 95 % "
            "intervals are in the table: 0 keeps a word, −1/2 loses it."
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

    def answers(self, data: pandas.DataFrame) -> list[Answer]:
        """Every slope that can be told."""
        found = []
        for name, some in data.groupby("data"):
            for ingredient in self.ingredients:
                slope = series_slope(self.rows_of(some, ingredient))
                if slope is not None:
                    found.append(Answer(ingredient, str(name), slope))
        return found

    def findings(self, data: pandas.DataFrame) -> list[Finding]:
        slopes = [
            Finding(
                self.name,
                answer.claim,
                answer.data,
                f"slope {answer.slope}",
                answer.verdict,
                f"keeps: slope above {minus(BETWEEN, 'g')}; loses: below",
                OWN,
            )
            for answer in self.answers(data)
        ]
        return [*slopes, certificates(self.name, data)]

    def drawing(self, data: pandas.DataFrame) -> Chart:
        panels = []
        for name, some in data.groupby("data"):
            for question in self.questions:
                curves = self._curves(some, question.ingredients)
                if curves:
                    d = int(some["d"].iloc[0])
                    title = f"{question.title} · {name}, d = {d}"
                    panels.append(Panel(title, curves, logarithmic=True))
        return Chart(panels, columns=len(self.questions) if len(self.questions) < 3 else 3)

    def _curves(self, data: pandas.DataFrame, ingredients: Sequence[Ingredient]) -> list[Curve]:
        curves = []
        for colour, ingredient in enumerate(ingredients):
            rows = self.rows_of(data, ingredient)
            if rows.empty:
                continue
            points = rows.groupby("n")[["lower", "upper"]].mean().sort_index()
            spread = rows.groupby("n")["lower"].std().sort_index().fillna(0.0)
            slope = series_slope(rows)
            label = ingredient.label
            if slope is not None:
                label += f": {slope.value:.2f}".replace("-", "−")
            ends = [None if math.isnan(end) else float(end) for end in points["upper"]]
            curves.append(
                Curve(
                    label,
                    [int(n) for n in points.index.tolist()],
                    points["lower"].tolist(),
                    spread.tolist(),
                    ends,
                    colour,
                )
            )
        return curves


#: Options of maps by which ingredients differ.
OPTIONS = tuple(
    dict.fromkeys(
        name
        for question in (*QUESTIONS, *READ_OUTS)
        for ingredient in question.ingredients
        for name in ingredient.options
    )
)


def ingredients() -> Comparison:
    """Which ingredient keeps a word?"""
    return Comparison("ingredients", "Ingredients: what keeps a word, and what loses it?")


def read_outs() -> Comparison:
    """All rows, their mean, or one of them."""
    return Comparison(
        "readout", "Read-out: all rows, their mean, or one of them", questions=READ_OUTS
    )
