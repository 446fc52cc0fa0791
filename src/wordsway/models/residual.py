"""A residual stream as a sum: the sublayers of a pre-norm model, found by what they compute.

In GPT-2, Llama, T5 or ModernBERT hidden_states[l] = hidden_states[0] + Σ f_t over the sublayers t
before it, and every f_t reads a normalisation n = γ⊙s + b of the stream:

    attention   f = O·z + c, where head by head z is a mean, by weights of a softmax, of rows V·n
    MLP         f = O·z + c, where z = φ(W·n + w), or φ(W·n + w) ⊙ (U·n + u)

Modules are told by their calls in one pass: linear maps of a norm's output, then one linear map
whose output is what the stream takes in. All of it is checked in numbers (the sum, the activation
φ, on one token the values themselves); a model that does not pass has no sublayers. That attention
weights are a softmax's cannot be seen there: it is known of the kinds of models in `SOFTMAX`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional as F

from wordsway.models.norms import NormLayer, norms_of
from wordsway.models.tracing import Call, EntryPoint, ForwardTrace

#: Kinds of models (`model_type`) whose attention is a softmax over values, and nothing else.
SOFTMAX = ("gpt2", "llama", "mistral", "qwen2", "t5", "modernbert")
#: Each lies between −0.279 and max(a, 0), and |φ(a)| ≤ |a|; slopes are at most 1.13.
ACTIVATIONS: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    F.relu,
    F.gelu,
    lambda a: F.gelu(a, approximate="tanh"),
    F.silu,
)
LEAST, SLOPE = -0.279, 1.13
#: Relative error of the sum and of activations, in the model's own precision.
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4}


@dataclass(frozen=True)
class Linear:
    """y = W·x + w; the weights stay in the model's precision and are used in float64."""

    weight: torch.Tensor
    bias: torch.Tensor | None

    @property
    def matrix(self) -> torch.Tensor:
        return _wide(self.weight)

    def of(self, norm: NormLayer) -> tuple[torch.Tensor, torch.Tensor]:
        """A and a with y = A·s + a where x = γ⊙s + b; rows of A sum to zero where s does."""
        matrix = self.matrix
        gain = matrix * _wide(norm.weight)
        if norm.centred:
            gain = gain - gain.mean(1, keepdim=True)
        constant = matrix @ _wide(norm.bias)
        return gain, constant if self.bias is None else constant + _wide(self.bias)

    def rows(self, which: torch.Tensor | slice) -> Linear:
        return Linear(self.weight[which], None if self.bias is None else self.bias[which])


@dataclass(frozen=True)
class Sublayer:
    """One f_t: it reads ``norm`` of the stream, through ``first`` maps, and ends in ``last``.

    ``heads`` > 0: attention, whose one first map V has its rows already in the order of z.
    ``exit`` is the call (module, number) of the last map.
    """

    norm: NormLayer
    first: tuple[Linear, ...]
    last: Linear
    heads: int
    exit: EntryPoint


def sublayers(model: Any, four: ForwardTrace, one: ForwardTrace) -> list[list[Sublayer]] | None:
    """The sublayers between each hidden state and the next, but for the last (which is normed).

    ``four`` and ``one`` are passes over so many tokens. None where the model is no such sum.
    """
    tolerance = TOLERANCE.get(four.states[0].dtype)
    if model.config.model_type not in SOFTMAX or tolerance is None:
        return None
    groups, alone = _groups(four.calls), _groups(one.calls)
    if not groups or len(groups) != len(alone):
        return None
    found: list[list[Sublayer]] = []
    stream = four.states[0].double()
    pairs = iter(zip(groups, alone, strict=True))
    for state in four.states[1:-1]:
        end = next((at for at, call in enumerate(four.calls) if call.taken is state), None)
        if end is None:
            return None
        found.append([])
        for (norm, first, last), (_, first_alone, last_alone) in pairs:
            sublayer = _mlp(norm, first, last, tolerance) or _attention(
                model, norm, first_alone, last, last_alone, tolerance
            )
            if sublayer is None or last.given is None:
                return None
            found[-1].append(sublayer)
            stream = stream + last.given.double()
            behind = groups[sum(map(len, found)) :]
            if not behind or _place(four.calls, behind[0][1][0]) > end:
                break
        if not _near(stream, state, tolerance):
            return None
    return found


