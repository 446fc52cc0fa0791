"""The worst Δ of words in a pretrained model: all of them side by side, in batches that fit the
memory.

For a word with rows I (one per token) the block Δ ∈ ℝ^{|I|×d} may have ‖Δ‖_F ≤ ρ‖x_I‖_F, and

    S(Δ) = ‖H_l(X + Δ_I) − H_l(X)‖_F / ‖H_l(X)‖_F.

Every word starts from a few points, Gaussian ones and directions to other words of the vocabulary;
all climb by L-BFGS in the ball (`wordsway.optimize.lbfgs`), after some steps the best of each word
goes on alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

import torch

from wordsway.errors import MemoryBudgetError
from wordsway.format import format_bytes
from wordsway.models.probe import Prepared, Probe
from wordsway.optimize import Objective, Plan, maximise
from wordsway.progress import Progress, silent
from wordsway.reading import Word
from wordsway.seeds import generator
from wordsway.vectors import exactly_inside, unit


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
    def of(cls, words: int, tokens: int, effort: float = 1.0, weight: float = 1.0) -> Effort:
        """For short texts a thorough search; for long ones what keeps words × passes × tokens near
        `COMFORT`; ``effort`` times that.

        ``weight`` is what a token costs, in units of MiniLM (`weight_of`).
        """
        passes = round(effort * min(cls().passes, COMFORT / max(1.0, words * tokens * weight)))
        if passes >= cls().passes:
            starts = min(16, 4 * passes // cls().passes)
            return cls(starts, 8, passes - 9 * starts)
        return cls(2, 6, passes - 14) if passes >= 30 else cls(1, 0, max(5, passes - 1))


#: Tokens through the model and back that a search takes while more than six passes per word are
#: left: two minutes of MiniLM on two cores (the six passes of 394 words take nine). And MiniLM's
#: weights.
COMFORT, UNIT = 400_000, 10_600_000


def weight_of(probe: Probe, layer: int) -> float:
    """What a token costs on its way to a layer and back, in units of MiniLM's last layer."""
    model = probe.layers.model
    inside = (
        sum(one.numel() for one in model.parameters()) - model.get_input_embeddings().weight.numel()
    )
    return max(0.1, inside / UNIT * max(1, layer) / max(1, probe.layers.count))


