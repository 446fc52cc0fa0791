"""`ws.Attention`: one family of attention layers, composed of choices, and its presets.

    φ(X) = heads side by side · O,     head h of row j: Σ_l P_jl v_l,   P from scores s_jl

with a choice of scores (`SCORES`), of projections (the paper's one matrix W, or Q, K, V, O with
heads), of a mask and of positions. docs/maps.md has the formulas, costs and certificates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, final

import torch

from wordsway.core.checks import AnyCount, Count, Number, OneOf, Positive, Seed, validated
from wordsway.core.errors import InputError, positive
from wordsway.core.runtime import checked_device
from wordsway.core.sample import Sample
from wordsway.gaussian.laws import Law, law_name
from wordsway.maps.attention.certificates.heads import HeadsCertificate
from wordsway.maps.attention.heads import HeadsView, Setting
from wordsway.maps.attention.ingredients import (
    MASKS,
    POSITIONS,
    Rotation,
    alibi,
    draw_projections,
    given_projections,
    growth,
    hidden_pairs,
    learned,
    projections_of,
    sinusoidal,
)
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.attention.one_matrix.view import AttentionView
from wordsway.maps.attention.scores.function import ScoreFunction
from wordsway.maps.attention.scores.registry import SCORES
from wordsway.maps.base import FeatureMap
from wordsway.maps.rigorous import ELEMENTARY, U

AnyView = AttentionView | HeadsView

#: Scores beyond this are searched in double precision: single precision resolves a score of 1,000
#: to 1e-4 only, and e^−88 is zero in it. Rows of norm √d with W_ab ~ N(0, 1/d) have scores N(0, 1).
LARGE_SCORE = 30.0
#: Smaller texts gain no time from single precision where scores have kinks.
SINGLE_FROM = 2**13


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
    law : of the drawn weights, a name of `wordsway.gaussian.laws` or a function (rows, cols, seed)

    >>> from wordsway import Sample
    >>> phi = Attention(d=8, scores="sink", heads=2, mask="causal", positions="rope")
    >>> phi(Sample.gaussian(n=3, d=8, seed=0)).shape
    torch.Size([3, 8])
    """

    name = "attention"
    has_rows = True
    has_single = True

    @validated
    def __init__(
        self,
        d: Count | None = None,
        seed: Seed = 0,
        *,
        scores: Annotated[str, OneOf(tuple(SCORES))] = "softmax",
        heads: Count | None = None,
        mask: Annotated[str, OneOf(MASKS)] = "none",
        positions: Annotated[str, OneOf(POSITIONS)] = "none",
        temperature: Positive = 1.0,
        window: AnyCount | None = None,
        visible: AnyCount | None = None,
        strength: Number = 0.5,
        weight: Any = None,
        weights: Mapping[str, Any] | None = None,
        law: Law = "gaussian",
        name: str = "attention",
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> None:
        check_choices(scores, mask, positions, window, visible)
        self.name = name
        self.dtype, self.device = dtype, torch.device(checked_device(device))
        self.scores, self.mask, self.positions = scores, mask, positions
        self.temperature, self.window, self.visible = float(temperature), window, visible
        self.heads, self.strength = heads, float(strength)
        self.law = law_name(law)
        self.function: ScoreFunction = SCORES[scores]
        self.seed: int | None = None
        shape = self.function.shape
        if weight is None and weights is None:
            self.seed = seed
            drawn = draw_projections(positive("d", d), seed, heads, shape, law)
        else:
            drawn = given_projections(d, heads, shape, weight, weights)
        #: The matrices by name, as ``weights`` takes them.
        self.given = {key: value.to(self.device, dtype) for key, value in drawn.items()}
        self.d = len(next(iter(self.given.values())))
        self.projections = projections_of(self.given, shape, heads, self.strength)
        self._certify_heads = None
        if self.function.scores.logistic:
            self._certify_heads = HeadsCertificate(self.projections)
        if positions == "rope" and self.projections.width % 2:
            raise InputError(
                "an even number of dimensions per head, which RoPE turns in pairs",
                self.projections.width,
                "take another d or number of heads, or other positions",
            )

    @property
    def one_matrix(self) -> bool:
        """Whether it is the paper's layer but for scores, mask and added constants."""
        by_scores = self.function.bounds is not None
        return self.heads is None and by_scores and self.positions != "rope"

    @property
    def weight(self) -> torch.Tensor:
        """W of a layer with one matrix."""
        return self.projections.Q

    def check(self, n: int, d: int) -> None:
        if d != self.d:
            raise InputError(f"texts with d={self.d}", f"d={d}", "make the map with the text's d")

    def bias(self, n: int) -> torch.Tensor | None:
        """What masks and ALiBi add to the scores, (1, n, n) or (heads, n, n)."""
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
        """The layer with heads for texts of n rows."""
        function, m = self.function, self.projections.width
        factor = m**-function.power * self._sharpness(n)
        rotation = Rotation.of(n, m) if self.positions == "rope" else None
        scores, lift, bias = function.scores, function.lift, self.bias(n)
        setting = Setting(scores, lift, self.projections, factor, bias, rotation, self.name)
        return setting.to(like)

    def _sharpness(self, n: int) -> float:
        return (growth(n) if self.function.log_n else 1) / self.temperature

    def _one_matrix(self, n: int, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """W with the score function's own factor in place of 1/√d, and the bias (n, n)."""
        W, bias = self.weight.to(like), self.bias(n)
        factor = self.d ** (0.5 - self.function.power) * self._sharpness(n)
        return W if factor == 1 else W * factor, None if bias is None else bias[0].to(like)

    def features(self, X: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        X = self.encoded(X.to(dtype))
        return self._attend(X, self._scores(X))

    def features_in_single(self, X: torch.Tensor) -> torch.Tensor | None:
        X = self.encoded(X.to(self.device, torch.float32))
        s = self._scores(X)
        return self._attend(X, s) if largest_score(s) <= LARGE_SCORE else None

    def _scores(self, X: torch.Tensor) -> torch.Tensor:
        """(…, n, d) → (…, n, n), or (…, heads, n, n)."""
        n = X.shape[-2]
        if not self.one_matrix:
            setting = self.setting(n, X)
            return setting.score(setting.queries(X), setting.keys(X))
        W, bias = self._one_matrix(n, X)
        s = X @ W @ X.mT / math.sqrt(self.d)
        return s if bias is None else s + bias

    def _attend(self, X: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        if self.one_matrix:
            return self.function.scores.attention(s) @ X
        return self.setting(X.shape[-2], X).attend(X, s)

    def view(self, sample: Sample, dtype: torch.dtype | None = None) -> AnyView:
        self.check(sample.n, sample.d)
        text = sample.X.to(self.device, dtype or self.dtype)
        X, function = self.encoded(text), self.function
        if self.one_matrix:
            assert function.bounds is not None
            W, bias = self._one_matrix(sample.n, X)
            layer = Layer(function.scores, X, W, self.name, bias)
            layer.text_error = self._text_error(X)
            return AttentionView(layer, function.bounds, function.starts, text)
        heads = function.layer(self.setting(sample.n, X), X)
        heads.text_error = self._text_error(X)
        return function.view(heads, self._certify_heads, text)

    def _text_error(self, X: torch.Tensor) -> float:
        """The rounding of a row to which a position of up to n radians was added."""
        if self.positions not in ("sinusoidal", "learned"):
            return 0.0
        n, d = X.shape
        return 2 * U * float(X.norm(dim=1).max()) + 4 * n * ELEMENTARY * math.sqrt(d)

    def search_view(self, sample: Sample) -> AnyView:
        """In single precision where scores are smooth, and where kinks are followed in up to d rows
        (the mean S of a size moves by at most 0.025 %; beyond n = d it may be lost by 10 %).
        """
        n, d = sample.n, sample.d
        large = self.heads is None and n <= d and n * d >= SINGLE_FROM
        if self.function.smooth or (self.function.scores.kinks and large):
            view = self.view(sample, torch.float32)
            if largest_score(view.layer.s) <= LARGE_SCORE:
                return view
        return self.view(sample)

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
            "law": (self.law, "gaussian"),
        }
        about |= {name: value for name, (value, usual) in optional.items() if value != usual}
        return about | {"seed": self.seed}


def largest_score(s: torch.Tensor) -> float:
    """The largest |score| over visible keys; NaN where a score is none."""
    return float(torch.where(s == -math.inf, 0.0, s).abs().max())


class Preset(Attention):
    """The paper's layer, φ(X) = P(XWXᵀ/√d) X with W_ab ~ N(0, 1/d), with one score function."""

    #: Its name in `SCORES`.
    preset: ClassVar[str]

    @validated
    def __init__(
        self,
        d: Count | None = None,
        seed: Seed = 0,
        *,
        weight: Any = None,
        law: Law = "gaussian",
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__(
            d,
            seed,
            scores=self.preset,
            weight=weight,
            law=law,
            name=type(self).name,
            dtype=dtype,
            device=device,
        )

    def view(self, sample: Sample, dtype: torch.dtype | None = None) -> AttentionView:
        view = super().view(sample, dtype)
        assert isinstance(view, AttentionView)
        return view

    def describe(self) -> dict[str, Any]:
        law = {} if self.law == "gaussian" else {"law": self.law}
        return {"map": self.name, "d": self.d} | law | {"seed": self.seed}


@final
class RAF(Preset):
    """Random attention features φ(X) = softmax(XWXᵀ/√d) X, W_ab ~ N(0, 1/d), or your own
    ``weight=W``.

    >>> from wordsway import Sample
    >>> RAF(d=4, seed=0)(Sample.gaussian(n=3, d=4, seed=0)).shape
    torch.Size([3, 4])
    """

    name, preset = "raf", "softmax"


@final
class ReluRAF(Preset):
    """Attention with normalised ReLU scores,

        φ(X)_j = Σ_l (s_jl)₊ x_l / Σ_l (s_jl)₊,

    zero where no score is positive.
    """

    name, preset = "relu-raf", "relu"


@final
class SigmoidRAF(Preset):
    """Sigmoid attention φ(X)_j = Σ_l σ(s_jl − log n) x_l, s = XWXᵀ/√d, W_ab ~ N(0, 1/d)."""

    name, preset = "sigmoid", "sigmoid"


def check_choices(
    scores: str, mask: str, positions: str, window: int | None, visible: int | None
) -> None:
    """Refuse combinations that mean nothing."""
    if positions == "alibi" and not SCORES[scores].shifts:
        able = ", ".join(name for name, choice in SCORES.items() if choice.shifts)
        raise InputError(
            f"ALiBi with scores among {able}",
            scores,
            "ALiBi is defined for these scores only: choose rope instead",
        )
    for needs, name, size in (("window", "window", window), ("padding", "visible", visible)):
        if (mask == needs) != (size is not None):
            raise InputError(
                f'{name} ≥ 1 with mask="{needs}", and only there',
                f"{name}={size} with mask={mask!r}",
                f"pass both, for example mask={needs!r}, {name}=8",
            )
