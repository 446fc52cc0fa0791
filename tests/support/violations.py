"""Certificates of tiny maps against a grid over the whole ball."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

import wordsway as ws

Wrap = Callable[[ws.FeatureMap], ws.FeatureMap]


def disc(radius: float, steps: int = 121, angles: int = 721) -> torch.Tensor:
    """A grid of Δ in the plane, ``steps`` to a side, with ``angles`` points of the circle."""
    line = torch.linspace(-radius, radius, steps, dtype=torch.float64)
    points = torch.stack(torch.meshgrid(line, line, indexing="ij"), -1).reshape(-1, 2)
    angle = torch.linspace(0, 2 * math.pi, angles, dtype=torch.float64)
    circle = radius * (1 - 1e-12) * torch.stack([angle.cos(), angle.sin()], 1)
    return torch.cat([points[points.norm(dim=1) <= radius], circle])


def violations(inner: Any, wrap: Wrap, seeds: range) -> tuple[int, list[int]]:
    """n = 3, d = 2: small, usual and large weights, three radii, rows rescaled or not; how many
    were checked, and the seeds at which a grid exceeds the certificate.
    """
    checked, exceeded = 0, []
    for seed in seeds:
        noise = torch.Generator().manual_seed(seed)
        scale, radius = (0.7, 2.0, 8.0)[seed % 3], (math.sqrt(2), 0.5, 2.5)[seed // 3 % 3]
        weight = scale * torch.randn(2, 2, generator=noise, dtype=torch.float64)
        rows = torch.randn(3, 2, generator=noise, dtype=torch.float64) + 0.3
        phi, X = wrap(inner(weight=weight)), ws.Sample(rows, rescale=seed % 2 == 0)
        try:
            view = phi.view(X)
        except ws.InputError:  # a map that vanishes at this text
            continue
        bound = view.certify([0], radius)
        assert bound is not None
        points = disc(radius, 61, 361)
        texts = X.X.repeat(len(points), 1, 1)
        texts[:, 0] += points
        before = phi.exact(X)
        change = (phi.exact(texts) - before).flatten(1).norm(dim=1).max() / before.norm()
        checked += 1
        if float(change) > float(bound.upper[0]) * (1 + 1e-9) + 1e-12:
            exceeded.append(seed)
    return checked, exceeded
