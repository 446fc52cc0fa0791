"""A certificate: a number no Δ can exceed, and on what it rests."""

from __future__ import annotations

from dataclasses import dataclass

import torch

#: Total probability with which a certificate for weights drawn at random may fail.
FAILURE = 1e-9


@dataclass(frozen=True)
class Certificate:
    """``upper[w]`` bounds S at the w-th searched word. ``kind`` is "exact" (given the actual
    weights) or "1 − 1e-9" (with that probability over the draw of the weights, for a text chosen
    without looking at them).
    """

    upper: torch.Tensor
    kind: str

    @staticmethod
    def exact(upper: torch.Tensor) -> Certificate:
        return Certificate(upper, "exact")

    @staticmethod
    def probable(upper: torch.Tensor) -> Certificate:
        return Certificate(upper, f"1 − {FAILURE:.0e}".replace("e-0", "e-"))


def norm_above(M: torch.Tensor) -> float:
    """A number that ‖M‖_op does not exceed: the largest eigenvalue of the smaller Gram matrix plus
    its rounding errors.

    Forming a Gram matrix of inner length m perturbs it by at most m·ε‖M‖_F² in norm, a symmetric
    eigenvalue solver by a modest multiple of its size times ε; both are added in full.

    >>> round(norm_above(torch.diag(torch.tensor([3.0, 1.0]))), 9)
    3.0
    """
    if not M.numel():
        return 0.0
    M = M.to(torch.float64)
    M = M if M.shape[0] >= M.shape[1] else M.T
    gram = M.T @ M
    error = (
        (len(M) + 16 * len(gram)) * torch.finfo(torch.float64).eps * float(gram.diagonal().sum())
    )
    return (max(0.0, float(torch.linalg.eigvalsh(gram)[-1])) + error) ** 0.5
