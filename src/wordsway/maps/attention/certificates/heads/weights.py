"""Which weights c_jh the moves of scores should have in their price.

Every choice is valid; a good one minimises, at one τ that is near the worst,

    r²λ_max(Σ_jh w_jh A_jhA_jhᵀ + μCCᵀ) − μt + Σ_jh max_a [f_jh(p(a), τ) − w_jh a²]

over w = c² and μ. That is convex, and its derivative in w_jh is r²(A_jh·x)² − a², x the eigenvector
of λ_max and a where the maximum of row j and head h is attained: a move should cost so much that
the rows are bought to the extent to which some Δ can pay for them. The descent is in log w and
log μ, along the few largest eigenvectors at once, which a subspace iteration follows.
"""

from __future__ import annotations

import math

import torch

#: Steps of the descent, its first one in log w, and how many eigenvectors it follows.
STEPS, PACE, FOLLOWED = 50, 0.25, 24


def tuned(
    keys: torch.Tensor,
    gained: torch.Tensor,
    squares: torch.Tensor,
    values: torch.Tensor,
    r: float,
    t: float,
    start: torch.Tensor,
) -> torch.Tensor:
    """Weights c (N, H), given A (N, H, d), f on intervals of shares (N, H, I) with the smallest a²
    of each, and CCᵀ; ``start`` are weights up to a factor.
    """
    A = keys.flatten(0, 1)
    X = torch.randn(
        len(values),
        min(FOLLOWED, len(values)),
        dtype=A.dtype,
        generator=torch.Generator().manual_seed(0),
    )
    weighted = A * start.reshape(-1, 1)
    alone, carried = (float(torch.linalg.eigvalsh(M)[-1]) for M in (weighted.T @ weighted, values))
    scale = _scale(gained, squares, start**2, 0.7 * r * r * alone)
    log_w = (scale * start**2).log()
    log_mu = math.log(scale * alone / carried)
    momentum = torch.zeros(log_w.numel() + 1, dtype=A.dtype)
    square = torch.zeros_like(momentum)
    for step in range(STEPS):
        w, mu = log_w.exp(), math.exp(log_mu)

        def times(Z: torch.Tensor, w: torch.Tensor = w, mu: float = mu) -> torch.Tensor:
            return A.T @ (w.reshape(-1, 1) * (A @ Z)) + mu * (values @ Z)

        for _ in range(8 if step == 0 else 2):
            X = torch.linalg.qr(times(X)).Q
        inner = X.T @ times(X)
        found, turn = torch.linalg.eigh((inner + inner.T) / 2)
        X = X @ turn
        part = torch.softmax((found / found[-1] - 1) * 60 * (1 + step / 10), 0)
        best, place = (gained - w[..., None] * squares).max(-1)
        moves = squares.gather(-1, place[..., None]).squeeze(-1)
        total = r * r * float(found[-1]) - mu * t + float(best.sum())
        by_w = w * (r * r * ((A @ X) ** 2 @ part).view_as(w) - moves)
        by_mu = mu * (r * r * float((X * (values @ X)).sum(0) @ part) - t)
        gradient = 50 / total * torch.cat([by_w.flatten(), by_w.new_tensor([by_mu])])
        momentum = 0.7 * momentum + 0.3 * gradient
        square = 0.9 * square + 0.1 * gradient**2
        change = PACE * (1 - step / STEPS) * momentum / (square.sqrt() + 1e-3)
        log_w, log_mu = log_w - change[:-1].view_as(log_w), log_mu - float(change[-1])
    return ((log_w - log_w.mean()) / 2).exp()


def _scale(gained: torch.Tensor, squares: torch.Tensor, w: torch.Tensor, energy: float) -> float:
    """About the best λ for weights λw."""
    tried = [float(gained.amax()) / 20 * math.exp(0.5 * k) for k in range(-8, 6)]
    return min(
        tried,
        key=lambda lam: (
            lam * energy + float((gained - lam * w[..., None] * squares).amax(-1).sum())
        ),
    )
