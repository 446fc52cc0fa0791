"""Normalisations and residual streams of a model, found by what its modules compute.

A hidden state may come straight out of a normalisation, H = s ⊙ γ + b row by row:

    s = (x − m)/√(v + ε)

LayerNorm has the mean m and the variance v of x, RMSNorm m = 0 and the mean square v. Either way
‖s‖² = d·v/(v + ε) ≤ d, whatever x is: no input moves a row of H out of that ellipsoid. A module
counts as a norm if its output is the hidden state and one of the two formulas gives it.

A residual stream is a sum:

In GPT-2, Llama, T5 or ModernBERT hidden_states[l] = hidden_states[0] + Σ f_t over the sublayers t
before it, and every f_t reads a normalisation n = γ⊙s + b of the stream:

    attention   f = O·z + c, where head by head z is a mean, by weights of a softmax, of rows V·n
    MLP         f = O·z + c, where z = φ(W·n + w), or φ(W·n + w) ⊙ (U·n + u)

Modules are recognised by their calls: linear maps of a norm's output, then one linear map
whose output is what the stream takes in. All of it is checked in numbers (the sum, the activation
φ, on one token the values themselves); a model that does not pass has no sublayers. That attention
weights are a softmax's cannot be seen there: it is known of the kinds of models in `SOFTMAX`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F

from wordsway.models.tracing import Call, EntryPoint, ForwardTrace

#: Relative error between a module's output and the formula, per dtype of the model.
_TOLERANCE = {
    torch.float64: 1e-10,
    torch.float32: 1e-4,
    torch.bfloat16: 5e-2,
    torch.float16: 1e-2,
}

#: Steps of the search for λ, on a logarithmic scale.
DUAL_STEPS = 80


@dataclass(frozen=True)
class NormLayer:
    """H = s ⊙ weight + bias with ‖s‖₂ ≤ √d for every row; ``centred`` rows s also sum to zero.

    ``weight`` (γ) and ``bias`` (b) have shape (d,), in float64; ``eps`` is the ε under the root.

    >>> norm = NormLayer(centred=True, weight=torch.ones(4), bias=torch.zeros(4), eps=0.0)
    >>> norm(torch.tensor([[1.0, -1.0, 1.0, -1.0]])).tolist()
    [[1.0, -1.0, 1.0, -1.0]]
    """

    centred: bool
    weight: torch.Tensor
    bias: torch.Tensor
    eps: float

    def standardised(self, x: torch.Tensor) -> torch.Tensor:
        """s (…, d) of x (…, d)."""
        x = x - x.mean(dim=-1, keepdim=True) if self.centred else x
        return x * (x.square().mean(dim=-1, keepdim=True) + self.eps).rsqrt()

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """The normalisation itself, in x's precision."""
        return self.standardised(x) * self.weight.to(x) + self.bias.to(x)

    @property
    def kind(self) -> str:
        return "LayerNorm" if self.centred else "RMSNorm"


def norms_of(states: Sequence[torch.Tensor], calls: Iterable[Call]) -> list[NormLayer | None]:
    """For each hidden state (1, n, d) the norm that produced it; None if there is none."""
    candidates = [
        (call, eps)
        for call in calls
        if (eps := _epsilon(call.module)) is not None
        and call.taken is not None
        and call.given is not None
    ]
    return [
        next(
            (
                norm
                for call, eps in candidates
                if _same(call.given, state) and (norm := _fitted(call, eps)) is not None
            ),
            None,
        )
        for state in states
    ]


def _epsilon(module: torch.nn.Module) -> float | None:
    """What a module calls its ε, if it has one."""
    for name in ("eps", "variance_epsilon", "epsilon"):
        value = getattr(module, name, None)
        if isinstance(value, float):
            return value
    return None


def _same(given: torch.Tensor | None, state: torch.Tensor) -> bool:
    """Whether a module's output is this hidden state: dropout that is off and views keep it."""
    return (
        given is not None
        and given.numel() == state.numel()
        and torch.equal(given.reshape(state.shape), state)
    )


def _fitted(call: Call, eps: float) -> NormLayer | None:
    """The formula that gives the call's output; γ is the module's weight, or 1 + weight (Gemma)."""
    assert call.taken is not None and call.given is not None
    width = call.given.shape[-1]
    if call.taken.shape != call.given.shape:
        return None
    inputs, outputs = call.taken.double(), call.given.double()
    weight = _parameter(call.module, "weight", width, 1.0)
    bias = _parameter(call.module, "bias", width, 0.0)
    if weight is None or bias is None:
        return None
    tolerance = _TOLERANCE.get(call.given.dtype, 1e-4)
    for centred in (True, False):
        for gain in (weight, 1 + weight):
            norm = NormLayer(centred, gain, bias, eps)
            if (norm(inputs) - outputs).abs().max() <= tolerance * outputs.abs().max():
                return norm
    return None


