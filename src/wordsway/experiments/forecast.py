"""What a measurement will cost, before it is run.

Time is extrapolated from the real code on the real sizes, run for a moment: a step of the search
for attention and small maps, a few directions for matrices drawn on demand (whose steps grow in
cost as more has been drawn: time = a·steps + b·steps²). Memory is counted: weights, views and
batches, or the directions that will be kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from wordsway.experiments.trials import Request
from wordsway.maps import FeatureMap, FullyConnected, Plan, View
from wordsway.optimize.driver import affordable, maximise
from wordsway.optimize.plan import HALFWAY
from wordsway.optimize.ranking import FINALISTS, MANY
from wordsway.runtime import peak_bytes, single_thread
from wordsway.sample import Sample, rows_of
from wordsway.sensitivity import Change

#: Shares of the steps a search may take that it takes on average before it stalls, measured on the
#: paper's sizes.
TYPICAL_HALFWAY, TYPICAL_STEPS = 0.6, 0.5
#: Seconds that a step costs besides looking.
OVERHEAD = 3e-4


@dataclass(frozen=True)
class Forecast:
    """Seconds and peak bytes of a whole request."""

    seconds: float
    bytes: float

    def to_dict(self) -> dict[str, float]:
        return {"forecast_seconds": self.seconds, "forecast_peak_mb": self.bytes / 1e6}


def forecast(request: Request) -> Forecast:
    """Time and memory of ``request``; takes about a second."""
    base = peak_bytes()
    started = time.perf_counter()
    phi, sample = request.build(0), replace(request, trials=1).source().draw(0).sample
    view = phi.search_view(sample)
    drawn = time.perf_counter() - started
    with single_thread(view.small):
        return _cost(request, phi, sample, view, base, drawn)


def _cost(
    request: Request, phi: FeatureMap, sample: Sample, view: View, base: int, drawn: float
) -> Forecast:
    words = rows_of(request.positions, sample)
    radius = sample.d**0.5
    if view.bytes_kept:
        assert isinstance(phi, FullyConnected)
        one, kept = _on_demand(phi, sample, view, words, radius, request)
        held = kept + 30 * phi.k * 8
    else:
        one, rows = _batched(phi, view, words, radius, request)
        held = rows * view.bytes_per_point + _weights(phi, request)
    exact = view if view.X.dtype == torch.float64 else phi.view(sample, torch.float64)
    bound = _time(lambda: exact.certify(words[:1], radius)) if request.certificate else 0.0
    # The first word of a certificate is tuned from scratch, the others follow it.
    certificates = bound * (
        1 + (len(words) - 1) * (0.2 if not isinstance(phi, FullyConnected) else 1.0)
    )
    return Forecast((one + drawn + certificates) * request.trials, base + held)


def _batched(
    phi: FeatureMap, view: View, words: list[int], radius: float, request: Request
) -> tuple[float, int]:
    """Seconds of one search where looks are cheap, and the rows of its largest batch."""
    if len(words) > MANY:
        light, full = view.plan.lighter(), view.plan
        stages = [(light, len(words)), (full, FINALISTS)]
    else:
        stages = [(view.plan, len(words))]
    total, largest = 0.0, 0
    for plan, count in stages:
        fit = max(1, request.memory // max(1, view.bytes_per_point * max(plan.starts, plan.children)))
        batch = min(count, fit)
        for rows, steps in _phases(plan):
            total += -(-count // batch) * steps * _step(view, rows * batch)
            largest = max(largest, rows * batch)
    return total, largest


def _phases(plan: Plan) -> list[tuple[int, float]]:
    """Rows per word and expected steps of each phase of a search."""
    phases = [(plan.starts, 2.0 + plan.explore)]
    if plan.rounds:
        phases += [
            (plan.children, plan.rounds * (1.0 + plan.explore)),
            (plan.keep, (1 + plan.rounds) * HALFWAY * TYPICAL_HALFWAY),
        ]
    return [*phases, (max(1, plan.keep // 2), plan.steps * TYPICAL_STEPS)]


def _step(view: View, rows: int) -> float:
    """Seconds of one look of ``rows`` points, timed on at most 512 of them."""
    few = min(rows, 512)
    words = torch.zeros(few, dtype=torch.long, device=view.X.device)
    delta = torch.randn(few, view.X.shape[1], dtype=view.X.dtype, device=view.X.device)
    view.change_and_gradient(words, delta)
    return _time(lambda: view.change_and_gradient(words, delta)) * rows / few * 1.15 + OVERHEAD


def _on_demand(
    phi: FullyConnected,
    sample: Sample,
    view: View,
    words: list[int],
    radius: float,
    request: Request,
) -> tuple[float, float]:
    """Seconds of one search where every direction is drawn, and the bytes it leaves behind."""
    plan = affordable(view.plan, Change(view, radius), len(words), request.memory)
    few, more = (2, 5) if phi.depth == 1 else (4, 9)

    def run(steps: int, seed: int) -> float:
        fresh = request.build(seed).view(sample)
        trial = replace(plan, steps=steps, tolerance=0.0)
        return _time(
            lambda: maximise(
                Change(fresh, radius), torch.tensor(words[:1]), trial, seed=0, memory=request.memory
            )
        )

    short, long = run(few, 1), run(more, 2)
    # time = a·s + b·s² through both measurements; the layers behind the first are shared by all
    # words, hence their square.
    quadratic = max(0.0, (long / more - short / few) / (more - few))
    linear = max(short / few - quadratic * few, 0.25 * short / few)
    steps, count = plan.steps, len(words)
    shared = count if phi.depth > 1 else 1
    seconds = count * linear * steps + (count / shared) * quadratic * (shared * steps) ** 2
    # Short runs sit in the cache, where long ones of a deep map do not; of a shallow one they show
    # the start-up instead.
    seconds *= 1.5 if phi.depth > 1 else 0.7
    return seconds, float(view.bytes_kept * (steps + 1) * count)


def _weights(phi: FeatureMap, request: Request) -> float:
    """Bytes of weights and views that are there, in both precisions."""
    if isinstance(phi, FullyConnected):
        return (phi.k * phi.n * phi.d + (phi.depth - 1) * phi.k**2) * 8 * 1.5
    n, d = request.n, request.d
    return (3 * d * d + 4 * n * d + 12 * n * n) * 12 + 60 * n * 56 * 12 * 8


def _time(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    with torch.no_grad():
        run()
    return time.perf_counter() - started
