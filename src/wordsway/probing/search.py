"""The worst Δ of words in a pretrained model: all of them side by side, in batches that fit the
memory.

For a word with rows I (one per token) the block Δ ∈ ℝ^{|I|×d} may have ‖Δ‖_F ≤ ρ·r_I,
r_I = ‖x_I‖_F/√|I|, and S(Δ) = ‖g(X + Δ_I) − g(X)‖/‖g(X)‖ for a target g. Points climb by L-BFGS in
the ball (`wordsway.optimize`). One plan per word, whatever the text's length or the other words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
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


@dataclass(frozen=True)
class Effort:
    """Starts per word, steps with all of them, steps with the best."""

    starts: int = 4
    early: int = 8
    late: int = 22

    @property
    def passes(self) -> int:
        """Forward and backward passes per word."""
        return self.starts * (1 + self.early) + self.late

    @property
    def plan(self) -> Plan:
        """The same for the driver."""
        return Plan(
            solver="lbfgs",
            starts=self.starts,
            explore=self.early,
            keep=1,
            steps=self.late,
            rounds=0,
            children=1,
            tolerance=0,
            scatter=False,
        )

    @classmethod
    def of(cls, effort: float = 1.0) -> Effort:
        """``effort`` times the default's passes.

        >>> [Effort.of(effort).passes for effort in (0.02, 0.5, 1, 2)]
        [1, 29, 58, 116]
        """
        passes = max(1, round(effort * cls().passes))
        if passes >= cls().passes:
            starts = min(16, 4 * passes // cls().passes)
            return cls(starts, 8, passes - 9 * starts)
        return cls(2, 6, passes - 14) if passes >= 20 else cls(1, 0, passes - 1)


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
    """Points Δ (B, p) in their balls and the S² there; ``rested``: no step helped more."""

    delta: torch.Tensor
    value: torch.Tensor
    rested: torch.Tensor

    def best_of(self, groups: int) -> Climbed:
        """Of every ``groups`` consecutive points the best one."""
        best = self.value.view(-1, groups).argmax(1)
        rows = best + torch.arange(len(best), device=best.device) * groups
        return Climbed(self.delta[rows], self.value[rows], self.rested[rows])


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
        Effort(1, 0, steps).plan,
        0,
        budget,
        lambda objective, problems, count, noise: points[list(problems)][:, None],
        progress,
    )


def worst(
    probe: Probe,
    blocks: Blocks,
    target: Target,
    *,
    effort: Effort,
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
        replace(effort.plan, keep=min(keep, effort.starts)),
        seed,
        budget,
        partial(_starts, probe, blocks, seed),
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
        memory=budget.total,
        starts=starts,
        progress=progress,
    )
    delta = objective.blocks.inside(objective.owners, found.x)
    return Climbed(delta, found.value.clamp_min(0), found.settled)


def _starts(
    probe: Probe,
    blocks: Blocks,
    seed: int,
    objective: Objective,
    problems: Sequence[int],
    count: int,
    noise: Sequence[torch.Generator],
) -> torch.Tensor:
    """Unit blocks (P, count, m·d): Gaussian ones and, every second, the way to a random other word
    of the vocabulary. The noise depends on the word alone, not on the other words of the search.
    """
    return torch.stack([_starts_of(probe, blocks, seed, problem, count) for problem in problems])


def _starts_of(probe: Probe, blocks: Blocks, seed: int, problem: int, count: int) -> torch.Tensor:
    """The starts of one word, (count, m·d)."""
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
