"""Pretrained models: are the tiers determined, right, fast and fair; swaps; peers.

`python -m benchmarks.probing CASE [TEXTS]` prints one case as JSON; `benchmarks.probing_page` makes
sections of docs/notes/performance.md of them. `benchmarks.peers` has the comparison with others,
`benchmarks.fair` words of several tokens and sink rows.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

from wordsway.auditing.gold import gold_triples
from wordsway.models.prefix import prefix_of
from wordsway.models.probe import Probe
from wordsway.paper.pretrained import LONG_TEXT
from wordsway.probing.candidates import candidates, vocabulary
from wordsway.probing.moves import MEMORY, at_once
from wordsway.probing.swap import swap
from wordsway.probing.targets import target_of
from wordsway.probing.words import words
from wordsway.text import corpus, draw

TWENTY = (
    "The film was not at all bad although the plot remained rather dull and the cast never seemed "
    "to care much"
)
#: Runs of a whole command; tokens of a review and of a sentence; texts by default.
RUNS, REVIEW, SENTENCE, TEXTS = 3, 40, 16, 20
#: Words of each text, evenly spread, whose slower tiers are measured twice.
SPREAD = 16
SWAPPED = (
    (TWENTY, "bad"),
    (
        "She bought a cheap phone from the shop and it broke after only two days of very light "
        "use at home",
        "broke",
    ),
)
TIERS: dict[str, Callable[[Any], float]] = {
    "mean-local": lambda word: float(word.mean_local),
    "local": lambda word: float(word.local),
    "real-words": lambda word: float(word.real.mean),
}


def run(case: str, count: int = TEXTS) -> dict[str, Any]:
    """One measurement in this process."""
    if case in ("command", "long"):
        return {"command": _commands, "long": _long}[case]()
    return {
        "determined": _determined,
        "curve": _curve,
        "ceiling": _ceiling,
        "prefix": _prefix,
        "swaps": _swaps,
    }[case](count)


def texts_of(probe: Probe, count: int, tokens: int, seed: int = 0) -> list[str]:
    """The beginnings of IMDb reviews."""
    return [probe.cut(text.text, tokens) for text in draw(corpus("imdb"), count, seed)]


def sentences_of(count: int) -> list[str]:
    """Texts of the gold triples, spread over their fields."""
    every = [one.text for one in gold_triples()]
    return [every[at * len(every) // count] for at in range(count)]


def spread(count: int) -> list[int]:
    """`SPREAD` of ``count`` words, or all, evenly."""
    few = min(count, SPREAD)
    return [at * count // few for at in range(few)]


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's: the correlation of average ranks."""

    def ranks(values: Sequence[float]) -> torch.Tensor:
        x = torch.tensor(list(values), dtype=torch.float64)
        below = (x[None] < x[:, None]).sum(1) + ((x[None] == x[:, None]).sum(1) - 1) / 2
        return below - below.mean()

    first, second = ranks(a), ranks(b)
    return float((first @ second) / (first.norm() * second.norm()))


def _commands() -> dict[str, Any]:
    """Seconds of the whole command, its model cached; the first run warms the disk."""
    return {"short": _command("I love her much"), "twenty": _command(TWENTY)}


def _command(*arguments: str) -> list[float]:
    times = []
    for _ in range(1 + RUNS):
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "wordsway", "words", *arguments],
            capture_output=True,
            check=True,
        )
        times.append(time.perf_counter() - started)
    return times[1:]


def _long() -> dict[str, Any]:
    """All words of a text of about 400 tokens, mean local: the verb and the whole command."""
    text = f"{LONG_TEXT} {LONG_TEXT}"
    probe = Probe("minilm")
    words("a warm up", probe, tiers=("mean-local",))
    started = time.perf_counter()
    result = words(text, probe, tiers=("mean-local",))
    seconds = time.perf_counter() - started
    other = words(text, probe, tiers=("mean-local",), seed=1)
    pairs = zip(result.words, other.words, strict=True)
    first, second = zip(*((a.mean_local, b.mean_local) for a, b in pairs), strict=True)
    return {
        "tokens": len(result.tokens),
        "words": len(result.words),
        "seconds": seconds,
        "correlation": rank_correlation(first, second),
        "command": _command(text, "--tier", "mean-local"),
    }


def _determined(count: int) -> dict[str, Any]:
    """Rank correlation over words between two seeds, and seconds, for each tier: of mean local over
    all words, of the others over `SPREAD` of them. Each text is printed to standard error.
    """
    probe = Probe("minilm")
    found: dict[str, Any] = {}
    both = {"reviews": texts_of(probe, count, REVIEW), "sentences": sentences_of(count)}
    for name, texts in both.items():
        for tier, value in TIERS.items():
            rows, seconds = [], []
            for text in texts:
                asked = None if tier == "mean-local" else spread(len(probe.read(text).words))
                started = time.perf_counter()
                pair = [
                    words(text, probe, tiers=(tier,), word=asked, seed=seed).words
                    for seed in (0, 1)
                ]
                seconds.append((time.perf_counter() - started) / 2)
                kept = [
                    (value(a), value(b))
                    for a, b in zip(*pair, strict=True)
                    if a.score(tier) and b.score(tier)
                ]
                first, second = zip(*kept, strict=True)
                rows.append(rank_correlation(first, second))
                print(name, tier, len(kept), rows[-1], file=sys.stderr, flush=True)
            found[f"{name} {tier}"] = {
                "mean": statistics.mean(rows),
                "least": min(rows),
                "seconds": statistics.median(seconds),
                "texts": len(rows),
            }
    return found


