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


def rings(radius: float) -> torch.Tensor:
    """Six circles of Δ in the plane, the last one just inside the radius."""
    angle = torch.linspace(0, 2 * math.pi, 181, dtype=torch.float64)[:-1]
    circle = torch.stack([angle.cos(), angle.sin()], 1)
    return torch.cat([radius * part * circle for part in (0.1, 0.3, 0.5, 0.7, 0.85, 1 - 1e-12)])


def largest_change(phi: ws.FeatureMap, X: ws.Sample, row: int, deltas: torch.Tensor) -> float:
    """The largest S at one row over some Δ (V, d), by the definition."""
    texts = X.X.repeat(len(deltas), 1, 1)
    texts[:, row] += deltas
    before = phi.exact(X)
    return float((phi.exact(texts) - before).flatten(1).norm(dim=1).max() / before.norm())


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
        change = largest_change(phi, X, 0, disc(radius, 61, 361))
        checked += 1
        if change > float(bound.upper[0]) * (1 + 1e-9) + 1e-12:
            exceeded.append(seed)
    return checked, exceeded
