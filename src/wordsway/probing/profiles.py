"""The relative change of every layer by a given Δ, and by noise of the same length."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from wordsway.core.reading import Word
from wordsway.core.seeds import generator
from wordsway.models.probe import Prepared, Probe
from wordsway.probing.blocks import Blocks
from wordsway.probing.layer_target import LayerTarget, chosen_scaling, row_weights
from wordsway.probing.memory import at_once
from wordsway.probing.target import Target

#: Draws of noise that a profile is compared with.
NOISE_DRAWS = 4


def profiles(
    probe: Probe,
    prepared: Prepared,
    words: Sequence[Word],
    deltas: Sequence[torch.Tensor],
    memory: int,
    target: Target | None = None,
) -> list[tuple[float, ...]]:
    """‖H_l′ − H_l‖_F/‖H_l‖_F of every layer 0 … L, one row per word and its Δ; sums in float64.

    Where a few rows hold most of a layer's norm every row counts alike
    (`wordsway.probing.layer_target`); the target's own layer counts as the target does.
    """
    size = at_once(probe, prepared.n, probe.layers.count, memory)
    rows: list[tuple[float, ...]] = []
    with torch.no_grad():
        base = [
            state[0].double() for state in probe.layers.every(prepared.embeds[None], prepared.at)
        ]
        weights = [
            row_weights(state, chosen_scaling([state], _asked(target, layer)))
            for layer, state in enumerate(base)
        ]
        for start in range(0, len(words), size):
            some = words[start : start + size]
            embeds = prepared.embeds.repeat(len(some), 1, 1)
            for row, (word, delta) in enumerate(
                zip(some, deltas[start : start + size], strict=True)
            ):
                embeds[row, list(word.rows)] += delta.to(embeds)
            states = probe.layers.every(embeds, prepared.at)
            changes = torch.stack(
                [
                    ((state.double() - before) * weight[:, None]).flatten(1).norm(dim=1)
                    for state, before, weight in zip(states, base, weights, strict=True)
                ],
                1,
            )
            rows += [tuple(values) for values in changes.tolist()]
    return rows


def _asked(target: Target | None, layer: int) -> str:
    """How rows of a layer are asked to count."""
    own = isinstance(target, LayerTarget) and target.layers == (layer,)
    return target.scaling if target is not None and own else "auto"


def noise_blocks(blocks: Blocks, seed: int, draws: int = NOISE_DRAWS) -> list[list[torch.Tensor]]:
    """For each word Gaussian blocks (m, d) as long as Δ may be."""
    embeds = blocks.prepared.embeds
    found = []
    for place, word in enumerate(blocks.words):
        noise = generator(seed, "noise", word.index)
        block = torch.randn(draws, len(word.rows), embeds.shape[1], generator=noise).to(embeds)
        block *= (blocks.radius[place] / block.flatten(1).norm(dim=1))[:, None, None]
        found.append(list(block))
    return found