def _place(calls: list[Call], wanted: Call) -> int:
    return next(at for at, call in enumerate(calls) if call is wanted)


#: A norm, the calls of linear maps of its output, and the call that follows them.
_Group = tuple[NormLayer, list[Call], Call]


def _groups(calls: list[Call]) -> list[_Group]:
    """Linear maps that read a norm's output, and the one linear map behind them."""
    linear = [call for call in calls if _linear(call.module) is not None]
    found: list[_Group] = []
    done: set[int] = set()
    for call in linear:
        if id(call) in done or call.taken is None:
            continue
        first = [other for other in linear if other.taken is call.taken]
        (norm,) = norms_of([call.taken], calls)
        behind = linear[max(linear.index(other) for other in first) + 1 :]
        if norm is None or not behind:
            return []
        found.append((norm, first, behind[0]))
        done |= {id(other) for other in (*first, behind[0])}
    return found


def _linear(module: torch.nn.Module) -> Linear | None:
    """A module's matrix; GPT-2 keeps its transpose."""
    weight, kind = getattr(module, "weight", None), type(module).__name__
    if kind not in ("Linear", "Conv1D") or not isinstance(weight, torch.Tensor):
        return None
    bias = getattr(module, "bias", None)
    return Linear(weight.detach().T if kind == "Conv1D" else weight.detach(), bias)


def _mlp(norm: NormLayer, first: list[Call], last: Call, tolerance: float) -> Sublayer | None:
    """z = φ(y), or φ(a)⊙b for the halves of y, in either order."""
    maps = [one for call in first if (one := _linear(call.module)) is not None]
    end = _linear(last.module)
    assert end is not None
    y, z = torch.cat([_wide(call.given) for call in first], -1), _wide(last.taken)
    width = z.shape[-1]
    orders: tuple[tuple[int, ...], ...] = ()
    if y.shape[-1] == 2 * width:
        if len(maps) == 1:
            maps = [maps[0].rows(slice(0, width)), maps[0].rows(slice(width, None))]
        orders = ((0, 1), (1, 0)) if len(maps) == 2 else ()
    elif y.shape[-1] == width and len(maps) == 1:
        orders = ((0,),)
    parts = y.split(width, -1)
    for activation in ACTIVATIONS:
        for order in orders:
            found = activation(parts[order[0]])
            for other in order[1:]:
                found = found * parts[other]
            if _near(found, z, tolerance):
                which = tuple(maps[place] for place in order)
                return Sublayer(norm, which, end, 0, last.entry)
    return None


def _attention(
    model: Any, norm: NormLayer, first: list[Call], last: Call, alone: Call, tolerance: float
) -> Sublayer | None:
    """On one token every attention weight is 1, so that z is the values: which outputs of the first
    maps they are, repeated for heads that share them, is read off their numbers.
    """
    end = _linear(last.module)
    assert end is not None
    z = _wide(alone.taken).flatten()
    heads = int(getattr(model.config, "num_attention_heads", 0))
    for call in reversed(first):  # the values' own map, or the last part of one for all
        one, y = _linear(call.module), _wide(call.given).flatten()
        gap, which = (z[:, None] - y[None]).abs().min(1)
        near = float(gap.max()) <= tolerance * float(z.abs().max())
        if one is not None and near and heads > 0 and len(z) % heads == 0:
            return Sublayer(norm, (one.rows(which),), end, heads, last.entry)
    return None


def _near(a: torch.Tensor, b: torch.Tensor, tolerance: float) -> bool:
    b = b.double()
    return bool((a.double() - b).norm() <= tolerance * b.norm())


def _wide(x: torch.Tensor | None) -> torch.Tensor:
    assert x is not None
    return x.detach().double().cpu()