class Blocks:
    """Words of one text as blocks of rows: (W, m) row numbers, a mask for words of fewer tokens,
    radii ρ‖x_I‖.
    """

    def __init__(self, prepared: Prepared, words: Sequence[Word], reach: float) -> None:
        self.prepared, self.words = prepared, list(words)
        m = max(len(word.rows) for word in words)
        device = prepared.embeds.device
        dtype = torch.promote_types(
            prepared.embeds.dtype, torch.float32
        )  # a search in half precision would not find its way
        self.rows = torch.tensor(
            [[*word.rows, *[word.rows[0]] * (m - len(word.rows))] for word in words], device=device
        )
        self.mask = torch.tensor(
            [[1.0] * len(word.rows) + [0.0] * (m - len(word.rows)) for word in words],
            device=device,
            dtype=dtype,
        )
        self.radius = torch.tensor(
            [reach * prepared.radius(word) for word in words], device=device, dtype=dtype
        )

    def __len__(self) -> int:
        return len(self.words)

    @property
    def size(self) -> int:
        """Numbers of one block, flattened."""
        return int(self.rows.shape[1] * self.prepared.embeds.shape[1])

    def moved(self, which: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        """Embeddings (B, n, d) of the text with block ``which[b]`` moved by ``delta[b]`` (m·d
        numbers).
        """
        B, (n, d) = len(which), self.prepared.embeds.shape
        blocks = (delta.reshape(B, -1, d) * self.mask[which][:, :, None]).to(
            self.prepared.embeds.dtype
        )
        return self.prepared.embeds.expand(B, n, d).scatter_add(
            1, self.rows[which][:, :, None].expand(-1, -1, d), blocks
        )

    def inside(self, which: torch.Tensor, unit_delta: torch.Tensor) -> torch.Tensor:
        return self.radius[which][:, None] * unit_delta

    def delta(self, which: int, flat: torch.Tensor) -> torch.Tensor:
        """A word's own rows of Δ, inside the ball even after rounding."""
        m, d = len(self.words[which].rows), self.prepared.embeds.shape[1]
        inside = exactly_inside(flat[: m * d], float(self.radius[which])) * (1 - 1e-7)
        return inside.to(flat).reshape(m, d)


class Target:
    """The relative change of one layer's hidden states, for texts with one block moved."""

    def __init__(self, probe: Probe, prepared: Prepared, layer: int) -> None:
        self.probe, self.prepared, self.layer = probe, prepared, layer
        with torch.no_grad():
            self.base = probe.layers.layer(layer, prepared.embeds[None], prepared.at)[0]
        self.norm2 = float((self.base.double() ** 2).sum())

    def change2(self, embeds: torch.Tensor) -> torch.Tensor:
        """S² for each of B texts given as embeddings (B, n, d)."""
        states = self.probe.layers.layer(self.layer, embeds, self.prepared.at)
        change = states.to(torch.promote_types(states.dtype, torch.float32)) - self.base
        return (change**2).sum((1, 2)) / self.norm2


def row_bytes(probe: Probe, n: int, layer: int) -> int:
    """Bytes that one text takes in a forward and backward pass up to a layer: what autograd keeps.

    Per token and layer about nine rows of the width and three of the feed-forward layer (measured
    on MiniLM); attention in the open also keeps its n×n scores.
    """
    config = probe.layers.model.config
    d = int(getattr(config, "hidden_size", None) or getattr(config, "d_model", None) or 768)
    wide = int(getattr(config, "intermediate_size", None) or getattr(config, "d_ff", None) or 4 * d)
    heads = int(getattr(config, "num_attention_heads", None) or 8)
    size = next(probe.layers.model.parameters()).element_size()
    return int(
        size
        * n
        * max(1, layer)
        * (9 * d + 3 * wide + (3 * heads * n if probe.options.eager else 0))
    )


def affordable(probe: Probe, n: int, layer: int, memory: int) -> int:
    """Texts per batch of a search, refused where not even one fits."""
    if row_bytes(probe, n, layer) > memory:
        raise MemoryBudgetError(
            f"one text of {n} tokens takes {format_bytes(row_bytes(probe, n, layer))} in a search, more than the budget of {format_bytes(memory)}: "
            "raise the budget (--memory, in GiB), or cut the text"
        )
    return at_once(probe, n, layer, memory)


def at_once(probe: Probe, n: int, layer: int, memory: int) -> int:
    """Texts per batch: what fits the memory, and no more than is useful."""
    return max(1, min(memory // row_bytes(probe, n, layer), max(1, BATCH_TOKENS // n)))


#: Tokens of a batch beyond which it gets no faster, and bytes that a search may take beside the
#: model by default.
BATCH_TOKENS, MEMORY = 4096, 2 * 2**30


@final
class BlockChange(Objective):
    """S² as a function of unit blocks: one problem per word, x ∈ ℝ^{m·d} with ‖x‖ ≤ 1, and Δ =
    ρ‖x_I‖·x.
    """

    def __init__(
        self, blocks: Blocks, change2: Callable[[torch.Tensor], torch.Tensor], bytes_per_point: int
    ) -> None:
        self.blocks = blocks
        self.change2 = change2
        self.dimension = blocks.size
        self.dtype = blocks.mask.dtype
        self.device = blocks.mask.device
        self.bytes_per_point = bytes_per_point

    def radius(self, which: torch.Tensor) -> torch.Tensor:
        return torch.ones(len(which), dtype=torch.float64, device=self.device)

    def value_and_gradient(
        self, which: torch.Tensor, x: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.enable_grad():
            x = x.detach().requires_grad_(True)
            value = self.change2(self.blocks.moved(which, self.blocks.inside(which, x)))
            (gradient,) = torch.autograd.grad(value.sum(), x)
        return value.detach(), gradient

    def describe(self, value: float) -> str:
        return f"best S {math.sqrt(max(0.0, value)):.4g}"


def worst(
    probe: Probe,
    blocks: Blocks,
    layer: int,
    *,
    effort: Effort,
    seed: int,
    memory: int,
    progress: Progress = silent,
    target: Callable[[torch.Tensor], torch.Tensor] | None = None,
) -> tuple[list[torch.Tensor], torch.Tensor, bool]:
    """The worst Δ of every word (its own rows), the S they reach, and whether all searches came to
    rest.

    ``target`` replaces the change of the layer: S² of texts given as embeddings (B, n, d).
    """
    change2 = target or Target(probe, blocks.prepared, layer).change2
    size = row_bytes(probe, blocks.prepared.n, layer)
    found = maximise(
        BlockChange(blocks, change2, size),
        torch.arange(len(blocks), device=blocks.radius.device),
        effort.plan,
        seed=seed,
        memory=size * affordable(probe, blocks.prepared.n, layer, memory),
        starts=partial(_starts, probe, blocks, seed),
        progress=progress,
    )
    flat = blocks.inside(found.problems, found.x)
    deltas = [blocks.delta(word, delta) for word, delta in enumerate(flat)]
    return deltas, found.value.clamp_min(0).sqrt(), found.converged


def _starts(
    probe: Probe,
    blocks: Blocks,
    seed: int,
    objective: Objective,
    problem: int,
    count: int,
    noise: torch.Generator,
) -> torch.Tensor:
    """Unit blocks (count, m·d): Gaussian ones and, every second, the way to a random other word of
    the vocabulary. The noise is the word's own, whichever words are searched beside it.
    """
    d = blocks.prepared.embeds.shape[1]
    word = blocks.words[problem]
    starts = []
    for number in range(count):
        noise = generator(seed, "probe", word.index, number)
        block = torch.zeros(blocks.rows.shape[1], d)
        block[: len(word.rows)] = torch.randn(len(word.rows), d, generator=noise)
        if number % 2 and blocks.prepared.at == "words":
            vocabulary = probe.layers.model.get_input_embeddings().weight
            other = int(torch.randint(len(vocabulary), (1,), generator=noise))
            block[0] = (vocabulary[other] - blocks.prepared.embeds[word.rows[0]]).cpu().float()
        starts.append(block.to(blocks.mask).flatten())
    return unit(torch.stack(starts))
