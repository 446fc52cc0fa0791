"""Ceilings that no Δ can break; docs/statements/models.md has the statements and their proofs.

Theorem 18: a layer that ends in a normalisation has rows h = γ⊙s + b with ‖s‖² ≤ d whatever came
before. Row j moves by at most √m_j (`wordsway.models.norms.largest_moves`), and with the weights
of the target's rows

    S² ≤ Σ_j w_j² m_j.

In a causal model rows before the word do not move and count 0.

Not proved: that a norm recognised on a few tokens (`wordsway.models.norms`) is the same on all
inputs, and that the rounding of the model's own arithmetic stays within `SLACK`.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from wordsway.core.reading import Word
from wordsway.maps.proof import RAISED, Proof, write_proof
from wordsway.models.norms import move_bounds
from wordsway.models.probe import EncodedText
from wordsway.probing.targets import LayerTarget, Target
from wordsway.proof_format import Array

#: Allowance for the rounding of the model's own arithmetic, per precision: a computed row may lie
#: outside of the ball by about that much. It is not derived from the model's operations.
SLACK = {torch.float64: 1e-9, torch.float32: 1e-4, torch.bfloat16: 5e-2, torch.float16: 1e-2}


def ceilings(target: Target, words: list[Word]) -> list[float | None]:
    """For each word a number that the reported change never exceeds; None where none is proved."""
    squares = target.largest_squares()
    if squares is None:
        return [None] * len(words)
    slack = slack_of(target.encoded)
    causal = len(squares) > 1 and target.probe.is_causal
    first = [min(word.rows) if causal else 0 for word in words]
    return [target.reported(float(squares[row:].sum().sqrt())) * slack for row in first]


def prove_ceilings(target: Target, words: list[Word]) -> Proof | None:
    """A proof of the ceilings of one layer that ends in a norm, for `wordsway.verify`; None for
    other targets. Its claims, one for each word at its first row, hold for every Δ and lack the
    allowance for the model's rounding.
    """
    if not isinstance(target, LayerTarget) or len(target.layers) > 1:
        return None
    norm, causal = target.probe.layers.norm_after(target.layer), target.probe.is_causal
    if norm is None:
        return None
    (states,), (weights,) = target.states, target.weights
    found, weights = move_bounds(norm, states), weights.double().cpu()
    claims: list[tuple[dict[str, Any], dict[str, Array]]] = []
    for row in sorted({min(word.rows) for word in words}):
        squares = (weights.square() * found.moves)[row if causal else 0 :]
        claims.append(({"row": row, "upper": float(squares.sum().sqrt()) * RAISED}, {}))
    return write_proof(
        {"map": target.name, "model": target.probe.name},
        {"kind": "ceiling", "centred": norm.centred, "causal": causal},
        {"X": states, "gain": norm.weight, "shift": norm.bias, "weights": weights},
        claims,
        sys.float_info.max,
        {"rows/multipliers": torch.stack([found.lam, found.mean], 1).numpy()},
    )


def slack_of(encoded: EncodedText) -> float:
    """What a ceiling is multiplied by, for the model's rounding."""
    return 1 + SLACK.get(encoded.embeds.dtype, 1e-2)
