"""How long before one word is invisible? Trained models, their twins and theory over growing texts.

| part | texts |
|---|---|
| negation | reviews, negated; all models |
| antonyms | one word replaced by its opposite, so that no position moves |
| filler | the same model with sentences of other reviews around the negated one |
| beginning, middle, end | the same windows with the sentence moved |
| other seed | other reviews |
| gold | the package's triples among texts of their field |
| long | a decoder up to 2,000 tokens |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from wordsway.core.laws import Interval, fit_laws
from wordsway.engine.job import Job
from wordsway.engine.store import Store
from wordsway.lengths.length import LengthRequest
from wordsway.lengths.result import Length, ModelLength
from wordsway.lengths.theory import FEATURES, MEAN, TRANSFORMER
from wordsway.lengths.windows import HostedTexts
from wordsway.paper.figure import OWN, UNDECIDED, Figure, Finding, Sources, check, decide

WINDOWS = (1, 2, 4, 8, 24)
#: Texts, and the first ones of them, which a quick run measures in the first model alone.
TEXTS, QUICK_TEXTS = 200, 32
MODELS = ("minilm", "mpnet", "smollm2")
#: Differences of exponents and of logarithms that count as none.
SAME = 0.1

Plan = dict[str, tuple[LengthRequest, HostedTexts, dict[str, list[list[Any]]]]]


@dataclass
class LengthStudy(Figure[dict[str, Length]]):
    """Change of the output against the number of tokens, with laws and controls."""

    name: str = "length"
    title: str = "How long before one word is invisible?"
    study: ClassVar[bool] = True
    reviews: ClassVar[bool] = True
    texts: int = TEXTS
    plan: Plan = field(default_factory=dict)

    def requests(self, installed: Sequence[str], seed: int) -> dict[str, LengthRequest]:
        """The parts of the study for the models that are installed."""
        first = installed[0]

        def part(models: Any = first, baselines: bool = False, **more: Any) -> LengthRequest:
            options: dict[str, Any] = {"windows": WINDOWS, "texts": self.texts, "seed": seed} | more
            return LengthRequest(models, baselines=baselines, **options)

        found = {
            "negation": part(list(installed), baselines=True),
            "antonyms": part(kinds=("antonyms",), baselines=True),
            "filler": part(host="filler"),
            **{
                place: part(place=place, windows=WINDOWS[-3:], texts=self.texts // 2)
                for place in ("beginning", "middle", "end")
            },
            "other seed": part(seed=seed + 1),
            "gold": part(data="gold"),
        }
        if "smollm2" in installed:
            found["long"] = part("smollm2", host="filler", windows=(*WINDOWS, 96), texts=16)
        return found

    def jobs(self, sources: Sources, *, quick: bool = False, seed: int = 0) -> list[Job]:
        installed = [name for name in MODELS if name in sources.models]
        self.plan = {}
        for name, request in self.requests(installed, seed).items() if installed else ():
            hosted = request.hosted()
            if quick:
                hosted = replace(hosted, texts=hosted.texts[:QUICK_TEXTS])
                request = replace(request, models=installed[:1])
            self.plan[name] = request, hosted, request.jobs(hosted)
            if quick:
                break
        return [
            job
            for _, _, jobs in self.plan.values()
            for windows in jobs.values()
            for some in windows
            for job in some
        ]

    def missing(self, sources: Sources) -> list[str]:
        return [
            f"{name} over growing texts: {sources.why_not(name)}"
            for name in MODELS
            if name not in sources.models
        ]

    def read(self, store: Store, jobs: Sequence[Job]) -> dict[str, Length] | None:
        found = {}
        for name, (request, hosted, every) in self.plan.items():
            if all(job.key in store for some in every.values() for one in some for job in one):
                named = {key: request.stored(key, hosted, one, store) for key, one in every.items()}
                found[name] = request.result(hosted, named, {})
        return found if "negation" in found else None

    def drawing(self, data: dict[str, Length]) -> Length:
        return data["negation"]

    def caption(self, data: dict[str, Length]) -> str:
        main = data["negation"]
        count = len(main.models[0].measured)
        return (
            f"{count} reviews in which one sentence is negated, in windows of "
            f"{', '.join(map(str, main.windows))} sentences. First: how far the word alone (“not” "
            "against a random word in its place) moves the embedding, with 95 % intervals over "
            "texts; dashed: twins with random weights; grey: random maps of word vectors. Then: "
            "the whole change, which also moves later positions; how often it moves the model "
            "farther than a rewording; how many changed texts look the same at the level; and the "
            "rate at which every layer loses the word, by read-out."
        )

    def tables(self, data: dict[str, Length], folder: Path) -> list[Path]:
        paths = []
        for name, found in data.items():
            path = folder / f"{self.name}-{name.replace(' ', '-')}.json"
            found.save(path)
            paths.append(path)
        return paths

    def findings(self, data: dict[str, Length]) -> list[Finding]:
        main = data["negation"]
        found = [*self._theory(main), *self._trained(main)]
        if len(main.models) == 3:
            found += self._prediction(main)
        return [*found, *self._controls(data)]

    def _said(self, claim: str, series: str, measured: str, verdict: str, rule: str) -> Finding:
        return Finding(self.name, claim, series, measured, verdict, rule, OWN)

    def _theory(self, main: Length) -> list[Finding]:
        named = {model.name: model for model in main.baselines}
        mean, features, transformer = (named[name] for name in (MEAN, FEATURES, TRANSFORMER))
        shift = exponent(mean, "shift")
        apart = exponent(mean, "change")
        found = [
            self._said(
                "a mean of word vectors moves by 1/n",
                MEAN,
                f"exponent of the shift {shift:.2f}; of the relative change {apart:.2f}, because "
                "the mean itself shrinks",
                decide(shift, -1.05, -0.95),
                "the exponent of the shift is between −1.05 and −0.95",
            ),
            self._said(
                "random features lose a word like 1/√n",
                FEATURES,
                f"exponent {exponent(features):.3f}",
                decide(exponent(features), -0.52, -0.48),
                "the exponent is between −0.52 and −0.48",
            ),
        ]
        for model in main.models:
            twin = named.get(f"{model.name}:random")
            if twin is not None:
                one, other = exponent(twin), exponent(transformer)
                ends = one.low - other.high, one.high - other.low
                apart = Interval(one.value - other.value, *ends, one.points)
                found.append(
                    self._said(
                        "a twin with random weights decays as a random transformer does",
                        twin.name,
                        f"exponents {one:.2f} and {other:.2f}",
                        decide(apart, -SAME, SAME),
                        f"any two values of their intervals differ by less than {SAME}",
                    )
                )
        return found

    def _trained(self, main: Length) -> list[Finding]:
        named = {model.name: model for model in main.baselines}
        found = []
        for model in main.models:
            curve, twin = model.curve("word"), named.get(f"{model.name}:random")
            own = exponent(model)
            if twin is not None:
                slower = own.low > exponent(twin).high
                found.append(
                    self._said(
                        "training keeps the word longer than random weights do",
                        model.name,
                        f"exponents {own:.2f} and {exponent(twin):.2f}",
                        check(slower) if slower or own.high < exponent(twin).low else UNDECIDED,
                        "the whole interval of the exponent is above that of the twin",
                    )
                )
            floor = curve.laws["floor"]
            begins = "no floor was found"
            if curve.laws.best == "floor":
                begins = f"from {floor.begins:.0f} tokens on"
            whole = model.curve("change").laws.best
            found += [
                self._said(
                    "an inserted word moves the output however long the text is, because all later "
                    "positions move",
                    model.name,
                    f"best law of the negation: {whole or 'open'}, of the word alone: "
                    f"{curve.laws.best or 'open'}",
                    check(whole == "floor" and curve.laws.best != "floor") if whole else UNDECIDED,
                    "the negation has a floor, and the word in texts of equal length has none",
                ),
                self._said(
                    "the effect of the word falls to a floor",
                    model.name,
                    f"{begins}; best law: {curve.laws.best or 'open'}",
                    check(curve.laws.best == "floor") if curve.laws.best else UNDECIDED,
                    "the law with a floor has the smallest error on held-out texts, and the 95 % "
                    "interval of each difference is above 0",
                ),
                self._said(
                    "theory brackets the trained model: between a mean of rows and RF",
                    model.name,
                    f"exponent {own:.2f}",
                    decide(own, exponent(named[MEAN]).value, exponent(named[FEATURES]).value),
                    "the interval is between the exponents of the mean and of random features",
                ),
                self._rows(model),
            ]
        return found

    def _rows(self, model: ModelLength) -> Finding:
        measured = model.measured
        rows, mean = (
            np.array([[one["word"].layers[name][-1] for one in text.windows] for text in measured])
            for name in ("rows", "mean")
        )
        ratio = fit_laws(model.values("word", "tokens"), mean / rows)["power"].exponent
        assert ratio is not None
        return self._said(
            "the mean of the last layer decays as its rows do",
            model.name,
            f"exponent of the mean minus that of the rows {ratio:.2f}",
            decide(ratio, -SAME, SAME),
            f"the interval of the difference is between −{SAME} and {SAME}",
        )

    def _prediction(self, main: Length) -> list[Finding]:
        """A law fitted to two models, each relative to its shortest texts, against the third."""
        found = []
        for third in main.models:
            others = [model for model in main.models if model is not third]
            n = np.concatenate([model.values("word", "tokens") for model in others])
            y = [model.values("word", "change") for model in others]
            relative = np.concatenate([one / np.exp(np.log(one[:, :1]).mean()) for one in y])
            laws = fit_laws(n, relative)
            law = laws[laws.best or "floor"]
            points = third.curve("word").points
            tokens = [point.tokens for point in points]
            fitted = law.at(tokens) / law.at(tokens[:1]) * points[0].change
            inside = [p.low <= one <= p.high for p, one in zip(points, fitted, strict=True)]
            factors = ", ".join(
                f"{one / p.change:.2f} at {p.tokens:.0f}"
                for p, one in zip(points[1:], fitted[1:], strict=True)
            )
            found.append(
                self._said(
                    f"a law of {' and '.join(model.name for model in others)} predicts the third",
                    third.name,
                    f"predicted over measured: {factors} tokens ({law.law})",
                    check(all(inside)),
                    "every prediction is inside the 95 % interval of the measured mean",
                )
            )
        return found

    def _controls(self, data: dict[str, Length]) -> list[Finding]:
        main = data["negation"].models[0]
        found = []
        for name, claim in {
            "filler": "the content of the host does not matter",
            "antonyms": "an antonym decays as an inserted word does, against a random word each",
            "other seed": "another seed, with other texts, agrees",
        }.items():
            if name in data:
                other = data[name].models[0]
                apart = exponent(main).low <= exponent(other).high
                overlap = apart and exponent(other).low <= exponent(main).high
                found.append(
                    self._said(
                        claim,
                        f"{main.name}, {name}",
                        f"exponents {exponent(main):.2f} and {exponent(other):.2f}",
                        check(overlap),
                        "the 95 % intervals of the exponents overlap",
                    )
                )
        if "beginning" in data and "end" in data:
            found.append(self._position(data))
        return found

    def _position(self, data: dict[str, Length]) -> Finding:
        first, last = (data[name].models[0] for name in ("beginning", "end"))
        logs = np.log(last.values("word", "change")[:, -1])
        logs -= np.log(first.values("word", "change")[:, -1])
        half = 1.96 * logs.std(ddof=1) / np.sqrt(len(logs))
        ratio = Interval(float(logs.mean()), logs.mean() - half, logs.mean() + half, len(logs))
        tokens = first.curve().points[-1].tokens
        return self._said(
            "at fixed length the place of the word does not matter",
            f"{first.name}, {tokens:.0f} tokens",
            f"at the end {np.exp(ratio.value):.2f} [{np.exp(ratio.low):.2f}, "
            f"{np.exp(ratio.high):.2f}] times as far as at the beginning",
            decide(ratio, -SAME, SAME),
            f"the logarithm of the ratio is between −{SAME} and {SAME}",
        )


def exponent(model: ModelLength, what: str = "change") -> Interval:
    """The exponent of the power law of the word alone."""
    laws = model.curve("word").laws
    if what != "change":
        values = model.values("word", "tokens"), model.values("word", what)
        laws = fit_laws(*values, seed=model.seed)
    interval = laws["power"].exponent
    assert interval is not None
    return interval
