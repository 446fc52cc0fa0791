"""Deep random features: certified over attained by both bounds; how Theorem 3 is calibrated."""

from __future__ import annotations

import math
import statistics
import sys

import torch

import wordsway as ws
from wordsway.maps.dense.backward import backward_bound
from wordsway.maps.dense.certificate import backward_layers, gaussian_bounds

ABOUT = """certified ÷ attained for one draw of text and weights, by Theorem 2 alone (before), and \
by the smaller of both (after)."""
SIZES = ((60, 768), (80, 768), (150, 768), (120, 256), (30, 32))


def table(depths: tuple[int, ...] = (2, 4, 8)) -> str:
    """Certified over attained, for one draw of every size and depth."""
    lines = [
        "| n × d | layers | attained | before | after | Theorem 3 | without its tails |",
        "|---|---|---|---|---|---|---|",
    ]
    for n, d in SIZES:
        for depth in depths:
            X, phi = ws.Sample.gaussian(n, d, 0), ws.DRF(n, d, depth, seed=100)
            low = ws.sensitivity(phi, X, positions=0, seed=1, certificate=False).lower
            trace = phi.view(X, torch.float64).trace
            layers = backward_layers(trace)
            new, typical = (
                backward_bound(layers, d, math.sqrt(d), failure) / trace.norm
                for failure in (1e-9, None)
            )
            old = float(gaussian_bounds(trace, [0], math.sqrt(d), backwards=False)[0])
            shares = " | ".join(f"{x / low:.2f}" for x in (old, min(old, new), new, typical))
            shares = shares.replace("inf", "∞")
            lines.append(f"| {n} × {d} | {depth} | {low:.4f} | {shares} |")
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def calibration(draws: int = 500) -> str:
    """Attained over the bound without its tails, and over two with tails, for many small maps."""
    n, d = 150, 16
    found: dict[float | None, list[float]] = {None: [], 0.5: [], 1e-9: []}
    for seed in range(draws):
        X, phi = ws.Sample.gaussian(n, d, seed), ws.DRF(n, d, 2 + seed % 3, seed=seed + 1)
        low = ws.sensitivity(phi, X, positions=0, seed=0, effort=0.3, certificate=False).lower
        trace = phi.view(X, torch.float64).trace
        layers = backward_layers(trace)
        for failure, shares in found.items():
            shares.append(low * trace.norm / backward_bound(layers, d, math.sqrt(d), failure))
    lines = [
        f"Attained ÷ bound for {draws} draws of text and weights, n = {n}, d = {d}, two to four "
        "layers:\n",
        "| the bound | mean | largest | above 1 | finite bounds |",
        "|---|---|---|---|---|",
    ]
    names = ("without tails (t = 0)", "may fail in every second draw", "may fail with 1e-9")
    for name, shares in zip(names, found.values(), strict=True):
        lines.append(
            f"| {name} | {statistics.fmean(shares):.3f} | {max(shares):.3f} | "
            f"{sum(x > 1 for x in shares)} | {sum(x > 0 for x in shares)} |"
        )
    return "\n".join(lines)
