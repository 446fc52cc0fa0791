"""The comparisons: the same weights and text for both procedures, each in a separate process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import wordsway as ws
from benchmarks import naive
from wordsway.core.runtime import peak_bytes

SAMPLE_SEED, MAP_SEED = 11, 12


@dataclass(frozen=True)
class Case:
    """One row of the table; ``rate`` is the naive procedure's step, the best of 0.1, 1, 10, 100 and
    1000 for that map.
    """

    title: str
    map: str
    n: int
    d: int
    depth: int = 1
    positions: str | int = 0
    rate: float | None = 1.0
    naive_note: str = ""

    def sample(self) -> ws.Sample:
        return ws.Sample.gaussian(self.n, self.d, SAMPLE_SEED)

    def build(self) -> ws.FeatureMap:
        if self.map == "raf":
            return ws.RAF(self.d, MAP_SEED)
        if self.map == "relu-raf":
            return ws.ReluRAF(self.d, MAP_SEED)
        draw = "auto" if self.rate is None else "dense"
        if self.map == "rf":
            return ws.RF(self.n, self.d, seed=MAP_SEED, draw=draw)
        return ws.DRF(self.n, self.d, self.depth, seed=MAP_SEED, draw=draw)


CASES = {
    "raf-one": Case("RAF, n=250, d=768, one word", "raf", 250, 768, rate=10.0),
    "raf-all": Case(
        "RAF, n=120, d=768, all 120 words",
        "raf",
        120,
        768,
        positions="all",
        rate=None,
        naive_note="120 times one word",
    ),
    "relu-raf-one": Case("ReLU-RAF, n=120, d=768, one word", "relu-raf", 120, 768, rate=10.0),
    "rf-small": Case("RF, n=40, d=192, k=7,680, one word", "rf", 40, 192, rate=1000.0),
    "drf-small": Case(
        "DRF, L=4, n=20, d=96, k=1,920, one word", "drf", 20, 96, depth=4, rate=100.0
    ),
    "rf-paper": Case(
        "RF, n=150, d=768, k=115,200, one word",
        "rf",
        150,
        768,
        rate=None,
        naive_note="weights of 106 GB",
    ),
    "drf-paper": Case(
        "DRF, L=8, n=80, d=768, k=61,440, one word",
        "drf",
        80,
        768,
        depth=8,
        rate=None,
        naive_note="weights of 242 GB",
    ),
}


def run(case: Case, who: str) -> dict[str, float | str | None]:
    """One measurement; the map is drawn before the clock starts where both procedures use the same
    weights.
    """
    runs: dict[str, Callable[[Case], tuple[float, float | None, float]]] = {
        "naive": _naive,
        "ours": _ours,
        "ours-certified": _certified,
    }
    value, upper, seconds = runs[who](case)
    return {"value": value, "upper": upper, "seconds": seconds, "peak_mb": peak_bytes() / 1e6}


def _naive(case: Case) -> tuple[float, float | None, float]:
    phi, X = case.build(), case.sample().X
    if isinstance(phi, (ws.RAF, ws.ReluRAF)):
        function, steps = naive.attention(phi.weight, case.map), 50 * case.n
    else:
        assert isinstance(phi, (ws.RF, ws.DRF))
        function, steps = naive.layers([phi.first.dense(), *(V.dense() for V in phi.later)]), 300
    assert case.rate is not None
    started = time.perf_counter()
    value = naive.ascend(function, X, steps, case.rate)
    return value, None, time.perf_counter() - started


def _ours(case: Case) -> tuple[float, float | None, float]:
    return _measure(case, certificate=False)


def _certified(case: Case) -> tuple[float, float | None, float]:
    return _measure(case, certificate=True)


def _measure(case: Case, certificate: bool) -> tuple[float, float | None, float]:
    X = case.sample()
    ws.sensitivity(ws.RAF(6, 0), ws.Sample.gaussian(8, 6, 0), positions=0)  # warm up torch
    if case.rate is not None:  # same weights for both procedures: drawing them is not timed
        phi = case.build()
    started = time.perf_counter()
    if case.rate is None:
        phi = case.build()
    s = ws.sensitivity(phi, X, positions=case.positions, seed=0, certificate=certificate)
    return s.lower, s.upper, time.perf_counter() - started
