"""Starts: as many as asked for, inside the ball, the same for the same noise, some of them good."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from quadratics import F64, Quadratics, random_symmetric, sphere_points
from wordsway.optimize import starts as sampling
from wordsway.optimize.starts import children, default_starts

P = 5


def noise(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


class Suggesting(Quadratics):
    """Suggests points far outside the ball, more or fewer than asked for."""

    ideas = 2

    def suggest(
        self, problems: Sequence[int], count: int, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        self.asked = count
        ideas = 100 * sphere_points(min(self.ideas, count), P, 1.0, seed=9)
        return ideas.expand(len(problems), -1, -1)


def objective() -> Suggesting:
    return Suggesting([random_symmetric(P, 0), random_symmetric(P, 1)], [0.5, 2.0])


@pytest.mark.parametrize("count", [1, 2, 3, 8, 33])
@pytest.mark.parametrize("problem", [0, 1])
def test_starts_are_counted_inside_and_repeatable(count: int, problem: int):
    radius = (0.5, 2.0)[problem]
    (points,) = default_starts(objective(), [problem], count, [noise()])
    assert points.shape == (count, P)
    assert (points.norm(dim=1) <= radius * (1 + 1e-12)).all()
    assert torch.equal(points, default_starts(objective(), [problem], count, [noise()])[0])
    assert not torch.equal(points, default_starts(objective(), [problem], count, [noise(1)])[0])
    both = default_starts(objective(), [1 - problem, problem], count, [noise(2), noise()])
    torch.testing.assert_close(both[1], points)  # other problems do not matter


def test_suggestions_are_taken_and_shortened():
    chosen = objective()
    (points,) = default_starts(chosen, [1], 12, [noise()])
    assert chosen.asked == 12 - 3 - 1, "a quarter stays random, one is the top direction"
    torch.testing.assert_close(points[1:3], 2.0 * sphere_points(2, P, 1.0, seed=9))


def test_one_start_is_near_the_top_eigenvector():
    """Three power steps from a random direction: closer to the top than that direction was."""
    H = torch.diag(torch.tensor([9.0, 2.0, 1.0, 1.0, 1.0], dtype=F64))
    (points,) = default_starts(Quadratics([H], [1.0]), [0], 6, [noise()])
    cosine = points[:, 0].abs() / points.norm(dim=1)
    assert float(cosine[0]) > 0.98 and float(cosine[0]) > float(cosine[-1])


def test_children_lie_between_their_parents_and_are_as_long_as_the_longer():
    parents = torch.tensor([[1.0, 0.0], [0.0, 0.5]], dtype=F64)
    young = children(parents, 40, 2.0, noise())
    assert young.shape == (40, 2)
    assert (young >= 0).all()
    torch.testing.assert_close(young.norm(dim=1), torch.ones(40, dtype=F64))
    assert torch.equal(young, children(parents, 40, 2.0, noise()))
    short = children(parents, 40, 0.7, noise())
    assert (short.norm(dim=1) <= 0.7 * (1 + 1e-12)).all()
    alone = children(parents[:1], 3, 2.0, noise())
    torch.testing.assert_close(alone, parents[:1].expand(3, -1))


def test_samples_in_low_dimensions():
    chosen = objective()
    assert sampling.worthwhile(chosen)
    samples = sampling.random_search(chosen, 0, 7, noise())
    assert samples.shape == (7, P) and (samples.norm(dim=1) <= 0.5 * (1 + 1e-12)).all()
    which = torch.zeros(7, dtype=torch.long)
    value = chosen.value(which, samples)
    assert float(value.min()) > 0.3 * chosen.maximum(0), "the best of many are good"
    chosen.bytes_retained_per_eval = 1
    assert not sampling.worthwhile(chosen)
    wide = Quadratics([torch.eye(sampling.DIMENSIONS + 1, dtype=F64)], [1.0])
    assert not sampling.worthwhile(wide)


def test_samples_are_taken_around_a_landmark():
    """A spike too narrow for chance: f = −‖x − c‖ has its maximum at the landmark c alone."""

    class Spike(Quadratics):
        def landmark(self, problem: int) -> torch.Tensor:
            return self.centre[problem]

    c = sphere_points(1, P, 0.3, seed=4)[0]
    H = -torch.eye(P, dtype=F64)
    with_landmark = sampling.random_search(Spike([H], [1.0], [c]), 0, 1, noise())
    without = sampling.random_search(Quadratics([H], [1.0], [c]), 0, 1, noise())
    assert float((with_landmark - c).norm()) < 1e-3 < float((without - c).norm())


def test_sliding_never_falls_and_stays_inside():
    chosen = objective()
    problems = torch.tensor([0, 1])
    x = torch.stack([sphere_points(1, P, 0.5)[0], sphere_points(1, P, 2.0)[0]])
    value = chosen.value(problems, x)
    better_x, better = sampling.local_random_search(
        chosen, problems, x, value, [noise(0), noise(1)]
    )
    assert (better > value).all()
    assert (better_x.norm(dim=1) <= chosen.reach * (1 + 1e-12)).all()
    torch.testing.assert_close(chosen.value(problems, better_x), better)
