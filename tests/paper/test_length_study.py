"""The study of lengths: its verdicts follow the numbers, whichever way they come out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wordsway.lengths.responses import READ_OUTS, Response
from wordsway.lengths.result import Length, MeasuredText, ModelLength
from wordsway.lengths.theory import THEORY
from wordsway.paper.figure import Sources
from wordsway.paper.lengths import LengthStudy

SIZES = np.array([20.0, 40, 80, 160, 480])


def model(name: str, falls: Any, seed: int = 0, texts: int = 60) -> ModelLength:
    rng = np.random.default_rng(seed)
    measured = []
    for number in range(texts):
        n = np.round(SIZES * np.exp(rng.normal(0, 0.1)))
        y = falls(n) * np.exp(rng.normal(0, 0.1, len(n)) + rng.normal(0, 0.2))
        windows = [
            {
                role: Response(
                    int(one), 5, value, value**2 / 2, value, dict.fromkeys(READ_OUTS, (value,))
                )
                for role, value in (
                    ("change", change),
                    ("word", change),
                    ("rewording", 0.8 * change),
                )
            }
            for one, change in zip(n, y, strict=True)
        ]
        measured.append(MeasuredText(str(number), "negation", tuple(windows)))
    return ModelLength(name, (1, 2, 4, 8, 24), tuple(measured), (), 0.05, 0)


def power(exponent: float) -> Any:
    return lambda n: 3 * n**exponent


def floor(n: np.ndarray) -> np.ndarray:
    return 4 / n + 0.05


def result(models: list[ModelLength], baselines: list[ModelLength]) -> Length:
    facts: tuple[Any, ...] = ("imdb", "own", "own", ("negation",), "pooled", (1, 2, 4, 8, 24))
    rest: tuple[Any, ...] = (60, 0, 0.05, 0, False, 0.0, {})
    return Length(tuple(models), tuple(baselines), *facts, *rest)


def verdicts(trained: Any, twin: float, end: float) -> dict[tuple[str, str], str]:
    beside = {"mean of word vectors": -1.0, "random features": -0.5}
    theory = [model(name, power(beside.get(name, -0.95)), 9) for name in THEORY]
    names = ("minilm", "mpnet", "smollm2")
    models = [model(name, trained, place) for place, name in enumerate(names)]
    twins = [model(f"{name}:random", power(twin), 5 + place) for place, name in enumerate(names)]
    data = {"negation": result(models, [*twins, *theory])}
    data |= {name: result([model("minilm", trained, 3)], []) for name in ("filler", "other seed")}
    data["beginning"] = result([model("minilm", trained, 4)], [])
    data["end"] = result([model("minilm", lambda n: end * trained(n), 4)], [])
    study = LengthStudy()
    findings = study.findings(data)
    assert all(one.rule and one.measured for one in findings)
    assert study.caption(data).startswith("60 reviews")
    return {(one.claim.split(":")[0], one.series.split(",")[0]): one.verdict for one in findings}


@pytest.mark.slow
def test_models_that_keep_the_word():
    found = verdicts(floor, -0.95, 1.0)
    assert found["the effect of the word falls to a floor", "mpnet"] == "agrees"
    assert found["training keeps the word longer than random weights do", "minilm"] == "agrees"
    assert found["a mean of word vectors moves by 1/n", "mean of word vectors"] == "agrees"
    assert found["random features lose a word like 1/√n", "random features"] == "agrees"
    assert found["the mean of the last layer decays as its rows do", "smollm2"] == "agrees"
    third = "a law of minilm and mpnet predicts the third"
    assert found[third, "smollm2"] == "agrees"
    assert found["at fixed length the place of the word does not matter", "minilm"] == "agrees"
    twin = "a twin with random weights decays as a random transformer does"
    assert found[twin, "minilm:random"] == "agrees"


@pytest.mark.slow
def test_models_that_lose_the_word():
    found = verdicts(power(-1.2), -0.5, 2.0)
    assert found["the effect of the word falls to a floor", "mpnet"] == "undecided"
    assert found["training keeps the word longer than random weights do", "minilm"] == "disagrees"
    bracket = ("theory brackets the trained model", "minilm")
    assert found[bracket] == "disagrees"
    assert found["at fixed length the place of the word does not matter", "minilm"] == "disagrees"
    twin = "a twin with random weights decays as a random transformer does"
    assert found[twin, "minilm:random"] == "disagrees"


@pytest.mark.parametrize("here", [{}, {"mpnet": "x"}])
def test_models_that_are_missing_are_said(here: dict[str, str]):
    missing = LengthStudy().missing(Sources({}, models=here))
    assert len(missing) == 3 - len(here) and all("data get" in one for one in missing)
