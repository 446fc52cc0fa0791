"""The driver: it owns the loop, the budget, the best so far, and progress."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import torch

from wordsway.core.errors import MemoryBudgetError
from wordsway.core.progress import Progress, silent, stretch_of
from wordsway.core.seeds import generator
from wordsway.optimize.ascent import Ascent
from wordsway.optimize.conjugate import Conjugate
from wordsway.optimize.lbfgs import LBFGS
from wordsway.optimize.objective import Objective
from wordsway.optimize.plan import HALFWAY, Plan
from wordsway.optimize.solver import AnySolver, PointStates
from wordsway.optimize.starts import (
    children,
    default_starts,
    local_random_search,
    random_search,
    worthwhile,
)

SOLVERS: dict[str, Callable[[], AnySolver]] = {
    "ascent": Ascent,
    "conjugate": Conjugate,
    "lbfgs": LBFGS,
}
#: A point that gained less than the tolerance over this many steps has stalled.
WINDOW = 6
#: A point that gained less than this multiple of the tolerance over as many steps has settled, as
#: far as groups can agree.
NEARLY = 10
#: Units in the last place by which two values of the same arithmetic may be rounded.
ROUNDING = 256
#: Groups whose values differ by less than this share have found the same maximum.
AGREEMENT = 2e-3
#: Between generations, points climb until they gain less than this.
HALFWAY_TOLERANCE = 3e-3

#: starts(objective, problems, count, noise) → (P, count, p), each in its problem's ball.
Starts = Callable[[Objective, Sequence[int], int, Sequence[torch.Generator]], torch.Tensor]


@dataclass(frozen=True)
class Found(PointStates):
    """The best x of each problem (P, p) and the value there (P,); ``settled`` (P,) where that point
    had nearly stopped improving when the budget was spent; ``agreed`` (P,) where at least half of
    the groups found that value: three of them, or both of two.
    """

    settled: torch.Tensor
    agreed: torch.Tensor

    @property
    def converged(self) -> bool:
        """Whether every problem has settled at a value that independent groups of starts found."""
        return bool((self.settled & self.agreed).all())

    def improved(self, index: torch.Tensor, other: Found) -> Found:
        """The same with another search of the problems at ``index``, where that is better by more
        than rounding.
        """
        better = exceeds(other.value, self.value[index])
        return self.put(index[better], other.select(better))

    @staticmethod
    def best_of(groups: Sequence[Found]) -> Found:
        """The best of several groups that searched the same problems.

        A later group replaces an earlier one only where it is better by more than rounding, so that
        the exact value never falls with the number of groups.
        """
        best, each = groups[0], torch.arange(len(groups[0].value), device=groups[0].value.device)
        for other in groups[1:]:
            best = best.improved(each, other)
        values = torch.stack([group.value for group in groups])  # (G, P)
        same = (values >= best.value - AGREEMENT * best.value.abs()).sum(0)
        agreed = (same >= max(2, min(3, len(groups)))) & (2 * same >= len(groups))
        return replace(best, agreed=agreed)


def exceeds(value: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Where a value exceeds another one by more than both may be rounded."""
    return value > other + ROUNDING * torch.finfo(value.dtype).eps * other.abs()


