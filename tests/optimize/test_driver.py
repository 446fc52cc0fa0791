"""The driver: the best so far, problems that do not see each other, budgets, progress, seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest
import torch

from quadratics import F64, Quadratics, Recorder, random_symmetric, sphere_points
from wordsway.core.errors import InputError, MemoryBudgetError
from wordsway.core.vectors import unit
from wordsway.optimize import Found, Objective, Plan, maximise, maximise_ranked
from wordsway.optimize import starts as sampling
from wordsway.optimize.driver import Starts, affordable, exceeds

P = 6
PLAN = Plan(starts=6, explore=4, keep=3, steps=40, rounds=1, children=4, scatter=False)
PLANS = {
    "generations": PLAN,
    "one phase": replace(PLAN, rounds=0),
    "conjugate": replace(PLAN, solver="conjugate", rounds=0, steps=60),
    "lbfgs": replace(PLAN, solver="lbfgs", rounds=0, keep=1, tolerance=0),
    "scattered": replace(PLAN, scatter=True),
}
every_plan = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())


@pytest.fixture(autouse=True)
def _few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quadratics need no thousands of samples."""
    monkeypatch.setattr(sampling, "POINTS", 60)
    monkeypatch.setattr(sampling, "ROUNDS", 6)


def quadratics(count: int, bytes_retained_per_eval: int = 0) -> Quadratics:
    radii = [1.0 + 0.5 * i for i in range(count)]
    H = [random_symmetric(P, i) for i in range(count)]
    return Quadratics(H, radii, bytes_retained_per_eval=bytes_retained_per_eval)


@every_plan
def test_every_problem_reaches_its_maximum(plan: Plan):
    objective = quadratics(3)
    found = maximise(objective, torch.arange(3), plan, seed=0, memory=2**20)
    for i in range(3):
        assert float(found.value[i]) == pytest.approx(objective.maximum(i), rel=1e-3)
        assert float(found.x[i].norm()) <= float(objective.reach[i]) * (1 + 1e-12)
    torch.testing.assert_close(objective.value(found.which, found.x), found.value)


@every_plan
def test_a_result_depends_neither_on_the_other_problems_nor_on_the_memory(plan: Plan):
    everything = maximise(quadratics(4), torch.arange(4), plan, seed=3, memory=2**20)
    some = maximise(quadratics(4), torch.tensor([2, 0]), plan, seed=3, memory=2**20)
    assert torch.equal(some.x, everything.x[[2, 0]])
    assert torch.equal(some.value, everything.value[[2, 0]])
    for memory in (1, 7, 13):
        tight = maximise(quadratics(4), torch.arange(4), plan, seed=3, memory=memory)
        assert torch.equal(tight.x, everything.x) and torch.equal(tight.value, everything.value)
        assert torch.equal(tight.settled, everything.settled)


@every_plan
@pytest.mark.parametrize("memory", [1, 5, 24])
def test_no_evaluation_exceeds_the_memory(plan: Plan, memory: int):
    objective = quadratics(4)
    maximise(objective, torch.arange(4), plan, seed=0, memory=memory)
    assert max(objective.evaluated) <= memory


def test_the_same_seed_gives_the_same_numbers_and_another_other_ones():
    plan = replace(PLAN, steps=2)
    first, again, other = (
        maximise(quadratics(2), torch.arange(2), plan, seed=seed, memory=2**20)
        for seed in (5, 5, 6)
    )
    assert torch.equal(first.x, again.x)
    assert not torch.equal(first.x, other.x)
    stream = maximise(quadratics(2), torch.arange(2), plan, seed=5, memory=2**20, stream="else")
    assert not torch.equal(first.x, stream.x)


@every_plan
def test_the_best_so_far_is_never_lost(plan: Plan):
    """The result is at least as good as every point that was evaluated on the way."""

    class Watched(Quadratics):
        seen: ClassVar[list[float]] = []

        def value_and_gradient(
            self, which: torch.Tensor, x: torch.Tensor
        ) -> tuple[torch.Tensor, torch.Tensor]:
            value, gradient = super().value_and_gradient(which, x)
            self.seen.append(float(value.max()))
            return value, gradient

    objective = Watched([random_symmetric(P, 0)], [1.0])
    found = maximise(objective, torch.tensor([0]), replace(plan, steps=3), seed=0, memory=2**20)
    kept = plan.solver != "lbfgs"  # which may refuse a gain smaller than it hoped for
    assert float(found.value) >= max(objective.seen) - (1e-15 if kept else 1e-3)
    more = maximise(objective, torch.tensor([0]), replace(plan, steps=30), seed=0, memory=2**20)
    assert float(more.value) >= float(found.value)


