"""A Δ that attracts attention, in closed form (the idea of the proof of the paper's Theorem 3).

In the first layer a query j attends to token i with the score s_ji = q_j·k_i/√d_h, and moving row i
of the input moves the keys: to first order s_ji grows by G_jΔ, G_j = ∂s_ji/∂x_i. Where the layer
normalises after attention, as BERT does, this is exact. The Δ of norm ρ‖x_i‖ that raises the scores
of all other queries most, in sum, is

    Δ = ρ‖x_i‖ · g/‖g‖,   g = Σ_h Σ_{j≠i} G_j,

for RAF the paper's Δ ∝ Σ_j Wᵀx_j. G is read off the attention itself, for any architecture: since
Σ_l p_jl = 1 and only s_ji moves, ∂ log p_ji/∂x_i = (1 − p_ji) G_j, so g is one backward pass. A
word of several tokens moves as one block: each of its rows by its own g_i, the queries being those
of all other words, and together by ρ times the root mean square of their lengths.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from wordsway.core.checks import Count, OneText, Reach, Seed, validated
from wordsway.core.errors import InputError, WordswayError
from wordsway.core.progress import Progress, silent
from wordsway.core.reading import Word
from wordsway.core.result import Result, versions
from wordsway.core.seeds import generator
from wordsway.models.probe import EncodedText, Probe
from wordsway.probing.attention import (
    AttentionHead,
    AttentionLayer,
    eager_probe,
    head_numbers,
    layer_among,
    named_head,
)
from wordsway.probing.moves import MEMORY, check_differentiable, profiles
from wordsway.text.clean import checked

if TYPE_CHECKING:
    import pandas

#: Draws of noise that the change is compared with.
DRAWS = 8


@dataclass(frozen=True)
class Attracted(Result, brief="rows head reach drawn model", derived="row factors"):
    """Attention drawn to one token, or to the tokens of one word: every layer's relative change
    next to that of noise of the same norm.

    ``before`` and ``after`` are the attention, n×n, of layer ``layer``, of its head ``shown_head``
    or the "mean" over its heads; Δ draws that of the first layer, of ``head``. ``delta`` has a row
    for each of ``rows``. ``word`` is the number of the word, where one was named.
    """

    text: str
    tokens: tuple[str, ...]
    rows: tuple[int, ...]
    head: int | str
    reach: float
    profile: tuple[float, ...]
    noise: tuple[float, ...]
    before: tuple[tuple[float, ...], ...]
    after: tuple[tuple[float, ...], ...]
    model: dict[str, Any]
    seed: int
    seconds: float
    versions: dict[str, str]
    delta: torch.Tensor | None = field(default=None, repr=False, compare=False)
    word: int | None = None
    layer: int = 1
    shown_head: int | str = "mean"

    @property
    def row(self) -> int:
        """The token, or the first one of the word."""
        return self.rows[0]

    @property
    def drawn(self) -> tuple[float, float]:
        """The mean share of attention that other tokens give to these, before and after."""
        others = [at for at in range(len(self.tokens)) if at not in self.rows]
        before, after = (
            sum(m[at][row] for at in others for row in self.rows) / max(1, len(others))
            for m in (self.before, self.after)
        )
        return before, after

    @property
    def factors(self) -> tuple[float, ...]:
        """How many times more than noise each layer moves; infinite where noise moves nothing."""
        return tuple(
            change / noise if noise > 0 else math.inf
            for change, noise in zip(self.profile, self.noise, strict=True)
        )

    def frame(self) -> pandas.DataFrame:
        """One row per layer."""
        import pandas

        columns = {"change": self.profile, "noise": self.noise, "factor": self.factors}
        return pandas.DataFrame({"layer": range(len(self.profile))} | columns)


@validated
def attract(
    text: OneText,
    word: int | str | None = None,
    model: Any = "minilm",
    *,
    token: int | None = None,
    head: AttentionHead = "mean",
    show_layer: AttentionLayer = 1,
    show_head: AttentionHead | None = None,
    reach: Reach = 1.0,
    seed: Seed = 0,
    draws: Count = DRAWS,
    device: str = "cpu",
    dtype: str = "float32",
    trust_remote_code: bool = False,
    progress: Progress = silent,
) -> Attracted:
    """Move a word, by its number (from 0) or spelling, so that the first layer attends to it.

    Parameters
    ----------
    token : instead of a word one row of the input, counted from 0 with special tokens
    head : one head of the first layer, counted from 0, or the "mean" over all: whose attention is
        drawn
    show_layer, show_head : whose attention is reported: a layer, 1 … L or "last", and one of its
        heads, or their "mean"; by default the first layer, and ``head``
    """
    started = time.perf_counter()
    checked(text)
    how = {"device": device, "dtype": dtype, "trust_remote_code": trust_remote_code}
    probe = eager_probe(model, "attract", progress, **how)
    progress("moving the word", 0, 0)
    encoded = probe.read(text, "input")
    named = None if word is None else encoded.word(word)
    rows = (token or 0,) if named is None else named.rows
    if not 0 <= rows[0] < encoded.n:
        remedy = "count tokens from 0, special ones included"
        raise InputError(f"a token between 0 and {encoded.n - 1}", token, remedy)
    with torch.no_grad():
        every = probe.layers.attentions(encoded.embeds[None], "input")
    if 1 not in every:
        raise InputError(
            "a model with attention in its first layer",
            f"{probe.files.name}, whose first is in layer {min(every)}",
            "take another model, such as minilm",
        )
    layer = layer_among(show_layer, every)
    shown = head if show_head is None else show_head
    heads = head_numbers(head, every[1].shape[1])
    seen = head_numbers(shown, every[layer].shape[1])
    moving = Word(0, "", 0, 0, rows)
    delta = torch.stack([pull(probe, encoded, one, heads, rows) for one in rows])
    delta *= reach * encoded.radius(moving) / delta.norm()
    noise = generator(seed, "attract", rows[0])
    random_deltas = torch.randn(draws, *delta.shape, generator=noise).to(delta)
    random_deltas *= (delta.norm() / random_deltas.flatten(1).norm(dim=1))[:, None, None]
    changes = profiles(probe, encoded, [moving] * (1 + draws), [delta, *random_deltas], MEMORY)
    mean = torch.tensor(changes[1:], dtype=torch.float64).mean(0).tolist()
    with torch.no_grad():
        moved = encoded.embeds.clone()
        moved[list(rows)] += delta
        before, after = (
            _rows(layers[layer][0][seen].mean(0))
            for layers in (every, probe.layers.attentions(moved[None], "input"))
        )
    return Attracted(
        text,
        tuple(token.piece for token in encoded.reading.tokens),
        tuple(rows),
        named_head(head),
        reach,
        changes[0],
        tuple(mean),
        before,
        after,
        probe.describe(),
        seed,
        time.perf_counter() - started,
        versions(),
        delta.cpu(),
        None if named is None else named.index,
        layer,
        named_head(shown),
    )


def pull(
    probe: Probe, encoded: EncodedText, row: int, heads: list[int], word: tuple[int, ...] = ()
) -> torch.Tensor:
    """g = Σ_h Σ_j ∂s_ji/∂x_i over the tokens j outside of the word, by one backward pass."""
    with torch.enable_grad():
        x = encoded.embeds[row].clone().requires_grad_(True)
        embeds = encoded.embeds.index_put((torch.tensor([row]),), x[None])
        p = probe.layers.attentions(embeds[None], "input")[1][0][heads][:, :, row]
        seen = p > 0  # a causal model's earlier tokens cannot attend to later ones
        seen[:, [row, *word]] = False
        if not bool(seen.any()):
            raise WordswayError(
                "no other token attends to this one: it is the last of a causal model's text"
            )
        check_differentiable(p)
        (g,) = torch.autograd.grad(
            (p[seen].log() / (1 - p[seen]).detach().clamp_min(1e-6)).sum(), x
        )
    return g


def _rows(matrix: torch.Tensor) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(line) for line in matrix.tolist())
