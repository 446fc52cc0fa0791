"""What a change of a word is judged by: the interface of all targets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch

from wordsway.models.prefix import Prefix
from wordsway.reading import Word


class Target(ABC):
    """g of one text, scaled so that ‖g(text)‖ = 1; a relative change is then ‖g(changed) − base‖.

    ``base`` is g(text), any shape; ``layer`` how many layers a pass goes through.
    """

    name: str
    layer: int
    base: torch.Tensor
    scaling: str = "frobenius"
    #: The model that computes g from a kept prefix; None: the whole text is run each time.
    prefix_model: Any = None

    @abstractmethod
    def features(self, embeds: torch.Tensor) -> torch.Tensor:
        """g (B, …) of texts given as embeddings (B, n, ·), differentiable."""

    @abstractmethod
    def change(self, ids: torch.Tensor, word: Word, prefix: Prefix | None = None) -> torch.Tensor:
        """‖g(changed) − g(text)‖ (B,) in float64 for texts (B, n′) with another word in that place.

        ``prefix`` holds the rows before the word, where they cannot change.
        """

    def change2(self, embeds: torch.Tensor) -> torch.Tensor:
        """‖g − g(text)‖² (B,) of texts given as embeddings, differentiable."""
        difference = self.features(embeds) - self.base
        return (difference**2).flatten(1).sum(1)

    def reported(self, change: float) -> float:
        """A change ‖g(changed) − g(text)‖ as it is shown."""
        return change


def wide(states: torch.Tensor) -> torch.Tensor:
    """At least single precision."""
    return states.to(torch.promote_types(states.dtype, torch.float32))
