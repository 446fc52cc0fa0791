"""`python -m benchmarks certified [COUNT]`: adversarial instances against their certificates.

Families of ten: four random instances of one kind, and six changes of the best of them, each kept
if attained ÷ certified grows. Δ is found by random directions, landmarks and a separate
evolution, with the map's definition in float64 alone. Where that ratio is above `CLOSE`, attained
is computed once more in 50 digits. Families are numbered, seeded by their number and stored, so
that a run can be continued.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import torch

from benchmarks.certified.exact_maps import relative_change
from benchmarks.certified.instances import Instance, changed, draw
from wordsway.core.vectors import exactly_inside
from wordsway.maps.base import FeatureRangeError

FRESH, CHANGED = 4, 6
#: Attained ÷ certified from which 50 digits decide.
CLOSE = 1 - 1e-6
#: Δ tried at first, kept and made of them in each generation, and generations.
POINTS, KEPT, CHILDREN, GENERATIONS = 96, 8, 56, 12


class Tried(NamedTuple):
    """One instance: attained ÷ certified in float64, and in 50 digits where it was close."""

    instance: Instance
    delta: torch.Tensor
    ratio: float
    precise: float | None


def family(number: int) -> list[dict[str, Any]]:
    """Ten instances, as records."""
    chance = random.Random(f"certified {number}")
    found: list[Tried] = []
    while len(found) < FRESH + CHANGED:
        best = max(found, key=lambda one: one.ratio, default=None)
        if best is None:
            tried = attempt(draw(chance), chance, None)
        elif len(found) < FRESH:  # further random members of the first one's kind
            tried = attempt(changed(found[0].instance, chance), chance, None)
        else:
            tried = attempt(changed(best.instance, chance), chance, best.delta)
        found += [] if tried is None else [tried]
    return [
        {
            "family": number,
            "kind": one.instance.name,
            "n": len(one.instance.X),
            "d": one.instance.X.shape[1],
            "ratio": one.ratio,
            "precise": one.precise,
        }
        for one in found
    ]


def attempt(instance: Instance, chance: random.Random, start: torch.Tensor | None) -> Tried | None:
    """The best Δ found, against the certificate; None where there is none, or no φ(X) ≠ 0."""
    phi, sample = instance.map(), instance.sample()
    try:
        bound = phi.view(sample, torch.float64).certify([instance.i], instance.radius)
    except FeatureRangeError:
        return None
    if bound is None:
        return None
    upper = float(bound.upper[0])
    assert upper == upper and upper >= 0, instance
    delta, reached = worst(phi, instance, chance, start)
    ratio = reached / upper if upper > 0 else (math.inf if reached > 0 else 0.0)
    precise = None
    if ratio > CLOSE:
        change = relative_change(phi, instance.X, instance.i, delta)
        precise = float(change / upper) if upper > 0 else (math.inf if change > 0 else 0.0)
        if precise == 1.0 and change > upper:
            precise = math.nextafter(1.0, 2.0)
    return Tried(instance, delta, ratio, precise)


def worst(
    phi: Any, instance: Instance, chance: random.Random, start: torch.Tensor | None
) -> tuple[torch.Tensor, float]:
    """The Δ in the ball with the largest relative change that was found, and that change."""
    X, i, r = instance.X, instance.i, instance.radius
    noise = torch.Generator().manual_seed(chance.randrange(2**31))
    before = phi.exact(X)
    size = float(before.norm())

    def change(points: torch.Tensor) -> torch.Tensor:
        moved = X.expand(len(points), *X.shape).clone()
        moved[:, i] += points
        apart = (phi.exact(moved) - before).flatten(1).norm(dim=1) / size
        return apart.nan_to_num(0.0)

    def inside(points: torch.Tensor) -> torch.Tensor:
        length = points.norm(dim=1, keepdim=True).clamp_min(1e-300)
        return points * (r / length).clamp_max(1.0)

    points = torch.randn(POINTS, X.shape[1], dtype=torch.float64, generator=noise)
    points = r * points / points.norm(dim=1, keepdim=True)
    points[::4] *= torch.rand(len(points[::4]), 1, dtype=torch.float64, generator=noise)
    marks = [X - X[i], -X - X[i], r * X, -r * X, torch.eye(X.shape[1]).double() * r, points]
    points = torch.cat([*marks, *([] if start is None else [start[None]])])
    points = torch.cat([inside(points), torch.zeros_like(points[:1])])
    value = change(points)
    for generation in range(GENERATIONS):
        kept = value.topk(min(KEPT, len(value))).indices
        points, value = points[kept], value[kept]
        parents = torch.randint(len(points), (CHILDREN,), generator=noise)
        steps = torch.randn(CHILDREN, X.shape[1], dtype=torch.float64, generator=noise)
        children = inside(points[parents] + r * 0.5 * 0.55**generation * steps)
        length = children.norm(dim=1, keepdim=True).clamp_min(1e-300)
        children[::2] *= r / length[::2]  # half of them at full length
        points, value = torch.cat([points, children]), torch.cat([value, change(children)])
    best = exactly_inside(points[value.argmax()], r)
    return best, float(change(best[None])[0])


def run(count: int, file: Path) -> list[dict[str, Any]]:
    """At least ``count`` instances, those in the file included."""
    file.parent.mkdir(parents=True, exist_ok=True)
    records = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    done = {record["family"] for record in records}
    with file.open("a") as out, torch.no_grad():
        for number in range(math.ceil(count / (FRESH + CHANGED))):
            if number not in done:
                records += (found := family(number))
                out.write("".join(json.dumps(record) + "\n" for record in found))
                out.flush()
    return records


def report(records: list[dict[str, Any]]) -> str:
    """What was found, as lines of a table."""
    close = [one for one in records if one["precise"] is not None]
    above = [one for one in close if one["ratio"] > 1]
    broken = [one for one in close if one["precise"] > 1]
    kinds = Counter(one["kind"] for one in records)
    near = sum(one["ratio"] > 0.99 for one in records)
    largest = max((one["precise"] for one in close), default=0.0)
    lines = [
        "| instances | kinds | above 0.99 of the certificate | above 1 in float64 | computed in 50 "
        "digits | above 1 in 50 digits | largest in 50 digits |",
        "|---|---|---|---|---|---|---|",
        f"| {len(records):,} | {len(kinds)} | {near:,} | {len(above)} | {len(close)} "
        f"| {len(broken)} | 1 − {1 - largest:.1g} |",
    ]
    return "\n".join(lines)


def main(words: list[str]) -> None:
    count = int(words[0]) if words else 5000
    records = run(count, Path("out/bench/certified.jsonl"))
    print(report(records))
    broken = [one for one in records if one["precise"] is not None and one["precise"] > 1]
    if broken:
        sys.exit("\n".join(json.dumps(one) for one in broken))
