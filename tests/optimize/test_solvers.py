"""Each solver on functions whose maximum in the ball is known."""

from __future__ import annotations

import math

import pytest
import torch

from quadratics import F64, Quadratics, random_symmetric, sphere_points
from wordsway.core.vectors import into_ball
from wordsway.optimize.ascent import Ascent
from wordsway.optimize.conjugate import Conjugate
from wordsway.optimize.lbfgs import LBFGS, lift, lower, pull_back
from wordsway.optimize.objective import Objective
from wordsway.optimize.solver import AnySolver

SOLVERS = [Ascent(), Conjugate(), LBFGS()]
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda one: type(one).__name__)


def run(solver: AnySolver, objective: Objective, which: torch.Tensor, x: torch.Tensor, steps: int):
    state = solver.init(objective, which, x)
    for _ in range(steps):
        state = solver.step(objective, state)
    return state


@every_solver
def test_a_last_step_arrives_where_a_step_does(solver: AnySolver):
    objective = Quadratics([random_symmetric(7, 0)], [1.0])
    which = torch.tensor([0, 0])
    before = run(solver, objective, which, sphere_points(2, 7, 0.9, seed=0), 2)
    last, state = solver.last_step(objective, before), solver.step(objective, before)
    torch.testing.assert_close(last.x, state.x)
    torch.testing.assert_close(last.value, state.value)


@every_solver
def test_quadratics_reach_their_largest_eigenvalue(solver: AnySolver):
    """½xᵀHx on balls of two radii, two matrices at once: ½λ_max r², at an eigenvector."""
    p = 12
    objective = Quadratics([random_symmetric(p, 0), random_symmetric(p, 1)], [1.0, 3.0])
    which = torch.tensor([0, 0, 1, 1])
    x = torch.cat([sphere_points(2, p, 0.9, seed=0), sphere_points(2, p, 2.9, seed=1)])
    state = run(solver, objective, which, x, 300)
    truth = torch.tensor([objective.maximum(int(i)) for i in which], dtype=F64)
    torch.testing.assert_close(state.value, truth, rtol=1e-5, atol=0)
    for i, best in zip(which.tolist(), state.x, strict=True):
        H = objective.H[i]
        top = torch.linalg.eigvalsh(H)[-1]
        assert float((H @ best - top * best).norm()) < 1e-2 * float(top) * float(best.norm())


@every_solver
def test_points_stay_in_the_ball_never_fall_and_know_their_value(solver: AnySolver):
    p = 8
    objective = Quadratics([random_symmetric(p, 2)], [2.0])
    which = torch.zeros(6, dtype=torch.long)
    state = solver.init(objective, which, sphere_points(6, p, 1.5))
    for _ in range(60):
        after = solver.step(objective, state)
        assert (after.value >= state.value).all()
        assert (after.x.norm(dim=1) <= 2.0 * (1 + 1e-12)).all()
        torch.testing.assert_close(
            after.value, objective.value(which, after.x), rtol=1e-12, atol=1e-12
        )
        state = after


@pytest.mark.parametrize("solver", [Ascent(), LBFGS()], ids=lambda one: type(one).__name__)
def test_a_maximum_inside_the_ball_is_found(solver: AnySolver):
    """−½(x − c)ᵀH(x − c) with ‖c‖ = 0.6: the maximum is 0, at c."""
    p = 6
    spread = torch.linspace(1, 20, p, dtype=F64)
    c = sphere_points(1, p, 0.6, seed=3)[0]
    objective = Quadratics([-torch.diag(spread)], [1.0], [c])
    state = run(solver, objective, torch.zeros(4, dtype=torch.long), sphere_points(4, p, 0.9), 200)
    assert float(state.value.min()) > -1e-7
    assert float((state.x - c).norm(dim=1).max()) < 1e-3


@every_solver
def test_stalls_are_reported_and_only_at_the_end(solver: AnySolver):
    """Nothing stalls at the start; at a maximum every point does, and stays where it is."""
    p = 10
    objective = Quadratics([random_symmetric(p, 4)], [1.0])
    which = torch.zeros(5, dtype=torch.long)
    state = solver.init(objective, which, sphere_points(5, p, 0.9))
    assert not solver.stalled(state).any()
    for _ in range(1500):
        state = solver.step(objective, state)
        if solver.stalled(state).all():
            break
    assert solver.stalled(state).all()
    assert float(state.value.max()) == pytest.approx(objective.maximum(0), rel=1e-4)
    after = solver.step(objective, state)
    torch.testing.assert_close(after.value, state.value, rtol=1e-9, atol=0)


