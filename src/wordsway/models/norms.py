"""Normalisations of a model, found by what its modules compute.

A hidden state may come straight out of a normalisation, H = s ⊙ γ + b row by row:

    s = (x − m)/√(v + ε)

LayerNorm has the mean m and the variance v of x, RMSNorm m = 0 and the mean square v. Either way
‖s‖² = d·v/(v + ε) ≤ d, whatever x is: no input moves a row of H out of that ellipsoid. A module
counts as a norm if its output is the hidden state and one of the two formulas gives it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from wordsway.models.tracing import Call

#: Relative error between a module's output and the formula, per dtype of the model.
_TOLERANCE = {
    torch.float64: 1e-10,
    torch.float32: 1e-4,
    torch.bfloat16: 5e-2,
    torch.float16: 1e-2,
}

#: Steps of the search for λ, on a logarithmic scale.
DUAL_STEPS = 80


@dataclass(frozen=True)
class NormLayer:
    """H = s ⊙ weight + bias with ‖s‖₂ ≤ √d for every row; ``centred`` rows s also sum to zero.

    ``weight`` (γ) and ``bias`` (b) have shape (d,), in float64; ``eps`` is the ε under the root.

    >>> norm = NormLayer(centred=True, weight=torch.ones(4), bias=torch.zeros(4), eps=0.0)
    >>> norm(torch.tensor([[1.0, -1.0, 1.0, -1.0]])).tolist()
    [[1.0, -1.0, 1.0, -1.0]]
    """

    centred: bool
    weight: torch.Tensor
    bias: torch.Tensor
    eps: float

    def standardised(self, x: torch.Tensor) -> torch.Tensor:
        """s (…, d) of x (…, d)."""
        x = x - x.mean(dim=-1, keepdim=True) if self.centred else x
        return x * (x.square().mean(dim=-1, keepdim=True) + self.eps).rsqrt()

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """The normalisation itself, in x's precision."""
        return self.standardised(x) * self.weight.to(x) + self.bias.to(x)


def norms_of(states: Sequence[torch.Tensor], calls: Iterable[Call]) -> list[NormLayer | None]:
    """For each hidden state (1, n, d) the norm that produced it; None if there is none."""
    candidates = [
        (call.module, call.taken, call.given, eps)
        for call in calls
        if (eps := _epsilon(call.module)) is not None
        and call.taken is not None
        and call.given is not None
    ]
    return [
        next(
            (
                norm
                for module, taken, given, eps in candidates
                if _same(given, state) and (norm := _fitted(module, taken, given, eps)) is not None
            ),
            None,
        )
        for state in states
    ]


def _epsilon(module: torch.nn.Module) -> float | None:
    """What a module calls its ε, if it has one."""
    for name in ("eps", "variance_epsilon", "epsilon"):
        value = getattr(module, name, None)
        if isinstance(value, float):
            return value
    return None


def _same(given: torch.Tensor, state: torch.Tensor) -> bool:
    """Whether a module's output is this hidden state: dropout that is off and views keep it."""
    return given.numel() == state.numel() and torch.equal(given.reshape(state.shape), state)


def _fitted(
    module: torch.nn.Module, taken: torch.Tensor, given: torch.Tensor, eps: float
) -> NormLayer | None:
    """The formula that gives a call's output; γ is the module's weight, or 1 + weight (Gemma)."""
    width = given.shape[-1]
    weight = _parameter(module, "weight", width, 1.0)
    bias = _parameter(module, "bias", width, 0.0)
    if taken.shape != given.shape or weight is None or bias is None:
        return None
    inputs, outputs = taken.double(), given.double()
    tolerance = _TOLERANCE.get(given.dtype, 1e-4)
    for centred in (True, False):
        for gain in (weight, 1 + weight):
            norm = NormLayer(centred, gain, bias, eps)
            if (norm(inputs) - outputs).abs().max() <= tolerance * outputs.abs().max():
                return norm
    return None


def _parameter(module: Any, name: str, width: int, default: float) -> torch.Tensor | None:
    """A module's own vector in float64, ``default`` where it has none; None if it is no vector."""
    value = getattr(module, name, None)
    if value is None:
        return torch.full((width,), default, dtype=torch.float64)
    if not isinstance(value, torch.Tensor) or value.shape != (width,):
        return None
    return value.detach().double()


def largest_moves(norm: NormLayer, states: torch.Tensor) -> torch.Tensor:
    """m (n,): upper bounds of max ‖h′ − h_j‖² over all outputs h′ of the norm, for rows h_j (n, d).

    >>> norm = NormLayer(centred=False, weight=torch.ones(4), bias=torch.zeros(4), eps=0.0)
    >>> round(float(largest_moves(norm, torch.ones(1, 4))), 9)  # from s to −s: (2√d)²
    16.0
    """
    return move_bounds(norm, states).moves


class MoveBounds(NamedTuple):
    """m of `largest_moves`, with the multipliers λ and μ of Theorem 18 that give it, (n,) each."""

    moves: torch.Tensor
    lam: torch.Tensor
    mean: torch.Tensor


def move_bounds(norm: NormLayer, states: torch.Tensor) -> MoveBounds:
    """The bounds of `largest_moves`, by a golden-section search for each row's λ."""
    gain = norm.weight.double().cpu()
    c = gain.square()
    d = len(c)
    # γ⊙s = h − b needs no division where γ vanishes: only γ²s = γ(h − b) and γ²s² = (h − b)² occur.
    moved = states.double().cpu() - norm.bias.double().cpu()
    a = gain * moved
    fixed = moved.square().sum(1)
    top = float(c.max())
    if top == 0.0:
        return MoveBounds(*torch.zeros(3, len(moved), dtype=torch.float64))

    def dual(excess: torch.Tensor) -> MoveBounds:
        lam = top + excess
        weight = 1.0 / (lam[:, None] - c)
        mean = (a * weight).sum(1) / weight.sum(1) if norm.centred else torch.zeros_like(lam)
        most = lam * d + fixed + ((a - mean[:, None]).square() * weight).sum(1)
        return MoveBounds(most, lam, mean)

    def smaller(one: MoveBounds, other: MoveBounds) -> MoveBounds:
        first = one.moves <= other.moves
        return MoveBounds(*(torch.where(first, *both) for both in zip(one, other, strict=True)))

    low = torch.full((len(moved),), 1e-12 * top, dtype=torch.float64).log()
    high = torch.full((len(moved),), 1e3 * top, dtype=torch.float64).log()
    best = smaller(dual(low.exp()), dual(high.exp()))
    golden = (5**0.5 - 1) / 2
    for _ in range(
        DUAL_STEPS
    ):  # golden section; a convex function of λ is unimodal in log(λ − top)
        left = high - golden * (high - low)
        right = low + golden * (high - low)
        at_left, at_right = dual(left.exp()), dual(right.exp())
        best = smaller(best, smaller(at_left, at_right))
        down = at_left.moves < at_right.moves
        high = torch.where(down, right, high)
        low = torch.where(down, low, left)
    return best
