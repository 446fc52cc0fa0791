"""Any differentiable torch callable as a map; its view falls back to autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import torch

from wordsway.core.checks import validated
from wordsway.core.errors import InputError
from wordsway.core.runtime import checked_device
from wordsway.core.sample import Sample
from wordsway.core.seeds import generator
from wordsway.core.vectors import unit
from wordsway.maps.base import FeatureMap, Readout, TracedReadout, View, nonzero_norm
from wordsway.maps.rows import DenseRows, Moving, RowView
from wordsway.optimize.plan import Plan


@final
class CallableMap(FeatureMap):
    """A map of any differentiable torch callable from (…, n, d) to features: `FeatureMap.of`.

    It computes in its own precision: that of a module's parameters, float64 for anything else,
    unless you say so.

    >>> identity = FeatureMap.of(lambda X: X)
    >>> identity(Sample.gaussian(n=2, d=3, seed=0)).shape
    torch.Size([2, 3])
    """

    name = "callable"
    has_rows = True  # if its features have them; the wrapper's view checks

    @validated
    def __init__(
        self,
        function: Callable[[torch.Tensor], torch.Tensor],
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        parameters = function.parameters() if isinstance(function, torch.nn.Module) else iter(())
        weight = next(parameters, None)
        self.function = function
        self.dtype = dtype or (torch.float64 if weight is None else weight.dtype)
        own = "cpu" if weight is None else weight.device
        self.device = torch.device(checked_device(own if device is None else device))

    def features(self, X: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        out = self._call(X)
        if not bool(out.isfinite().all()):
            raise InputError(
                "finite features for every text",
                "NaN or infinity from the callable",
                "guard its logarithms, divisions and exponentials, or make the radius smaller",
            )
        return out.to(dtype)

    def _call(self, X: torch.Tensor) -> torch.Tensor:
        # A copy: functions may work in place (nn.ReLU(inplace=True)), texts stay as they are.
        try:
            out = self.function(X.to(self.dtype, copy=True))
        except RuntimeError as error:
            numpy = "call numpy()" in str(error)
            raise InputError(
                f"a callable of texts (…, n, d) in {self.dtype}".replace("torch.", ""),
                str(error).strip().partition("\n")[0],
                "use torch functions, not numpy: a search needs the gradient"
                if numpy
                else "give its weights that dtype (or pass dtype=), and transpose with x.mT",
            ) from error
        if not isinstance(out, torch.Tensor):
            raise InputError(
                "a callable that returns a torch tensor",
                type(out).__name__,
                "compute in torch: a search needs the gradient",
            )
        if out.shape[:1] != X.shape[:1]:
            raise InputError(
                f"features of shape ({len(X)}, …) for a batch of {len(X)} texts",
                f"shape {tuple(out.shape)}",
                "let the callable work on (…, n, d) and keep the leading axes",
            )
        return out

    def view(self, sample: Sample, dtype: torch.dtype | None = None) -> View:
        X = sample.X.to(self.device, self.dtype)
        view = CallableView(self, X)
        self._refuse_random(X, view.before)
        self._refuse_constant(X)
        return view

    def _refuse_random(self, X: torch.Tensor, before: torch.Tensor) -> None:
        """A map with two values at one text has no S."""
        with torch.no_grad():
            again = self.features(X[None], X.dtype).flatten(1)
        if not torch.equal(before, again):
            raise InputError(
                "the same features whenever the same text is passed",
                "two different ones",
                "call .eval() if it has dropout, or draw randomness once, outside the callable",
            )

    def _refuse_constant(self, X: torch.Tensor) -> None:
        """A map that does not notice when every row moves by its own length reads no text."""
        noise = torch.randn(X.shape, dtype=torch.float64, generator=generator(0, "constant"))
        step = unit(noise).to(X) * X.norm(dim=1, keepdim=True).clamp_min(1.0)
        with torch.no_grad():
            before, after, back = self._call(torch.stack([X, X + step, X - step]))
        if torch.equal(before, after) and torch.equal(before, back):
            raise InputError(
                "features that depend on the text",
                "the same features for other texts",
                "check that the callable uses its argument",
            )

    def describe(self) -> dict[str, Any]:
        return {
            "map": self.name,
            "function": getattr(self.function, "__name__", type(self.function).__name__),
        }


@final
class CallableView(RowView):
    """The change by a full forward pass of the changed texts, its gradient by autograd."""

    def __init__(self, phi: CallableMap, X: torch.Tensor) -> None:
        super().__init__(X, Plan(groups=2, starts=12, keep=4, children=6))
        self._map = phi
        with torch.no_grad():
            # A copy, too: a function may return the same buffer every time.
            features = phi.features(X[None], X.dtype).clone()
        self.before = features.flatten(1)
        self.rows_before = features[0]
        self.norm = nonzero_norm(float(self.before.norm()), phi.name)
        self.bytes_per_point = 8 * (X.numel() + self.before.numel()) * X.itemsize

    def moved(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        """Features (B, p) of the text with row ``rows[b]`` moved by ``delta[b]``."""
        moved = torch.zeros(len(rows), *self.X.shape, dtype=self.X.dtype, device=self.X.device)
        moved = moved.index_put((torch.arange(len(rows), device=self.X.device), rows), delta)
        return self._map.features(self.X + moved, self.X.dtype).flatten(1)

    def traced(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        change = self.moved(rows, delta) - self.before
        return (change * change).sum(1) / self.norm**2

    def moving(self, bases: torch.Tensor) -> Moving:
        def moved(rows: torch.Tensor, delta: torch.Tensor) -> DenseRows:
            changes = (self.moved(rows, delta) - self.before).reshape(-1, *bases.shape[1:])
            return DenseRows(rows, changes, bases)

        return moved

    def readout(self, thetas: torch.Tensor) -> Readout:
        theta = thetas.to(self.X)
        return TracedReadout(lambda *move: self.moved(*move) @ theta.T, self.X)


FeatureMap.of = CallableMap
