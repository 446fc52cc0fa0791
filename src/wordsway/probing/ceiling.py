"""Ceilings that no Δ can break; docs/statements/models.md has the statements and their proofs.

Theorem 18: a layer that ends in a normalisation has rows h = γ⊙s + b with ‖s‖² ≤ d whatever came
before. Row j moves by at most √m_j (`wordsway.models.residual.largest_moves`), and with the weights
of the target's rows

    S² ≤ Σ_j w_j² m_j.

In a causal model rows before the word do not move and count 0.

Theorem 19: in the residual stream of a pre-norm model every sublayer f = O·z + c reads a normalised
row, and moves a row by at most

    MLP         min(‖|O|·D‖, ‖O‖₂·‖z′ − z‖), D the largest moves of each unit
    attention   ‖O(z − v)‖ + √d·√λ_max(Σ_h M_h M_hᵀ/τ_h), M_h = O_h V_h Γ, τ_h ∝ ‖M_h‖₂.

Sublayers add up, and so does the input's own move ‖Δ‖ ≤ ρ·r in the word's rows: this ceiling holds
up to the reach ρ. Not proved: that sublayers recognised on a few tokens
(`wordsway.models.residual`) are the same on all inputs, and that the rounding of the model's own
arithmetic stays within `SLACK`.
"""

from __future__ import annotations

import sys
from typing import Any
from weakref import WeakKeyDictionary

import torch

from wordsway.core.reading import Word
from wordsway.maps.proof import RAISED, Proof, write_proof
from wordsway.maps.rigorous import opnorm_upper_bound
from wordsway.models.probe import EncodedText, Probe
from wordsway.models.residual import LEAST, SLOPE, Sublayer, largest_moves, move_bounds
from wordsway.probing.targets import LayerTarget, Target
from wordsway.proof_format import Array

#: Allowance for the rounding of the model's own arithmetic, per precision: a computed row may lie
#: outside of the ball by about that much. It is not derived from the model's operations.
SLACK = {torch.float64: 1e-9, torch.float32: 1e-4, torch.bfloat16: 5e-2, torch.float16: 1e-2}


#: Relative error of the check that the input layer adds to a word's embedding and does no more.
TOLERANCE = 1e-4


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


def residual_ceilings(target: Target, words: list[Word], reach: float) -> list[float | None]:
    """For each word a number that the change by a Δ up to this reach never exceeds."""
    none: list[float | None] = [None] * len(words)
    if not isinstance(target, LayerTarget):
        return none
    probe, encoded = target.probe, target.encoded
    causal = probe.is_causal
    totals = torch.zeros(len(words), dtype=torch.float64)
    for layer, states, weights in zip(target.layers, target.states, target.weights, strict=True):
        norm = probe.layers.norm_after(layer)
        squares = largest_moves(norm, states) if norm is not None else None
        inputs = None if squares is not None else _input_moves(probe, encoded, words, reach)
        moves = torch.zeros(encoded.n) if layer == 0 else residual_moves(probe, encoded, layer)
        if squares is None and (inputs is None or moves is None):
            return none
        w = weights.double().cpu()
        for at, word in enumerate(words):
            first = min(word.rows) if causal else 0
            if squares is not None:
                totals[at] += float((w.square() * squares)[first:].sum())
            else:
                assert inputs is not None and moves is not None
                own = inputs[at] * float(w[list(word.rows)].max())
                totals[at] += (own + float((w * moves)[first:].norm())) ** 2
    slack = slack_of(encoded)
    return [target.reported(float(total.sqrt())) * slack for total in totals]


@torch.no_grad()
def _input_moves(
    probe: Probe, encoded: EncodedText, words: list[Word], reach: float
) -> list[float] | None:
    """‖hidden_states[0]′ − hidden_states[0]‖ for Δ of each word up to the reach; None where the
    input layer does more than add to the word's row, times a constant.
    """
    norm = probe.layers.norm_after(0)
    if norm is not None and encoded.at == "words":
        rows = largest_moves(norm, probe.layers.layer(0, encoded.embeds[None])[0])
        return [float(rows[list(word.rows)].sum().sqrt()) for word in words]
    gain = 1.0
    if encoded.at == "words":
        row = encoded.n // 2
        delta = torch.zeros_like(encoded.embeds)
        delta[row] = encoded.embeds[row].flip(0) + 1
        both = torch.stack([encoded.embeds, encoded.embeds + delta])
        states = probe.layers.layer(0, both).double()
        if states.shape[1:] != delta.shape:
            return None
        moved, sent = (states[1] - states[0]).cpu(), delta.double().cpu()
        gain = float((moved * sent).sum() / sent.square().sum())
        if float((moved - gain * sent).norm()) > TOLERANCE * float(states.norm()):
            return None
    return [abs(gain) * reach * encoded.radius(word) for word in words]


