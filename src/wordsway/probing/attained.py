"""What is attained at one reach: of some Δ of each word the one that changes the target most, with
the change of every layer under it and under noise of the same length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from wordsway.models.probe import Probe
from wordsway.probing.blocks import Blocks
from wordsway.probing.layer_target import LayerTarget
from wordsway.probing.profiles import profiles
from wordsway.probing.target import Target

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
    probe: Probe,
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
    if isinstance(target, LayerTarget) and len(target.layers) == 1:
        every = _profiles(probe, target, blocks, inside, memory)
        values = [
            [rows[target.layer] for rows in some[: len(own)]]
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
        looked = _profiles(probe, target, blocks, both, memory)
    return [
        Attained(some[top], target.reported(changes[top]), rows[0], _mean(rows[1:]))
        for some, top, changes, rows in zip(choice, tops, values, looked, strict=True)
    ]


def _top(values: Sequence[float]) -> int:
    return int(torch.tensor(values, dtype=torch.float64).argmax())


def _mean(rows: Sequence[Profile]) -> Profile:
    return tuple(torch.tensor(rows, dtype=torch.float64).mean(0).tolist())


def _profiles(
    probe: Probe, target: Target, blocks: Blocks, deltas: Deltas, memory: int
) -> list[list[Profile]]:
    words = [word for word, some in zip(blocks.words, deltas, strict=True) for _ in some]
    flat = [delta for some in deltas for delta in some]
    rows = iter(profiles(probe, blocks.prepared, words, flat, memory, target))
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
