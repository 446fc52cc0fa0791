"""Ways to give every word of a text a number: others' and our tiers, side by side.

`PYTHONPATH=DIR python -m benchmarks.peers FILE [TEXTS] [MINUTES]` appends a line of JSON per text
to FILE (those that are there are not measured again) and prints the table. It needs Captum, which
nothing else does: ``pip install --no-deps --target DIR captum``.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.probing import TIERS, rank_correlation, sentences_of, texts_of
from wordsway.models.probe import Probe
from wordsway.probing.results import WordSway
from wordsway.probing.words import words

#: Tokens of a review, words that are compared in each text, real words per place of the truth.
REVIEW, WORDS, DRAWS = 20, 8, 256
KINDS = ("reviews", "sentences")
Method = Callable[[int], list[float]]


def compare(path: Path, count: int, minutes: float) -> dict[str, Any]:
    """Seconds per text, and rank correlations over words: between seeds, and with real words (the
    mean over 256 draws from a third seed). Words are drawn from each text; methods that take no
    seed agree with themselves.
    """
    until = time.perf_counter() + 60 * minutes
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    names = {(record["kind"], record["number"]) for record in done}
    probe, eager = Probe("minilm"), Probe("minilm", eager=True)
    both = {"reviews": texts_of(probe, count, REVIEW), "sentences": sentences_of(count)}
    wanted = [(kind, number, text) for kind in KINDS for number, text in enumerate(both[kind])]
    wanted.sort(key=lambda item: item[1])
    for kind, number, text in wanted:
        if (kind, number) not in names and time.perf_counter() < until:
            measured = _measured(text, probe, eager, number)
            done.append({"kind": kind, "number": number, "methods": measured})
            with path.open("a") as file:
                file.write(json.dumps(done[-1]) + "\n")
    return {kind: _table([r["methods"] for r in done if r["kind"] == kind]) for kind in KINDS}


def _measured(text: str, probe: Probe, eager: Probe, number: int) -> dict[str, list[float]]:
    spelled = [word for word in probe.read(text).words if any(map(str.isalnum, word.text))]
    order = torch.randperm(len(spelled), generator=torch.Generator().manual_seed(number))
    some = sorted(spelled[at].index for at in order[:WORDS].tolist())
    many = words(text, probe, tiers=("real-words",), word=some, draws=DRAWS, seed=9).words
    chosen = [word for word in many if word.real is not None]
    truth = [word.real.mean for word in chosen if word.real is not None]
    found = {}
    for name, method in _methods(text, probe, eager, chosen).items():
        started = time.perf_counter()
        values = method(0)
        spent = time.perf_counter() - started
        again = method(1) if name.startswith("wordsway") else values
        found[name] = [spent, rank_correlation(values, again), rank_correlation(values, truth)]
    return found


def _table(texts: Sequence[dict[str, list[float]]]) -> dict[str, Any]:
    """Medians of seconds; means of correlations, with 95 % intervals (two standard errors)."""
    found: dict[str, Any] = {"texts": len(texts)}
    for name in texts[0] if texts else ():
        seconds, seeds, truth = zip(*(text[name] for text in texts), strict=True)
        found[name] = {
            "seconds": statistics.median(seconds),
            "between seeds": statistics.mean(seeds),
            "with real words": statistics.mean(truth),
            "±": 2 * statistics.stdev(truth) / len(truth) ** 0.5 if len(truth) > 1 else None,
        }
    return found


def _methods(
    text: str, probe: Probe, eager: Probe, chosen: Sequence[WordSway]
) -> dict[str, Method]:
    """What attributions explain is the last layer's product with itself, ⟨H(x), H⟩: its squared
    norm at the text.
    """
    from captum.attr import IntegratedGradients  # type: ignore[import-not-found]

    embeds = probe.read(text).embeds
    last = probe.layers.count
    base = probe.layers.layer(last, embeds[None]).detach()

    def product(x: torch.Tensor) -> torch.Tensor:
        return (probe.layers.layer(last, x) * base).flatten(1).sum(1)

    def per_word(by_row: torch.Tensor) -> list[float]:
        return [float(by_row[list(word.rows)].sum().abs()) for word in chosen]

    def integrated(seed: int) -> list[float]:
        return per_word(IntegratedGradients(product).attribute(embeds[None], n_steps=50)[0].sum(1))

    def gradient(seed: int) -> list[float]:
        x = embeds[None].clone().requires_grad_(True)
        (found,) = torch.autograd.grad(product(x).sum(), x)
        return per_word((found * x)[0].sum(1).detach())

    def occlusion(seed: int) -> list[float]:
        hidden = embeds.repeat(len(chosen), 1, 1)
        for row, word in enumerate(chosen):
            hidden[row, list(word.rows)] = 0
        with torch.no_grad():
            moved = probe.layers.layer(last, hidden) - base
        return [float(value) for value in moved.flatten(1).norm(dim=1)]

    def attention(seed: int) -> list[float]:
        with torch.no_grad():
            return per_word(eager.layers.attentions(embeds[None])[last][0].mean(0).mean(0))

    def tier(name: str, seed: int) -> list[float]:
        asked = [word.index for word in chosen]
        found = words(text, probe, tiers=(name,), word=asked, seed=seed).words
        return [TIERS[name](word) for word in found]

    return {
        "integrated gradients (50 steps)": integrated,
        "gradient × input": gradient,
        "occlusion": occlusion,
        "attention of the last layer": attention,
        **{f"wordsway {name}": partial(tier, name) for name in TIERS},
    }


if __name__ == "__main__":
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    limit = float(sys.argv[3]) if len(sys.argv) > 3 else 1e9
    print(json.dumps(compare(Path(sys.argv[1]), size, limit), indent=1, ensure_ascii=False))
