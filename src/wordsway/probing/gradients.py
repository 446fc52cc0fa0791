"""Can a model be differentiated, and is its backward pass the derivative?"""

from __future__ import annotations

from typing import Any

import torch

from wordsway.core.errors import WordswayError
from wordsway.core.seeds import generator
from wordsway.probing.targets import Target

#: A model's own backward pass is checked by `MOVES` moves of relative length `STEP`, and may differ
#: by `DERIVATIVE`.
STEP, DERIVATIVE, MOVES = 1e-2, 0.01, 7


def check_gradient(target: Target, embeds: torch.Tensor, features: torch.Tensor) -> None:
    """Refuse a model whose backward pass is not the derivative of its forward pass.

    ``features`` are those of ``embeds`` (1, n, d), with their graph. torch's own derivatives are
    trusted. If the model has a custom backward pass (YOSO's is an approximation), a small move εv
    of one row must change g by ε·Jv: with c = (g(x + εv) − g(x − εv))/2ε,

        ⟨Jᵀc, v⟩ = ⟨c, Jv⟩ = ‖c‖²

    within `DERIVATIVE`, in the median over `MOVES` random v, since a mixture of experts may jump
    between x ± εv. Numbers of 16 bits are too coarse for it, and are not checked.
    """
    check_differentiable(features)
    if embeds.element_size() < 4 or not _own_backward(features):
        return
    ratios = []
    draws = generator(0, "derivative")
    for row in torch.randint(embeds.shape[1], (MOVES,), generator=draws).tolist():
        v = torch.zeros_like(embeds)
        noise = torch.randn(embeds.shape[2], generator=draws).to(embeds)
        v[0, row] = noise * (embeds[0, row].norm() / noise.norm())
        with torch.enable_grad():
            x = embeds.detach().clone().requires_grad_(True)
            g = target.features(x)
        with torch.no_grad():
            ends = [target.features(embeds + sign * STEP * v).double() for sign in (1, -1)]
        change = (ends[0] - ends[1]) / (2 * STEP)
        (pulled,) = torch.autograd.grad((g * change.to(g)).sum(), x)
        ratios.append(float((pulled * v).sum() / change.square().sum().clamp_min(1e-300)))
    wrong = sorted(abs(ratio - 1) for ratio in ratios)[MOVES // 2]
    if not wrong <= DERIVATIVE:
        raise WordswayError(
            "this model defines its own backward pass, which is not the derivative of its states "
            f"(wrong by {100 * wrong:.2g} % for a small move), so small moves cannot be measured: "
            "take real words (--tier real-words)"
        )


def check_differentiable(features: torch.Tensor) -> None:
    """Refuse a model whose output carries no gradient (Reformer's reversible layers)."""
    if not features.requires_grad:
        raise WordswayError(
            "this model's output carries no gradient, so small moves and the worst move cannot be "
            "searched: take real words (--tier real-words), or swap without the worst case"
        )


def _own_backward(features: torch.Tensor) -> bool:
    """Whether a graph has nodes whose derivative is written in Python by the model."""
    seen: set[Any] = set()
    left: list[Any] = [features.grad_fn]
    while left:
        node = left.pop()
        if node is None or node in seen:
            continue
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            return True
        seen.add(node)
        left += [one for one, _ in node.next_functions]
    return False
