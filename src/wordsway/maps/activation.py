"""Activations ϕ: the function, its derivative, and how far one neuron can move.

Certificates need two facts about ϕ, both one-sided and safe:

- ``slope(lo, hi)``: an upper bound of |ϕ′| on [lo, hi];
- ``gain(z, c)``: an upper bound of |ϕ(z+u) − ϕ(z)|/|u| over 0 < |u| ≤ c.

With a = slope(z−τ, z+τ) and L = Lip(ϕ), a move u costs at most a·min(|u|,τ) + L·(|u|−τ)₊, so that
gain(z, c) ≤ a + (L−a)(1−τ/c)₊ for every τ. For ReLU and z < 0, τ = |z| gives the exact (1 −
|z|/c)₊.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from wordsway.core.checks import Positive, check_fields, validated
from wordsway.core.errors import InputError
from wordsway.maps.rigorous import ELEMENTARY, U

Elementwise = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Activation:
    """ϕ with its derivative and Lipschitz constant.

    ``critical`` lists the points where |ϕ′| may peak (so slopes on an interval are exact); ``kink``
    marks a piecewise linear ϕ with its kink at 0. ``lipschitz`` is None if it was not specified:
    then no certificate exists.
    """

    name: str
    function: Elementwise
    derivative: Elementwise
    lipschitz: Positive | None
    critical: tuple[float, ...] | None = None
    kink: bool = False
    #: The sum of the sizes of the terms of ϕ′, where they may cancel.
    terms: Elementwise | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        return self.function(z)

    def slope(self, lo: torch.Tensor, hi: torch.Tensor) -> torch.Tensor:
        """sup |ϕ′| on [lo, hi], elementwise; an interval that ends at a kink stays on its side."""
        L = self.certified_lipschitz()
        if self.critical is None:
            return torch.full_like(lo, L)
        if self.kink:
            return torch.where(hi > 0, L, self.derivative(lo).abs())
        peak = torch.maximum(self.derivative(lo).abs(), self.derivative(hi).abs())
        for point in self.critical:
            top = float(self.derivative(torch.tensor(point, dtype=torch.float64)).abs())
            peak = torch.where((lo <= point) & (point <= hi), peak.clamp_min(top), peak)
        if self.terms is not None:  # a derivative that may cancel
            peak = peak + torch.maximum(self.terms(lo), self.terms(hi)) * 1e-12
        # Some ten elementary functions and products, each within 16 units of roundoff.
        return (peak * (1 + 1e-12)).clamp_max(L)

    def rounding(self, z: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        """How far h = ϕ(z) is from exact arithmetic: elementary functions, whose argument is z or
        z/√2, so that erfc is off by z² roundings more. Of a callable nothing is known: it is
        assumed to be within 64 units of roundoff of |z| + |ϕ(z)|.
        """
        if self.kink:
            return 4 * U * h.abs()
        if self.critical is None:
            return 4 * ELEMENTARY * (h.abs() + z.abs())
        return 2 * ELEMENTARY * (2 + z * z) * h.abs()

    def gain(
        self, z: torch.Tensor, c: torch.Tensor, error: torch.Tensor | float = 0.0
    ) -> torch.Tensor:
        """sup |ϕ(z+u) − ϕ(z)|/|u| over 0 < |u| ≤ c, or a bound above it, for every z within
        ``error`` of the given one.

        >>> relu = activation("relu")
        >>> relu.gain(torch.tensor([1.0, -1.0, -1.0]), torch.tensor([2.0, 2.0, 0.5])).tolist()
        [1.0, 0.5, 0.0]
        """
        L = self.certified_lipschitz()
        best = torch.full_like(z, L)
        # A kink is as far away as |z|, and nearer by the error for neurons that sleep: z + error.
        z = z + error if self.kink else z
        off = 0.0 if self.kink else error
        for tau in [z.abs()] if self.kink else [c * share for share in (0.25, 0.5, 0.75, 1.0)]:
            a = self.slope(z - tau - off, z + tau + off)
            best = torch.minimum(best, a + (L - a) * (1 - tau / c.clamp_min(1e-300)).clamp_min(0))
        return best

    def certified_lipschitz(self) -> float:
        if self.lipschitz is None:
            raise InputError(
                "an activation with a known Lipschitz constant",
                f"{self.name!r} without one",
                "pass Activation(..., lipschitz=L)",
            )
        return self.lipschitz


def _tanh_slope(z: torch.Tensor) -> torch.Tensor:
    # 1 − tanh² without the cancellation of a saturated neuron.
    q = torch.exp(-2 * z.abs())
    return 4 * q / (1 + q) ** 2


def _gelu(z: torch.Tensor) -> torch.Tensor:
    return 0.5 * z * torch.erfc(-z / math.sqrt(2))


def _gelu_slope(z: torch.Tensor) -> torch.Tensor:
    return 0.5 * torch.erfc(-z / math.sqrt(2)) + z * torch.exp(-0.5 * z * z) / math.sqrt(
        2 * math.pi
    )


def _gelu_terms(z: torch.Tensor) -> torch.Tensor:
    return 0.5 * torch.erfc(-z / math.sqrt(2)) + z.abs() * torch.exp(-0.5 * z * z) / 2


_GELU_LIPSCHITZ = 1.1289042340379  # ϕ′(√2), where ϕ″ = (2 − z²)·density vanishes; rounded up
_LEAK = 0.01

KNOWN = {
    a.name: a
    for a in (
        Activation("relu", torch.relu, lambda z: (z > 0).to(z.dtype), 1.0, (), kink=True),
        Activation(
            "leaky-relu",
            lambda z: torch.nn.functional.leaky_relu(z, _LEAK),
            lambda z: torch.where(z > 0, torch.ones_like(z), _LEAK),
            1.0,
            (),
            kink=True,
        ),
        Activation("tanh", torch.tanh, _tanh_slope, 1.0, (0.0,)),
        Activation(
            "sigmoid", torch.sigmoid, lambda z: torch.sigmoid(z) * torch.sigmoid(-z), 0.25, (0.0,)
        ),
        Activation(
            "erf",
            torch.erf,
            lambda z: 2 / math.sqrt(math.pi) * torch.exp(-z * z),
            2 / math.sqrt(math.pi),
            (0.0,),
        ),
        Activation(
            "gelu",
            _gelu,
            _gelu_slope,
            _GELU_LIPSCHITZ,
            (-math.sqrt(2), math.sqrt(2)),
            terms=_gelu_terms,
        ),
        Activation("identity", lambda z: z, torch.ones_like, 1.0),
    )
}


@validated
def activation(
    which: str | Activation | Elementwise, lipschitz: Positive | None = None
) -> Activation:
    """An activation by name, or one made of any elementwise torch callable (derivative by
    autograd).

    >>> activation("tanh").lipschitz
    1.0
    >>> activation(torch.sin, lipschitz=1.0).derivative(torch.zeros(1)).item()
    1.0
    """
    if isinstance(which, Activation):
        return which
    if isinstance(which, str):
        if which not in KNOWN:
            raise InputError(
                f"an activation among {', '.join(sorted(KNOWN))}",
                repr(which),
                "or pass an elementwise torch callable",
            )
        return KNOWN[which]
    function = which

    def derivative(z: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            z = z.detach().requires_grad_(True)
            return torch.autograd.grad(function(z).sum(), z)[0]

    return Activation(getattr(which, "__name__", "callable"), function, derivative, lipschitz)
