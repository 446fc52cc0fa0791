"""Pretrained models: all words at once against one by one, long texts against their forecast,
screened swaps against exhaustive ones.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import Any, NamedTuple

from wordsway.models.probe import Prepared, Probe
from wordsway.paper.long_text import LONG_TEXT
from wordsway.probing.blocks import Blocks
from wordsway.probing.forecasting import forecast
from wordsway.probing.memory import room_for, row_bytes
from wordsway.probing.search import Climbed, Effort, worst
from wordsway.probing.swap import swap
from wordsway.probing.targets import target_of
from wordsway.probing.words import words
from wordsway.reading import Word
from wordsway.runtime import peak_bytes

#: The last layer of MiniLM.
LAYER = 6
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
    """Twelve words of a sentence, the last layer: side by side, one by one, and without any batch:
    every start and word a pass of its own.
    """
    prepared = probe.read(TWELVE)
    chosen = list(prepared.words)
    together = _timed(probe, prepared, [chosen])  # the first one warms up
    together = _timed(probe, prepared, [chosen])
    alone = _timed(probe, prepared, [[word] for word in chosen])
    one_row = _timed(probe, prepared, [chosen], row_bytes(probe, prepared.n, LAYER))
    pairs = zip(alone.values, together.values, strict=True)
    return {
        "words": len(chosen),
        "together": together.seconds,
        "alone": alone.seconds,
        "row": one_row.seconds,
        "off": max(abs(single - found) / single for single, found in pairs),
    }


class _Timed(NamedTuple):
    values: list[float]
    seconds: float


def _timed(
    probe: Probe, prepared: Prepared, groups: list[list[Word]], memory: int = 2**31
) -> _Timed:
    """The worst change of each word, words of one group side by side."""
    target = target_of(probe, prepared, LAYER)
    room = room_for(probe, prepared.n, LAYER, memory)
    started = time.perf_counter()
    found: list[Climbed] = [
        worst(probe, Blocks(prepared, group, 1.0), target, effort=Effort(), seed=0, room=room)
        for group in groups
    ]
    seconds = time.perf_counter() - started
    return _Timed([float(value) ** 0.5 for some in found for value in some.value], seconds)


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
        "median": statistics.median(word.mean_local or 0.0 for word in result.words),
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
