"""One attention layer of MiniLM taken alone: certified ÷ attained at reach 1, layer by layer."""

from __future__ import annotations

import statistics
import sys
import time

import wordsway as ws
from benchmarks.probing import SENTENCE, texts_of
from wordsway.models.probe import Probe
from wordsway.probing.trained_attention import TrainedAttention

SENTENCES = 50


def page(count: int = SENTENCES) -> str:
    """For each sentence the first row of its middle word, ‖Δ‖ ≤ ‖x_i‖, in layers 1 to 6."""
    probe = Probe("minilm")
    texts = texts_of(probe, count, SENTENCE)
    started = time.perf_counter()
    layers = [ws.TrainedAttention(probe, layer) for layer in range(1, probe.layers.count + 1)]
    for phi in layers:
        _measured(phi, texts[0])
    making = time.perf_counter() - started
    found: list[list[tuple[float, float]]] = [[] for _ in layers]
    seconds = []
    for text in texts:
        started = time.perf_counter()
        for phi, kept in zip(layers, found, strict=True):
            kept.append(_measured(phi, text))
        seconds.append(time.perf_counter() - started)
        print(f"{len(seconds)} of {count}: {seconds[-1]:.1f} s", file=sys.stderr, flush=True)
    lines = ["| layer | attained, median | certified, median | ratio, median | largest |"]
    lines.append("|---|---|---|---|---|")
    for layer, kept in enumerate(found, 1):
        ratios = [high / low for low, high in kept]
        low, high = (statistics.median(values) for values in zip(*kept, strict=True))
        lines.append(
            f"| {layer} | {low:.2f} | {high:.2f} | {statistics.median(ratios):.2f} | "
            f"{max(ratios):.2f} |"
        )
    every = [high / low for kept in found for low, high in kept]
    note = (
        "The trained attention of one layer as a map on its input rows, searched and certified: "
        f"the largest relative change of its output. "
        f"MiniLM, {count} beginnings of IMDb reviews of {SENTENCE} tokens, the middle word, "
        f"‖Δ‖ ≤ ‖x_i‖. Over all layers: {statistics.median(every):.2f} in the median. A sentence "
        f"in six layers took {statistics.median(seconds):.1f} s, making the six maps and their "
        f"first sentence {making:.0f} s."
    )
    return "\n".join([note, "", *lines])


def _measured(phi: TrainedAttention, text: str) -> tuple[float, float]:
    X = phi.sample(text)
    assert X.reading is not None
    words = X.reading.words
    row = words[len(words) // 2].rows[0]
    s = ws.sensitivity(phi, X, positions=row, radius=float(X.X[row].norm()))
    assert s.upper is not None
    return s.lower, s.upper


if __name__ == "__main__":
    print(page(*map(int, sys.argv[1:2])))
