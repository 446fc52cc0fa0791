"""Pretrained models: all words at once against one by one, long texts against their forecast,
screened swaps against exhaustive ones.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import Any

from wordsway.models.probe import Probe
from wordsway.paper.long_text import LONG_TEXT
from wordsway.probing.search import Blocks, Effort, row_bytes, worst
from wordsway.probing.swap import swap
from wordsway.probing.words import forecast, words
from wordsway.runtime import peak_bytes

TWELVE = "The film was not at all bad although its plot remained dull"
RUNS = 9
SENTENCES = (
    (
        "The film was not at all bad although the plot remained rather dull and the cast never "
        "seemed to care much",
        "bad",
    ),
    (
        "She bought a cheap phone from the shop and it broke after only two days of very light "
        "use at home",
        "broke",
    ),
    (
        "When the bridge was closed in spring nobody in the village expected that it would ever "
        "be opened again before winter came",
        "village",
    ),
)


def run(case: str) -> dict[str, Any]:
    """One measurement in this process."""
    if case == "command":
        return {"short": _command("I love her much"), "twelve": _command(TWELVE)}
    probe = Probe("minilm")
    if case == "batching":
        return _batching(probe)
    if case == "long":
        return _long(probe)
    return _swaps(probe, int(case))


def _command(text: str) -> list[float]:
    """Seconds of the whole command, start to end, its model cached; one run to warm the disk, then
    `RUNS`.
    """
    times = []
    for _ in range(1 + RUNS):
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "wordsway", "words", text], capture_output=True, check=True
        )
        times.append(time.perf_counter() - started)
    return times[1:]


def _batching(probe: Probe) -> dict[str, Any]:
    """Twelve words of a sentence, the last layer: side by side, and one by one."""
    prepared = probe.read(TWELVE)
    chosen, effort = list(prepared.words), Effort()
    together, alone = [], []
    for _ in range(2):  # the first one warms up
        started = time.perf_counter()
        _, found, _ = worst(
            probe, Blocks(prepared, chosen, 1.0), 6, effort=effort, seed=0, memory=2**31
        )
        together.append(time.perf_counter() - started)
        started = time.perf_counter()
        single = [
            float(
                worst(probe, Blocks(prepared, [one], 1.0), 6, effort=effort, seed=0, memory=2**31)[
                    1
                ]
            )
            for one in chosen
        ]
        alone.append(time.perf_counter() - started)
    off = max(abs(a - float(b)) / a for a, b in zip(single, found, strict=True))
    one_row = _one_row(probe, chosen, prepared)
    return {
        "words": len(chosen),
        "together": together[-1],
        "alone": alone[-1],
        "row": one_row,
        "off": off,
    }


def _one_row(probe: Probe, chosen: list[Any], prepared: Any) -> float:
    """The same search without any batch: every start and word a pass of its own."""
    started = time.perf_counter()
    worst(
        probe,
        Blocks(prepared, chosen, 1.0),
        6,
        effort=Effort(),
        seed=0,
        memory=row_bytes(probe, prepared.n, 6),
    )
    return time.perf_counter() - started


def _long(probe: Probe) -> dict[str, Any]:
    """All words of a text of about 400 tokens."""
    text = f"{LONG_TEXT} {LONG_TEXT}"
    cost, before = forecast(text, probe), peak_bytes()
    started = time.perf_counter()
    result = words(text, probe)
    return {
        "tokens": len(result.tokens),
        "words": len(result.words),
        "seconds": time.perf_counter() - started,
        "forecast": cost.seconds,
        "bytes": cost.bytes,
        "grown": peak_bytes() - before,
        "peak_mb": peak_bytes() / 1e6,
        "median": statistics.median(one.sensitivity for one in result.words),
    }


def _swaps(probe: Probe, which: int) -> dict[str, Any]:
    text, word = SENTENCES[which]
    started = time.perf_counter()
    found = swap(text, word, probe)
    seconds = time.perf_counter() - started
    started = time.perf_counter()
    truth = swap(text, word, probe, exhaustive=True, worst_case=False)
    return {
        "candidates": found.candidates,
        "seconds": seconds,
        "best": found.swaps[0].change,
        "word": found.swaps[0].word,
        "true": truth.swaps[0].change,
        "true_word": truth.swaps[0].word,
        "exhaustive": time.perf_counter() - started,
        "worst": found.worst,
    }


def page(
    command: dict[str, Any],
    batching: dict[str, Any],
    long: dict[str, Any],
    swaps: list[dict[str, Any]],
) -> str:
    """The section of docs/performance.md."""
    short, twelve = (
        f"{min(some):.1f} to {max(some):.1f} s, median {statistics.median(some):.1f} s"
        for some in command.values()
    )
    side, alone, row = (batching[name] for name in ("together", "alone", "row"))
    lines = [
        f"**The whole command**, libraries and model loaded anew, {RUNS} runs: "
        f'`wordsway words "I love her much"` {short}; twelve words {twelve}.',
        "",
        f"**All words at once**: {batching['words']} words of a sentence, last layer, the "
        f"default search: {side:.1f} s side by side, "
        f"{alone:.1f} s one by one ({alone / side:.1f} times), {row:.1f} s without any batch "
        f"({row / side:.1f} times); "
        f"largest relative difference of the values {batching['off']:.1g}.",
        "",
        f"**A long text**: {long['tokens']} tokens, all {long['words']} words, 2 GiB budget: "
        f"{long['seconds']:.0f} s, "
        f"forecast {long['forecast']:.0f} s; {long['grown'] / 1e6:.0f} MB beside the model, "
        f"forecast {long['bytes'] / 1e6:.0f} MB; "
        f"peak {long['peak_mb']:.0f} MB with model and libraries.",
        "",
        "**Swaps**: all whole words of the vocabulary in one place, screened with the worst Δ "
        "searched too, against evaluating every one:",
        "",
        "| sentence | candidates | screened: best, time | exhaustive: best, time | share reached "
        "| of the worst Δ |",
        "|---|---|---|---|---|---|",
    ]
    for (text, word), one in zip(SENTENCES, swaps, strict=True):
        found, true = (
            f"{one['word']} {one['best']:.4f}, {one['seconds']:.1f} s",
            f"{one['true_word']} {one['true']:.4f}, {one['exhaustive']:.0f} s",
        )
        shares = f"{one['best'] / one['true']:.4f} | {one['best'] / one['worst']:.2f}"
        lines.append(
            f"| “{text[:24]}…”, {word} | {one['candidates']:,} | {found} | {true} | {shares} |"
        )
    return "\n".join(["MiniLM; but for the command, loading the model is not counted.", "", *lines])
