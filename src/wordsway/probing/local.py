"""What small moves of a word do: a singular value, and its mean over directions.

Let J_I be the Jacobian of the target g (scaled so that ‖g(text)‖ = 1) in the rows I of one word,
m = |I| of them with d coordinates each. A word of several tokens is compared with one of one token
on equal terms: Δ may be as long as *one* of its rows is on average,

    r_I = ‖x_I‖_F/√m,

so that a word does not win because it has more rows to move. Then, per unit of relative length ρ,

    local       = σ_max(J_I) · r_I                 the worst direction: S(ρ)/ρ as ρ → 0
    mean local  = ‖J_I‖_F · r_I / √(m·d)           root mean square over random directions

since a random Δ of length r has E‖J_IΔ‖² = r²‖J_I‖_F²/(m·d). For cotangents G ~ N(0, 1) of g's
shape E‖J_IᵀG‖² = ‖J_I‖_F²: K backward passes estimate it for all words at once. σ_max comes from
Lanczos on J_IᵀJ_I, each word on its own: it is approached from below, to about 1e-4 of itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from wordsway.core.progress import Progress, silent
from wordsway.core.reading import Word
from wordsway.core.seeds import generator
from wordsway.core.vectors import unit
from wordsway.models.probe import EncodedText
from wordsway.probing.moves import Blocks, check_gradient
from wordsway.probing.targets import Target

#: Tokens of a batch that the backward passes of mean local share.
BATCH_TOKENS = 512
#: Lanczos: fewest and most steps, and the residual |JᵀJv − σ²v|/σ² at which it ends.
FEWEST, STEPS, TOLERANCE = 4, 40, 0.002
#: Memory of a graph that is differentiated twice, relative to one differentiated once.
TWICE = 3
#: Words from which on half of them take notably less time than all.
MANY = 8


@dataclass(frozen=True)
class Local:
    """The largest response to small moves; ``direction`` (m, d) has norm one and attains it.

    ``directions`` are further ones, weaker and orthogonal; ``residual`` bounds |σ² − found²|/found²
    for some singular value σ.
    """

    value: float
    residual: float
    direction: torch.Tensor
    directions: tuple[torch.Tensor, ...] = ()

    @property
    def converged(self) -> bool:
        return self.residual <= TOLERANCE


def sketch_of(
    target: Target, *, passes: int, seed: int = 0, progress: Progress = silent
) -> torch.Tensor:
    """JᵀG (K, n, d) for K Gaussian cotangents G: a backward pass each, for all words at once."""
    shape, encoded = tuple(target.base.shape), target.encoded
    copies = max(1, min(passes, BATCH_TOKENS // encoded.n))
    embeds = encoded.embeds.repeat(copies, 1, 1).requires_grad_(True)
    with torch.enable_grad():
        features = target.features(embeds)
    check_gradient(target, encoded.embeds[None], features)
    parts = []
    for start in range(0, passes, copies):
        draws = [
            torch.randn(shape, generator=generator(seed, "mean local", number))
            for number in range(start, start + copies)
        ]
        last = start + copies >= passes
        with torch.enable_grad():
            product = (features * torch.stack(draws).to(features)).sum()
        (found,) = torch.autograd.grad(product, embeds, retain_graph=not last)
        parts.append(found.to(torch.promote_types(found.dtype, torch.float32)))
        progress("small random moves", min(start + copies, passes), passes)
    return torch.cat(parts)[:passes]


def mean_local(
    sketch: torch.Tensor, encoded: EncodedText, words: Sequence[Word]
) -> list[tuple[float, float]]:
    """Mean local sensitivity of every word, from the sketch of all of them: the root mean square
    response to small random moves, and its standard error over the passes.
    """
    by_row = sketch.double().square().sum(2).cpu()
    found = []
    for word in words:
        squares = by_row[:, list(word.rows)].sum(1)
        scale = encoded.radius(word) / (len(word.rows) * sketch.shape[2]) ** 0.5
        value = float(squares.mean().sqrt())
        error = scale * value  # one pass gives no spread
        if value > 0.0 and len(squares) > 1:
            spread = float(squares.std()) / len(squares) ** 0.5
            error = scale * spread / (2 * value)
        found.append((scale * value, error))
    return found


def local(blocks: Blocks, sketch: torch.Tensor, progress: Progress = silent) -> list[Local]:
    """σ_max(J_I)·r_I of every word.

    Lanczos starts from the top direction of the word's part of the sketch: a random vector may
    miss the top direction and settle on the next one, K of them together do not.
    """
    found: list[Local] = []
    size = max(1, blocks.at_once // TWICE)
    for start in range(0, len(blocks), size):
        which = torch.arange(start, min(start + size, len(blocks)), device=blocks.radius.device)
        found += _lanczos(blocks, which, sketch)
        progress("worst small changes", len(found), len(blocks))
    return found


def _lanczos(blocks: Blocks, which: torch.Tensor, sketch: torch.Tensor) -> list[Local]:
    """Lanczos with full reorthogonalisation for JᵀJ of each word, side by side.

    A word's answer is that of the step at which it converged, whatever the others still need; when
    half of many words have converged, the others continue alone.
    """
    basis = [unit(_starts(blocks, which, sketch))]
    alphas: list[torch.Tensor] = []
    betas: list[torch.Tensor] = []
    found: dict[int, Local] = {}
    products = _Products(blocks, which)
    numbers = which.tolist()
    steps = min(STEPS, blocks.size)
    for step in range(1, steps + 1):
        w = products.square(basis[-1])
        alphas.append((w * basis[-1]).sum(1).double())
        for _ in range(2):  # twice is enough
            for q in basis:
                w = w - (w * q).sum(1, keepdim=True) * q
        beta = w.norm(dim=1).double()
        values, vectors = _ritz(alphas, betas)
        top = values[:, -1].clamp_min(torch.finfo(torch.float64).tiny)
        residual = beta * vectors[:, -1, -1].abs() / top
        for row, number in enumerate(numbers):
            settled = step >= FEWEST and float(residual[row]) <= TOLERANCE
            if number not in found and (settled or step == steps):
                spanned = torch.stack([q[row] for q in basis])
                found[number] = _found(
                    blocks, number, float(top[row]), float(residual[row]), spanned, vectors[row]
                )
        left = [row for row, number in enumerate(numbers) if number not in found]
        if not left:
            break
        betas.append(beta)
        basis.append(unit(w))
        if 2 * len(left) <= len(numbers) and len(numbers) >= MANY:
            del products  # its graph takes most of the memory
            numbers = [numbers[row] for row in left]
            basis, alphas, betas = ([one[left] for one in some] for some in (basis, alphas, betas))
            products = _Products(blocks, torch.tensor(numbers).to(which))
    return [found[number] for number in which.tolist()]


def _ritz(
    alphas: list[torch.Tensor], betas: list[torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Eigenvalues (ascending) and vectors of the tridiagonal matrices."""
    T = torch.diag_embed(torch.stack(alphas, 1))
    if betas:
        off = torch.stack(betas, 1)
        T = T + torch.diag_embed(off, 1) + torch.diag_embed(off, -1)
    values, vectors = torch.linalg.eigh(T)
    return values, vectors


