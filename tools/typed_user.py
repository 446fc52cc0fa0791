"""What a user might write, for `make dist` to check its types against the installed wheel."""

from typing import assert_type

import wordsway as ws


def widest(samples: list[ws.Sample], seed: int) -> ws.Sensitivity:
    phi: ws.FeatureMap = ws.residual(ws.RAF(d=samples[0].d, seed=seed))
    found = [ws.sensitivity(phi, X, positions="all", seed=seed) for X in samples]
    return max(found, key=lambda s: s.lower)


def heard(text: str) -> dict[str, float]:
    words: ws.Words = ws.words(text, model="minilm", seed=0)
    return {word.word: word.mean_local or 0.0 for word in words}


best = widest([ws.Sample.gaussian(n=5, d=4, seed=k) for k in range(3)], seed=1)
gap: float = (best.upper or best.lower) - best.lower
rows: ws.Measurement = ws.measure("raf", n=8, d=16, trials=2, seed=0)
lowers: list[float] = [rows[0].lower, best[0].lower, *(row.lower for row in best[1:])]
assert_type(best[0].upper, float | None)
