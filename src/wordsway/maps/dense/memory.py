"""Bytes held while RF and DRF are measured, counted from the sizes and the plan."""

from __future__ import annotations

from wordsway.gaussian.dense import DENSE_BYTES
from wordsway.maps.dense.view import bytes_kept, bytes_per_point, plan_for
from wordsway.maps.memory import points_at_once, searches


def dense_bytes(
    n: int,
    d: int,
    rows: int,
    *,
    effort: float,
    certificate: bool,
    memory: int,
    k: int | None = None,
    depth: int = 1,
) -> float:
    """Bytes of measuring ``rows`` rows; matrices beyond `DENSE_BYTES` are drawn on demand."""
    k, later = n * d if k is None else k, depth - 1
    weights = k * n * d + later * k * k
    if 8 * weights > DENSE_BYTES:
        found = searches(plan_for(k, d, on_demand=True), effort, rows, kept=True)
        kept = sum(count * stage.evaluations for stage, count in found) * bytes_kept(k, d, later, 8)
        return min(kept, memory) + 8 * k * depth * 30 + 8 * n * d * 4
    at_once = points_at_once(plan_for(k, d, on_demand=False), effort, rows, d)
    held = 8.0 * weights + 24 * (k * d + later * k * k) * certificate
    return min(at_once * bytes_per_point(k, 8), memory) + held
