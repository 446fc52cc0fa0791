"""How hard to search: starts, steps, generations."""

from __future__ import annotations

from dataclasses import dataclass, replace

from wordsway.errors import InputError

#: Between generations, points go on for this many steps.
HALFWAY = 8
#: The least that each field of a plan may be.
_LEAST = {
    "starts": 1,
    "explore": 0,
    "keep": 1,
    "steps": 0,
    "rounds": 0,
    "children": 1,
    "tolerance": 0,
}


@dataclass(frozen=True)
class Plan:
    """How hard to look for the maximum of one problem (the worst Δ of one row, say).

    ``starts`` points take ``explore`` steps, the best ``keep`` go on; then ``rounds`` times
    ``children`` are bred between the best ones and climb in their turn; the best of all are refined
    for at most ``steps``. ``solver`` is "ascent" where an evaluation is cheap, "conjugate" where
    every new direction has its price, "lbfgs" where the function is smooth. A point that gains less
    than ``tolerance`` of its value over a few steps has stalled; at 0 the solver alone says so.
    ``scatter`` adds random samples in low dimensions.

    >>> Plan(starts=12, steps=40).scaled(0.5)
    Plan(solver='ascent', starts=6, explore=8, keep=12, steps=20, rounds=2, children=32, \
tolerance=1e-05, scatter=True)
    """

    solver: str = "ascent"
    starts: int = 32
    explore: int = 8
    keep: int = 12
    steps: int = 60
    rounds: int = 2
    children: int = 32
    tolerance: float = 1e-5
    scatter: bool = True

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if not value >= least:
                raise InputError(f"a plan with {name} ≥ {least}", value, "leave it at its default")

    def scaled(self, effort: float) -> Plan:
        """The plan with its starts and steps times ``effort``."""
        if not isinstance(effort, (int, float)) or not 0.01 <= effort <= 1000:
            raise InputError("an effort between 0.01 and 1000", effort, "1 is the map's own plan")
        return replace(
            self,
            starts=max(1, round(self.starts * effort)),
            steps=max(1, round(self.steps * effort)),
        )

    def lighter(self) -> Plan:
        """Enough to rank problems: a third of the starts and one generation. Conjugate steps, whose
        first one is nearly a power step, rank as well with a sixteenth of them (random features of
        90×192 and 150×384, six draws each: the largest S is the same to 0.2 %).
        """
        if self.solver == "conjugate":
            return replace(self, steps=max(1, self.steps // 16))
        return replace(
            self,
            starts=max(4, self.starts * 3 // 8),
            keep=max(2, self.keep // 4),
            rounds=min(1, self.rounds),
            children=max(2, self.children // 4),
            steps=self.steps // 2,
            tolerance=1e-4,
        )

    def begins(self, other: Plan) -> bool:
        """Whether the other plan does the same, and then takes more steps."""
        return self.steps < other.steps and replace(self, steps=other.steps) == other

    @property
    def refined(self) -> int:
        """Points of a problem that are refined to the end."""
        return max(1, self.keep // 2) if self.rounds else self.keep

    @property
    def phases(self) -> list[tuple[int, int]]:
        """(points of a problem, steps at most) of each phase of a search, in order.

        >>> Plan(starts=9, explore=2, keep=4, steps=30, rounds=0).phases
        [(9, 2), (4, 30)]
        """
        phases = [(self.starts, self.explore)]
        if self.rounds:
            phases.append((min(self.keep, self.starts), HALFWAY))
            generation = [(self.children, self.explore), (min(self.keep, self.children), HALFWAY)]
            phases += self.generations * generation
        return [*phases, (min(self.refined, self.starts + self.children), self.steps)]

    @property
    def generations(self) -> int:
        """How often children are bred: it takes two to."""
        return self.rounds if self.keep > 1 else 0

    @property
    def evaluations(self) -> int:
        """Points of one problem that are evaluated, if none ever stalls."""
        return sum(points * (steps + 1) for points, steps in self.phases)

    @property
    def steps_at_most(self) -> int:
        """Steps of one batch of problems, if no point ever stalls."""
        return sum(steps for _, steps in self.phases)
