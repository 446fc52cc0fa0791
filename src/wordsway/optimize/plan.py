"""How hard to search: groups of starts, steps, generations."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated

from wordsway.core.checks import Count, Natural, NonNegative, OneOf, check_fields

#: Steps that points take between generations.
HALFWAY = 8
#: Names of the solvers; `wordsway.optimize.driver` has their classes.
SOLVERS = ("ascent", "conjugate", "lbfgs")


@dataclass(frozen=True)
class Plan:
    """The effort spent on the maximum of one problem, such as the worst Δ of one row.

    Each of ``groups`` independent searches is the following. ``starts`` points take ``explore``
    steps, and the best ``keep`` continue; then ``rounds`` times ``children`` are bred between the
    best ones and climb in turn; the best of all are refined for at most ``steps``. The problem's
    maximum is the best of the groups, and has converged where they agree.

    ``solver`` is "ascent" where an evaluation is cheap, "conjugate" where every new direction is
    costly, "lbfgs" where the function is smooth. A point that gains less than ``tolerance`` of its
    value over a few steps has stalled; at 0 the solver alone decides. ``scatter`` adds random
    samples in low dimensions. ``widths`` are those over which kinks are rounded, the largest first:
    the first function is explored, half of the points after a quarter of the steps and a quarter
    after half of them, and bred with; the maxima are then followed through the others, ``explore``
    steps each, the better half from each to the next, to the function itself. ``abreast`` groups
    share each batch: small steps cost mostly their overhead.

    >>> plan = Plan(groups=2, steps=40)
    >>> [(e, plan.scaled(e).groups, plan.scaled(e).steps) for e in (0.25, 0.5, 1, 4)]
    [(0.25, 1, 20), (0.5, 1, 40), (1, 2, 40), (4, 8, 40)]
    >>> plan = Plan(groups=2, abreast=2, steps=40)
    >>> [(e, plan.scaled(e).groups, plan.scaled(e).steps) for e in (0.25, 0.5, 1, 4)]
    [(0.25, 2, 10), (0.5, 2, 20), (1, 2, 40), (4, 8, 40)]
    """

    solver: Annotated[str, OneOf(SOLVERS)] = "ascent"
    starts: Count = 32
    explore: Natural = 8
    keep: Count = 12
    steps: Natural = 60
    rounds: Natural = 2
    children: Count = 32
    tolerance: NonNegative = 1e-5
    scatter: bool = True
    groups: Count = 1
    abreast: Count = 1
    widths: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)

    def scaled(self, effort: float) -> Plan:
        """The plan with ``effort`` times the groups; less than one batch of them takes fewer steps.

        The groups of a smaller effort are the first ones of a larger effort, and fewer steps are
        the first ones of more: the larger effort repeats what the smaller one does, then adds.
        """
        batches = self.groups * effort / self.abreast
        groups = max(1, round(batches)) * self.abreast
        return replace(self, groups=groups, steps=max(1, round(self.steps * min(1.0, batches))))

    def lighter(self) -> Plan:
        """Enough to rank problems. Where groups share a batch because an evaluation is cheap, it is
        the first of them; functions with kinks, and costly ones, are ranked by a group with a third
        of the starts and one generation. Conjugate steps, whose first one is nearly a power step,
        rank as well with a sixteenth of them (random features of 90×192 and 150×384, six draws
        each: the largest S is the same to 0.2 %).
        """
        if self.solver == "conjugate":
            return replace(self, groups=1, steps=max(1, self.steps // 16))
        if self.abreast > 1 and not self.widths:
            return replace(self, groups=1, abreast=1)
        return replace(
            self,
            groups=1,
            abreast=1,
            starts=max(4, self.starts * 3 // 8),
            keep=max(2, self.keep // 4),
            rounds=min(1, self.rounds),
            children=max(2, self.children // 4),
            steps=self.steps // 2,
            tolerance=1e-4,
        )

    def shortest(self) -> Plan:
        """Enough to choose the problems among which the largest is. Of random softmax attention,
        n = 10 … 250, d = 192 … 768, the first 6 had the largest S of the first 24 in 15 draws, and
        of all rows in 12 others. Of ReLU, the first 10 are enough (docs/notes/search.md).
        """
        short = replace(self, groups=1, abreast=1, rounds=0, keep=2, steps=8, tolerance=1e-4)
        if self.widths:
            return replace(short, starts=9, explore=8, keep=1, widths=self.widths[:3:2])
        return replace(short, starts=8, explore=6)

    def shorter(self) -> Plan:
        """Enough to choose the largest of a few problems with kinks: one group of starts, followed
        through every other width in fewer steps (docs/notes/search.md).
        """
        return replace(
            self,
            groups=1,
            abreast=1,
            explore=min(self.explore, 12),
            steps=self.steps // 2,
            tolerance=1e-4,
            widths=self.widths[::2],
        )

    def is_first_group_of(self, other: Plan) -> bool:
        """Whether this is all that the other plan's first group does."""
        return replace(self, groups=other.groups, abreast=other.abreast) == other

    @property
    def refined(self) -> int:
        """Points of a problem that are refined to the end."""
        return max(1, self.keep // 2) if self.rounds else self.keep

    @property
    def phases(self) -> list[tuple[int, int]]:
        """(points of a problem, steps at most) of each phase of a group's search, in order.

        >>> Plan(starts=9, explore=2, keep=4, steps=30, rounds=0).phases
        [(9, 2), (4, 30)]
        """
        phases = self.explored(self.starts)
        if self.rounds:
            phases.append((min(self.keep, self.starts), HALFWAY))
            generation = self.explored(self.children)
            generation.append((min(self.keep, self.children), HALFWAY))
            phases += self.generations * generation
        refined = min(self.refined, self.starts + self.children)
        phases += [(min(refined, points), self.explore) for points in self.followed]
        if self.widths:
            refined = min([refined, *self.followed]) + self.direct
        return [*phases, (refined, self.steps)]

    def explored(self, points: int) -> list[tuple[int, int]]:
        """(points of a problem, steps) while ``points`` are explored.

        >>> Plan(explore=20, keep=5).explored(24)
        [(24, 20)]
        >>> Plan(explore=20, keep=5, widths=(1.0,)).explored(24)
        [(24, 5), (12, 5), (6, 10)]
        """
        if not self.widths:
            return [(points, self.explore)]
        part, least = self.explore // 4, min(self.keep, points)
        half, quarter = (max(least, math.ceil(points / by)) for by in (2, 4))
        return [(points, part), (half, part), (quarter, self.explore - 2 * part)]

    @property
    def direct(self) -> int:
        """Starts of a problem that climb the function itself, where its kinks are rounded."""
        return (self.keep + 1) // 2

    @property
    def followed(self) -> list[int]:
        """Points of a problem that are followed through each width but the first.

        >>> Plan(rounds=0, keep=5, widths=(1.0, 0.3, 0.1, 0.03)).followed
        [5, 3, 2]
        """
        points, followed = self.refined, []
        for _ in self.widths[1:]:
            followed.append(points)
            points = (points + 1) // 2
        return followed

    @property
    def generations(self) -> int:
        """The number of rounds of breeding, which needs two parents."""
        return self.rounds if self.keep > 1 else 0

    @property
    def evaluations(self) -> int:
        """Points of one problem that are evaluated, if none ever stalls."""
        return self.groups * sum(points * (steps + 1) for points, steps in self.phases)
