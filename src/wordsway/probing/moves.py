"""Words of one text as blocks of rows that move, side by side in a batch that fits the memory, and
the relative change of every layer by such a move and by noise of the same length. Can the model be
differentiated, and is its backward pass the derivative?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from wordsway.core.errors import MemoryBudgetError, WordswayError
from wordsway.core.format import format_bytes
from wordsway.core.reading import Word
from wordsway.core.seeds import generator
from wordsway.core.vectors import exactly_inside
from wordsway.models.probe import EncodedText, Probe
from wordsway.probing.relative import chosen_scaling, row_weights
from wordsway.probing.targets import Target

#: Tokens of a batch beyond which it gets no faster, and bytes that a search may use in addition to
#: the model by default.
BATCH_TOKENS, MEMORY = 4096, 2 * 2**30
#: MiniLM's weights besides its embeddings: the unit of what a token costs.
UNIT = 10_600_000
#: A model's own backward pass is checked by `MOVES` moves of relative length `STEP`, and may differ
#: by `DERIVATIVE`.
STEP, DERIVATIVE, MOVES = 1e-2, 0.01, 7


def weight_of(probe: Probe, layer: int) -> float:
    """What a token costs on its way to a layer and back, in units of MiniLM's last layer."""
    model = probe.layers.model
    inside = sum(weights.numel() for weights in model.parameters())
    inside -= model.get_input_embeddings().weight.numel()
    return max(0.1, int(inside) / UNIT * max(1, layer) / max(1, probe.layers.count))


def row_bytes(probe: Probe, n: int, layer: int) -> int:
    """Bytes that one text takes in a forward and backward pass up to a layer: what autograd keeps.

    Per token and layer about nine rows of the width and three of the feed-forward layer (measured
    on MiniLM); attention in the open also keeps its n×n scores.
    """
    config = probe.layers.model.config
    d = int(getattr(config, "hidden_size", None) or getattr(config, "d_model", None) or 768)
    wide = getattr(config, "intermediate_size", None) or getattr(config, "d_ff", None) or 4 * d
    wide = max(wide) if isinstance(wide, list | tuple) else int(wide)  # Gemma 3n: one per layer
    heads = int(getattr(config, "num_attention_heads", None) or 8)
    size = next(probe.layers.model.parameters()).element_size()
    return int(
        size
        * n
        * max(1, layer)
        * (9 * d + 3 * wide + (3 * heads * n if probe.options.eager else 0))
    )


