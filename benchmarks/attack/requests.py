"""Fuzzed requests to `measure`: good ones against an independent brute force, bad ones must give
one line each.

The brute force shares no code with the search or the certificates: features by loops in NumPy from
the weights alone (`benchmarks.attack.definitions`), Δ by random directions and random walks.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.attack.definitions import features_of
from wordsway.cli.app import run
from wordsway.core.sample import Sample
from wordsway.maps.registry import kind_of

MAPS = ("raf", "relu-raf", "sigmoid", "rf", "drf", "attention", "attention", "attention")
#: Choices of the attention family; ALiBi only where subtracting means something.
SOFT = ("softmax", "softmax-1/d", "softmax-log-n", "sink", "l2", "qk-norm", "differential")
SHIFTED = (*SOFT, "sigmoid")
SCORES = (*SHIFTED, "relu", "relu/n", "linear/n", "linear-attention")
#: Random Δ of each row, and steps of the walk from the best of them.
POINTS, STEPS = 400, 150
#: How far a witness may be off, relative, and what share of the brute force a search must reach.
WITNESSED, SEARCHED = 1e-6, 0.9
#: Values that no option takes, by option.
BAD: dict[str, tuple[str, ...]] = {
    "--map": ("", "rf2", "\x1b[2J", "../rf", "RAF\n", "a" * 5000),
    "--n": ("0", "-3", "1.5", "nan", "x", "99999999999999999999", ""),
    "--d": ("0", "-1", "1e9", "ten", "999999999999"),
    "--trials": ("0", "-2", "many"),
    "--seed": ("1.5", "x", "1e400"),
    "--positions": ("7", "-1", "0,0", "some", "word:9", "0,", "word:-1"),
    "--radius": ("0", "-1", "nan", "inf", "1e300"),
    "--memory": ("0", "-1", "nan", "x"),
    "--data": ("/", "/nowhere/a.csv", "nothing", "imdb:", "\x1b]0;x\x07.csv", "a\nb.csv"),
    "--depth": ("0", "-1", "1000000", "x"),
    "--k": ("0", "-5", "x"),
    "--no-such-option": ("1",),
}


@dataclass
class Fuzzed:
    """Requests that were tried, and what went wrong."""

    good: int = 0
    families: int = 0
    bad: int = 0
    least_upper: float = math.inf
    least_lower: float = math.inf
    #: How far a witness is from what it is said to reach, relative.
    most_off: float = 0.0
    faults: list[str] = field(default_factory=list)


def fuzz(count: int, seed: int = 0) -> Fuzzed:
    """``count`` requests, half of them bad."""
    chance, found = random.Random(seed), Fuzzed()
    for number in range(count // 2):
        _bad(chance, found)
        while found.good <= number and len(found.faults) < count:
            _good(chance, found)
    return found


def _asked(arguments: list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run(arguments)
    return status, out.getvalue(), err.getvalue()


def _good(chance: random.Random, found: Fuzzed) -> None:
    name = chance.choice(MAPS)
    n, d = chance.randint(1, 4), chance.randint(1, 3)
    n, d, options = _options(chance, name, n, d)
    radius = chance.choice([None, 0.1, 1.0, 5.0])
    line = ["measure", "--map", name, "--n", str(n), "--d", str(d), "--positions", "all", "--json"]
    line += ["--seed", str(chance.randint(0, 10**6))]
    line += [word for key, value in options.items() for word in (f"--{key}", str(value))]
    line += [] if radius is None else ["--radius", str(radius)]
    status, out, err = _asked(line)
    if status != 0:
        # A map that is zero at this text has no relative change; that is one line, too.
        if not (err.count("\n") == 1 and "φ(X) ≠ 0" in err):
            found.faults.append(f"{' '.join(line)}: {status}, {err[:200]}")
        return
    found.good += 1
    found.families += name == "attention"
    trial = json.loads(out)["trials"][0]
    phi = kind_of(name).build(n, d, trial["map_seed"], **options)
    X = Sample.gaussian(n, d, trial["sample_seed"]).X.numpy()
    noise = np.random.default_rng(chance.randint(0, 2**31))
    best = brute_force(name, phi, X, radius or math.sqrt(d), noise)
    features, moved = features_of(name, phi), X.copy()
    moved[trial["position"]] += trial["delta"]
    reached = np.linalg.norm(features(moved) - features(X)) / np.linalg.norm(features(X))
    off = abs(reached - trial["lower"]) / max(trial["lower"], 1e-9)
    found.most_off = max(found.most_off, off)
    found.least_lower = min(found.least_lower, trial["lower"] / max(best, 1e-300))
    if off > WITNESSED:
        found.faults.append(f"{' '.join(line)}: lower {trial['lower']}, its witness {reached}")
    if trial["lower"] < SEARCHED * best:
        found.faults.append(f"{' '.join(line)}: lower {trial['lower']} below {best}")
    if trial["upper"] is not None:
        found.least_upper = min(found.least_upper, trial["upper"] / max(best, 1e-300))
        if trial["upper"] < best * (1 - 1e-9) - 1e-12:
            found.faults.append(f"{' '.join(line)}: upper {trial['upper']} below {best}")


def _options(chance: random.Random, name: str, n: int, d: int) -> tuple[int, int, dict[str, Any]]:
    """A map's own options, and sizes that suit them."""
    if name in ("rf", "drf"):
        depth = {"depth": chance.randint(2, 3)} if name == "drf" else {}
        return n, d, {"k": chance.randint(4, 12)} | depth
    if name != "attention":
        return n, d, {}
    scores = chance.choice(SCORES)
    options: dict[str, Any] = {"scores": scores, "mask": "none"}
    options["pe"] = chance.choice(["none", "sinusoidal", "rope", "alibi"])
    if options["pe"] == "alibi" and scores not in SHIFTED:
        options["pe"] = "rope"
    heads = chance.choice([None, None, 1, 2])
    if heads is not None:
        options["heads"] = heads
    options["mask"] = chance.choice(["none", "none", "causal", "window", "padding"])
    if options["mask"] == "window":
        options["window"] = chance.randint(1, n)
    if options["mask"] == "padding":
        options["visible"] = chance.randint(1, n)
    # A small temperature is a saturated layer.
    options["temperature"] = chance.choice([1.0, 1.0, 0.1, 1e-3, 10.0])
    return n, 4 if heads == 2 else 2, options


