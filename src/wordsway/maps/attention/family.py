"""`ws.Attention`: one family of attention layers, composed of choices.

    φ(X) = heads side by side · O,     head h of row j: Σ_l P_jl v_l,   P from scores s_jl

with a choice of scores (`SCORES`), of projections (the paper's one matrix W, or Q, K, V, O with
heads), of a mask and of positions. docs/maps.md has the formulas, costs and certificates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, final

import torch

from wordsway.core.checks import AnyCount, Count, Number, Positive, Seed, validated
from wordsway.core.errors import InputError, positive
from wordsway.core.runtime import checked_device
from wordsway.core.sample import Sample
from wordsway.core.seeds import check_seed
from wordsway.maps.attention.certificates.heads.certificate import HeadsCertificate
from wordsway.maps.attention.definition import LARGE_SCORE
from wordsway.maps.attention.heads.layer import HeadsLayer, Setting
from wordsway.maps.attention.heads.sparse_view import SparseView
from wordsway.maps.attention.heads.view import Certify as CertifyHeads
from wordsway.maps.attention.heads.view import HeadsView
from wordsway.maps.attention.ingredients.encodings import (
    MASKS,
    POSITIONS,
    Rotation,
    alibi,
    growth,
    hidden_pairs,
    learned,
    sinusoidal,
)
from wordsway.maps.attention.ingredients.weights import draw_projections, given_projections
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.attention.one_matrix.view import AttentionView
from wordsway.maps.attention.scores.registry import SCORES, Choice
from wordsway.maps.attention.scores.sparsemax import SparseLayer, SparsemaxScores
from wordsway.maps.attention.trained import LayerAlone
from wordsway.maps.base import FeatureMap
from wordsway.maps.rigorous import ELEMENTARY, U
from wordsway.models.probe import Probe

AnyView = AttentionView | HeadsView | SparseView


@final
class Attention(FeatureMap):
    """Attention composed of choices; the default is the paper's RAF.

    Parameters
    ----------
    d : the dimension of rows; seed : of the weights, which are N(0, 1/d)
    scores : how scores become weights, one of `SCORES`
    heads : None for the paper's one matrix W, or the number of heads of Q, K, V and O
    mask : "none", "causal", "window" (keys nearer than ``window`` rows) or "padding" (the first
        ``visible`` keys)
    positions : "none", "sinusoidal" and "learned" (added to the text), "rope" (turns queries and
        keys) or "alibi" (subtracts distances from scores)
    temperature : scores are divided by it
    strength : λ of "differential"
    weight, weights : W, or {"Q": …, "K": …, "V": …, "O": …} (d×d, a row x has the query Qᵀx), in
        place of the seed; "Q2" and "K2" for "differential"

    >>> from wordsway import Sample
    >>> phi = Attention(d=8, scores="sink", heads=2, mask="causal", positions="rope")
    >>> phi(Sample.gaussian(n=3, d=8, seed=0)).shape
    torch.Size([3, 8])
    """

    name = "attention"
    has_rows = True

    @validated
    def __init__(
        self,
        d: Count | None = None,
        seed: Seed = 0,
        *,
        scores: str = "softmax",
        heads: Count | None = None,
        mask: str = "none",
        positions: str = "none",
        temperature: Positive = 1.0,
        window: AnyCount | None = None,
        visible: AnyCount | None = None,
        strength: Number = 0.5,
        weight: Any = None,
        weights: Mapping[str, Any] | None = None,
        name: str = "attention",
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> None:
        check_choices(scores, mask, positions, temperature, window, visible)
        self.name = name
        self.dtype, self.device = dtype, torch.device(checked_device(device))
        self.scores, self.mask, self.positions = scores, mask, positions
        self.temperature, self.window, self.visible = float(temperature), window, visible
        self.heads, self.strength = heads, float(strength)
        self.choice: Choice = SCORES[scores]
        self.seed: int | None = None
        if weight is None and weights is None:
            self.seed = check_seed(seed)
            drawn = draw_projections(positive("d", d), self.seed, heads, self.choice.shape)
        else:
            drawn = given_projections(d, heads, self.choice.shape, weight, weights)
        like = torch.empty(0, dtype=dtype, device=self.device)
        self.given = {key: value.to(like) for key, value in drawn.items()}
        self.d = len(next(iter(self.given.values())))
        self.projections = self.choice.projections(self.given, heads or 1, self.strength)
        self._certify_heads: CertifyHeads | None = None
        if self.choice.heads_are_means:
            self._certify_heads = HeadsCertificate(self.projections)
        if positions == "rope" and self.projections.Q.shape[1] // self.projections.heads % 2:
            raise InputError(
                "an even number of dimensions per head, which RoPE turns in pairs",
                self.projections.Q.shape[1] // self.projections.heads,
                "take another d or number of heads, or other positions",
            )

    @staticmethod
    def of(probe: Probe, layer: int) -> LayerAlone:
        """The trained attention of layer 1 … L of a model, taken alone: a map on its input rows.

        ``phi.sample(text)`` has the rows of a text.
        """
        return LayerAlone(probe, layer)

    @property
    def one_matrix(self) -> bool:
        """Whether it is the paper's layer but for scores, mask and added constants."""
        return self.heads is None and self.choice.bounds is not None and not self._rope

    @property
    def _rope(self) -> bool:
        return self.positions == "rope"

    def check(self, n: int, d: int) -> None:
        if d != self.d:
            raise InputError(f"texts with d={self.d}", f"d={d}", "make the map with the text's d")

    def factor(self, n: int) -> float:
        """What f·g is multiplied with."""
        m = self.projections.Q.shape[1] // self.projections.heads
        return self.choice.factor(m) * (growth(n) if self.choice.log_n else 1) / self.temperature

    def bias(self, n: int) -> torch.Tensor | None:
        """What masks and ALiBi add to the scores, (n, n) or (heads, n, n)."""
        hidden = hidden_pairs(n, self.mask, self.window, self.visible)
        bias = None
        if self.positions == "alibi":
            heads = self.heads or 1
            bias = alibi(n, heads).repeat(self.projections.heads // heads, 1, 1)
        if hidden is not None:
            bias = torch.zeros(1, n, n, dtype=torch.float64) if bias is None else bias
            bias = bias.masked_fill(hidden, -math.inf)
        return bias

    def encoded(self, X: torch.Tensor) -> torch.Tensor:
        """The text with its positions added."""
        n, d = X.shape[-2:]
        if self.positions == "sinusoidal":
            return X + sinusoidal(n, d).to(X)
        if self.positions == "learned":
            return X + learned(n, d, self.seed or 0).to(X)
        return X

    def setting(self, n: int, like: torch.Tensor) -> Setting:
        """The layer for texts of n rows."""
        m = self.projections.Q.shape[1] // self.projections.heads
        rotation = Rotation.of(n, m) if self._rope else None
        lift, bias = self.choice.lift, self.bias(n)
        kind = self.choice.scores
        setting = Setting(kind, lift, self.projections, self.factor(n), bias, rotation, self.name)
        return setting.to(like)

    def features(self, X: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return self.setting(X.shape[-2], X.to(dtype)).features(self.encoded(X))

    def view(self, sample: Sample, dtype: torch.dtype | None = None) -> AnyView:
        self.check(sample.n, sample.d)
        text = sample.X.to(self.device, dtype or self.dtype)
        X = self.encoded(text)
        if self.one_matrix:
            assert self.choice.bounds is not None
            bias = self.bias(sample.n)
            W = self.projections.Q.to(X) * (self.factor(sample.n) * math.sqrt(self.d))
            layer = Layer(
                self.choice.scores, X, W, self.name, None if bias is None else bias[0].to(X)
            )
            layer.text_error = self._text_error(X)
            return AttentionView(layer, self.choice.bounds, self.choice.suggest, text)
        setting = self.setting(sample.n, X)
        sparse = isinstance(setting.scores, SparsemaxScores)
        heads = SparseLayer(setting, X) if sparse else HeadsLayer(setting, X)
        heads.text_error = self._text_error(X)
        if isinstance(heads, SparseLayer):
            return SparseView(heads, text)
        return HeadsView(heads, self._certify_heads, text)

    def _text_error(self, X: torch.Tensor) -> float:
        """The rounding of a row to which a position of up to n radians was added."""
        if self.positions not in ("sinusoidal", "learned"):
            return 0.0
        n, d = X.shape
        return 2 * U * float(X.norm(dim=1).max()) + 4 * n * ELEMENTARY * math.sqrt(d)

    def search_view(self, sample: Sample) -> AnyView:
        if not self.choice.smooth:
            return self.view(sample)
        view = self.view(sample, torch.float32)
        s = view.layer.s
        largest = float(s[s > -math.inf].abs().max())
        return view if largest <= LARGE_SCORE else self.view(sample)

    def describe(self) -> dict[str, Any]:
        about: dict[str, Any] = {"map": self.name, "d": self.d, "scores": self.scores}
        optional = {
            "heads": (self.heads, None),
            "mask": (self.mask, "none"),
            "positions": (self.positions, "none"),
            "temperature": (self.temperature, 1.0),
            "window": (self.window, None),
            "visible": (self.visible, None),
            "strength": (self.strength, 0.5),
        }
        about |= {name: value for name, (value, usual) in optional.items() if value != usual}
        return about | {"seed": self.seed}


def check_choices(
    scores: str,
    mask: str,
    positions: str,
    temperature: float,
    window: int | None,
    visible: int | None,
) -> None:
    """Refuse unknown choices, naming the known ones, and combinations that mean nothing."""
    for what, value, known in (
        ("scores", scores, tuple(SCORES)),
        ("a mask", mask, MASKS),
        ("positions", positions, POSITIONS),
    ):
        if value not in known:
            raise InputError(f"{what} among {', '.join(known)}", repr(value), "choose one of them")
    if not isinstance(temperature, (int, float)) or not 0 < temperature < math.inf:
        raise InputError("a temperature > 0", repr(temperature), "1 is the usual one")
    if positions == "alibi" and not SCORES[scores].shifts:
        able = ", ".join(name for name, choice in SCORES.items() if choice.shifts)
        raise InputError(
            f"ALiBi with scores among {able}",
            scores,
            "subtracting distances means something to exponentials only: choose rope instead",
        )
    for needs, name, size in (("window", "window", window), ("padding", "visible", visible)):
        if size is not None:
            positive(name, size)
        if (mask == needs) != (size is not None):
            raise InputError(
                f'{name} ≥ 1 with mask="{needs}", and only there',
                f"{name}={size} with mask={mask!r}",
                f"pass both, for example mask={needs!r}, {name}=8",
            )
