"""The driver: it owns the loop, the budget, the best so far, and progress."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from wordsway.errors import InputError, MemoryBudgetError
from wordsway.optimize import scatter
from wordsway.optimize.objective import View
from wordsway.optimize.plan import HALFWAY, Plan
from wordsway.optimize.solvers import Ascent, ConjugateAscent, Solver, State
from wordsway.optimize.starts import children, starts
from wordsway.seeds import generator

#: progress(done, total, best): steps taken, steps at most, the largest S so far.
Progress = Callable[[int, int, float], None]

SOLVERS: dict[str, type[Solver]] = {"ascent": Ascent, "conjugate": ConjugateAscent}
#: A point that gained less than the tolerance over this many steps has stalled.
WINDOW = 6
#: Between generations, points go on until they gain less than this.
HALFWAY_TOLERANCE = 3e-3
#: A step shorter than this share of the radius cannot improve anything worth having.
SHORTEST = 1e-5


@dataclass(frozen=True)
class Found:
    """For each searched word its best Δ and the S² there; ``converged`` where every point stalled
    within the budget.
    """

    words: torch.Tensor
    delta: torch.Tensor
    value: torch.Tensor
    converged: bool
    steps: int


def search(
    view: View,
    words: torch.Tensor,
    radius: float,
    *,
    plan: Plan,
    seed: int,
    memory: int,
    progress: Progress | None = None,
) -> Found:
    """Look for the worst Δ of each word, ‖Δ‖ ≤ radius, within a memory budget in bytes.

    Words go through in batches that fit the memory; the result for one word depends on the seed and
    the word, not on the other words that are searched.
    """
    if plan.solver not in SOLVERS:
        raise InputError(
            f"a solver among {', '.join(SOLVERS)}",
            repr(plan.solver),
            "leave the plan at its default",
        )
    solver = SOLVERS[plan.solver]()
    plan = affordable(plan, view, len(words), memory)
    room = max(1, memory // max(1, view.bytes_per_row * max(plan.starts, plan.children)))
    batches = list(words.split(int(room)))
    meter = _Meter(progress, len(batches) * plan.steps_at_most)
    parts = [_climb(view, solver, batch, radius, plan, seed, meter) for batch in batches]
    return Found(
        words,
        torch.cat([part.delta for part in parts]),
        torch.cat([part.value for part in parts]),
        all(part.converged for part in parts),
        meter.done,
    )


def _climb(
    view: View,
    solver: Solver,
    words: torch.Tensor,
    radius: float,
    plan: Plan,
    seed: int,
    meter: _Meter,
) -> Found:
    noise = [generator(seed, "search", int(word), device=view.X.device) for word in words]
    first = torch.cat(
        [
            starts(view, words[row : row + 1], plan.starts, radius, noise[row])
            for row in range(len(words))
        ]
    )
    sampled = plan.scatter and scatter.worthwhile(view)
    if sampled:
        first = torch.cat([first, scatter.best_of_many(view, words, plan.starts, radius, noise)], 1)
    pool = _round(view, solver, words, first, radius, plan, meter)
    for _ in range(plan.rounds if plan.keep > 1 else 0):
        young = torch.cat(
            [
                children(pool.delta[row : row + 1], plan.children, radius, noise[row])
                for row in range(len(words))
            ]
        )
        pool = _best([pool, _round(view, solver, words, young, radius, plan, meter)], plan.keep)
    best = max(1, plan.keep // 2) if plan.rounds else plan.keep
    state = (
        solver.init(view, words.repeat_interleave(best), pool.delta[:, :best].flatten(0, 1))
        if plan.rounds
        else pool.state
    )
    state, converged = _refine(view, solver, state, radius, plan.steps, plan.tolerance, meter)
    pool = _pool(state, len(words))
    delta, value = pool.delta[:, 0], pool.value[:, 0]
    if sampled:
        delta, value = scatter.slide(view, words, delta, value, radius, noise)
    return Found(words, delta, value, converged, meter.done)


@dataclass(frozen=True)
class _Pool:
    """The best points of each word, best first: delta (P, m, d), value (P, m); ``state`` is the
    solver's, unsorted.
    """

    delta: torch.Tensor
    value: torch.Tensor
    state: State


def _pool(state: State, words: int) -> _Pool:
    value, order = state.value.reshape(words, -1).sort(dim=1, descending=True)
    row = torch.arange(words, device=order.device)[:, None]
    return _Pool(state.delta.reshape(words, value.shape[1], -1)[row, order], value, state)


def _round(
    view: View,
    solver: Solver,
    words: torch.Tensor,
    points: torch.Tensor,
    radius: float,
    plan: Plan,
    meter: _Meter,
) -> _Pool:
    """Explore with every point, then go on for a while with the best ones of each word."""
    count = points.shape[1]
    state = solver.init(view, words.repeat_interleave(count), points.flatten(0, 1))
    for _ in range(plan.explore):
        state = solver.step(view, state, radius)
        meter.tick(state)
    keep = min(plan.keep, count)
    if keep < count:
        best = state.value.reshape(-1, count).topk(keep, dim=1).indices
        state = state.select(
            (best + count * torch.arange(len(words), device=best.device)[:, None]).flatten()
        )
    if plan.rounds:
        state, _ = _refine(view, solver, state, radius, HALFWAY, HALFWAY_TOLERANCE, meter)
    return _pool(state, len(words))


def _refine(
    view: View,
    solver: Solver,
    state: State,
    radius: float,
    steps: int,
    tolerance: float,
    meter: _Meter,
) -> tuple[State, bool]:
    """Step until every point has stalled, or the steps are spent."""
    active = torch.arange(len(state.value), device=state.value.device)
    history = [state.value]
    for step in range(steps):
        state = state.put(active, solver.step(view, state.select(active), radius))
        meter.tick(state)
        history.append(state.value)
        stalled = state.step[active] < SHORTEST
        if step + 1 >= WINDOW:
            before = history[-1 - WINDOW][active]
            stalled |= state.value[active] - before <= tolerance * state.value[active]
        active = active[~stalled]
        if not len(active):
            meter.skip(steps - step - 1)
            return state, True
    return state, False


def _best(pools: list[_Pool], keep: int) -> _Pool:
    delta, value = torch.cat([p.delta for p in pools], 1), torch.cat([p.value for p in pools], 1)
    order = value.argsort(dim=1, descending=True)[:, :keep]
    row = torch.arange(len(value), device=value.device)[:, None]
    return _Pool(delta[row, order], value[row, order], pools[-1].state)


def affordable(plan: Plan, view: View, words: int, memory: int) -> Plan:
    """The plan with no more steps than the memory for newly drawn directions allows."""
    per_look = view.bytes_per_look
    if not per_look:
        return plan
    looks = memory // (per_look * words * plan.starts) - 1
    if looks < 2:
        need = 3 * per_look * words * plan.starts
        raise MemoryBudgetError(
            f"searching {words} words of this map needs {need / 2**30:.1f} GiB, the budget is {memory / 2**30:.1f} GiB: "
            "name fewer positions, or raise memory="
        )
    return replace(plan, steps=min(plan.steps, looks))


class _Meter:
    """Counts steps and reports the best S so far."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.done, self.best = progress, total, 0, 0.0

    def tick(self, state: State) -> None:
        self.done += 1
        if self.progress is not None:
            self.best = max(self.best, math.sqrt(max(0.0, float(state.value.max()))))
            self.progress(self.done, self.total, self.best)

    def skip(self, steps: int) -> None:
        self.total -= steps