class _Limits:
    """Where z can be, and how far O can throw it: for all texts."""

    def __init__(self, sublayer: Sublayer) -> None:
        self.last, self.heads = sublayer.last, sublayer.heads
        parts = [one.of(sublayer.norm) for one in sublayer.first]
        root = len(sublayer.norm.weight) ** 0.5
        if self.heads:
            ((A, self.centre),) = parts
            self.most = root * _largest_sum(self.last.matrix, A, self.heads)
            return
        self.norm = opnorm_upper_bound(self.last.matrix)
        norms = [opnorm_upper_bound(A) for A, _ in parts]
        lengths = [norm * root + float(a.norm()) for norm, (_, a) in zip(norms, parts, strict=True)]
        ranges = [(a - root * A.norm(dim=1), a + root * A.norm(dim=1)) for A, a in parts]
        low, high = ranges[0][0].clamp(LEAST, 0), ranges[0][1].clamp_min(0)
        if len(parts) == 1:
            self.low, self.high, self.length = low, high, lengths[0]
            self.steep = SLOPE * norms[0] * 2 * root
            return
        corners = torch.stack([a * b for a in (low, high) for b in ranges[1]])
        self.low, self.high = corners.amin(0), corners.amax(0)
        gate, up = (float(torch.maximum(abs(a), abs(b)).max()) for a, b in ((low, high), ranges[1]))
        self.length, self.steep = min(gate * lengths[1], up * lengths[0]), float("inf")

    def moves(self, z: torch.Tensor) -> torch.Tensor:
        """For rows z (n, m) of the text how far f can move (n,)."""
        O = self.last.matrix
        if self.heads:
            return ((z - self.centre) @ O.T).norm(dim=1) + self.most
        D = torch.maximum(self.high - z, z - self.low).clamp_min(0)
        far = torch.minimum(D.norm(dim=1), z.norm(dim=1) + self.length).clamp_max(self.steep)
        return torch.minimum((D @ O.abs().T).norm(dim=1), self.norm * far)


_KNOWN: WeakKeyDictionary[Probe, dict[int, _Limits]] = WeakKeyDictionary()


def residual_moves(probe: Probe, encoded: EncodedText, layer: int) -> torch.Tensor | None:
    """For each row (n,) of hidden_states[layer] how far all sublayers before it can move it."""
    found = probe.layers.residual
    if found is None or not 0 < layer <= len(found):
        return None
    wanted = [sublayer for group in found[:layer] for sublayer in group]
    exits = [sublayer.exit for sublayer in wanted]
    inputs = probe.layers.inputs_of(exits, encoded.embeds[None], encoded.at)
    known = _KNOWN.setdefault(probe, {})
    total = torch.zeros(encoded.n, dtype=torch.float64)
    for number, (sublayer, z) in enumerate(zip(wanted, inputs, strict=True)):
        if number not in known:
            known[number] = _Limits(sublayer)
        total += known[number].moves(z[0].double().cpu())
    return total


def _largest_sum(O: torch.Tensor, V: torch.Tensor, heads: int) -> float:
    """max ‖Σ_h O_h V_h s_h‖ over unit vectors s_h, from above; with V_h = R_hᵀQ_hᵀ and orthogonal
    rows of Q_hᵀ the norms are those of O_h R_hᵀ.
    """
    width = O.shape[1] // heads
    M = [
        O[:, h : h + width] @ torch.linalg.qr(V[h : h + width].T, mode="r").R.T
        for h in range(0, heads * width, width)
    ]
    norms = torch.tensor([opnorm_upper_bound(one) for one in M], dtype=torch.float64)
    shares = norms / norms.sum()
    kept = [one / share.sqrt() for one, share in zip(M, shares, strict=True) if share > 0]
    return opnorm_upper_bound(torch.cat(kept, 1)) if kept else 0.0
