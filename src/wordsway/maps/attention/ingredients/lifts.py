"""Queries and keys before they meet: s_jl = f(q_j)·g(k_l).

Scores that are no plain products of queries and keys are products of *lifted* ones, row by row, so
that one moved word still moves one score of every other row, by f_j·(g(k_i′) − g(k_i)):

- L2:               −‖q − k‖²  = (2q, −1)·(k, ‖k‖²) up to ‖q‖², the same for all keys of a row;
- QK-norm:          q̂·k̂, both of length one;
- linear attention: (elu(q) + 1)·(elu(k) + 1).
"""

from __future__ import annotations

from typing import final

import torch

from wordsway.maps.rigorous import ELEMENTARY, U


class Lift:
    """f(q) and g(k) with their gradients; the last axis is that of a head. This is the identity,
    f(q) = q and g(k) = k; another overrides `query`, `error` and `query_pull`, and the methods of
    keys where g ≠ f.
    """

    #: Whether f and g are the identity: then g(k + δ) − g(k) = δ exactly.
    plain = False

    def query(self, q: torch.Tensor) -> torch.Tensor:
        """f(q)."""
        return q

    def key(self, k: torch.Tensor) -> torch.Tensor:
        """g(k)."""
        return self.query(k)

    def error(self, x: torch.Tensor, error: torch.Tensor) -> torch.Tensor:
        """How far f or g of x (…, m) is off at most where x is off by ``error`` (…)."""
        return error

    def query_pull(self, q: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
        """The gradient in q of grad·f(q)."""
        return grad

    def key_pull(self, k: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
        """The gradient in k of grad·g(k)."""
        return self.query_pull(k, grad)


@final
class Plain(Lift):
    """The identity."""

    plain = True


@final
class Distance(Lift):
    """f(q) = (2q, −1), g(k) = (k, ‖k‖²): f·g = ‖q‖² − ‖q − k‖²."""

    def query(self, q: torch.Tensor) -> torch.Tensor:
        return torch.cat([2 * q, -torch.ones_like(q[..., :1])], -1)

    def key(self, k: torch.Tensor) -> torch.Tensor:
        return torch.cat([k, (k * k).sum(-1, keepdim=True)], -1)

    def error(self, x: torch.Tensor, error: torch.Tensor) -> torch.Tensor:
        size = x.norm(dim=-1)
        return 2 * error + error * (2 * size + error) + 2 * (x.shape[-1] + 8) * U * size**2

    def query_pull(self, q: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
        return 2 * grad[..., :-1]

    def key_pull(self, k: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
        return grad[..., :-1] + 2 * k * grad[..., -1:]


@final
class Unit(Lift):
    """f(q) = q/‖q‖, g(k) = k/‖k‖; zero stays zero."""

    def query(self, q: torch.Tensor) -> torch.Tensor:
        return q / _length(q)

    def error(self, x: torch.Tensor, error: torch.Tensor) -> torch.Tensor:
        """‖x/‖x‖ − y/‖y‖‖ ≤ 2‖x − y‖/‖x‖."""
        off = 2 * error / _length(x).squeeze(-1) + 2 * (x.shape[-1] + 8) * U
        return off.clamp_max(2.0)

    def query_pull(self, q: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
        length = _length(q)
        unit = q / length
        return (grad - (grad * unit).sum(-1, keepdim=True) * unit) / length


@final
class Positive(Lift):
    """f = g = elu + 1: e^x below 0, x + 1 above."""

    def query(self, q: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.elu(q) + 1

    def error(self, x: torch.Tensor, error: torch.Tensor) -> torch.Tensor:
        return error + 2 * ELEMENTARY * self.key(x).norm(dim=-1)

    def query_pull(self, q: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
        return grad * q.clamp_max(0).exp()


def _length(x: torch.Tensor) -> torch.Tensor:
    return x.norm(dim=-1, keepdim=True).clamp_min(torch.finfo(x.dtype).tiny)
