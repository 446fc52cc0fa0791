"""Words of one text as blocks of rows that move, side by side in a batch."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from wordsway.core.reading import Word
from wordsway.core.vectors import exactly_inside
from wordsway.models.probe import Prepared


class Blocks:
    """Words of one text as blocks of rows: (W, m) row numbers, a mask for words of fewer tokens,
    radii ρ·r_I, r_I = ‖x_I‖_F/√|I|.
    """

    def __init__(self, prepared: Prepared, words: Sequence[Word], reach: float) -> None:
        self.prepared, self.words, self.reach = prepared, list(words), reach
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

    def at_reach(self, reach: float) -> Blocks:
        """The same words with another reach."""
        return Blocks(self.prepared, self.words, reach)

    def delta(self, which: int, flat: torch.Tensor) -> torch.Tensor:
        """A word's own rows of Δ, inside the ball even after rounding."""
        m, d = len(self.words[which].rows), self.prepared.embeds.shape[1]
        inside = exactly_inside(flat[: m * d], float(self.radius[which])) * (1 - 1e-7)
        return inside.to(flat).reshape(m, d)
