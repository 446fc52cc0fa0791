"""Certificates, and float64 linear algebra with its rounding errors bounded: norms and eigenvalues
from above.

Every statement is about the exact real numbers that the given floats are. With the unit roundoff
u = 2⁻⁵³ and γ_k = ku/(1 − ku), and barring over- and underflow, these facts are used (Higham,
Accuracy and Stability of Numerical Algorithms, chapters 3 and 10; Rump, Verification of positive
definiteness, BIT 46, 2006):

- a sum of k products, in any order, with or without fused multiply-add, has an error of at most
  γ_k Σ|a_i||b_i|: so ‖fl(AB) − AB‖_F ≤ γ_k‖A‖_F‖B‖_F for an inner length k;
- a sum or product of k positive terms has a relative error of at most γ_k;
- if a Cholesky factorisation of a symmetric n×n matrix M runs to its end in floating point, then
  λ_min(M) ≥ −γ_{n+1}/(1 − γ_{n+1})·tr(M).

One assumption is not proved: `ELEMENTARY` bounds the relative error of exp, expm1, log, log1p,
sigmoid, tanh, erf, erfc, sin and cos. The vendors of mathematical libraries state at most 4u, the
tests measure it on this machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch

#: The unit roundoff of float64.
U = 2.0**-53
#: Relative error of one elementary function, at most.
ELEMENTARY = 16 * U
#: γ_k ≤ 1e-9 for k ≤ 9,000,000: the rounding of any sum or product of positive terms here.
SAFE = 1 + 1e-9
#: Steps of Lanczos, used for matrices larger than `SMALL`, and the factors by which its estimate is
#: raised until a Cholesky factorisation proves it.
LANCZOS, SMALL = 14, 160
RAISED = (1.001, 1.006)
#: Total probability with which a certificate for weights drawn at random may fail.
FAILURE = 1e-9
#: The kind of an upper end whose proof was verified in ball arithmetic.
VERIFIED = "verified"


@dataclass(frozen=True)
class Certificate:
    """``upper[w]`` bounds S at the w-th searched word, +∞ where float64 cannot tell φ(X) from zero.
    ``kind`` is "float64" (given the actual weights, for exact arithmetic: rounding is bounded on
    paper), `VERIFIED`, or "1 − 1e-9" (with that probability over the draw of the weights, for a
    text chosen without looking at them).
    """

    upper: torch.Tensor
    kind: str

    def replaced(self, upper: list[float]) -> Certificate:
        """Other numbers with the same basis."""
        return Certificate(torch.tensor(upper, dtype=torch.float64), self.kind)

    @staticmethod
    def exact(upper: torch.Tensor) -> Certificate:
        return Certificate(upper, "float64")

    @staticmethod
    def probable(upper: torch.Tensor) -> Certificate:
        return Certificate(upper, f"1 − {FAILURE:.0e}".replace("e-0", "e-"))


def relative(change: float, norm: float) -> float:
    """A bound of ‖φ(X^i(Δ)) − φ(X)‖ over a lower bound of ‖φ(X)‖; +∞ where that is zero."""
    return change / norm * (1 + 4 * U) if norm > 0 else math.inf


def gamma(k: int) -> float:
    """γ_k = ku/(1 − ku)."""
    return k * U / (1 - k * U)


def norm_lower_bound(x: torch.Tensor, error: float) -> float:
    """A number that ‖y‖ is not below, for every y with ‖y − x‖ ≤ ``error``; 0 at least.

    >>> norm_lower_bound(torch.tensor([3.0, 4.0], dtype=torch.float64), 1.0) <= 4.0
    True
    """
    below = float(x.norm()) * (1 - gamma(x.numel() + 4)) - error * SAFE
    return below if below > 0 else 0.0


def positive_definite(M: torch.Tensor, error: float = 0.0) -> bool:
    """Whether M + E is proved positive definite for every symmetric E with ‖E‖ ≤ ``error``.

    Cholesky is run on M − cI with c ≥ error + γ_{n+1}/(1 − γ_{n+1})·tr(M) + the rounding of the
    diagonal; trace and error are those of M, which has a positive diagonal or fails.
    """
    n = len(M)
    trace = float(M.diagonal().abs().sum())
    shifted = M.clone()
    shifted.diagonal().sub_((error + 2 * (n + 4) * U * trace) * SAFE)
    return int(torch.linalg.cholesky_ex(shifted).info) == 0


def eigenvalue_upper_bound(
    M: torch.Tensor, error: float = 0.0, guesses: Iterable[float] = ()
) -> float:
    """A number that λ_max(M + E) does not exceed, for every symmetric E with ‖E‖ ≤ ``error``.

    Each σ among the ``guesses``, then the computed λ_max raised step by step, is tried: where
    σI − M has a Cholesky factor, λ_max(M) ≤ σ + γ_{n+1}/(1 − γ_{n+1})·tr(σI − M), plus the rounding
    u(σ + |m_ii|) of the shifted diagonal. ‖M‖_F is the last resort. +∞ where M is not finite.

    >>> round(eigenvalue_upper_bound(torch.diag(torch.tensor([9.0, 1.0]).double())), 9)
    9.0
    """
    n = len(M)
    size = float(M.norm()) if n else 0.0
    if not size < math.inf:
        return math.inf
    if size == 0:
        return error
    trace = float(M.diagonal().abs().sum())

    def proved(sigma: float) -> bool:
        if not sigma > 0:
            return False
        shifted = -M
        shifted.diagonal().add_(sigma)
        return int(torch.linalg.cholesky_ex(shifted).info) == 0

    def raised() -> Iterable[float]:
        yield from guesses
        top = float(torch.linalg.eigvalsh(M)[-1])
        for steps in (8, 64, 4096, 2**20):
            yield top + steps * n * U * max(trace, size)

    for sigma in raised():
        if proved(sigma):
            return (sigma + 2 * (n + 4) * U * (n * sigma + trace)) + error
    return size * SAFE + error


def opnorm_upper_bound(M: torch.Tensor, error: float = 0.0) -> float:
    """A number that ‖N‖_op does not exceed, for every N with ‖N − M‖_F ≤ ``error``.

    >>> round(opnorm_upper_bound(torch.diag(torch.tensor([3.0, 1.0]))), 9)
    3.0
    """
    if not M.numel():
        return error
    M = M.to(torch.float64)
    M = M if M.shape[0] >= M.shape[1] else M.T
    return _root(M.T @ M, len(M), error, ())


def opnorm_upper_bound_fast(
    gram: torch.Tensor, inner: int, error: float = 0.0, steps: int = LANCZOS
) -> float:
    """`opnorm_upper_bound` of M from its Gram matrix, of inner length ``inner``: within a
    thousandth of ‖M‖_op, at a fifth of the cost of all eigenvalues. Large Gram matrices are tried
    with σ a little above Lanczos' estimate of λ_max. Entries may have been multiplied by up to
    eight factors.

    >>> round(opnorm_upper_bound_fast(torch.diag(torch.tensor([9.0, 1.0]).double()), 2), 6)
    3.0
    """
    return _root(gram, inner + 16, error, lanczos_guesses(gram, steps))


def _root(gram: torch.Tensor, inner: int, error: float, guesses: Iterable[float]) -> float:
    """‖fl(MᵀM) − MᵀM‖ ≤ γ_inner‖M‖_F², and ‖M‖_F² is the trace."""
    trace = float(gram.diagonal().sum()) if len(gram) else 0.0
    top = eigenvalue_upper_bound(gram, 2 * gamma(inner) * trace, guesses)
    return math.sqrt(max(0.0, top)) * (1 + 4 * U) + error


def lanczos_guesses(M: torch.Tensor, steps: int = LANCZOS) -> list[float]:
    """Numbers a little above λ_max, where M is so large that all eigenvalues cost more."""
    if len(M) <= SMALL or not bool(M.diagonal().isfinite().all()):
        return []
    guess = _lanczos(M, steps)
    return [guess * factor for factor in RAISED]


def _lanczos(gram: torch.Tensor, steps: int) -> float:
    """About λ_max, from below."""
    n = len(gram)
    noise = torch.Generator().manual_seed(0)
    q = torch.randn(n, dtype=gram.dtype, generator=noise).to(gram.device)
    basis = gram.new_zeros(steps, n)
    images = gram.new_zeros(steps, n)
    for step in range(steps):
        known = basis[:step]
        q = q - (known @ q) @ known
        basis[step] = q / q.norm().clamp_min(1e-300)
        images[step] = q = gram @ basis[step]
    return float(torch.linalg.eigvalsh(basis @ images.T)[-1])


def accurate_product(A: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Ax rounded once: each product is split into two floats without error (Dekker), and
    `math.fsum` rounds their exact sum. For factors between 1e-140 and 1e140, and few of them: a
    loop in Python.

    >>> accurate_product(torch.tensor([[0.1, 0.2, -0.3]]).double(), torch.ones(3).double()).tolist()
    [-7.450580596923828e-09]
    """
    product = A * x
    (a, a_low), (b, b_low) = _split(A), _split(x)
    rest = a_low * b_low - (((product - a * b) - a_low * b) - a * b_low)
    both = torch.cat([product, rest], 1).tolist()
    return A.new_tensor([math.fsum(terms) for terms in both])


def _split(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """x as a sum of two floats of 26 bits each."""
    scaled = (2.0**27 + 1) * x
    high = scaled - (scaled - x)
    return high, x - high
