"""Every public verb and constructor with wrong arguments, generated from the signatures.

Each argument in turn gets each of `WRONG`. Either the argument's documentation allows the value
(`ALLOWED`), or the call raises a WordswayError of one line. Nothing else is raised, and nothing
else is accepted.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tiny
import wordsway as ws
from jobs import Here

TEXT, OTHER = "the film was good", "the film was bad"
TEXTS = ["it was not a good film", "the plot was not bad", "she was not dull", "he was not fine"]

WRONG: dict[str, Any] = {
    "None": None,
    "True": True,
    "no": "no",
    "empty": "",
    "null": "a\0b",
    "bytes": b"x",
    "-1": -1,
    "0": 0,
    "1.5": 1.5,
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "huge": 10**30,
    "large": 1e308,
    "1j": 1j,
    "[]": [],
    "[None]": [None],
    "{}": {},
    "object": object(),
    "zeros": np.zeros((2, 2, 2)),
    "nans": np.full((4, 3), np.nan),
}

NAMES, READ_LATER = {"no", "empty", "null"}, {"no", "empty", "null"}
#: The values of `WRONG` that an argument takes: by verb and name all of them, by name those beside
#: what its default says (None where it is None, True where it is a flag).
ALLOWED: dict[str, set[str]] = {
    "TrainedAttention.layer": set(),
    # Seeds, and other numbers.
    "seed": {"-1", "0", "huge"},
    "Probe.twin": {"None", "-1", "0"},
    "radius": {"1.5"},
    "p": {"1.5"},
    "reach": {"1.5"},
    "effort": {"1.5"},
    "temperature": {"1.5"},
    "strength": {"-1", "0", "1.5"},
    "scale": {"0", "1.5"},
    "epsilon": {"0", "1.5"},
    "beta": {"1.5"},
    "lipschitz": {"None", "1.5"},
    "tolerance": {"0", "1.5"},
    "explore": {"0"},
    "steps": {"0"},
    "rounds": {"0"},
    "penalty": {"None", "1.5"},
    "y": {"-1"},
    "pairs.draws": {"0"},
    "audit.draws": {"0"},
    "audit.local": {"None", "0"},
    "audit.threshold": {"None", "-1", "0"},
    # Rows, words, layers and heads by number.
    "positions": {"0"},
    "learn.together": {"None", "0"},
    "Attention.positions": set(),
    **{f"Sample.{edit}.i": {"0"} for edit in ("replaced", "inserted", "deleted")},
    "word": {"0"},
    "token": {"0"},
    "layer": {"0"},
    "TextOptions.layer": READ_LATER,
    "attention.layer": set(),
    "head": {"0"},
    "show_head": {"0"},
    "target": {"0"},
    "read_out.which": {"0", "-1", "huge"},  # a row of a text that comes later
    # Texts and names.
    **{name: {"no", "null"} for name in ("text", "text_a", "text_b", "a", "b")},
    "Attention.name": NAMES,
    "Activation.name": NAMES,
    "draw.wanted": NAMES,
    "reproduce.command": NAMES,
    "out": {"no"},
    "playground.out": {"None"},
    # Files, columns and models that are looked for when texts are read.
    "Request.data": READ_LATER,
    "TextOptions.model": {"None", *READ_LATER},
    "TextOptions.text_column": {"None", *READ_LATER},
    "TextOptions.label_column": {"None", *READ_LATER},
    "corpus.label_column": {"None", "empty"},  # no labels
    "Endpoint.model": {"no"},
    "Endpoint.key_env": {"None", "no"},
    "Endpoint.timeout": {"1.5"},
    "Endpoint.max_texts": {"None", "0"},
    # What another argument requires or excludes.
    **{f"{map}.d": set() for map in ("RF", "DRF", "RAF", "ReluRAF", "Attention")},
    **{f"{map}.n": set() for map in ("RF", "DRF")},
    "Request.positions": set(),
    "swap.flip": set(),
    "learning_trials.real_words": set(),
    "pairs.b": {"no", "null"},
    # Lists that may be empty.
    "critical": {"[]"},
    "widths": {"[]"},
    "Request.options": {"{}"},
    "audit.fail_under": {"[]", "{}"},
    "reproduce.figures": {"[]"},
}

#: What verbs return, and abstract classes: not called with arguments of the user's own.
RETURNED = {
    name
    for name in ws.__all__
    if inspect.isclass(getattr(ws, name)) and issubclass(getattr(ws, name), (ws.Result, Exception))
} | {
    *(
        "AttentionMap",
        "Chart",
        "Corpus",
        "LayerChange",
        "FlipRow",
        "ModelAudit",
        "ModelLength",
        "Pair",
    ),
    *("Playground", "Reading", "Result", "Study", "Swap", "Text", "Token", "Trial", "View", "Word"),
    *("WordSensitivity", "WordSway", "FeatureMap", "Proof", "__version__", "constraints"),
}
#: Verbs that start workers, take seconds or need a larger model: what they allow is left to tests
#: of their own, and they get every second wrong value.
SLOW = {"audit", "forecast", "length", "paper_samples", "reproduce", "sweep"}

Call = tuple[Callable[..., Any], dict[str, Any]]


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Call]:
    """A right call of every public verb and constructor, and of the methods that take numbers."""
    folder = tmp_path_factory.mktemp("fuzz")
    bert = tiny.save(folder / "bert")
    probe = ws.Probe(bert)
    table = folder / "texts.csv"
    lines = [f"{text},{number % 2}" for number, text in enumerate(TEXTS)]
    table.write_text("\n".join(["text,label", *lines]) + "\n")
    grid = folder / "grid.toml"
    grid.write_text('name = "g"\n[[grid]]\nmap = "raf"\nn = [4]\nd = [3]\n')
    X, phi = ws.Sample.gaussian(4, 3, 0), ws.RAF(d=3, seed=1)
    proof = ws.sensitivity(phi, X, positions=0, effort=0.01, proof=True).proof
    assert proof is not None
    train = [ws.Sample.gaussian(4, 3, seed) for seed in range(1, 5)]
    sizes: dict[str, Any] = {"n": 4, "d": 3}
    return {
        "RF": (ws.RF, sizes),
        "DRF": (ws.DRF, sizes),
        "RAF": (ws.RAF, {"d": 3}),
        "ReluRAF": (ws.ReluRAF, {"d": 3}),
        "Attention": (ws.Attention, {"d": 4}),
        "Activation": (
            ws.Activation,
            {"name": "x", "function": torch.tanh, "derivative": torch.cos, "lipschitz": 1.0},
        ),
        "activation": (ws.activation, {"which": "relu"}),
        "GaussianMatrix": (ws.GaussianMatrix, {"rows": 3, "cols": 4}),
        "TokenMatrix": (ws.TokenMatrix, {"k": 3} | sizes),
        "Plan": (ws.Plan, {}),
        "constraints.L2": (ws.constraints.L2, {}),
        "constraints.Linf": (ws.constraints.Linf, {}),
        "constraints.Lp": (ws.constraints.Lp, {"p": 3.0}),
        "constraints.Shell": (ws.constraints.Shell, {}),
        "constraints.Subspace": (ws.constraints.Subspace, {"basis": np.eye(3)}),
        "constraints.Ellipsoid": (ws.constraints.Ellipsoid, {"matrix": np.eye(3)}),
        "constraints.Choices": (ws.constraints.Choices, {"vectors": np.eye(3)}),
        "Sample": (ws.Sample, {"array": np.ones((4, 3))}),
        "Sample.gaussian": (ws.Sample.gaussian, sizes),
        "Sample.replaced": (X.replaced, {"i": 0, "delta": [1.0, 2.0, 3.0]}),
        "Sample.inserted": (X.inserted, {"i": 0, "vector": [1.0, 2.0, 3.0]}),
        "Sample.deleted": (X.deleted, {"i": 0}),
        "FeatureMap.of": (ws.FeatureMap.of, {"function": torch.tanh}),
        "RAF.__call__": (phi.__call__, {"X": X}),
        "Request": (ws.Request, {"map": "raf"} | sizes),
        "LearningOptions": (ws.LearningOptions, {"train": 4}),
        "TextOptions": (ws.TextOptions, {}),
        "Embedder": (ws.Embedder, {"model": bert}),
        "Endpoint": (ws.Endpoint, {"url": "http://127.0.0.1:1/v1", "model": "m"}),
        "Probe": (ws.Probe, {"model": bert}),
        "boolean_sensitivity": (ws.boolean_sensitivity, {"f": lambda x: x[:, 0], "n": 3}),
        "forecast": (ws.forecast, {"request": ws.Request("raf", 4, 3)}),
        "layer_norm": (ws.layer_norm, {"phi": phi}),
        "rms_norm": (ws.rms_norm, {"phi": phi}),
        "residual": (ws.residual, {"phi": phi}),
        "read_out": (ws.read_out, {"phi": phi}),
        "transformer_block": (ws.transformer_block, {"attention": phi, "d": 3}),
        "sensitivity": (
            ws.sensitivity,
            {"phi": phi, "X": X, "positions": 0, "effort": 0.01, "certificate": False},
        ),
        "verify": (ws.verify, {"path": proof.save(folder / "raf.proof")}),
        "measure": (ws.measure, {"map": "raf", "effort": 0.01, "certificate": False} | sizes),
        "learning_trials": (ws.learning_trials, {"map": "raf", "train": 4} | sizes),
        "learn": (
            ws.learn,
            {"phi": phi, "train": train, "labels": [1, -1, 1, -1], "X": X, "y": 1},
        ),
        "corpus": (lambda source, **named: list(ws.corpus(source, **named)), {"source": table}),
        "draw": (ws.draw, {"corpus": table, "count": 1, "seed": 0}),
        "paper_samples": (
            ws.paper_samples,
            sizes | {"n": 3, "count": 1, "corpus": table, "model": bert},
        ),
        "words": (ws.words, {"text": TEXT, "model": probe, "tiers": ["mean-local"], "passes": 4}),
        "swap": (
            ws.swap,
            {"text": TEXT, "model": probe, "among": ["bad", "dull"], "worst_case": False},
        ),
        "attention": (ws.attention, {"text_a": TEXT, "model": bert}),
        "attract": (ws.attract, {"text": TEXT, "model": bert, "draws": 2}),
        "compare": (ws.compare, {"a": TEXT, "b": OTHER, "model": bert, "tokens": 2}),
        "pairs": (ws.pairs, {"a": TEXT, "b": OTHER, "models": probe, "draws": 2}),
        "TrainedAttention": (ws.TrainedAttention, {"probe": probe, "layer": 1}),
        "audit": (
            ws.audit,
            {"models": str(bert), "data": TEXTS, "kinds": ["negation"], "draws": 0},
        ),
        "slope": (ws.slope, {"n": [2, 4, 8], "lower": [3.0, 2.0, 1.0]}),
        "laws": (ws.laws, {"n": [2, 4, 8], "lower": [[3.0, 2.0, 1.0]] * 3}),
        "length": (
            ws.length,
            {"models": str(bert), "data": TEXTS, "windows": [1, 2, 3], "baselines": False},
        ),
        "sweep": (ws.sweep, {"study": grid, "out": folder / "sweep"}),
        "reproduce": (ws.reproduce, {"figures": ["2-left"], "out": folder / "reproduce"}),
        "playground": (ws.playground, {}),
        "clickable": (ws.clickable, {"words": ws.words(TEXT, probe, tiers=["mean-local"])}),
    }


VERBS = sorted({*ws.__all__} - RETURNED)
CONSTRAINTS = ("L2", "Linf", "Lp", "Shell", "Subspace", "Ellipsoid", "Choices")
METHODS = (
    *("Sample.gaussian", "Sample.replaced", "Sample.inserted", "Sample.deleted"),
    *("FeatureMap.of", "RAF.__call__"),
    *(f"constraints.{name}" for name in CONSTRAINTS),
)


def test_every_public_verb_is_called(calls: dict[str, Call]):
    assert sorted(calls) == sorted([*VERBS, *METHODS])


def wrong_arguments(name: str, verb: Callable[..., Any]) -> Iterator[tuple[str, str, bool]]:
    """(argument, value of `WRONG`, whether the argument takes it)."""
    signed = getattr(ws, name) if name == "corpus" else verb
    for argument, parameter in inspect.signature(signed).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        default = parameter.default
        usual = {"None"} if default is None else {"True"} if isinstance(default, bool) else set()
        allowed = ALLOWED.get(f"{name}.{argument}", usual | ALLOWED.get(argument, set()))
        for value in list(WRONG)[:: 2 if name in SLOW else 1]:
            yield argument, value, value in allowed


#: Values that they take make them search or embed.
SEARCHING = {"audit", "reproduce", "learn", "pairs", "attract"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in SEARCHING))
        for name in (*VERBS, *METHODS)
    ],
)
def test_wrong_arguments_are_refused_in_one_line(
    calls: dict[str, Call], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)  # a relative path is looked for in an empty folder
    monkeypatch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here())
    verb, right = calls[name]
    faults = []
    for argument, value, allowed in wrong_arguments(name, verb):
        if allowed and name in SLOW:
            continue
        said = outcome(verb, right | {argument: WRONG[value]})
        if said != ("accepted" if allowed else "refused"):
            faults.append(f"{name}({argument}={value}): {said}")
    assert faults == []


def outcome(verb: Callable[..., Any], named: dict[str, Any]) -> str:
    """What became of a call: "accepted", "refused", or what is wrong with it."""
    try:
        verb(**named)
    except ws.WordswayError as error:
        told = str(error)
        if "\n" in told or len(told) > 600:
            return f"more than a line: {told!r}"
        parts = isinstance(error, ws.InputError) and (error.expected, error.got, error.remedy)
        return "refused" if parts is False or all(parts) else f"incomplete: {told}"
    except Exception as error:
        return f"raw {type(error).__name__}: {error}"
    return "accepted"


@pytest.mark.parametrize(
    ("named", "told"),
    [
        (
            {"reach": True},
            "expected reach between 1e-6 and 1e6, a finite number, got True: 1 lets Δ",
        ),
        ({"tiers": []}, "expected tiers to be a string or a list of strings that is not empty"),
        ({"cut": "no"}, "expected cut to be True or False, got 'no': leave it out for False"),
    ],
)
def test_a_refusal_names_argument_kind_and_remedy(calls, named: dict[str, Any], told: str):
    verb, right = calls["words"]
    with pytest.raises(ws.InputError) as refusal:
        verb(**right | named)
    assert str(refusal.value).startswith(told)


def test_numpy_scalars_count_as_numbers():
    sizes: dict[str, Any] = {"n": np.int64(3), "d": np.int32(2)}
    assert ws.Sample.gaussian(**sizes, seed=1).X.shape == (3, 2)
    how: dict[str, Any] = {"radius": np.float32(2), "certificate": np.bool_(False)}
    request = ws.Request("raf", **sizes, **how)
    assert [type(one) for one in (request.n, request.radius, request.certificate)] == [
        int,
        float,
        bool,
    ]
