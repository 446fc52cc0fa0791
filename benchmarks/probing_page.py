"""Pretrained models on the page: each case of `benchmarks.probing`, in a separate process, as a
section of the page.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.fresh import fresh
from benchmarks.probing import REVIEW, RUNS, SENTENCE, SPREAD, TEXTS

TIERS = {"mean-local": "mean local", "local": "local", "real-words": "real words"}


def _case(name: str, count: int = TEXTS) -> dict[str, Any]:
    return fresh(name, str(count), "probe")


def _times(times: Sequence[float]) -> str:
    return f"{statistics.median(times):.1f} s | {min(times):.1f} to {max(times):.1f} s"


def commands(long: bool = True) -> str:
    """Whole commands, and the words of a long text."""
    found = _case("command")
    lines = [
        f"MiniLM in the cache, its last layer. Whole commands, from the shell and back, {RUNS} "
        "runs each; starting Python, torch and transformers is part of them. Without `--tier` "
        "every word gets mean local, local and real words.",
        "",
        "| command | median | range |",
        "|---|---|---|",
        f'| `wordsway words "I love her much"`, 4 words | {_times(found["short"])} |',
        f"| the same for a sentence of 20 words | {_times(found['twenty'])} |",
    ]
    if not long:
        return "\n".join(lines)
    text = _case("long")
    lines += [
        f"| `… --tier mean-local` for a text of {text['tokens']} tokens, {text['words']} words | "
        f"{_times(text['command'])} |",
        "",
        f"In Python, with the model in memory, mean local of the {text['words']} words takes "
        f"{text['seconds']:.1f} s; two seeds order them with a rank correlation of "
        f"{text['correlation']:.3f}.",
    ]
    return "\n".join(lines)


def determined(count: int) -> str:
    """The tiers from two seeds."""
    found = _case("determined", count)
    lines = [
        "Each text is measured with two seeds. A rank correlation of 1 over its words (for local "
        f"and real words {SPREAD} of them) means that both order them alike. {count} "
        f"beginnings of IMDb reviews ({REVIEW} tokens) and {count} sentences of gold triples; "
        "MiniLM, last layer, the model in memory.",
        "",
        "| texts | tier | rank correlation: mean | least | time per text, median |",
        "|---|---|---|---|---|",
    ]
    for name, row in found.items():
        kind, _, tier = name.partition(" ")
        lines.append(
            f"| {kind} | {TIERS[tier]} | {row['mean']:.3f} | {row['least']:.3f} | "
            f"{row['seconds']:.1f} s |"
        )
    return "\n".join(lines)


def curve(count: int) -> str:
    """Worst changes against 0.1.0 and against the local sensitivity."""
    found = _case("curve", count)
    return (
        f"Three words in each of {count} texts ({found['words']} words), MiniLM, last layer: the "
        "curve S(ρ), the largest change found with ‖Δ‖ ≤ ρ‖x‖. For small ρ it must agree with "
        f"local: S(0.03) is at least {found['small']:.2f} of 0.03 × local. At ρ = 1 it is "
        f"{found['median']:.2f} times (median; least {found['large']:.2f}) what version 0.1.0 "
        "found with 58 passes per word, and at least as large for "
        f"{found['at least']} of {found['words']} words."
    )


def ceiling(count: int) -> str:
    """The certified ceiling against what is attained."""
    found = _case("ceiling", count)
    lines = [
        f"Beginnings of IMDb reviews of {SENTENCE} tokens, two words of each, last layer, ρ = 1: "
        "the certified ceiling over the change that the search attained. 1 would be exact; no "
        "change of a word can exceed the ceiling. With ten texts or more, MPNet and SmolLM2 are "
        "measured, too, on half of them.",
        "",
        "| model | words | ceiling ÷ attained, median |",
        "|---|---|---|",
    ]
    lines += [f"| {name} | {row['words']} | {row['median']:.2f} |" for name, row in found.items()]
    return "\n".join(lines)


def prefix(count: int) -> str:
    """Rows before the changed word, kept or run again."""
    found = _case("prefix", count)
    rows = ", ".join(map(str, found["rows"]))
    return (
        f"SmolLM2, a prompt of {found['tokens']} tokens, {found['candidates']} swaps in each of "
        f"rows {rows}: {found['seconds']:.1f} s where the rows before the word are kept (their own "
        f"pass included), {found['whole']:.1f} s where each text is run whole: "
        f"{found['ratio']:.1f} times as fast, with the same values to {found['off']:.0e}."
    )


def swaps(count: int) -> str:
    """Screened swaps against all of them."""
    lines = [
        "The real word that moves MiniLM's last layer most: `swap` evaluates 1,300 words that look "
        "promising (and searches the worst Δ), `--exhaustive` every whole word of the vocabulary.",
        "",
        "| sentence, word | candidates | screened: change, time | all of them: change, time | "
        "share reached |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| “{row['sentence']}…”, {row['word']} | {row['candidates']:,} | {row['best']:.3f}, "
        f"{row['seconds']:.1f} s | {row['true']:.3f}, {row['exhaustive']:.0f} s | "
        f"{row['best'] / row['true']:.0%} |"
        for row in _case("swaps", count)["swaps"]
    ]
    return "\n".join(lines)
