"""Words of one text as blocks of rows that move, side by side in a batch, and the relative change
of every layer by such a move and by noise of the same length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from wordsway.core.reading import Word
from wordsway.core.seeds import generator
from wordsway.core.vectors import exactly_inside
from wordsway.models.probe import EncodedText, Probe
from wordsway.probing.memory import at_once
from wordsway.probing.targets import Target, chosen_scaling, row_weights


class Blocks:
    """Words of one text as blocks of rows: (W, m) row numbers, a mask for words of fewer tokens,
    radii ρ·r_I, r_I = ‖x_I‖_F/√|I|.
    """

    def __init__(self, encoded: EncodedText, words: Sequence[Word], reach: float) -> None:
        self.encoded, self.words, self.reach = encoded, list(words), reach
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
        """Embeddings (B, n, d) of the text with block ``which[b]`` moved by ``delta[b]`` (m·d
        numbers).
        """
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
        """The same words with another reach."""
        return Blocks(self.encoded, self.words, reach)

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

    Where a few rows hold most of a layer's norm every row counts alike
    (`wordsway.probing.targets`); the target's own layer counts as the target does.
    """
    size = at_once(probe, encoded.n, probe.layers.count, memory)
    asked = {} if target is None else {target.own_layer: target.scaling}
    rows: list[tuple[float, ...]] = []
    with torch.no_grad():
        base = [state[0].double() for state in probe.layers.every(encoded.embeds[None], encoded.at)]
        weights = [
            row_weights(state, chosen_scaling([state], asked.get(layer, "auto")))
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


def noise_blocks(blocks: Blocks, seed: int, draws: int = NOISE_DRAWS) -> list[list[torch.Tensor]]:
    """For each word Gaussian blocks (m, d) as long as Δ may be."""
    embeds = blocks.encoded.embeds
    found = []
    for place, word in enumerate(blocks.words):
        noise = generator(seed, "noise", word.index)
        block = torch.randn(draws, len(word.rows), embeds.shape[1], generator=noise).to(embeds)
        block *= (blocks.radius[place] / block.flatten(1).norm(dim=1))[:, None, None]
        found.append(list(block))
    return found


#: Blocks (m, d) of each word.
Deltas = Sequence[Sequence[torch.Tensor]]
Profile = tuple[float, ...]


@dataclass(frozen=True)
class Attained:
    """One word's Δ, the target's change under it, and the relative changes of all layers 0 … L
    under it and, on average, under noise.
    """

    delta: torch.Tensor
    value: float
    profile: Profile
    noise: Profile


def attained(
    target: Target,
    blocks: Blocks,
    candidates: Deltas,
    noise: Deltas,
    *,
    noise_counts: bool,
    size: int,
    memory: int,
) -> list[Attained]:
    """The best of each word's candidates, or of its noise where that counts and does more.

    Where the target is one layer its change stands in the profiles, so that every Δ is looked at
    once; other targets are asked first, ``size`` texts at a time.
    """
    inside = [
        [blocks.delta(place, delta.flatten().to(blocks.mask)) for delta in (*some, *more)]
        for place, (some, more) in enumerate(zip(candidates, noise, strict=True))
    ]
    drawn = [some[len(some) - len(more) :] for some, more in zip(inside, noise, strict=True)]
    choice = inside
    if not noise_counts:
        choice = [own[: len(some)] for own, some in zip(inside, candidates, strict=True)]
    if target.own_layer is not None:
        every = _profiles(target, blocks, inside, memory)
        values = [
            [rows[target.own_layer] for rows in some[: len(own)]]
            for some, own in zip(every, choice, strict=True)
        ]
        tops = [_top(some) for some in values]
        looked = [
            [some[top], *some[len(some) - len(more) :]]
            for some, top, more in zip(every, tops, noise, strict=True)
        ]
    else:
        values = _changes(target, blocks, choice, size)
        tops = [_top(some) for some in values]
        best = [some[top] for some, top in zip(choice, tops, strict=True)]
        both = [[one, *more] for one, more in zip(best, drawn, strict=True)]
        looked = _profiles(target, blocks, both, memory)
    return [
        Attained(some[top], target.reported(changes[top]), rows[0], _mean(rows[1:]))
        for some, top, changes, rows in zip(choice, tops, values, looked, strict=True)
    ]


def _top(values: Sequence[float]) -> int:
    return int(torch.tensor(values, dtype=torch.float64).argmax())


def _mean(rows: Sequence[Profile]) -> Profile:
    return tuple(torch.tensor(rows, dtype=torch.float64).mean(0).tolist())


def _profiles(target: Target, blocks: Blocks, deltas: Deltas, memory: int) -> list[list[Profile]]:
    words = [word for word, some in zip(blocks.words, deltas, strict=True) for _ in some]
    flat = [delta for some in deltas for delta in some]
    rows = iter(profiles(target.probe, blocks.encoded, words, flat, memory, target))
    return [[next(rows) for _ in some] for some in deltas]


def _changes(target: Target, blocks: Blocks, deltas: Deltas, size: int) -> list[list[float]]:
    """‖g − g(text)‖ under every Δ."""
    which = torch.tensor([place for place, some in enumerate(deltas) for _ in some])
    flat = torch.stack([_padded(blocks, delta) for some in deltas for delta in some])
    parts = zip(which.to(blocks.rows.device).split(size), flat.split(size), strict=True)
    with torch.no_grad():
        squares = torch.cat([target.change2(blocks.moved(some, part)) for some, part in parts])
    values = iter(squares.double().sqrt().tolist())
    return [[next(values) for _ in some] for some in deltas]


def _padded(blocks: Blocks, delta: torch.Tensor) -> torch.Tensor:
    flat = torch.zeros(blocks.size).to(blocks.mask)
    flat[: delta.numel()] = delta.flatten().to(flat)
    return flat
