"""From scores to attention, and the effect of one moved key on a row.

Let row j attend to row i of the text with share p⁰. When the score s_ji moves by a, the share
becomes p, and the output of row j moves by

    t·y_j + pΔ,

since x_i itself has moved to x_i + Δ. Here

- shares that sum to one: y_j = x_i − φ_j and t = (p − p⁰)/(1 − p⁰);
- shares without a normaliser: y_j = x_i and t = p − p⁰.

A score function is therefore two functions of a, t and p, with their derivatives.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch

#: Above this share of one key, a row is written with the mean of its other keys ("sharp" pairs).
SHARP = 0.9
#: The tensors that `Scores.move` needs of every pair (row j, key i).
Pairs = tuple[torch.Tensor, ...]


class Shares(NamedTuple):
    """t and p after a move a of one score, with their derivatives in a."""

    t: torch.Tensor
    p: torch.Tensor
    dt: torch.Tensor
    dp: torch.Tensor

    def sharpened(self, sharp: torch.Tensor, gain: torch.Tensor, slope: torch.Tensor) -> Shares:
        """These shares with t = p − p⁰ (``gain``) where ``sharp``."""
        return self._replace(
            t=torch.where(sharp, gain, self.t), dt=torch.where(sharp, slope, self.dt)
        )


class Scores(ABC):
    """How the scores of a row become its shares."""

    #: Whether the shares of a row sum to one.
    normalised: bool = True
    #: Where the shares of a row are, whatever its scores: none below 0, all of them together
    #: ("simplex") or each ("cube") at most 1; None where there is no limit.
    limit: str | None = "simplex"
    #: Whether shares are softmax of the scores, so that the bound for small moves holds.
    plain_softmax: bool = False
    #: Whether a share is logistic in its score, and the shares of a row sum to at most one.
    logistic: bool = False
    #: Whether every row also attends to a key of score 0 and value 0.
    sink: bool = False
    #: Whether `attention` has kinks, which `smoothed` rounds.
    kinks: bool = False

    @abstractmethod
    def attention(self, s: torch.Tensor) -> torch.Tensor:
        """Scores (…, n) → shares (…, n); a key with the score −∞ is hidden, and has none."""

    @abstractmethod
    def pull(self, s: torch.Tensor, shares: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        """The gradient with respect to the scores of Σ_l h_l·shares_l."""

    @abstractmethod
    def prepare(self, s: torch.Tensor) -> Pairs:
        """The tensors that `move` needs of every pair (row j, key i), from the scores (…, n, n); a
        hidden key has the score −∞.
        """

    @abstractmethod
    def move(self, pairs: Pairs, a: torch.Tensor) -> Shares:
        """The shares after the scores of these pairs move by a; `gain` replaces t for p⁰ ≈ 1.

        Hidden keys are among the pairs: there all four are 0, never NaN. a is finite, in float64 or
        float32, and |a| reaches 1e5 in the tests, which compare S² with the naive version to 2e-10:
        t needs a relative error below 1e-11, also for small a, where p − p⁰ cancels.
        """

    @abstractmethod
    def share_error(
        self, s: torch.Tensor, shares: torch.Tensor, error: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Upper bounds of Σ_l |P̂_jl − P_jl| where the scores (n, n) of row j are off by ``error``
        (n,): over all keys (n,), and over all keys but i, (n, n) or (n, 1).
        """

    def without(self, s: torch.Tensor, key: torch.Tensor | int) -> torch.Tensor:
        """The shares of rows with the scores s (…, n) where ``key``, (…, 1) or one for all, is
        hidden; all 0 where a row has no other key, whose mean of other keys is never used.
        """
        if isinstance(key, int):
            key = torch.full_like(s[..., :1], key, dtype=torch.long)
        return self.attention(s.scatter(-1, key, -torch.inf)).nan_to_num(0.0)

    def smoothed(self, width: float) -> Scores:
        """These scores with the kinks of `attention`, and nothing else, rounded over ``width``."""
        return self

    def gain(self, pairs: Pairs, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """p − p⁰ and its derivative in a, accurate where p⁰ is nearly one (normalised shares)."""
        raise NotImplementedError
