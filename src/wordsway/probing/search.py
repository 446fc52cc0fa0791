"""The worst Δ of words in a pretrained model: all of them side by side, in batches that fit the
memory.

For a word with rows I (one per token) the block Δ ∈ ℝ^{|I|×d} may have ‖Δ‖_F ≤ ρ·r_I,
r_I = ‖x_I‖_F/√|I|, and S(Δ) = ‖g(X + Δ_I) − g(X)‖/‖g(X)‖ for a target g. Points climb by L-BFGS in
the ball (`wordsway.optimize`). One plan per word, whatever the text's length or the other words.

S(ρ) is how far a word can move the target, from small moves to its own length. For small ρ the
worst Δ is the top right singular vector of the Jacobian, times ρ·r_I, up to its sign. Each branch
starts there (± the first and the second direction) and is followed as ρ grows: the point at one ρ,
made longer, is where the climb at the next one starts. At ρ = 1 and beyond fresh starts join, and
the best point of all continues alone. Every value is attained by a Δ of that length, and S is not
smaller at a larger ρ, so the curve never falls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import torch

from wordsway.core.progress import Progress, part_of, silent
from wordsway.core.seeds import generator
from wordsway.core.vectors import unit
from wordsway.optimize import Objective, Plan, maximise
from wordsway.optimize.driver import Starts
from wordsway.probing.local import Local
from wordsway.probing.moves import Blocks, check_differentiable

#: How a word is searched: starts, steps with all of them (``explore``), steps with the best.
PLAN = Plan(
    solver="lbfgs",
    starts=4,
    explore=8,
    keep=1,
    steps=22,
    rounds=0,
    children=1,
    tolerance=0,
    scatter=False,
)


def passes_of(plan: Plan) -> int:
    """Forward and backward passes per word."""
    return plan.starts * (1 + plan.explore) + plan.steps


def plan_of(effort: float) -> Plan:
    """The plan with ``effort`` times the default's passes.

    >>> [passes_of(plan_of(effort)) for effort in (0.02, 0.5, 1, 2)]
    [1, 29, 58, 116]
    """
    usual = passes_of(PLAN)
    passes = max(1, round(effort * usual))
    if passes >= usual:
        starts = min(16, PLAN.starts * passes // usual)
        return replace(PLAN, starts=starts, steps=passes - starts * (1 + PLAN.explore))
    if passes >= 20:
        return replace(PLAN, starts=2, explore=6, steps=passes - 14)
    return replace(PLAN, starts=1, explore=0, steps=passes - 1)


@final
class BlockChange(Objective):
    """S² as a function of unit blocks x ∈ ℝ^{m·d}, ‖x‖ ≤ 1, with Δ = ρ·r_I·x.

    Problem i is about block ``owners[i]``: several may be about one word.
    """

    def __init__(self, blocks: Blocks, owners: torch.Tensor) -> None:
        self.blocks = blocks
        self.owners = owners
        self.dimension = blocks.size
        self.dtype = blocks.mask.dtype
        self.device = blocks.mask.device
        self.bytes_per_point = blocks.text_bytes

    def radius(self, which: torch.Tensor) -> torch.Tensor:
        return torch.ones(len(which), dtype=torch.float64, device=self.device)

    def value_and_gradient(
        self, which: torch.Tensor, x: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        block = self.owners[which]
        with torch.enable_grad():
            x = x.detach().requires_grad_(True)
            moved = self.blocks.moved(block, self.blocks.inside(block, x))
            value = self.blocks.target.change2(moved)
            check_differentiable(value)
            (gradient,) = torch.autograd.grad(value.sum(), x)
        return value.detach(), gradient

    def describe(self, value: float) -> str:
        return f"best S {math.sqrt(max(0.0, value)):.4g}"


@dataclass(frozen=True)
class Climbed:
    """Points Δ (B, p) in their balls and the S² there."""

    delta: torch.Tensor
    value: torch.Tensor

    def best_of(self, groups: int) -> Climbed:
        """Of every ``groups`` consecutive points the best one."""
        best = self.value.view(-1, groups).argmax(1)
        rows = best + torch.arange(len(best), device=best.device) * groups
        return Climbed(self.delta[rows], self.value[rows])


def climb(
    blocks: Blocks,
    owners: torch.Tensor,
    delta: torch.Tensor,
    steps: int,
    progress: Progress = silent,
) -> Climbed:
    """``steps`` of L-BFGS from points Δ (B, p) of the blocks ``owners`` (B,)."""
    points = delta / blocks.radius[owners][:, None]
    return _maximised(
        BlockChange(blocks, owners),
        replace(PLAN, starts=1, explore=0, steps=steps),
        0,
        lambda objective, problems, count, noise: points[list(problems)][:, None],
        progress,
    )


def worst(
    blocks: Blocks,
    *,
    plan: Plan = PLAN,
    keep: int = 1,
    seed: int,
    progress: Progress = silent,
) -> Climbed:
    """The worst Δ found of every word; the best ``keep`` starts take the late steps."""
    owners = torch.arange(len(blocks), device=blocks.rows.device)
    return _maximised(
        BlockChange(blocks, owners),
        replace(plan, keep=min(keep, plan.starts)),
        seed,
        lambda objective, problems, count, noise: torch.stack(
            [_starts(blocks, seed, problem, count) for problem in problems]
        ),
        progress,
    )


def _maximised(
    objective: BlockChange, plan: Plan, seed: int, starts: Starts, progress: Progress
) -> Climbed:
    blocks = objective.blocks
    found = maximise(
        objective,
        torch.arange(len(objective.owners), device=objective.device),
        plan,
        seed=seed,
        memory=blocks.text_bytes * blocks.at_once,
        starts=starts,
        progress=progress,
    )
    delta = blocks.inside(objective.owners, found.x)
    return Climbed(delta, found.value.clamp_min(0))


def _starts(blocks: Blocks, seed: int, problem: int, count: int) -> torch.Tensor:
    """Unit blocks (count, m·d) of one word: Gaussian ones and, every second, the way to a random
    other word of the vocabulary. They depend on the word alone, not on the others of the search.
    """
    d = blocks.encoded.embeds.shape[1]
    word = blocks.words[problem]
    vocabulary = blocks.target.probe.layers.model.get_input_embeddings().weight
    starts = []
    for number in range(count):
        noise = generator(seed, "probe", word.index, number)
        block = torch.zeros(blocks.rows.shape[1], d)
        block[: len(word.rows)] = torch.randn(len(word.rows), d, generator=noise)
        if number % 2 and blocks.encoded.at == "words":
            other = int(torch.randint(len(vocabulary), (1,), generator=noise))
            block[0] = (vocabulary[other] - blocks.encoded.embeds[word.rows[0]]).cpu().float()
        starts.append(block.to(blocks.mask).flatten())
    return unit(torch.stack(starts))


#: Reaches of a curve, branches per word, and steps per branch and reach.
REACHES = (0.03, 0.06, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
BRANCHES, STEPS = 4, 6
#: Fresh starts at the last reach that climb on after their first steps, and the factor by which the
#: best point of all takes more steps than those: S(1) still grows by a tenth there.
KEPT, ON = 2, 2


@dataclass(frozen=True)
class CurvePoint:
    """The largest change attained up to a reach; ``spread``: by how much branches differ."""

    reach: float
    lower: float
    spread: float


@dataclass(frozen=True)
class WordCurve:
    """A word's S(ρ), and for each point the Δ (m, d) that attains it."""

    points: tuple[CurvePoint, ...]
    deltas: tuple[torch.Tensor, ...]


