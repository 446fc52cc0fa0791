"""Random looks in low dimensions.

Maps with jumps (ReLU attention, whose rows may go silent) have suprema at edges where gradients
lead nowhere: the value rises towards an edge and drops behind it. In a few dimensions plain
sampling finds such places, and sampling ever closer around the best point slides along the edge. In
many dimensions it would not, and is not tried.
"""

from __future__ import annotations

import torch

from wordsway.optimize.objective import View
from wordsway.vectors import into_ball, unit

#: Sampling is worth its time up to this many dimensions.
DIMENSIONS = 16
POINTS, ROUNDS, TRIES = 1536, 48, 48


def worthwhile(view: View) -> bool:
    return view.X.shape[1] <= DIMENSIONS and not view.bytes_per_look


def best_of_many(
    view: View, words: torch.Tensor, count: int, radius: float, noise: list[torch.Generator]
) -> torch.Tensor:
    """The ``count`` best of many random Δ of each word: in the ball, on the sphere, and around
    −x_i, where the word is erased and a map that does not see lengths can point anywhere. (P,
    count, d)
    """
    d = view.X.shape[1]
    chosen = []
    for row in range(len(words)):
        uniform = torch.rand(
            POINTS, 1, generator=noise[row], device=view.X.device, dtype=view.X.dtype
        )
        directions = unit(
            torch.randn(POINTS, d, generator=noise[row], device=view.X.device, dtype=view.X.dtype)
        )
        size = uniform ** (1 / d)
        size[::3] = 1
        points = radius * size * directions
        points[1::3] = -view.X[words[row]] + radius * 10 ** (-4 * uniform[1::3]) * directions[1::3]
        points = into_ball(points, radius)
        value = view.change(words[row].expand(POINTS), points)
        chosen.append(points[value.topk(count).indices])
    return torch.stack(chosen)


def slide(
    view: View,
    words: torch.Tensor,
    delta: torch.Tensor,
    value: torch.Tensor,
    radius: float,
    noise: list[torch.Generator],
) -> tuple[torch.Tensor, torch.Tensor]:
    """Improve each word's Δ by random moves of all sizes, from the radius down to a millionth of
    it.
    """
    d = delta.shape[1]
    for _ in range(ROUNDS):
        moves = []
        for row in range(len(words)):
            scale = 10 ** (
                -6
                * torch.rand(TRIES, 1, generator=noise[row], device=delta.device, dtype=delta.dtype)
            )
            moves.append(
                radius
                * scale
                * torch.randn(
                    TRIES, d, generator=noise[row], device=delta.device, dtype=delta.dtype
                )
            )
        tried = into_ball(delta[:, None] + torch.stack(moves), radius)
        values = view.change(words.repeat_interleave(TRIES), tried.flatten(0, 1)).reshape(
            len(words), TRIES
        )
        best, at = values.max(1)
        better = best > value
        value = torch.where(better, best, value)
        delta = torch.where(
            better[:, None], tried[torch.arange(len(words), device=at.device), at], delta
        )
    return delta, value