def _parameter(module: Any, name: str, width: int, default: float) -> torch.Tensor | None:
    """A module's own vector in float64, ``default`` where it has none; None if it is no vector."""
    value = getattr(module, name, None)
    if value is None:
        return torch.full((width,), default, dtype=torch.float64)
    if not isinstance(value, torch.Tensor) or value.shape != (width,):
        return None
    return value.detach().double()


def largest_moves(norm: NormLayer, states: torch.Tensor) -> torch.Tensor:
    """m (n,): upper bounds of max ‖h′ − h_j‖² over all outputs h′ of the norm, for rows h_j (n, d).

    >>> norm = NormLayer(centred=False, weight=torch.ones(4), bias=torch.zeros(4), eps=0.0)
    >>> round(float(largest_moves(norm, torch.ones(1, 4))), 9)  # from s to −s: (2√d)²
    16.0
    """
    return move_bounds(norm, states).moves


class MoveBounds(NamedTuple):
    """m of `largest_moves`, with the multipliers λ and μ of Theorem 18 that give it, (n,) each."""

    moves: torch.Tensor
    lam: torch.Tensor
    mean: torch.Tensor


def move_bounds(norm: NormLayer, states: torch.Tensor) -> MoveBounds:
    """The bounds of `largest_moves`, by a golden-section search for each row's λ."""
    gain = norm.weight.double().cpu()
    c = gain.square()
    d = len(c)
    # γ⊙s = h − b needs no division where γ vanishes: only γ²s = γ(h − b) and γ²s² = (h − b)² occur.
    moved = states.double().cpu() - norm.bias.double().cpu()
    a = gain * moved
    fixed = moved.square().sum(1)
    top = float(c.max())
    if top == 0.0:
        return MoveBounds(*torch.zeros(3, len(moved), dtype=torch.float64))

    def dual(excess: torch.Tensor) -> MoveBounds:
        lam = top + excess
        weight = 1.0 / (lam[:, None] - c)
        mean = (a * weight).sum(1) / weight.sum(1) if norm.centred else torch.zeros_like(lam)
        most = lam * d + fixed + ((a - mean[:, None]).square() * weight).sum(1)
        return MoveBounds(most, lam, mean)

    def smaller(one: MoveBounds, other: MoveBounds) -> MoveBounds:
        first = one.moves <= other.moves
        return MoveBounds(*(torch.where(first, *both) for both in zip(one, other, strict=True)))

    low = torch.full((len(moved),), 1e-12 * top, dtype=torch.float64).log()
    high = torch.full((len(moved),), 1e3 * top, dtype=torch.float64).log()
    best = smaller(dual(low.exp()), dual(high.exp()))
    golden = (5**0.5 - 1) / 2
    for _ in range(
        DUAL_STEPS
    ):  # golden section; a convex function of λ is unimodal in log(λ − top)
        left = high - golden * (high - low)
        right = low + golden * (high - low)
        at_left, at_right = dual(left.exp()), dual(right.exp())
        best = smaller(best, smaller(at_left, at_right))
        down = at_left.moves < at_right.moves
        high = torch.where(down, right, high)
        low = torch.where(down, low, left)
    return best


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

    @property
    def shift(self) -> torch.Tensor | None:
        return None if self.bias is None else _wide(self.bias)

    def of(self, norm: NormLayer) -> tuple[torch.Tensor, torch.Tensor]:
        """A and a with y = A·s + a where x = γ⊙s + b; rows of A sum to zero where s does."""
        matrix = self.matrix
        gain = matrix * _wide(norm.weight)
        if norm.centred:
            gain = gain - gain.mean(1, keepdim=True)
        constant, shift = matrix @ _wide(norm.bias), self.shift
        return gain, constant if shift is None else constant + shift

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

    ``four`` and ``one`` are passes over four tokens and one. None if the model is no such sum.
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
    linear = [call for call in calls if linear_of(call.module) is not None]
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


def linear_of(module: torch.nn.Module | None) -> Linear | None:
    """A module as a linear map, if it is one; GPT-2's Conv1D keeps the transpose."""
    transposed = type(module).__name__ == "Conv1D"
    if not (isinstance(module, torch.nn.Linear) or transposed):
        return None
    weight, bias = (getattr(module, name) for name in ("weight", "bias"))
    return Linear(weight.detach().T if transposed else weight.detach(), bias)


def _mlp(norm: NormLayer, first: list[Call], last: Call, tolerance: float) -> Sublayer | None:
    """z = φ(y), or φ(a)⊙b for the halves of y, in either order."""
    maps = [one for call in first if (one := linear_of(call.module)) is not None]
    end = linear_of(last.module)
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
    end = linear_of(last.module)
    assert end is not None
    z = _wide(alone.taken).flatten()
    heads = int(getattr(model.config, "num_attention_heads", 0))
    for call in reversed(first):  # the values' own map, or the last part of one for all
        one, y = linear_of(call.module), _wide(call.given).flatten()
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
