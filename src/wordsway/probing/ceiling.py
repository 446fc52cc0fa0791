"""A ceiling no Δ can break, at any reach, for layers that end in a normalisation.

Such a layer's rows are h = γ⊙s + b with ‖s‖² ≤ d whatever came before (and Σ_k s_k = 0 for
LayerNorm), so a row can move by at most

    m_j = max { ‖γ⊙(s′ − s_j)‖² : ‖s′‖² ≤ d (, Σ s′ = 0) },

and S² ≤ Σ_j w_j² m_j with the weights of the target's rows. For every λ > max γ² weak duality gives

    m_j ≤ D(λ) = λd + Σ_k γ_k² s_k² + Σ_k (γ_k² s_k − μ)²/(λ − γ_k²),

μ = 0 for RMSNorm and the mean of γ_k² s_k weighted by 1/(λ − γ_k²) for LayerNorm; D is convex in λ
and its minimum is m_j (a trust-region problem has no duality gap). The number reported is D at the
best λ found, hence valid however well it was searched. In a causal model rows before the word do
not move and count 0. A mean of rows is a mean of such s, again in the ball: one problem for a
mean-pooled embedding. `wordsway.probing.residual_ceiling` bounds what lies between the norms.
"""

from __future__ import annotations

import torch

from wordsway.core.reading import Word
from wordsway.models.norms import Norm
from wordsway.models.prefix import is_causal
from wordsway.models.probe import Prepared, Probe
from wordsway.probing.layer_target import LayerTarget
from wordsway.probing.target import Target
from wordsway.probing.vector_targets import NextTokenTarget, PooledTarget

#: Steps of the search for λ, on a logarithmic scale.
STEPS = 80
#: Allowance for the rounding of the model's own arithmetic, per precision: a computed row may lie
#: outside of the ball by about that much. It is not derived from the model's operations.
SLACK = {torch.float64: 1e-9, torch.float32: 1e-4, torch.bfloat16: 5e-2, torch.float16: 1e-2}


def ceilings(
    probe: Probe, prepared: Prepared, target: Target, words: list[Word]
) -> list[float | None]:
    """For each word a number that the reported change never exceeds; None where none is proved."""
    squares = _squares(probe, target)
    if squares is None:
        return [None] * len(words)
    slack = slack_of(prepared)
    if len(squares) == 1:
        return [target.reported(float(squares.sum().sqrt())) * slack] * len(words)
    first = [min(word.rows) if is_causal(probe) else 0 for word in words]
    return [target.reported(float(squares[row:].sum().sqrt())) * slack for row in first]


def slack_of(prepared: Prepared) -> float:
    """What a ceiling is multiplied by, for the model's rounding."""
    return 1 + SLACK.get(prepared.embeds.dtype, 1e-2)


def _squares(probe: Probe, target: Target) -> torch.Tensor | None:
    """Largest squared changes of g, one per row, or a single one."""
    if isinstance(target, LayerTarget):
        norms = [probe.layers.norm_after(layer) for layer in target.layers]
        total = torch.zeros(target.n, dtype=torch.float64)
        for norm, states, weights in zip(norms, target.states, target.weights, strict=True):
            if norm is None:
                return None
            total += weights.double().cpu() ** 2 * largest_moves(norm, states)
        return total
    if isinstance(target, NextTokenTarget):
        return torch.tensor([2.0], dtype=torch.float64)  # √p and √p′ are unit vectors ≥ 0
    if isinstance(target, PooledTarget):
        return _pooled(probe, target)
    return None


def _pooled(probe: Probe, target: PooledTarget) -> torch.Tensor | None:
    if target.cosine:
        return torch.tensor([4.0], dtype=torch.float64)  # two unit vectors
    norm = probe.layers.norm_after(target.layer)
    if norm is None or probe.pooling == "max":
        return None
    rows = target.rows.double()
    pooled = {"mean": rows.mean(0), "cls": rows[0], "last": rows[-1]}[probe.pooling]
    return largest_moves(norm, pooled[None]) * target.scale**2


def largest_moves(norm: Norm, states: torch.Tensor) -> torch.Tensor:
    """m (n,): upper bounds of max ‖h′ − h_j‖² over all outputs h′ of the norm, for rows h_j (n, d).

    >>> norm = Norm(centred=False, weight=torch.ones(4), bias=torch.zeros(4), eps=0.0)
    >>> round(float(largest_moves(norm, torch.ones(1, 4))), 9)  # from s to −s: (2√d)²
    16.0
    """
    gain = norm.weight.double().cpu()
    c = gain.square()
    d = len(c)
    # γ⊙s = h − b needs no division where γ vanishes: only γ²s = γ(h − b) and γ²s² = (h − b)² occur.
    moved = states.double().cpu() - norm.bias.double().cpu()
    a = gain * moved
    fixed = moved.square().sum(1)
    top = float(c.max())
    if top == 0.0:
        return torch.zeros(len(moved), dtype=torch.float64)

    def dual(excess: torch.Tensor) -> torch.Tensor:
        lam = top + excess
        weight = 1.0 / (lam[:, None] - c)
        mean = (a * weight).sum(1) / weight.sum(1) if norm.centred else torch.zeros_like(lam)
        return lam * d + fixed + ((a - mean[:, None]).square() * weight).sum(1)

    low = torch.full((len(moved),), 1e-12 * top, dtype=torch.float64).log()
    high = torch.full((len(moved),), 1e3 * top, dtype=torch.float64).log()
    best = torch.minimum(dual(low.exp()), dual(high.exp()))
    golden = (5**0.5 - 1) / 2
    for _ in range(STEPS):  # golden section; a convex function of λ is unimodal in log(λ − top)
        left = high - golden * (high - low)
        right = low + golden * (high - low)
        at_left, at_right = dual(left.exp()), dual(right.exp())
        best = torch.minimum(best, torch.minimum(at_left, at_right))
        down = at_left < at_right
        high = torch.where(down, right, high)
        low = torch.where(down, low, left)
    return best