def maximise(
    objective: Objective,
    problems: torch.Tensor,
    plan: Plan,
    *,
    seed: int,
    memory: int,
    starts: Starts = default_starts,
    stream: str = "search",
    first: Found | None = None,
    progress: Progress = silent,
) -> Found:
    """Maximise f_i over ‖x‖ ≤ r_i, or over the objective's constraint, for each of the problems i,
    within a memory budget in bytes.

    Problems go through in batches that fit the memory; the result for one of them depends on the
    seed (its noise is named by ``stream``, its number and its group) and not on the others. Groups
    follow each other, each in the same batches however many there are: those of a smaller plan
    evaluate the same numbers, to the last bit. Where another search of these problems is given, it
    is the ``first`` group.
    """
    if objective.constraint is not None:  # the other solvers are made for balls
        plan = replace(plan, solver="ascent")
    plan = affordable(plan, objective, len(problems), memory)
    size = max(1, objective.bytes_per_point)
    batch_size = max(1, memory // (size * plan.abreast * max(plan.starts, plan.children)))
    if objective.max_batch is not None:
        batch_size = min(batch_size, max(1, objective.max_batch // plan.starts))
    bounded = objective.bounded(memory // size)
    groups = [] if first is None else [first]
    left = replace(plan, groups=max(1, plan.groups - len(groups)))
    meter = _Meter(progress, objective, left, len(problems))
    for batched in torch.arange(plan.groups).split(plan.abreast):
        abreast = batched[batched >= len(groups)]
        if not len(abreast):
            continue
        found: list[list[Found]] = [[] for _ in abreast]
        for batch in problems.split(min(batch_size, len(problems))):
            names = [(int(i), g) if g else (int(i),) for g in abreast.tolist() for i in batch]
            noise = [generator(seed, stream, *name, device=objective.device) for name in names]
            which = batch.repeat(len(abreast))
            both = _Batch(bounded, SOLVERS[plan.solver](), plan, which, noise, meter).run(starts)
            parts = torch.arange(len(which)).split(len(batch))
            for group, part in zip(found, parts, strict=True):
                group.append(both.select(part))
        groups += [Found.joined(group) for group in found]
    return Found.best_of(groups)


def affordable(plan: Plan, objective: Objective, problems: int, memory: int) -> Plan:
    """The plan with no more steps than the memory for what evaluations of one group leave behind
    allows, and then no more groups.
    """
    if not objective.bytes_retained_per_eval:
        return plan
    each = objective.bytes_retained_per_eval * problems * plan.starts
    steps = memory // each - 1
    if steps < 2:
        raise MemoryBudgetError(
            f"searching {problems} words of this map needs {3 * each / 2**30:.1f} GiB, "
            f"the budget is {memory / 2**30:.1f} GiB: name fewer positions, or raise memory="
        )
    steps = min(plan.steps, steps)
    groups = memory // (each * (steps + 1))
    return replace(plan, steps=steps, groups=min(plan.groups, groups))


@dataclass(frozen=True)
class _Pool:
    """The best points of each problem, best first: x (P, m, p) and value (P, m)."""

    x: torch.Tensor
    value: torch.Tensor

    @staticmethod
    def of(state: PointStates, problems: int) -> _Pool:
        value = state.value.reshape(problems, -1)
        return _Pool(state.x.reshape(*value.shape, -1), value).best(value.shape[1])

    def best(self, keep: int) -> _Pool:
        """The best ``keep``, best first."""
        order = self.value.argsort(dim=1, descending=True)[:, :keep]
        row = torch.arange(len(order), device=order.device)[:, None]
        return _Pool(self.x[row, order], self.value[row, order])

    def join(self, other: _Pool, keep: int) -> _Pool:
        """The best ``keep`` of both."""
        both = _Pool(torch.cat([self.x, other.x], 1), torch.cat([self.value, other.value], 1))
        return both.best(keep)


@dataclass(frozen=True)
class _Batch:
    """Problems that are searched side by side. Their points stand together, equally many each."""

    objective: Objective
    solver: AnySolver
    plan: Plan
    problems: torch.Tensor
    noise: list[torch.Generator]
    meter: _Meter

    def run(self, starts: Starts) -> Found:
        plan = self.plan
        problems = self.problems
        self.meter.begin_batch(len(problems))
        rounded = [self.objective.smoothed(w).bounded(self.objective.at_once) for w in plan.widths]
        rough, *finer = [*rounded, self.objective]
        points = starts(rough, problems.tolist(), plan.starts, self.noise)
        if self.sampled:
            more = [
                random_search(self.objective, i, plan.starts, noise, plan.abreast)
                for i, noise in zip(problems.tolist(), self.noise, strict=True)
            ]
            points = torch.cat([points, torch.stack(more)], 1)
        state = self.explore(rough, points)
        if plan.rounds:
            pool = self.breed(rough, _Pool.of(state, len(problems)))
            state = self.start(rough, pool.x[:, : plan.refined])
        if not finer:
            return self.finish(state)
        # A maximum of the function may be lost on the way to it: the best place of all is kept, and
        # the best starts climb the function itself, too.
        best = self.valued(points)
        direct = self.start(self.objective, best.best(plan.direct).x)
        for objective, left in zip(finer[:-1], plan.followed, strict=True):
            state = state.best(len(problems), left)
            state = self.solver.follow(objective, state)
            state, _ = self.climb(objective, state, plan.explore, plan.tolerance)
            best = best.join(self.valued(state.x.unflatten(0, (len(problems), -1))), 1)
        state = self.solver.follow(self.objective, state)
        return self.finish(state.joined_with(direct, len(problems)), best)

    def valued(self, points: torch.Tensor) -> _Pool:
        """Points (P, m, p) with the objective's values there."""
        which = self.problems.repeat_interleave(points.shape[1])
        value = self.objective.values(which, points.flatten(0, 1))
        return _Pool(points, value.reshape(points.shape[:2]))

    def finish(self, state: Any, best: _Pool | None = None) -> Found:
        """The last climb, and the best point of each problem; or one that was seen before."""
        plan, problems = self.plan, self.problems
        state, resting = self.climb(self.objective, state, plan.steps, plan.tolerance, last=True)
        value, place = state.value.reshape(len(problems), -1).max(1)
        first = torch.arange(len(problems), device=place.device) * (
            len(state.value) // len(problems)
        )
        x, settled = state.x[first + place], resting[first + place]
        if best is not None:
            pool = best.join(_Pool(x[:, None], value[:, None]), 1)
            x, value = pool.x[:, 0], pool.value[:, 0]
        if self.sampled:
            x, value = local_random_search(
                self.objective, problems, x, value, self.noise, plan.abreast
            )
        return Found(problems, x, value, settled, torch.zeros_like(settled))

    @property
    def sampled(self) -> bool:
        """Whether random samples are worth their time."""
        return self.plan.scatter and worthwhile(self.objective)

    def explore(self, rough: Objective, points: torch.Tensor) -> Any:
        """Some steps with every point (P, m, p), then more with the best of each problem."""
        state = self.start(rough, points)
        for left, steps in self.plan.explored(points.shape[1]):
            state, resting = self.climb(rough, state.best(len(self.problems), left), steps, 0.0)
        if (
            not resting.all() or not self.plan.rounds
        ):  # one problem's stall does not affect another problem
            state = state.best(len(self.problems), self.plan.keep)
        if self.plan.rounds:
            state, _ = self.climb(rough, state, HALFWAY, HALFWAY_TOLERANCE)
        return state

    def breed(self, rough: Objective, pool: _Pool) -> _Pool:
        """Generations of children between the best points; the best of all."""
        radius = self.objective.radius(self.problems).tolist()
        for _ in range(self.plan.generations):
            young = [
                children(parents, self.plan.children, reach, noise)
                for parents, reach, noise in zip(pool.x, radius, self.noise, strict=True)
            ]
            points = torch.stack(young)
            if self.objective.constraint is not None:
                points = self.objective.project(self.problems, points)
            grown = _Pool.of(self.explore(rough, points), len(self.problems))
            pool = pool.join(grown, self.plan.keep)
        return pool

    def start(self, objective: Objective, points: torch.Tensor) -> Any:
        which = self.problems.repeat_interleave(points.shape[1])
        return self.solver.init(objective, which, points.flatten(0, 1))

    def climb(
        self,
        objective: Objective,
        state: Any,
        steps: int,
        tolerance: float,
        *,
        last: bool = False,
    ) -> tuple[Any, torch.Tensor]:
        """Step until every point has stalled or its problem is solved, or the steps are spent; the
        state then, and which points (B,) have settled.

        A point has stalled if the solver reports it, or if it gained no more than ``tolerance`` of
        its value over the last steps (at 0 the solver alone decides). After the ``last`` climb only
        x and value are read.
        """
        count = len(state.value)
        active = torch.arange(count, device=state.value.device)
        active = active[~self.at_rest(state)]
        recent = deque([state.value], maxlen=WINDOW + 1)
        for step in range(steps):
            if not len(active):
                break
            ending = last and step == steps - 1
            take = self.solver.last_step if ending else self.solver.step
            index = active if self.solver.drops_stalled else self.unfinished(active, count)
            if len(index) == count:
                state = take(objective, state)
            else:
                moved = take(objective, state.select(index))
                state = state.put(index, moved)
            recent.append(state.value)
            stalled = self.at_rest(state)
            if tolerance and len(recent) > WINDOW:
                stalled |= state.value - recent[0] <= tolerance * state.value.abs()
            active = active[~stalled[active]]
            self.meter.step((step + 1) / (steps + 1), state)
        self.meter.end_phase(state)
        settled = torch.ones(count, dtype=torch.bool, device=state.value.device)
        settled[active] = False
        if tolerance and len(recent) > WINDOW:
            settled |= state.value - recent[0] <= NEARLY * tolerance * state.value.abs()
        return state, settled

    def unfinished(self, active: torch.Tensor, count: int) -> torch.Tensor:
        """All points of the problems that have an active one: a problem steps as it would alone."""
        each = count // len(self.problems)
        first = (active // each).unique() * each
        return (first[:, None] + torch.arange(each, device=active.device)).flatten()

    def at_rest(self, state: Any) -> torch.Tensor:
        """Points (B,) that the solver calls stalled, and all points of solved problems."""
        stalled = self.solver.stalled(state)
        if self.objective.enough == math.inf:
            return stalled
        solved = (state.value.reshape(len(self.problems), -1) > self.objective.enough).any(1)
        return stalled | solved.repeat_interleave(len(stalled) // len(solved))


class _Meter:
    """Progress over all phases of all batches, in evaluations: forwards only, up to the total."""

    def __init__(self, progress: Progress, objective: Objective, plan: Plan, problems: int) -> None:
        self.progress = progress
        self.objective = objective
        self.plan = plan
        self.total = problems * plan.evaluations
        self.done = 0
        self.best = -math.inf
        self.ahead: deque[int] = deque()

    def begin_batch(self, problems: int) -> None:
        """The plan's phases are ahead."""
        self.ahead = deque(problems * points * (steps + 1) for points, steps in self.plan.phases)

    def step(self, share: float, state: PointStates) -> None:
        """Record progress within the current phase."""
        if self.progress is not silent:
            self.best = max(self.best, float(state.value.max()))
            done = self.done + share * self.ahead[0]
            self.progress("searching", done, self.total, self.objective.describe(self.best))

    def end_phase(self, state: PointStates) -> None:
        """The current phase is over, after all of its steps or fewer."""
        self.step(1.0, state)
        self.done += self.ahead.popleft()


#: Up to this many problems, all get the full search.
MANY = 8
#: How many get it beyond that; twice as many where evaluations leave something behind, since plans
#: are then short and rank less surely.
FINALISTS = 4


def stages(plan: Plan, problems: int, *, kept: bool) -> list[tuple[Plan, int]]:
    """The searches of `maximise_ranked`, each with what it evaluates and its number of problems;
    ``kept`` is true if evaluations retain memory.

    >>> [(stage.steps, problems) for stage, problems in stages(Plan(), 20, kept=False)]
    [(30, 20), (60, 4)]
    >>> plan = Plan(groups=6, abreast=3)
    >>> [(stage.groups, problems) for stage, problems in stages(plan, 20, kept=False)]
    [(1, 20), (1, 16), (5, 4)]
    """
    if problems <= MANY:
        return [(plan, problems)]
    light, full = plan.lighter(), 2 * FINALISTS if kept else FINALISTS
    if not light.is_first_group_of(plan):
        return [(light, problems), (plan, full)]
    more = plan.groups // plan.abreast - 1
    others = [(replace(light, groups=more), problems - full)] if more else []
    return [(light, problems), *others, (replace(plan, groups=plan.groups - 1), full)]


def maximise_ranked(
    objective: Objective,
    problems: torch.Tensor,
    plan: Plan,
    *,
    seed: int,
    memory: int,
    progress: Progress = silent,
) -> Found:
    """The best x of every problem, found by a lighter plan where it is not among the largest.

    Where the light search is the first group of the full one, it is not repeated, and the others
    get as many groups as the plan has batches of them, so that ``scaled`` plans search them as much
    harder as the first few, which the first group chooses.
    """
    searches = stages(plan, len(problems), kept=bool(objective.bytes_retained_per_eval))
    if len(searches) == 1:
        return maximise(objective, problems, plan, seed=seed, memory=memory, progress=progress)
    light, full = searches[0][0], searches[-1][1]
    begun = light.is_first_group_of(plan)
    work = list(accumulate(count * stage.evaluations for stage, count in searches))
    parts = [stretch_of(progress, *ends, work[-1]) for ends in pairwise([0, *work])]
    how: dict[str, Any] = {"seed": seed, "memory": memory}
    found = maximise(objective, problems, light, **how, progress=parts[0])
    order = found.value.argsort(descending=True, stable=True)
    top, others = order[:full], order[full:]
    if len(searches) > 2:
        longer = replace(light, groups=plan.groups // plan.abreast)
        first = found.select(others)
        more = maximise(objective, first.which, longer, first=first, **how, progress=parts[1])
        found = found.improved(others, more)
    second = maximise(
        objective,
        problems[top],
        plan,
        first=found.select(top) if begun else None,
        **how,
        progress=parts[-1],
    )
    # The others had no chance of being the largest: whether they converged does not matter.
    settled, agreed = torch.ones_like(found.settled), torch.ones_like(found.agreed)
    settled[top], agreed[top] = second.settled, second.agreed
    return replace(found.improved(top, second), settled=settled, agreed=agreed)
