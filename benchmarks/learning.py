"""Learning: the naive procedure and wordsway, on the same texts and weights.

Naive, as a first script would have it: Φ⁺ by `pinv`, the p×p projector P⊥ = I − Φ⁺Φ for the
direction of re-training, a full forward pass of the changed text in every step, its gradient by
autograd, 50·n steps from a small random Δ, each followed by a projection onto the ball. Several
step lengths are tried beforehand and the best one is used; those trials are not counted.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

import wordsway as ws
from benchmarks.fresh import fresh
from wordsway.core.runtime import peak_bytes
from wordsway.studies.flips import learning_trials
from wordsway.studies.texts import LabelledGaussianTexts

N, LENGTH = 100, 40
#: Map, width, the naive step.
CASES = {"raf": ("raf", 384), "relu-raf": ("relu-raf", 384), "rf": ("rf", 96)}
RATES = (0.1, 1.0, 10.0, 100.0)
#: Steps used for choosing the naive step length.
TRIED = 100


def _problem(case: str) -> tuple[ws.FeatureMap, list[ws.Sample], list[int], ws.Sample, int]:
    name, d = CASES[case]
    lessons = LabelledGaussianTexts(LENGTH, d, seed=3)
    build: dict[str, Callable[[], ws.FeatureMap]] = {
        "raf": lambda: ws.RAF(d, 5),
        "relu-raf": lambda: ws.ReluRAF(d, 5),
        "rf": lambda: ws.RF(LENGTH, d, seed=5, draw="dense"),
    }
    labels = [lessons.label(at) for at in range(N)]
    return (
        build[name](),
        [lessons.draw(at).sample for at in range(N)],
        labels,
        lessons.draw(N).sample,
        lessons.label(N),
    )


def run(case: str, who: str) -> dict[str, Any]:
    """One measurement in this process; the weights are drawn before the clock starts."""
    if who == "large":
        started = time.perf_counter()
        result = learning_trials(case, n=120, d=768, train=1300, update="retrain")
        return {
            "error": result.trials[0]["error"],
            "seconds": time.perf_counter() - started,
            "peak_mb": peak_bytes() / 1e6,
        }
    phi, train, labels, X, y = _problem(case)
    error, seconds = (naive if who == "naive" else ours)(phi, train, labels, X, y)
    return {"error": error, "seconds": seconds, "peak_mb": peak_bytes() / 1e6}


def ours(
    phi: ws.FeatureMap, train: list[ws.Sample], labels: list[int], X: ws.Sample, y: int
) -> tuple[float, float]:
    times = []
    for _ in range(3):
        started = time.perf_counter()
        found = ws.learn(
            phi, train, labels, X, y, update="retrain", loss="direct", certificate=False
        )[0]
        times.append(time.perf_counter() - started)
    return found.error, statistics.median(times)


def naive(
    phi: ws.FeatureMap, train: list[ws.Sample], labels: list[int], X: ws.Sample, y: int
) -> tuple[float, float]:
    rates: dict[float, float] = {}
    for rate in RATES:
        rates[rate] = _naive(phi, train, labels, X, y, rate, TRIED)
    best = min(rates, key=lambda rate: rates[rate])
    started = time.perf_counter()
    error = _naive(phi, train, labels, X, y, best, 50 * X.n)
    return error, time.perf_counter() - started


def _naive(
    phi: ws.FeatureMap,
    train: list[ws.Sample],
    labels: list[int],
    X: ws.Sample,
    y: int,
    rate: float,
    steps: int,
) -> float:
    Phi = torch.stack([phi.features(one.X, torch.float64).flatten() for one in train])
    inverse = torch.linalg.pinv(Phi)
    theta = inverse @ torch.tensor(labels, dtype=torch.float64)
    own = phi.features(X.X, torch.float64).flatten()
    if steps > TRIED:  # building it once is enough
        projector = torch.eye(Phi.shape[1], dtype=torch.float64) - inverse @ Phi
        v = projector @ own
        del projector
    else:
        v = own - inverse @ (Phi @ own)
    theta = theta + v * (y - float(own @ theta)) / float(v @ v)
    radius = math.sqrt(X.d)
    delta = 0.01 * torch.randn(X.d, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    error = math.inf
    for _ in range(steps):
        delta.requires_grad_(True)
        row = torch.zeros(X.n, 1, dtype=torch.float64)
        row[0] = 1.0
        loss = (phi.features(X.X + row * delta, torch.float64).flatten() @ theta + y) ** 2
        (gradient,) = torch.autograd.grad(loss, delta)
        error = min(error, float(loss.detach()))
        with torch.no_grad():
            delta = delta - rate * gradient
            delta = delta * min(1.0, radius / float(delta.norm()))
    return error


def inequality(trials: int = 85) -> tuple[int, int, float]:
    """Trials that were checked, how many had a bound above 0, and the smallest √Err − √bound: all
    maps, updates and losses.
    """
    gaps, telling = [], 0
    for name in ("rf", "drf", "raf", "relu-raf"):
        for update in ("fine-tune", "retrain"):
            for loss in ("align", "direct", "penalised"):
                penalty = 0.1 if loss == "penalised" else 0.0
                how: dict[str, Any] = {"update": update, "loss": loss, "penalty": penalty}
                result = learning_trials(name, 20, 16, 12, trials=trials, seed=7, **how)
                for trial in result.trials:  # a violation raises
                    gaps.append(math.sqrt(trial["error"]) - math.sqrt(trial["bound"]))
                    telling += trial["bound"] > 0
    return len(gaps), telling, min(gaps)


def page(
    trials: int = 85, cases: Sequence[str] = tuple(CASES), large: Sequence[str] = ("raf", "rf")
) -> str:
    """The tables, each measurement in a fresh process."""
    lines = [
        "| map, n = 40, N = 100 | naive: error, time, peak | wordsway: error, time, peak | times "
        "faster |",
        "|---|---|---|---|",
    ]
    for case in cases:
        name, d = CASES[case]
        plain, ours = (fresh(case, who, "lesson") for who in ("naive", "ours"))
        cells = [
            f"{one['error'] if one['error'] > 1e-12 else 0:.3g}, {one['seconds']:.2f} s, "
            f"{one['peak_mb']:,.0f} MB"
            for one in (plain, ours)
        ]
        lines.append(
            f"| {name}, d = {d} | {cells[0]} | {cells[1]} | "
            f"{plain['seconds'] / ours['seconds']:,.0f} |"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    if large:
        lines += [
            "",
            "| one trial, N = 1,300, n = 120, d = 768, Gaussian texts, re-trained | time | peak |",
            "|---|---|---|",
        ]
    for name in large:
        big = fresh(name, "large", "lesson")
        lines.append(f"| {name} | {big['seconds']:.1f} s | {big['peak_mb'] / 1000:.2f} GB |")
        print(lines[-1], file=sys.stderr, flush=True)
    checked, telling, gap = inequality(trials)
    lines += [
        "",
        f"√Err ≥ 2 − γ − S·(‖φ‖/‖v‖)·|y − f| with the certified S: {checked:,} of {checked:,} "
        "trials (n = 20, d = 16, N = 12, all maps, ",
    ]
    lines[-1] += (
        f"updates and losses); the right side was above 0 in {telling:,} of them, the smallest "
        f"√Err − max(0, right side) was {gap:.2g}."
    )
    note = (
        "Random features are fitted to labelled texts, and one word of a new text is changed so "
        "that its label flips. Re-trained, direct loss, the same texts and weights. Naive: `pinv`, "
        "the p×p projector, full forward passes, autograd, "
        "50·n steps with the best of four step lengths (choosing it is not counted). "
        "The error is (f + y)²: 0 if the model learns the flip."
    )
    return "\n".join([note, "", *lines])
