"""Relative changes of vectors, and of the rows of hidden states."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.linalg import vector_norm

#: A row this many times longer than the median row is a sink.
SINK = 3.0


def squared_change(
    states: torch.Tensor,
    base: torch.Tensor,
    weight: torch.Tensor,
    own: Sequence[int],
    start: int = 0,
) -> torch.Tensor:
    """Σ_j w_j²‖h′_j − h_j‖² over the rows that both have, relative to those rows alone; of the
    changed words' ``own`` rows the mean.

    ``states`` (B, n′ − start, d) are the changed texts' rows from ``start`` on; rows before it do
    not change. ``base`` (n, d) are the text's.
    """
    n, changed = len(base), states.shape[1] + start
    old, new = (rows.to(base.device) for rows in shared_rows(n, changed, own))
    mine = torch.isin(old, torch.tensor(list(own), dtype=torch.long, device=base.device))
    w2 = weight.double()[old].square() / torch.where(mine, mine.sum(), 1)
    share = float((w2 * base[old].square().sum(1)).sum())
    moved = new >= start
    difference = states[:, new[moved] - start] - base[old[moved]]
    return (w2[moved] * difference.square().sum(2)).sum(1) / share


def shared_rows(n: int, changed: int, own: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of a text of n tokens and of a changed one that stand for each other; the words that
    changed have the rows ``own``, or, where words were put in, an empty range.

    >>> [rows.tolist() for rows in shared_rows(5, 4, (1, 2))]
    [[0, 1, 3, 4], [0, 1, 2, 3]]
    >>> [rows.tolist() for rows in shared_rows(3, 4, range(1, 1))]
    [[0, 1, 2], [0, 2, 3]]
    """
    if n == changed:
        return torch.arange(n), torch.arange(n)
    first, stop = (min(own), max(own) + 1) if len(own) else (own.start, own.start)  # type: ignore[attr-defined]
    behind = n - stop
    both = stop > first and changed - behind > first
    front, back = torch.arange(first + both), torch.arange(behind)
    return torch.cat([front, back + stop]), torch.cat([front, back + changed - behind])


def same_width(states: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """States (…, d) of several layers, filled up with zeros to the widest: no norm changes.

    OPT with projected embeddings has a narrower last layer.
    """
    width = max(state.shape[-1] for state in states)
    return [torch.nn.functional.pad(state, (0, width - state.shape[-1])) for state in states]


def row_weights(states: torch.Tensor, scaling: str) -> torch.Tensor:
    """w (n,) with Σ_j w_j²‖h_j‖² = 1: all equal, or one over each row's norm.

    >>> row_weights(torch.tensor([[3.0, 4.0], [0.0, 5.0]]), "rows").square().tolist()
    [0.02, 0.02]
    """
    norms: torch.Tensor = vector_norm(states.double(), dim=1)
    if scaling == "frobenius":
        return torch.full_like(norms, 1.0 / float(vector_norm(norms)))
    root = float(len(norms) ** 0.5)
    return (norms.clamp_min(torch.finfo(torch.float64).tiny) * root).reciprocal()


def chosen_scaling(states: Sequence[torch.Tensor], scaling: str) -> str:
    """ "rows" where rows longer than `SINK` median rows hold over half of ‖H‖_F² in some layer.

    >>> even, sink = torch.ones(4, 2), torch.tensor([[100.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> chosen_scaling([even], "auto"), chosen_scaling([sink], "auto")
    ('frobenius', 'rows')
    """
    if scaling != "auto":
        return scaling
    for state in states:
        norms = state.double().norm(dim=1)
        long = norms > SINK * norms.median()
        if float(norms[long].square().sum()) > 0.5 * float(norms.square().sum()):
            return "rows"
    return "frobenius"


def cosine_distance(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """1 − cos(u, v) over the last dimension, without cancellation: half the squared distance of the
    unit vectors. The cosine of a vector of zeros with any other is 0.

    >>> others = torch.tensor([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]])
    >>> cosine_distance(torch.tensor([1.0, 0.0]), others).tolist()
    [1.0, 0.0, 1.0]
    """
    sizes = [x.norm(dim=-1, keepdim=True) for x in (u, v)]
    u, v = (x / size.clamp_min(1e-300) for x, size in zip((u, v), sizes, strict=True))
    one_is_zero = ((sizes[0] == 0) != (sizes[1] == 0)).squeeze(-1)
    return (0.5 * (u - v).square().sum(-1)).masked_fill(one_is_zero, 1.0)


def relative(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """‖v − u‖/‖u‖ over the last dimension; infinite from a vector of zeros to any other.

    >>> relative(torch.zeros(2), torch.tensor([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [inf, 0.0]
    """
    apart = (v - u).norm(dim=-1)
    return (apart / u.norm(dim=-1)).masked_fill(apart == 0, 0.0)


def wide(states: torch.Tensor) -> torch.Tensor:
    """At least single precision."""
    return states.to(torch.promote_types(states.dtype, torch.float32))