def _bad(chance: random.Random, found: Fuzzed) -> None:
    option = chance.choice(list(BAD))
    name = "drf" if option in ("--depth", "--k") else chance.choice(MAPS)
    line = {"--map": name, "--n": "3", "--d": "2"} | {option: chance.choice(BAD[option])}
    arguments = ["measure", *(word for pair in line.items() for word in pair)]
    status, _, err = _asked(arguments)
    found.bad += 1
    shown = repr(arguments)
    if status not in (1, 2):
        found.faults.append(f"{shown}: exit {status}")
    if err.count("\n") != 1 or "Traceback" in err or "\x1b" in err or "\x07" in err:
        found.faults.append(f"{shown}: {err[:200]!r}")


def brute_force(name: str, phi: Any, X: Any, radius: float, noise: Any) -> float:
    """The largest relative change that many Δ reach."""
    features = features_of(name, phi)
    before = features(X)
    size = np.linalg.norm(before)
    n, d = X.shape

    def change(i: int, delta: Any) -> float:
        moved = X.copy()
        moved[i] += delta
        return float(np.linalg.norm(features(moved) - before) / size)

    best = 0.0
    for i in range(n):
        directions = noise.normal(size=(POINTS // n, d))
        directions *= radius / np.linalg.norm(directions, axis=1, keepdims=True)
        lengths = np.where(np.arange(len(directions)) % 2, 1.0, noise.random(len(directions)))
        points = [*(directions * lengths[:, None]), *_landmarks(X[i], radius)]
        values = [change(i, point) for point in points]
        at = int(np.argmax(values))
        x, value = points[at], values[at]
        for step in range(STEPS):
            other = x + noise.normal(size=d) * radius * 0.3 * 0.97**step
            other *= min(1.0, radius / np.linalg.norm(other))
            reached = change(i, other)
            if reached > value:
                x, value = other, reached
        best = max(best, value)
    return best


def _landmarks(x: Any, radius: float) -> list[Any]:
    size = np.linalg.norm(x)
    return [s * x * min(1.0, radius / size) for s in (1.0, -1.0)] if size > 0 else []