def _found(
    blocks: Blocks,
    number: int,
    top: float,
    residual: float,
    basis: torch.Tensor,
    vectors: torch.Tensor,
) -> Local:
    """The Ritz vectors of one word, strongest first, as blocks of its rows."""
    m, d = len(blocks.words[number].rows), blocks.encoded.embeds.shape[1]
    count = min(3, vectors.shape[1])
    directions = [
        unit(vectors[:, -1 - at].to(basis) @ basis)[: m * d].reshape(m, d) for at in range(count)
    ]
    scale = float(blocks.radius[number]) / blocks.reach
    return Local(max(top, 0.0) ** 0.5 * scale, residual, directions[0], tuple(directions[1:]))


def _starts(blocks: Blocks, which: torch.Tensor, sketch: torch.Tensor) -> torch.Tensor:
    """For each word the direction that its part of the sketch (K, m·d) responds to most."""
    starts = torch.zeros(len(which), blocks.size).to(blocks.mask)
    for row, number in enumerate(which.tolist()):
        part = sketch[:, list(blocks.words[number].rows)].flatten(1).double()
        _, vectors = torch.linalg.eigh(part @ part.T)
        direction = vectors[:, -1] @ part
        starts[row, : part.shape[1]] = direction.to(starts)
    return starts


class _Products:
    """JᵀJv for a batch of words, through two graphs that are kept.

    Jᵀu is a backward pass. It is linear in u, so Jv is a backward pass through *it*: a third of the
    cost of forward mode, which multiplies by every weight twice more. Gradients are those of the
    scalar ⟨g, u⟩.
    """

    def __init__(self, blocks: Blocks, which: torch.Tensor) -> None:
        zero = torch.zeros(len(which), blocks.size).to(blocks.mask)
        self.point = zero.requires_grad_(True)
        with torch.enable_grad(), AttentionByFormula():
            self.features = blocks.target.features(blocks.moved(which, self.point))
            self.u = torch.zeros_like(self.features).requires_grad_(True)
            (self.pulled,) = torch.autograd.grad(
                (self.features * self.u).sum(), self.point, create_graph=True
            )

    def square(self, v: torch.Tensor) -> torch.Tensor:
        """JᵀJv (B, p) for v (B, p)."""
        with torch.enable_grad():
            (u,) = torch.autograd.grad((self.pulled * v).sum(), self.u, retain_graph=True)
            product = (self.features * u).sum()
        (w,) = torch.autograd.grad(product, self.point, retain_graph=True)
        return w


class AttentionByFormula(TorchFunctionMode):
    """Computes attention by its formula, in this thread: torch's fused one has no second
    derivative, and torch's switch between the two is one for all threads.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> torch.Tensor:
        called = attention_by_formula if func is scaled_dot_product_attention else func
        found: torch.Tensor = called(*args, **(kwargs or {}))
        return found


def attention_by_formula(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """softmax(QKᵀ·scale + mask)V with the arguments of torch's `scaled_dot_product_attention`."""
    if enable_gqa:
        key, value = (
            part.repeat_interleave(query.shape[-3] // part.shape[-3], -3) for part in (key, value)
        )
    root = math.sqrt(query.shape[-1] ** -0.5 if scale is None else scale)
    scores = (query * root) @ (key.mT * root)
    if is_causal:
        attn_mask = torch.ones_like(scores, dtype=torch.bool).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    shares = torch.softmax(scores, -1).masked_fill((scores == -math.inf).all(-1, True), 0.0)
    return torch.nn.functional.dropout(shares, dropout_p) @ value
