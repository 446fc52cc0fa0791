"""The worst Δ of words in a pretrained model: all of them side by side, in batches that fit the
memory.

For a word with rows I (one per token) the block Δ ∈ ℝ^{|I|×d} may have ‖Δ‖_F ≤ ρ·r_I,
r_I = ‖x_I‖_F/√|I|, and S(Δ) = ‖g(X + Δ_I) − g(X)‖/‖g(X)‖ for a target g. Points climb by L-BFGS in
the ball (`wordsway.optimize`). One plan per word, whatever the text's length or the other words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

import torch

from wordsway.core.progress import Progress, silent
from wordsway.core.seeds import generator
from wordsway.core.vectors import unit
from wordsway.models.probe import Probe
from wordsway.optimize import Objective, Plan, maximise
from wordsway.optimize.driver import Starts
from wordsway.probing.moves import Blocks, MemoryBudget
from wordsway.probing.targets import Target, check_differentiable

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

    def __init__(
        self, blocks: Blocks, target: Target, owners: torch.Tensor, bytes_per_point: int
    ) -> None:
        self.blocks = blocks
        self.target = target
        self.owners = owners
        self.dimension = blocks.size
        self.dtype = blocks.mask.dtype
        self.device = blocks.mask.device
        self.bytes_per_point = bytes_per_point

    def radius(self, which: torch.Tensor) -> torch.Tensor:
        return torch.ones(len(which), dtype=torch.float64, device=self.device)

    def value_and_gradient(
        self, which: torch.Tensor, x: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        block = self.owners[which]
        with torch.enable_grad():
            x = x.detach().requires_grad_(True)
            value = self.target.change2(self.blocks.moved(block, self.blocks.inside(block, x)))
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
    target: Target,
    blocks: Blocks,
    owners: torch.Tensor,
    delta: torch.Tensor,
    steps: int,
    budget: MemoryBudget,
    progress: Progress = silent,
) -> Climbed:
    """``steps`` of L-BFGS from points Δ (B, p) of the blocks ``owners`` (B,)."""
    points = delta / blocks.radius[owners][:, None]
    return _maximised(
        BlockChange(blocks, target, owners, budget.text),
        replace(PLAN, starts=1, explore=0, steps=steps),
        0,
        budget,
        lambda objective, problems, count, noise: points[list(problems)][:, None],
        progress,
    )


def worst(
    blocks: Blocks,
    target: Target,
    *,
    plan: Plan = PLAN,
    keep: int = 1,
    seed: int,
    budget: MemoryBudget,
    progress: Progress = silent,
) -> Climbed:
    """The worst Δ found of every word, from Gaussian starts and ways to words of the vocabulary;
    the best ``keep`` of them take the late steps.
    """
    owners = torch.arange(len(blocks), device=blocks.rows.device)
    return _maximised(
        BlockChange(blocks, target, owners, budget.text),
        replace(plan, keep=min(keep, plan.starts)),
        seed,
        budget,
        lambda objective, problems, count, noise: torch.stack(
            [_starts(target.probe, blocks, seed, problem, count) for problem in problems]
        ),
        progress,
    )


def _maximised(
    objective: BlockChange,
    plan: Plan,
    seed: int,
    budget: MemoryBudget,
    starts: Starts,
    progress: Progress,
) -> Climbed:
    found = maximise(
        objective,
        torch.arange(len(objective.owners), device=objective.device),
        plan,
        seed=seed,
        memory=budget.text * budget.count,
        starts=starts,
        progress=progress,
    )
    delta = objective.blocks.inside(objective.owners, found.x)
    return Climbed(delta, found.value.clamp_min(0))


def _starts(probe: Probe, blocks: Blocks, seed: int, problem: int, count: int) -> torch.Tensor:
    """Unit blocks (count, m·d) of one word: Gaussian ones and, every second, the way to a random
    other word of the vocabulary. They depend on the word alone, not on the others of the search.
    """
    d = blocks.encoded.embeds.shape[1]
    word = blocks.words[problem]
    vocabulary = probe.layers.model.get_input_embeddings().weight
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
