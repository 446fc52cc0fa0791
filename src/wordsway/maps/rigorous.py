"""Certificates, and float64 linear algebra with its rounding errors bounded: norms and eigenvalues
from above.

Every statement is about the exact real numbers that the given floats are, with the unit roundoff
u = 2⁻⁵³ and γ_k = ku/(1 − ku), barring over- and underflow: docs/statements/rounding.md has the
facts that are used, and the proof of Lemma 5. One assumption is not proved: `ELEMENTARY` bounds the
relative error of exp, expm1, log, log1p, sigmoid, tanh, erf, erfc, sin and cos. The vendors of
mathematical libraries state at most 4u, the tests measure it on this machine.
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
#: Lanczos' method is used for matrices larger than this, and its estimate is raised by these
#: factors until a Cholesky factorisation proves it.
SMALL = 160
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

    @property
    def caveat(self) -> str:
        """What else than a bug explains an attained value above ``upper``: nothing, or chance."""
        return " (or an event of probability 1e-9)" if self.kind.startswith("1 −") else ""

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
    gram = M.T @ M
    # ‖fl(MᵀM) − MᵀM‖ ≤ γ‖M‖_F², and ‖M‖_F² is the trace.
    top = eigenvalue_upper_bound(gram, 2 * gamma(len(M)) * float(gram.diagonal().sum()))
    return math.sqrt(max(0.0, top)) * (1 + 4 * U) + error


def lanczos_guesses(gram: torch.Tensor, steps: int) -> list[float]:
    """Numbers a little above λ_max, where the matrix is so large that all eigenvalues cost more."""
    if len(gram) <= SMALL or not bool(gram.diagonal().isfinite().all()):
        return []
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
    guess = float(torch.linalg.eigvalsh(basis @ images.T)[-1])
    return [guess * factor for factor in RAISED]


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
