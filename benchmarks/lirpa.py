"""Interval and linear-relaxation bounds of auto_LiRPA for one moved word of softmax attention.

Not a dependency: `pip install --target FOLDER --no-deps auto_LiRPA appdirs graphviz`, then put
FOLDER on PYTHONPATH. Its release 0.3 was made for torch 1.x; `load` gives it back the four names
that it misses.

Its linear relaxations do not know broadcast products, so the layer is written in the form that
suits it best, as a function of the moved row x alone: p_j = σ(k_j·x − log Σ_{l≠i} e^{s_jl}), row j
is m_j + p_j(x − m_j) with the mean m_j of its other keys, and only row i is a softmax.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
import types
import warnings
from typing import Any

import numpy
import torch

METHODS = {"interval": "IBP", "linear relaxation": "CROWN"}


def load() -> Any | None:
    """The package, or None where it is not here."""
    if importlib.util.find_spec("auto_LiRPA") is None:
        return None
    sets = types.ModuleType("numpy.lib.arraysetops")
    sets.isin = numpy.isin  # type: ignore[attr-defined]
    sys.modules.setdefault(sets.__name__, sets)
    known = importlib.import_module("torch.onnx._internal.torchscript_exporter._globals").GLOBALS
    helper = importlib.import_module("torch.onnx.symbolic_helper")
    vars(helper).setdefault(
        "_set_opset_version", lambda at: setattr(known, "export_onnx_opset_version", at)
    )
    node: Any = torch._C.Node
    node.__getitem__ = lambda self, key: getattr(self, self.kindOf(key))(key)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = importlib.import_module("auto_LiRPA")
    members = found.BoundedModule._named_members
    found.BoundedModule._named_members = lambda self, *given, remove_duplicate=True, **more: (
        members(self, *given, **more)
    )
    return found


def linear(matrix: torch.Tensor, bias: torch.Tensor | None = None) -> torch.nn.Linear:
    layer = torch.nn.Linear(matrix.shape[1], matrix.shape[0], bias is not None, dtype=matrix.dtype)
    layer.weight.data = matrix.clone()
    if bias is not None:
        layer.bias.data = bias.clone()
    return layer


class MovedWord(torch.nn.Module):
    """x (1, d) → all rows of softmax(XWXᵀ/√d)X with x in row i, flat: the others first."""

    def __init__(self, X: torch.Tensor, W: torch.Tensor, i: int) -> None:
        super().__init__()
        (n, d), A = X.shape, W / math.sqrt(X.shape[1])
        rest = torch.cat([X[:i], X[i + 1 :]])
        s = rest @ A @ rest.T
        means = (torch.softmax(s, 1) @ rest).flatten()
        one, eye = torch.ones(1, 1).to(X), torch.eye(n - 1).to(X)
        self.score = linear(rest @ A, -s.logsumexp(1))
        self.each = linear(torch.kron(eye, one.expand(d, 1)))
        self.apart = linear(torch.eye(d).to(X).repeat(n - 1, 1), -means)
        self.means = linear(torch.zeros(len(means), d).to(X), means)
        self.query, self.turned = linear(rest @ A.T), linear(A.T)
        self.sum_d, self.sum_n = linear(one.expand(1, d)), linear(one.expand(1, n))
        self.to_d, self.to_n = linear(one.expand(d, 1)), linear(one.expand(n, 1))
        both = torch.eye(n).to(X)
        self.mix, self.own = linear(rest.T @ both[: n - 1]), linear(both[n - 1 :])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        others = self.means(x) + self.each(torch.sigmoid(self.score(x))) * self.apart(x)
        e = torch.exp(torch.cat([self.query(x), self.sum_d(self.turned(x) * x)], 1))
        shares = e * self.to_n(1 / self.sum_n(e))
        return torch.cat([others, self.mix(shares) + self.to_d(self.own(shares)) * x], 1)


def bounds(lirpa: Any, X: torch.Tensor, W: torch.Tensor, i: int, radius: float) -> dict[str, float]:
    """What S at row i cannot exceed by either method: entries apart from φ(X) by at most the
    farther end of their interval. Where a method has no answer, infinity.
    """
    X, W = X.float(), W.float()  # it knows single precision only
    layer, x = MovedWord(X, W, i), X[i : i + 1]
    before = layer(x).detach()
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lirpa.BoundedModule(layer, x, device="cpu")
        ball = lirpa.PerturbationLpNorm(norm=2, eps=radius)
        for name, method in METHODS.items():
            try:
                low, high = model.compute_bounds(x=(lirpa.BoundedTensor(x, ball),), method=method)
            except AssertionError:  # its lower end of the normaliser is not positive
                found[name] = math.inf
                continue
            apart = torch.maximum(high - before, before - low).detach()
            size = float(apart.norm() / before.norm())
            found[name] = size if math.isfinite(size) else math.inf
    return found
