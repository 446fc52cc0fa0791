"""Fair between words and between rows: `python -m benchmarks.fair words [REVIEWS]` and `rows`."""

from __future__ import annotations

import json
import math
import statistics
import sys
from typing import Any

import torch

from benchmarks.probing import texts_of
from wordsway.models.probe import Probe
from wordsway.probing.targets import target_of
from wordsway.probing.words import words


def fair(count: int) -> dict[str, Any]:
    """Words of several tokens among the first 30 rows of the corpus table, by mean local, against
    what chance allows: P(X ≥ found), X hypergeometric, 30 rows drawn from the table's own. A row is
    a spelling, as in `wordsway corpus`; all draws of reviews 0, 1 and 2 are reported.
    """
    probe = Probe("minilm")
    return {f"reviews {seed}": _table(probe, count, seed) for seed in range(3)}


def _table(probe: Probe, count: int, seed: int) -> dict[str, Any]:
    values: dict[str, list[float]] = {}
    several: dict[str, bool] = {}
    for text in texts_of(probe, count, 64, seed):
        for word in words(text, probe, tiers=("mean-local",)).words:
            name = word.word.casefold()
            values.setdefault(name, []).append(word.mean_local or 0.0)
            several[name] = several.get(name, False) or word.pieces > 1
    order = sorted(values, key=lambda name: -statistics.mean(values[name]))
    found = sum(several[name] for name in order[:30])
    total, marked = len(order), sum(several.values())
    ways = [
        math.comb(marked, k) * math.comb(total - marked, 30 - k)
        for k in range(found, min(30, marked) + 1)
    ]
    once = [name for name in order if len(values[name]) == 1 and name.isalpha()]
    by_kind = {
        f"occurs once, {title}": statistics.mean(
            values[name][0] for name in once if several[name] == kind
        )
        for title, kind in (("one token", False), ("several", True))
    }
    share = {"rows": total, "share": marked / total, "top": found}
    return share | {"p": sum(ways) / math.comb(total, 30)} | by_kind


def sinks() -> dict[str, Any]:
    """SmolLM2: the largest share of a layer's size that one row holds, by ‖H‖_F² and as rows count
    there by default, in the worst layer.
    """
    probe = Probe("smollm2")
    text = texts_of(probe, 1, 32)[0]
    encoded = probe.read(text)
    with torch.no_grad():
        states = probe.layers.every(encoded.embeds[None])
    squares = [state[0].double().square().sum(1) for state in states]
    held = [float(rows.max() / rows.sum()) for rows in squares]
    counted, by_rows = [], 0
    for layer in range(1, probe.layers.count + 1):
        target = target_of(probe, encoded, layer)
        share = target.base.double().square().sum(-1)
        counted.append(float(share.max() / share.sum()))
        by_rows += target.scaling == "rows"
    return {
        "tokens": encoded.n,
        "layers": probe.layers.count,
        "rows scaled one by one in": by_rows,
        "by norm": max(held[1:]),
        "as counted": max(counted),
    }


if __name__ == "__main__":
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    print(json.dumps(fair(size) if sys.argv[1] == "words" else sinks(), indent=1))