def at_once(probe: Probe, n: int, layer: int, memory: int) -> int:
    """Texts per batch: what fits the memory, and no more than is useful."""
    return max(1, min(memory // row_bytes(probe, n, layer), max(1, BATCH_TOKENS // n)))


class Blocks:
    """Words of a target's text as blocks of rows that move: (W, m) row numbers, a mask for words of
    fewer tokens, radii ρ·r_I, r_I = ‖x_I‖_F/√|I|.

    ``text_bytes`` is what one text takes in a pass forwards and backwards, ``at_once`` how many
    texts run at a time: as many as are useful and fit the memory.
    """

    def __init__(
        self, target: Target, words: Sequence[Word], reach: float, memory: int = MEMORY
    ) -> None:
        self.target, self.encoded, self.words = target, target.encoded, list(words)
        self.reach, self.memory = reach, memory
        encoded, n = target.encoded, target.encoded.n
        self.text_bytes = row_bytes(target.probe, n, target.layer)
        if self.text_bytes > memory:
            raise MemoryBudgetError(
                f"one text of {n} tokens takes {format_bytes(self.text_bytes)} in a search, more "
                f"than the budget of {format_bytes(memory)}: raise the budget (--memory, in GiB), "
                "or cut the text"
            )
        self.at_once = at_once(target.probe, n, target.layer, memory)
        m = max(len(word.rows) for word in words)
        device = encoded.embeds.device
        dtype = torch.promote_types(
            encoded.embeds.dtype, torch.float32
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
            [reach * encoded.radius(word) for word in words], device=device, dtype=dtype
        )

    def __len__(self) -> int:
        return len(self.words)

    @property
    def size(self) -> int:
        """Numbers of one block, flattened."""
        return int(self.rows.shape[1] * self.encoded.embeds.shape[1])

    def moved(self, which: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        """Embeddings (B, n, d) with block ``which[b]`` moved by ``delta[b]`` (m·d numbers)."""
        B, (n, d) = len(which), self.encoded.embeds.shape
        blocks = (delta.reshape(B, -1, d) * self.mask[which][:, :, None]).to(
            self.encoded.embeds.dtype
        )
        return self.encoded.embeds.expand(B, n, d).scatter_add(
            1, self.rows[which][:, :, None].expand(-1, -1, d), blocks
        )

    def inside(self, which: torch.Tensor, unit_delta: torch.Tensor) -> torch.Tensor:
        return self.radius[which][:, None] * unit_delta

    def at_reach(self, reach: float) -> Blocks:
        return Blocks(self.target, self.words, reach, self.memory)

    def delta(self, which: int, flat: torch.Tensor) -> torch.Tensor:
        """A word's own rows of Δ, inside the ball even after rounding."""
        m, d = len(self.words[which].rows), self.encoded.embeds.shape[1]
        inside = exactly_inside(flat[: m * d], float(self.radius[which])) * (1 - 1e-7)
        return inside.to(flat).reshape(m, d)


#: Draws of noise that a profile is compared with.
NOISE_DRAWS = 4


def profiles(
    probe: Probe,
    encoded: EncodedText,
    words: Sequence[Word],
    deltas: Sequence[torch.Tensor],
    memory: int,
    target: Target | None = None,
) -> list[tuple[float, ...]]:
    """‖H_l′ − H_l‖_F/‖H_l‖_F of every layer 0 … L, one row per word and its Δ; sums in float64.

    If a few rows hold most of a layer's norm, all rows have equal weight
    (`wordsway.probing.targets`); the target's own layer counts as the target does.
    """
    size = at_once(probe, encoded.n, probe.layers.count, memory)
    scalings = {} if target is None else {target.own_layer: target.scaling}
    rows: list[tuple[float, ...]] = []
    with torch.no_grad():
        base = [state[0].double() for state in probe.layers.every(encoded.embeds[None], encoded.at)]
        weights = [
            row_weights(state, chosen_scaling([state], scalings.get(layer, "auto")))
            for layer, state in enumerate(base)
        ]
        for start in range(0, len(words), size):
            some = words[start : start + size]
            embeds = encoded.embeds.repeat(len(some), 1, 1)
            for row, (word, delta) in enumerate(
                zip(some, deltas[start : start + size], strict=True)
            ):
                embeds[row, list(word.rows)] += delta.to(embeds)
            states = probe.layers.every(embeds, encoded.at)
            changes = torch.stack(
                [
                    ((state.double() - before) * weight[:, None]).flatten(1).norm(dim=1)
                    for state, before, weight in zip(states, base, weights, strict=True)
                ],
                1,
            )
            rows += [tuple(values) for values in changes.tolist()]
    return rows


def noise_blocks(blocks: Blocks, seed: int) -> list[list[torch.Tensor]]:
    """For each word Gaussian blocks (m, d) as long as Δ may be."""
    embeds = blocks.encoded.embeds
    found = []
    for place, word in enumerate(blocks.words):
        noise = generator(seed, "noise", word.index)
        size = NOISE_DRAWS, len(word.rows), embeds.shape[1]
        block = torch.randn(size, generator=noise).to(embeds)
        block *= (blocks.radius[place] / block.flatten(1).norm(dim=1))[:, None, None]
        found.append(list(block))
    return found


#: Blocks (m, d) of each word.
Deltas = Sequence[Sequence[torch.Tensor]]
Profile = tuple[float, ...]


@dataclass(frozen=True)
class Attained:
    """One word's Δ, the target's change, and all layers' changes under it and under noise."""

    delta: torch.Tensor
    sensitivity: float
    profile: Profile
    noise: Profile


def attained(
    blocks: Blocks, candidates: Deltas, noise: Deltas, *, noise_counts: bool
) -> list[Attained]:
    """The best of each word's candidates, or of its noise where that counts and does more.

    Where the target is one layer its change stands in the profiles, so that every Δ is evaluated
    once; other targets are evaluated first.
    """
    target = blocks.target
    inside = [
        [blocks.delta(place, delta.flatten().to(blocks.mask)) for delta in (*some, *more)]
        for place, (some, more) in enumerate(zip(candidates, noise, strict=True))
    ]
    count = len(candidates[0])  # the same for every word
    choice = [some if noise_counts else some[:count] for some in inside]
    if target.own_layer is not None:
        every = _profiles(blocks, inside)
        values = [[rows[target.own_layer] for rows in some] for some in every]
    else:
        values = _changes(blocks, choice)
    tops = [
        max(range(len(some)), key=changes.__getitem__)
        for some, changes in zip(choice, values, strict=True)
    ]
    if target.own_layer is not None:
        found = [[some[top], *some[count:]] for some, top in zip(every, tops, strict=True)]
    else:
        both = [[some[top], *some[count:]] for some, top in zip(inside, tops, strict=True)]
        found = _profiles(blocks, both)
    return [
        Attained(some[top], target.reported(changes[top]), rows[0], _mean(rows[1:]))
        for some, top, changes, rows in zip(inside, tops, values, found, strict=True)
    ]


def _mean(rows: Sequence[Profile]) -> Profile:
    return tuple(torch.tensor(rows, dtype=torch.float64).mean(0).tolist())


def _profiles(blocks: Blocks, deltas: Deltas) -> list[list[Profile]]:
    words = [word for word, some in zip(blocks.words, deltas, strict=True) for _ in some]
    flat = [delta for some in deltas for delta in some]
    target = blocks.target
    rows = iter(profiles(target.probe, blocks.encoded, words, flat, blocks.memory, target))
    return [[next(rows) for _ in some] for some in deltas]


def _changes(blocks: Blocks, deltas: Deltas) -> list[list[float]]:
    """‖g − g(text)‖ under every Δ."""
    which = torch.tensor([place for place, some in enumerate(deltas) for _ in some])
    flat = torch.zeros(len(which), blocks.size).to(blocks.mask)
    for row, delta in zip(flat, (delta for some in deltas for delta in some), strict=True):
        row[: delta.numel()] = delta.flatten().to(flat)
    size, change2 = blocks.at_once, blocks.target.change2
    parts = zip(which.to(blocks.rows.device).split(size), flat.split(size), strict=True)
    with torch.no_grad():
        squares = torch.cat([change2(blocks.moved(some, part)) for some, part in parts])
    values = iter(squares.double().sqrt().tolist())
    return [[next(values) for _ in some] for some in deltas]


def check_gradient(target: Target, embeds: torch.Tensor, features: torch.Tensor) -> None:
    """Refuse a model whose backward pass is not the derivative of its forward pass.

    ``features`` are those of ``embeds`` (1, n, d), with their graph. torch's own derivatives are
    trusted. If the model has a custom backward pass (YOSO's is an approximation), a small move εv
    of one row must change g by ε·Jv: with c = (g(x + εv) − g(x − εv))/2ε,

        ⟨Jᵀc, v⟩ = ⟨c, Jv⟩ = ‖c‖²

    within `DERIVATIVE`, in the median over `MOVES` random v, since a mixture of experts may jump
    between x ± εv. Numbers of 16 bits are too coarse for it, and are not checked.
    """
    check_differentiable(features)
    if embeds.element_size() < 4 or not _own_backward(features):
        return
    ratios = []
    draws = generator(0, "derivative")
    for row in torch.randint(embeds.shape[1], (MOVES,), generator=draws).tolist():
        v = torch.zeros_like(embeds)
        noise = torch.randn(embeds.shape[2], generator=draws).to(embeds)
        v[0, row] = noise * (embeds[0, row].norm() / noise.norm())
        with torch.enable_grad():
            x = embeds.detach().clone().requires_grad_(True)
            g = target.features(x)
        with torch.no_grad():
            ends = [target.features(embeds + sign * STEP * v).double() for sign in (1, -1)]
        change = (ends[0] - ends[1]) / (2 * STEP)
        (pulled,) = torch.autograd.grad((g * change.to(g)).sum(), x)
        ratios.append(float((pulled * v).sum() / change.square().sum().clamp_min(1e-300)))
    wrong = sorted(abs(ratio - 1) for ratio in ratios)[MOVES // 2]
    if not wrong <= DERIVATIVE:
        raise WordswayError(
            "this model defines its own backward pass, which is not the derivative of its states "
            f"(wrong by {100 * wrong:.2g} % for a small move), so small moves cannot be measured: "
            "take real words (--tier real-words)"
        )


def check_differentiable(features: torch.Tensor) -> None:
    """Refuse a model whose output carries no gradient (Reformer's reversible layers)."""
    if not features.requires_grad:
        raise WordswayError(
            "this model's output carries no gradient, so small moves and the worst move cannot be "
            "searched: take real words (--tier real-words), or swap without the worst case"
        )


def _own_backward(features: torch.Tensor) -> bool:
    """Whether a graph has nodes whose derivative is written in Python by the model."""
    seen: set[Any] = set()
    left: list[Any] = [features.grad_fn]
    while left:
        node = left.pop()
        if node is None or node in seen:
            continue
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            return True
        seen.add(node)
        left += [one for one, _ in node.next_functions]
    return False
