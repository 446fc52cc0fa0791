"""From scores to attention, and what one moved key does to a row.

Let row j attend to row i of the text with share p⁰. When the score s_ji moves by a, the share
becomes p, and the output of row j moves by t·y_j + pΔ, x_i itself having moved to x_i + Δ:

- shares that sum to one: y_j = x_i − φ_j and t = (p − p⁰)/(1 − p⁰), since the other keys have to
  make room;
- shares without a normaliser: y_j = x_i and t = p − p⁰.

A kind of attention is therefore two functions of a, t and p, with their derivatives.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch

#: What `Scores.move` needs to know of every pair (row j, key i); one tensor each.
Pairs = tuple[torch.Tensor, ...]


class Shares(NamedTuple):
    """t and p after a move a of one score, with their derivatives in a; ``lost`` marks rows whose
    output became zero.
    """

    t: torch.Tensor
    p: torch.Tensor
    dt: torch.Tensor
    dp: torch.Tensor
    lost: torch.Tensor | None


class Scores(ABC):
    """A kind of attention."""

    #: Whether the shares of a row sum to one.
    normalised: bool = True
    #: Whether every row also hears a key of score 0 and value 0.
    sink: bool = False
    #: Whether `attention` has kinks, which `smoothed` rounds.
    kinks: bool = False

    @abstractmethod
    def attention(self, s: torch.Tensor) -> torch.Tensor:
        """Scores (…, n) → shares (…, n); a key with the score −∞ is hidden, and has none."""

    @abstractmethod
    def pull(self, s: torch.Tensor, shares: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        """Gradient with respect to the scores of Σ_l h_l·shares_l."""

    @abstractmethod
    def prepare(self, s: torch.Tensor) -> Pairs:
        """What `move` needs to know of every pair (row j, key i), computed once from the scores (n,
        n).
        """

    @abstractmethod
    def move(self, pairs: Pairs, a: torch.Tensor) -> Shares:
        """Shares after the scores of the given pairs move by a."""

    @abstractmethod
    def share_error(
        self, s: torch.Tensor, shares: torch.Tensor, error: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Σ_l |P̂_jl − P_jl| at most, where the scores (n, n) of row j are off by ``error`` (n,):
        of all keys (n,), and without any one key i, (n, n), or (n, 1) where i makes no difference.
        """

    def smoothed(self, width: float) -> Scores:
        """These scores with the kinks of `attention` rounded over ``width``; the same where it has
        none. `prepare`, `move` and `gain` stay.
        """
        return self

    def gain(self, pairs: Pairs, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """p − p⁰ and its derivative in a, accurate where p⁰ is nearly one; asked of normalised
        shares only.
        """
        raise NotImplementedError
