"""The attention family: incremental views against the plain callable, and certificates."""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import torch

import wordsway as ws
from wordsway.maps.attention.scores.registry import SCORES

N, D, POINTS = 250, 768, 32
#: In addition to every kind of scores with one matrix.
MORE: dict[str, dict[str, Any]] = {
    "12 heads": {"heads": 12},
    "12 heads, causal, RoPE": {"heads": 12, "mask": "causal", "positions": "rope"},
    "one matrix, ALiBi": {"positions": "alibi"},
}
#: Certified over attained: kinds and sizes, three draws each.
CERTIFIED: dict[str, dict[str, Any]] = {
    "softmax": {},
    "sink": {"scores": "sink"},
    "sigmoid": {"scores": "sigmoid"},
    "causal": {"mask": "causal"},
}
SIZES, DRAWS = ((16, 256), (64, 256), (256, 256)), 3


def speed(options: dict[str, Any]) -> tuple[float, float]:
    """Seconds of one step (value and gradient of a batch of points): callable, incremental."""
    X = ws.Sample.gaussian(N, D, 0)
    phi = ws.Attention(D, 1, **options)
    plain = ws.FeatureMap.of(lambda Y: phi.features(Y, Y.dtype), dtype=torch.float32)
    rows = torch.zeros(POINTS, dtype=torch.long)
    delta = torch.randn(POINTS, D, generator=torch.Generator().manual_seed(0))
    found = []
    # The callable takes its points in parts of eight, which is faster than all at once.
    for view, part, repeats in ((plain.view(X), 8, 1), (phi.view(X, torch.float32), POINTS, 5)):
        view.value_and_gradient(rows[:2], delta[:2])
        times = []
        for _ in range(repeats):
            started = time.perf_counter()
            for at in range(0, POINTS, part):
                view.value_and_gradient(rows[at : at + part], delta[at : at + part])
            times.append(time.perf_counter() - started)
        found.append(min(times))
    return found[0], found[1]


def page() -> str:
    """Both tables."""
    lines = [
        f"One step of a search (value and gradient of {POINTS} points Δ of one row) at n = {N}, "
        f"d = {D} in single precision: `ws.FeatureMap.of(definition)`, and the family's own "
        "view, which computes only what one changed row moves. Both give the same numbers.",
        "",
        "| map | plain callable | incremental | times faster |",
        "|---|---|---|---|",
    ]
    with torch.no_grad():
        for name, options in {**{name: {"scores": name} for name in SCORES}, **MORE}.items():
            slow, fast = speed(options)
            lines.append(f"| {name} | {slow:.2f} s | {1000 * fast:.1f} ms | {slow / fast:,.0f} |")
            print(lines[-1], file=sys.stderr, flush=True)
    lines += ["", f"Certified ÷ attained, first row, {DRAWS} draws for each n.", ""]
    lines += ["| map | n, d | median | largest |", "|---|---|---|---|"]
    for name, options in CERTIFIED.items():
        for n, d in SIZES:
            ratios = []
            for seed in range(DRAWS):
                phi, X = ws.Attention(d, seed, **options), ws.Sample.gaussian(n, d, 1000 + seed)
                s = ws.sensitivity(phi, X, positions=0, seed=seed)
                assert s.upper is not None
                ratios.append(s.upper / s.lower)
            lines.append(
                f"| {name} | {n}, {d} | {statistics.median(ratios):.2f} | {max(ratios):.2f} |"
            )
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)