@every_solver
def test_a_function_without_slope_stalls(solver: AnySolver):
    objective = Quadratics([torch.zeros(4, 4, dtype=F64)], [1.0])
    x = sphere_points(3, 4, 0.5)
    state = run(solver, objective, torch.zeros(3, dtype=torch.long), x, 40)
    assert solver.stalled(state).all()
    assert torch.equal(state.value, torch.zeros(3, dtype=F64)) and torch.isfinite(state.x).all()


@every_solver
def test_points_do_not_see_each_other(solver: AnySolver):
    """Alone or beside others, a point takes the same steps to the last bit."""
    p = 7
    objective = Quadratics([random_symmetric(p, 5), random_symmetric(p, 6)], [1.0, 2.0])
    which = torch.tensor([0, 1, 0, 1, 1])
    x = sphere_points(5, p, 0.8)
    together = run(solver, objective, which, x, 25)
    for k in range(5):
        alone = run(solver, objective, which[k : k + 1], x[k : k + 1], 25)
        assert torch.equal(alone.value, together.value[k : k + 1])
        assert torch.equal(alone.x, together.x[k : k + 1])


@every_solver
def test_states_are_taken_apart_and_put_together(solver: AnySolver):
    p = 5
    objective = Quadratics([random_symmetric(p, 7), random_symmetric(p, 8)], [1.0, 1.0])
    which = torch.tensor([0, 0, 0, 1, 1, 1])
    state = run(solver, objective, which, sphere_points(6, p, 0.9), 3)
    index = torch.tensor([4, 1])
    part = state.select(index)
    assert torch.equal(part.x, state.x[index]) and torch.equal(part.which, which[index])
    moved = solver.step(objective, part)
    back = state.put(index, moved)
    assert torch.equal(back.x[index], moved.x) and torch.equal(
        back.x[[0, 2, 3, 5]], state.x[[0, 2, 3, 5]]
    )
    best = state.best(2, 2)
    assert best.which.tolist() == [0, 0, 1, 1]
    for i in (0, 1):
        own = state.value[which == i].sort(descending=True).values
        assert torch.equal(best.value[best.which == i], own[:2])


@pytest.mark.parametrize("reach", [0.3, 3.0])
def test_lbfgs_solves_a_badly_conditioned_quadratic_in_the_ball(reach: float):
    """−½(x − c)ᵀH(x − c) over ‖x‖ ≤ 1, condition 10⁴, its maximum inside (‖c‖ = 0.3) and on the
    boundary (3); truth by bisection on the multiplier μ of (H + μ)x = Hc.
    """
    noise = torch.Generator().manual_seed(1)
    p = 30
    basis = torch.linalg.qr(torch.randn(p, p, dtype=F64, generator=noise))[0]
    h = torch.logspace(-2, 2, p, dtype=F64)
    c = torch.nn.functional.normalize(torch.randn(p, dtype=F64, generator=noise), dim=0) * reach
    turned = basis.T @ c
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        outside = float((h * turned / (h + middle)).norm()) > 1
        low, high = (middle, high) if outside else (low, middle)
    truth = h * turned / (h + (high if reach > 1 else 0.0))
    best = -float(0.5 * (h * (truth - turned) ** 2).sum())
    objective = Quadratics([-(basis * h) @ basis.T], [1.0], [c])
    x = sphere_points(5, p, 0.5)
    which = torch.zeros(5, dtype=torch.long)
    first = objective.value(which, x)
    state = run(LBFGS(), objective, which, x, 150)
    assert float(state.x.norm(dim=1).max()) <= 1 + 1e-12
    allowed = best * (1 + 1e-4) - 1e-4
    assert allowed > best + 0.01 * float(first.max()), "what is allowed is little of the way"
    assert float(state.value.min()) >= allowed


def test_the_ball_is_the_shadow_of_all_w():
    noise = torch.Generator().manual_seed(2)
    delta = into_ball(torch.randn(20, 3, dtype=F64, generator=noise), 0.99)
    torch.testing.assert_close(lower(lift(delta)), delta)
    w = torch.randn(20, 3, dtype=F64, generator=noise).requires_grad_(True)
    (slow,) = torch.autograd.grad((lower(w) ** 3).sum(), w)
    fast = pull_back(w.detach(), 3 * lower(w.detach()) ** 2)
    torch.testing.assert_close(fast, slow)
    assert float(lower(10 * w.detach()).norm(dim=1).max()) <= 1 + 1e-15
    assert math.isclose(float(lower(torch.tensor([[0.6, 0.8]], dtype=F64)).norm()), 1.0)