def _curve(count: int) -> dict[str, Any]:
    """S(0.03) over 0.03·local, and S(1) over what 0.1.0 found with 58 passes per word."""
    probe = Probe("minilm")
    small, large = [], []
    for text, old in recorded(count):
        found = words(text, probe, tiers=("curve",), word=starting(probe, text, old))
        for word in found.words:
            assert word.curve is not None and word.local is not None
            small.append(word.curve[0].lower / (word.curve[0].reach * word.local))
            large.append(word.curve[-1].lower / old[word.start])
    return {
        "words": len(small),
        "small": min(small),
        "large": min(large),
        "at least": sum(ratio >= 1 for ratio in large),
        "median": statistics.median(large),
    }


def recorded(count: int) -> list[tuple[str, dict[int, float]]]:
    """Texts, and S of three words of one token in each (by where they begin), as version 0.1.0
    found it: its own `words(text, only=…, seed=0)`, commit b1c4e28, MiniLM, last layer, reach 1.
    """
    lines = json.loads(Path(__file__).with_name("words_of_0_1_0.json").read_text("utf-8"))
    return [
        (line["text"], {word["start"]: word["sensitivity"] for word in line["words"]})
        for line in lines["texts"][:count]
    ]


def starting(probe: Probe, text: str, starts: Iterable[int]) -> list[int]:
    """Numbers of the words that begin at these characters."""
    return [word.index for word in probe.read(text).words if word.start in set(starts)]


def _ceiling(count: int) -> dict[str, Any]:
    """The ceiling over what the curve attains at reach 1, last layer; of the larger models for
    half of the texts.
    """
    found: dict[str, Any] = {}
    for name in ("minilm", "mpnet", "smollm2")[: 3 if count >= 10 else 1]:
        probe = Probe(name)
        ratios = []
        for text in texts_of(probe, count, SENTENCE)[: count if name == "minilm" else count // 2]:
            asked = [word.index for word in probe.read(text).words][2:5:2]
            some = words(text, probe, tiers=("curve",), word=asked)
            ratios += [(word.upper or 0.0) / (word.sensitivity or 1.0) for word in some.words]
        found[name] = {"median": statistics.median(ratios), "words": len(ratios)}
    return found


def _prefix(count: int) -> dict[str, Any]:
    """Swaps at the beginning, in the middle and at the end of the last third of a 300-token prompt,
    with the rows before them kept and without; the prefix's own pass is counted.
    """
    probe = Probe("smollm2")
    text = probe.cut(f"{LONG_TEXT} {LONG_TEXT}", 300)
    encoded = probe.read(text)
    target = target_of(probe, encoded, "last")
    spread = [word for word in encoded.words if min(word.rows) > 2 * encoded.n / 3]
    spread = [word for word in spread if len(word.rows) == 1 and word.text.isalpha()]
    kept, whole, off = 0.0, 0.0, 0.0
    places = [spread[round(at * (len(spread) - 1))] for at in (0.0, 0.5, 1.0)]
    for word in places:
        some = vocabulary(probe, "words")[:: 20_000 // (2 * count)]
        tried = candidates(probe, encoded, word, among=some).ids
        ids = torch.tensor([row for row in tried if len(row) == encoded.n][:count])
        assert len(ids) == count
        target.change(ids[:1], word)  # warms up
        started = time.perf_counter()
        prefix = prefix_of(probe, encoded, word, target.prefix_model)
        assert prefix is not None
        rows = encoded.n - prefix.length
        size = at_once(probe, rows, target.layer, MEMORY)
        fast = torch.cat([target.change(part, word, prefix) for part in ids.split(size)])
        kept += time.perf_counter() - started
        started = time.perf_counter()
        size = at_once(probe, encoded.n, target.layer, MEMORY)
        slow = torch.cat([target.change(part, word) for part in ids.split(size)])
        whole += time.perf_counter() - started
        off = max(off, float(((fast - slow).abs() / slow).max()))
    rows_of = [min(word.rows) for word in places]
    sizes = {"tokens": encoded.n, "rows": rows_of, "candidates": count}
    return sizes | {"seconds": kept, "whole": whole, "ratio": whole / kept, "off": off}


def _swaps(count: int) -> dict[str, Any]:
    """Screened swaps against exhaustive ones, in at most two sentences."""
    probe = Probe("minilm")
    found = []
    for text, word in SWAPPED[:count]:
        started = time.perf_counter()
        screened = swap(text, word, probe)
        seconds = time.perf_counter() - started
        started = time.perf_counter()
        truth = swap(text, word, probe, exhaustive=True, worst_case=False)
        found.append(
            {
                "sentence": text[:24],
                "word": word,
                "candidates": screened.candidates,
                "seconds": seconds,
                "best": screened.swaps[0].change,
                "true": truth.swaps[0].change,
                "exhaustive": time.perf_counter() - started,
            }
        )
    return {"swaps": found}


if __name__ == "__main__":
    size = int(sys.argv[2]) if len(sys.argv) > 2 else TEXTS
    print(json.dumps(run(sys.argv[1], size), indent=1))
