"""The interface of a map: its definition φ(X), and its view of one text where one row may move."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self, final

import torch

from wordsway.constraints import Constraint
from wordsway.core.checks import Condition
from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, silent
from wordsway.core.sample import Sample, float64
from wordsway.maps.rigorous import Certificate
from wordsway.optimize import Objective
from wordsway.optimize.plan import Plan

#: The gradients (B, d) with respect to Δ of Σ_t c_t·(readout t), for coefficients c (B, T).
Pull = Callable[[torch.Tensor], torch.Tensor]


class Readout(ABC):
    """T linear readouts φ(X^i(Δ))·θ seen from one sample."""

    @abstractmethod
    def at(self, rows: torch.Tensor, delta: torch.Tensor) -> tuple[torch.Tensor, Pull]:
        """Values (B, T) for B pairs (i, Δ), and the derivatives of functions of them in Δ."""

    def values(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        """Values (B, T) alone."""
        return self.at(rows, delta)[0]


@final
class TracedReadout(Readout):
    """Readouts ``values(rows, delta)`` (B, T) differentiable in Δ, in the dtype of ``like``."""

    def __init__(
        self, values: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], like: torch.Tensor
    ) -> None:
        self._values, self._like = values, like

    def at(self, rows: torch.Tensor, delta: torch.Tensor) -> tuple[torch.Tensor, Pull]:
        with torch.enable_grad():
            delta = delta.detach().to(self._like).requires_grad_(True)
            value = self._values(rows, delta)

        def pull(c: torch.Tensor) -> torch.Tensor:
            if not value.requires_grad:
                return torch.zeros_like(delta)
            return torch.autograd.grad(value, delta, c, retain_graph=True, materialize_grads=True)[
                0
            ]

        return value.detach(), pull


class View(Objective):
    """A map at one sample: how far a Δ at one row moves φ, and the gradient of that change.

    It is the objective of a search over ‖Δ‖ ≤ ``reach`` with one problem per row i,

        S²(i, Δ) = ‖φ(X^i(Δ)) − φ(X)‖²/‖φ(X)‖².

    ``rows`` is (B,), ``delta`` is (B, d), values are (B,), gradients with respect to Δ are (B, d).
    A view defines `traced`, which autograd differentiates, or both `value` and
    `value_and_gradient`.
    """

    #: Whether one evaluation is too small, or too bound to memory, for more than one thread.
    small: bool = False

    def __init__(self, X: torch.Tensor, plan: Plan | None = None) -> None:
        self.X = X
        self.plan = Plan() if plan is None else plan
        self.dimension, self.dtype, self.device = X.shape[1], X.dtype, X.device
        self.reach = math.sqrt(X.shape[1])

    def within(self, radius: float, constraint: Constraint | None = None) -> Self:
        """The same view, to be searched over ‖Δ‖ ≤ radius instead of √d, or over a set in it."""
        return self.copied(reach=radius, constraint=constraint)

    def copied(self, **parts: Any) -> Self:
        """A copy with other parts, without the properties that were computed from the old ones."""
        view, kind = copy.copy(self), type(self)
        for name in list(vars(view)):
            if isinstance(getattr(kind, name, None), cached_property):
                del vars(view)[name]
        vars(view).update(parts)
        return view

    def radius(self, which: torch.Tensor) -> torch.Tensor:
        return torch.full((len(which),), self.reach, dtype=torch.float64, device=self.device)

    def traced(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        """S²(i, Δ) for each point of the batch, differentiable in Δ."""
        raise NotImplementedError

    def value(self, which: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return self.traced(which, x)

    def value_and_gradient(
        self, which: torch.Tensor, x: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.enable_grad():
            x = x.detach().requires_grad_(True)
            value = self.traced(which, x)
            if not value.requires_grad:
                raise InputError(
                    "a differentiable map",
                    "features without a gradient",
                    "compute them in torch, without detach(), no_grad() or comparisons",
                )
            (gradient,) = torch.autograd.grad(value.sum(), x, materialize_grads=True)
        return value.detach(), gradient

    def smoothed(self, width: float) -> View:
        """The view with its kinks rounded over ``width``; itself where it has none."""
        return self

    def landmark(self, problem: int) -> torch.Tensor:
        """−x_i, where the row is erased and a map that does not see lengths can point anywhere."""
        return -self.X[problem]

    def describe(self, value: float) -> str:
        return f"best S {math.sqrt(max(0.0, value)):.4g}"

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate | None:
        """What S at each of the rows cannot exceed, from a float64 view; None where unknown."""
        return None

    @property
    def rounding(self) -> float:
        """‖φ̂(X) − φ(X)‖ at most, in float64 and in exact arithmetic; +∞ where nothing is known."""
        return math.inf

    def readout(self, thetas: torch.Tensor) -> Readout:
        """The readouts φ(X^i(Δ))·θ for each row θ of ``thetas`` (T, p)."""
        raise InputError(
            "a map with a readout", type(self).__name__, "use FeatureMap.of, which has one"
        )


class FeatureMap(ABC):
    """φ: texts (…, n, d) → features. A concrete map is final: variations are arguments."""

    name: str
    #: Whether the features have one row for each row of the text: wrappers go around such maps.
    has_rows: ClassVar[bool] = False
    #: Whether `features_in_single` is implemented.
    has_single: ClassVar[bool] = False
    dtype: torch.dtype
    device: torch.device

    @abstractmethod
    def features(self, X: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """The definition, in ``dtype`` arithmetic: (B, n, d) → (B, …)."""

    @abstractmethod
    def view(self, sample: Sample, dtype: torch.dtype | None = None) -> View:
        """The view of ``sample``, in ``dtype`` arithmetic (the map's own by default)."""

    def search_view(self, sample: Sample) -> View:
        """The view for searches, in less than float64 where that finds the same maxima."""
        return self.view(sample)

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Name, sizes and seed: everything needed to reconstruct this map."""

    def features_in_single(self, X: torch.Tensor) -> torch.Tensor | None:
        """The definition in single precision, for `has_single`; None where that is inaccurate."""
        return None

    def __call__(self, X: Any) -> torch.Tensor:
        """φ of one sample, of an array (…, n, d), or of a list of samples, stacked."""
        return self._evaluate(X, self.dtype)

    def exact(self, X: Any) -> torch.Tensor:
        """φ in float64 arithmetic, whatever the map's own dtype."""
        return self._evaluate(X, torch.float64)

    def _evaluate(self, X: Any, dtype: torch.dtype) -> torch.Tensor:
        batch = as_batch(X).to(self.device, dtype)
        self.check(*batch.shape[-2:])
        out = self.features(batch.reshape(-1, *batch.shape[-2:]), dtype)
        return out.reshape(*batch.shape[:-2], *out.shape[1:])

    def check(self, n: int, d: int) -> None:
        """Reject texts that this map does not support; by default none."""
        return

    #: `wordsway.maps.callable.CallableMap`: a map of any differentiable torch callable.
    of: ClassVar[Callable[..., FeatureMap]]

    def __repr__(self) -> str:
        options = ", ".join(f"{k}={v}" for k, v in self.describe().items() if k != "map")
        return f"{type(self).__name__}({options})"


#: A map as an argument.
Map = Annotated[FeatureMap, Condition(remedy="wrap a function or module: FeatureMap.of(function)")]


def as_batch(X: Any) -> torch.Tensor:
    """Texts as a float64 tensor (…, n, d)."""
    if isinstance(X, Sample):
        return X.X
    if isinstance(X, Sequence) and X and all(isinstance(x, Sample) for x in X):
        if len({x.X.shape for x in X}) > 1:
            raise InputError(
                "samples of one shape",
                f"shapes {sorted({tuple(x.X.shape) for x in X})}",
                "pass texts of one n and d, or call the map on each",
            )
        return torch.stack([x.X for x in X])
    batch = X if isinstance(X, torch.Tensor) else float64(X, "a text")
    if not bool(batch.isfinite().all()):
        raise InputError("finite texts", "NaN or infinite entries", "clean the text first")
    if batch.ndim < 2:
        raise InputError(
            "texts of shape (…, n, d)",
            f"shape {tuple(batch.shape)}",
            "pass one text as an n×d array",
        )
    return batch


class FeatureRangeError(InputError):
    """φ(X) is zero, or its square over- or underflows, in the requested arithmetic."""


def search_view_of(phi: FeatureMap, sample: Sample) -> View:
    """``phi.search_view(sample)``, in float64 where φ(X) is out of range in less than that."""
    try:
        return phi.search_view(sample)
    except FeatureRangeError:
        return phi.view(sample, torch.float64)


def nonzero_norm(norm: float, name: str) -> float:
    """‖φ(X)‖, refused where it is 0 or where its square over- or underflows."""
    if norm > 0 and not 1e-140 < norm < 1e140:
        raise FeatureRangeError(
            "‖φ(X)‖ between 1e-140 and 1e140",
            f"{norm} for {name}",
            "rescale the text or the weights",
        )
    if not norm > 0:
        raise FeatureRangeError(
            "φ(X) ≠ 0, so that a relative change exists",
            f"‖φ(X)‖ = {norm} for {name}",
            "use another seed, a wider map or another text",
        )
    return norm