def reaches_up_to(reach: float) -> tuple[float, ...]:
    """The curve's reaches, with the requested one as its last.

    >>> reaches_up_to(0.25), reaches_up_to(3.0)[-2:]
    ((0.03, 0.06, 0.1, 0.2, 0.25), (2.0, 3.0))
    """
    grid = list(REACHES)
    while grid[-1] < reach:
        grid.append(2 * grid[-1])
    return (*(value for value in grid if value < reach * (1 - 1e-9)), reach)


def curves(
    blocks: Blocks,
    found: Sequence[Local],
    *,
    reaches: Sequence[float] = REACHES,
    effort: float = 1.0,
    seed: int = 0,
    progress: Progress = silent,
) -> list[WordCurve]:
    """The curve of every word, from its singular directions."""
    steps = max(1, round(effort * STEPS))
    owners = torch.arange(len(blocks), device=blocks.rows.device).repeat_interleave(BRANCHES)
    points = torch.cat([_directions(blocks, one) for one in found])
    path: list[
        Climbed
    ] = []  # for each reach the points of all branches, (words × BRANCHES) of them
    for number, reach in enumerate(reaches):
        here = blocks.at_reach(reach)
        longer = points * (here.radius[owners] / points.norm(dim=1).clamp_min(1e-30))[:, None]
        part = part_of(progress, "computing S(ρ)", number, len(reaches) + 1)
        path.append(climb(here, owners, longer, steps, part))
        points = path[-1].delta
    best = path[-1].best_of(BRANCHES)
    last = _finish(here, best, plan_of(effort), seed, progress)
    return [_curve(blocks, [*path, last], reaches, word) for word in range(len(blocks))]


def _directions(blocks: Blocks, found: Local) -> torch.Tensor:
    """± the first and the second singular direction, padded to the blocks' size."""
    second = found.directions[0] if found.directions else found.direction
    rows = torch.stack([found.direction, -found.direction, second, -second]).flatten(1)
    padded = rows.new_zeros(BRANCHES, blocks.size)
    padded[:, : rows.shape[1]] = rows
    return padded


def _finish(blocks: Blocks, best: Climbed, plan: Plan, seed: int, progress: Progress) -> Climbed:
    """Continue the best branch at the last reach, with fresh starts if that is large."""
    owners = torch.arange(len(blocks), device=blocks.rows.device)
    ends = climb(blocks, owners, best.delta, plan.steps)
    if blocks.reach < 1:
        return ends
    part = part_of(progress, "computing S(ρ)", 1, 2)
    other = worst(blocks, plan=plan, keep=KEPT, seed=seed, progress=part)
    better = other.value > ends.value
    start = torch.where(better[:, None], other.delta, ends.delta)
    return climb(blocks, owners, start, ON * plan.steps)


def _curve(blocks: Blocks, path: list[Climbed], reaches: Sequence[float], word: int) -> WordCurve:
    target = blocks.target
    points: list[CurvePoint] = []
    deltas: list[torch.Tensor] = []
    branch = slice(word * BRANCHES, (word + 1) * BRANCHES)
    for at, reach in enumerate(reaches):
        values = path[at].value[branch].double().sqrt()
        top = int(values.argmax())
        lower = float(values[top])
        delta = path[at].delta[branch][top]
        if at == len(reaches) - 1 and float(path[-1].value[word]) ** 0.5 > lower:
            lower = float(path[-1].value[word]) ** 0.5
            delta = path[-1].delta[word]
        spread = target.reported(lower) - target.reported(float(values.min()))
        if points and target.reported(lower) < points[-1].lower:  # a smaller Δ did better
            points.append(CurvePoint(reach, points[-1].lower, spread))
            deltas.append(deltas[-1])
            continue
        points.append(CurvePoint(reach, target.reported(lower), spread))
        deltas.append(blocks.at_reach(reach).delta(word, delta))
    return WordCurve(tuple(points), tuple(deltas))