@every_plan
@pytest.mark.parametrize("memory", [8, 2**20])
def test_progress_moves_forward_to_the_total(plan: Plan, memory: int):
    recorder = Recorder()
    maximise(quadratics(3), torch.arange(3), plan, seed=0, memory=memory, progress=recorder)
    done = [call[1] for call in recorder.calls]
    assert done == sorted(done) and done[0] > 0
    assert {call[0] for call in recorder.calls} == {"searching"}
    assert {call[2] for call in recorder.calls} == {3 * plan.evaluations} == {done[-1]}
    best = [float(call[3].removeprefix("best ")) for call in recorder.calls]
    assert best == sorted(best)


def test_points_that_have_stalled_are_not_evaluated_again():
    """From the maximum itself nothing improves: the budget of steps is not spent."""
    objective = Quadratics([torch.diag(torch.tensor([3.0, 1.0], dtype=F64))], [1.0])
    top = torch.tensor([[1.0, 0.0]], dtype=F64)

    def starts(
        _: Objective, problems: Sequence[int], count: int, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        return top.expand(len(problems), count, -1)

    plan = Plan(starts=2, explore=0, keep=2, steps=1000, rounds=0, scatter=False)
    found = maximise(objective, torch.tensor([0]), plan, seed=0, memory=2**20, starts=starts)
    assert found.settled.all() and sum(objective.evaluated) < 50
    assert torch.equal(found.x, top)


def test_a_spent_budget_is_said():
    plan = Plan(starts=2, explore=0, keep=1, steps=2, rounds=0, scatter=False)
    found = maximise(quadratics(2), torch.arange(2), plan, seed=0, memory=2**20)
    assert not found.converged and not found.settled.any()


def test_a_solved_problem_ends_its_search():
    objective = quadratics(1)
    objective.enough = 0.5 * objective.maximum(0)
    plan = replace(PLANS["lbfgs"], steps=500)
    found = maximise(objective, torch.tensor([0]), plan, seed=0, memory=2**20)
    spent = sum(objective.evaluated)
    assert found.settled.all() and float(found.value) > objective.enough
    full = quadratics(1)
    maximise(full, torch.tensor([0]), plan, seed=0, memory=2**20)
    assert spent < sum(full.evaluated)


def test_a_tolerance_ends_searches_below_zero_too():
    """Losses are maximised as negative numbers: a share of them is one of their size."""

    class Below(Quadratics):
        def value_and_gradient(self, which, x):
            value, gradient = super().value_and_gradient(which, x)
            return value - 100, gradient

    spent = []
    for tolerance in (0, 1e-3):
        objective = Below([random_symmetric(P, 0)], [1.0])
        plan = replace(PLANS["lbfgs"], explore=0, keep=6, steps=500, tolerance=tolerance)
        found = maximise(objective, torch.tensor([0]), plan, seed=0, memory=2**20)
        assert found.settled.all()
        assert float(found.value) + 100 == pytest.approx(objective.maximum(0), rel=1e-3)
        spent.append(sum(objective.evaluated))
    assert spent[1] < spent[0]


def test_what_evaluations_leave_behind_is_budgeted():
    plan = replace(PLANS["conjugate"], starts=1, keep=1)
    found = maximise(
        quadratics(1, bytes_retained_per_eval=100), torch.tensor([0]), plan, seed=0, memory=100 * 11
    )
    unlimited = maximise(
        quadratics(1), torch.tensor([0]), replace(plan, steps=10), seed=0, memory=2**20
    )
    assert torch.equal(found.x, unlimited.x), "eleven evaluations are ten steps"
    with pytest.raises(MemoryBudgetError, match="name fewer positions"):
        maximise(
            quadratics(1, bytes_retained_per_eval=100), torch.tensor([0]), plan, seed=0, memory=250
        )


def test_an_unknown_solver_is_refused():
    with pytest.raises(InputError, match=r"solver .* among ascent, conjugate, lbfgs"):
        Plan(solver="magic")


def test_many_problems_are_ranked_and_the_largest_searched_in_full():
    objective = quadratics(11)
    recorder = Recorder()
    ranked = maximise_ranked(
        objective, torch.arange(11), PLAN, seed=0, memory=2**20, progress=recorder
    )
    light = maximise(quadratics(11), torch.arange(11), PLAN.lighter(), seed=0, memory=2**20)
    top = light.value.topk(4).indices
    full = maximise(quadratics(11), top, PLAN, seed=0, memory=2**20)
    expected = light.value.clone()
    expected[top] = torch.where(exceeds(full.value, expected[top]), full.value, expected[top])
    assert torch.equal(ranked.value, expected)
    torch.testing.assert_close(objective.value(ranked.which, ranked.x), ranked.value)
    done = [call[1] for call in recorder.calls]
    assert done == sorted(done) and done[-1] == recorder.calls[-1][2]
    few = maximise_ranked(quadratics(3), torch.arange(3), PLAN, seed=0, memory=2**20)
    same = maximise(quadratics(3), torch.arange(3), PLAN, seed=0, memory=2**20)
    assert torch.equal(few.x, same.x)


@pytest.mark.parametrize(
    "field", ["groups", "starts", "explore", "keep", "steps", "rounds", "children", "tolerance"]
)
@pytest.mark.parametrize("value", [-1, float("nan")])
def test_bad_plans_are_refused(field: str, value: Any):
    with pytest.raises(InputError, match=f"{field}"):
        Plan(**{field: value})


def test_plans_are_scaled_and_made_lighter():
    plan = Plan(starts=10, steps=40)
    assert plan.scaled(0.5) == replace(plan, steps=20)
    assert plan.scaled(0.01) == replace(plan, steps=1)
    assert plan.scaled(4) == replace(plan, groups=4)
    assert plan.scaled(4).lighter() == plan.lighter()
    assert plan.lighter().evaluations < plan.evaluations / 2
    assert Plan(solver="conjugate", steps=32).lighter().steps == 2


@every_plan
def test_a_plan_says_how_many_points_are_evaluated(plan: Plan):
    """Counted: no more than the plan says (three values per step of conjugate gradients)."""
    objective = quadratics(1)
    maximise(objective, torch.tensor([0]), replace(plan, scatter=False), seed=0, memory=2**20)
    most = plan.evaluations * (3 if plan.solver == "conjugate" else 1)
    power_steps = 3
    assert sum(objective.evaluated) <= most + power_steps


def test_starts_of_ones_own_are_taken():
    seen: list[tuple[int, int]] = []

    def starts(
        _: Objective, problems: Sequence[int], count: int, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        seen.extend((problem, count) for problem in problems)
        return sphere_points(count, P, 0.5).expand(len(problems), -1, -1)

    maximise(quadratics(3), torch.tensor([2, 1]), PLAN, seed=0, memory=2**20, starts=starts)
    assert seen == [(2, 6), (1, 6)]


class ExploredElsewhere(Quadratics):
    """Quadratics that are explored with others: every start ends away from the maximum."""

    def smoothed(self, width: float) -> Objective:
        others = [random_symmetric(P, 10 + i) for i in range(len(self.H))]
        return Quadratics(others, self.reach.tolist())


@pytest.mark.parametrize("plan", [PLAN, PLANS["one phase"]], ids=["generations", "one phase"])
def test_what_was_explored_with_another_function_is_refined_with_the_objective(plan: Plan):
    plan = replace(plan, widths=(2.0, 1.0))
    rough = ExploredElsewhere([random_symmetric(P, i) for i in range(2)], [1.0, 1.5])
    found = maximise(rough, torch.arange(2), replace(plan, steps=400), seed=0, memory=2**20)
    torch.testing.assert_close(rough.value(found.which, found.x), found.value)
    for i in range(2):
        assert float(found.value[i]) == pytest.approx(rough.maximum(i), rel=1e-2)
    none = maximise(rough, torch.arange(2), replace(plan, steps=0), seed=0, memory=2**20)
    torch.testing.assert_close(rough.value(none.which, none.x), none.value)
    assert (none.value < 0.9 * found.value).all()  # the places are the other function's


class Peaks(Objective):
    """max_k h_k − ‖x − c_k‖² over ‖x‖ ≤ 1 in the plane; every start climbs the nearest peak."""

    dimension, dtype, device = 2, F64, torch.device("cpu")

    def __init__(self, heights: Sequence[float]) -> None:
        angle = torch.arange(len(heights), dtype=F64) * 2 * math.pi / len(heights)
        self.centres = 0.8 * torch.stack([angle.cos(), angle.sin()], 1)
        self.heights = torch.tensor(heights, dtype=F64)

    def radius(self, which: torch.Tensor) -> torch.Tensor:
        return torch.ones(len(which), dtype=F64)

    def value_and_gradient(
        self, which: torch.Tensor, x: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        away = x[:, None] - self.centres
        value, peak = (self.heights - (away * away).sum(-1)).max(1)
        return value, -2 * away[torch.arange(len(x)), peak]


ONE_START = Plan("lbfgs", starts=1, explore=0, keep=1, steps=60, rounds=0, scatter=False)


@pytest.mark.parametrize("seed", range(6))
def test_more_groups_never_find_less_and_agree_only_where_they_found_the_same(seed: int):
    """Five peaks, one start per group: half of the groups must have found the best peak."""
    objective, one = Peaks([1.0, 1.2, 0.9, 1.1, 1.05]), torch.tensor([0])
    begun: list[torch.Tensor] = []

    def starts(
        _: Objective, problems: Sequence[int], count: int, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        begun.append(unit(torch.randn(1, count, 2, dtype=F64, generator=noise[0])))
        return 0.9 * begun[-1]

    def search(groups: int, starts: Starts) -> Found:
        plan = replace(ONE_START, groups=groups)
        return maximise(objective, one, plan, seed=seed, memory=2**20, starts=starts)

    found = {groups: search(groups, starts) for groups in (8, 1, 2, 3, 5)}
    alone = [float(search(1, lambda *_, x=x: 0.9 * x).value) for x in begun[:8]]
    for groups, one_search in found.items():
        best = max(alone[:groups])
        assert float(one_search.value) == best
        same = sum(value > 0.998 * best for value in alone[:groups])
        assert bool(one_search.agreed) == (same >= max(2, min(3, groups)) and 2 * same >= groups)
        assert one_search.converged == bool(one_search.agreed & one_search.settled)


def test_groups_start_from_noise_of_their_own():
    seen: list[torch.Tensor] = []

    def starts(
        _: Objective, problems: Sequence[int], count: int, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        seen.append(torch.randn(4, generator=noise[0]))
        return torch.zeros(len(problems), count, P, dtype=F64)

    maximise(
        quadratics(1),
        torch.tensor([0]),
        replace(ONE_START, groups=3),
        seed=0,
        memory=2**20,
        starts=starts,
    )
    assert len({tuple(part.tolist()) for part in seen}) == 3


def test_memory_for_what_stays_behind_limits_groups_before_the_steps_of_one():
    plan = replace(PLANS["conjugate"], starts=1, keep=1, steps=10, groups=8)
    objective = quadratics(1, bytes_retained_per_eval=100)
    assert affordable(plan, objective, 1, 100 * 11 * 3) == replace(plan, groups=3)
    assert affordable(plan, objective, 1, 100 * 6) == replace(plan, groups=1, steps=5)


def test_finalists_get_the_whole_plan_and_the_others_the_ranking() -> None:
    count = 12
    plan = Plan("conjugate", starts=2, explore=0, keep=2, steps=9, rounds=0, scatter=False)
    light = plan.lighter()
    assert light.steps == 1
    ranked, whole, short = (quadratics(count) for _ in range(3))
    found = maximise_ranked(ranked, torch.arange(count), plan, seed=3, memory=2**24)
    full = maximise(whole, torch.arange(count), plan, seed=3, memory=2**24)
    first = maximise(short, torch.arange(count), light, seed=3, memory=2**24)
    top = first.value.topk(4).indices
    torch.testing.assert_close(found.x[top], full.x[top], rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(found.value[top], full.value[top], rtol=1e-9, atol=0)
    others = torch.ones(count, dtype=torch.bool)
    others[top] = False
    assert torch.equal(found.value[others], first.value[others])
    assert sum(ranked.evaluated) < 0.6 * sum(whole.evaluated)


def test_a_ranking_by_the_first_group_is_not_repeated() -> None:
    """Finalists, chosen by the first group, get all groups, the others one for each batch."""
    plan = replace(PLAN, groups=4, abreast=2)
    one = replace(plan, groups=1, abreast=1)
    assert plan.lighter() == one and one.is_first_group_of(plan)
    objective, count, recorder = quadratics(11), torch.arange(11), Recorder()
    found = maximise_ranked(objective, count, plan, seed=0, memory=2**20, progress=recorder)
    first = maximise(quadratics(11), count, one, seed=0, memory=2**20)
    order = first.value.argsort(descending=True)
    groups = {2: order[4:], 4: order[:4]}
    for number, some in groups.items():
        longer = replace(plan, groups=number)
        alone = maximise(quadratics(11), some, longer, seed=0, memory=2**20)
        torch.testing.assert_close(found.value[some], alone.value, rtol=1e-6, atol=0)
    whole = quadratics(11)
    maximise(whole, count, plan, seed=0, memory=2**20)
    assert sum(objective.evaluated) < 0.75 * sum(whole.evaluated)
    done = [call[1] for call in recorder.calls]
    assert done == sorted(done) and done[-1] == recorder.calls[-1][2]


def test_how_many_problems_go_together_changes_nothing() -> None:
    count = 5
    plan = Plan("conjugate", starts=2, explore=0, keep=2, steps=9, rounds=0, scatter=False)
    few = quadratics(count)
    few.max_batch = 4
    found = [
        maximise(one, torch.arange(count), plan, seed=3, memory=2**24)
        for one in (few, quadratics(count))
    ]
    assert max(few.evaluated) == 4
    torch.testing.assert_close(found[0].x, found[1].x, rtol=1e-9, atol=1e-9)
