"""Time and memory of `words` on this machine: one batch is timed, forwards and backwards."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from wordsway.models.probe import Probe
from wordsway.probing.blocks import Blocks
from wordsway.probing.curve import passes as curve_passes
from wordsway.probing.inputs import check, check_text
from wordsway.probing.local import PASSES
from wordsway.probing.measuring import TWICE, default_tiers, places_in_time
from wordsway.probing.memory import MEMORY, affordable, row_bytes
from wordsway.probing.real_words import DRAWS
from wordsway.probing.swap import TRIED
from wordsway.probing.targets import target_of
from wordsway.probing.words import chosen_tiers, chosen_words

#: A pass forwards alone, as a share of one forwards and backwards; products with JᵀJ per word.
FORWARD, PRODUCTS = 0.4, 10


@dataclass(frozen=True)
class Cost:
    """What a request will take: seconds, and bytes beside the model."""

    words: int
    tokens: int
    seconds: float
    bytes: float


def passes_per_word(
    tiers: Sequence[str], words: int, *, reach: float, effort: float, passes: int, draws: int
) -> float:
    """Passes of the text, forwards and backwards, for each of its words."""
    total = 0.0
    if "mean-local" in tiers:
        total += passes / max(1, words)
    if "local" in tiers:
        total += PRODUCTS * 1.5 + 6 * FORWARD
    if "real-words" in tiers:
        total += FORWARD * draws
    if "curve" in tiers:
        total += curve_passes(reach, effort)
    return total


def forecast(
    text: str,
    model: str | Probe = "minilm",
    *,
    layer: int | str = "last",
    target: str = "layer",
    tiers: Sequence[str] | None = None,
    colour: str | None = None,
    only: Sequence[int | str] | None = None,
    reach: float | None = None,
    at: str = "words",
    twin: bool = False,
    swaps: int = 0,
    passes: int = PASSES,
    draws: int = DRAWS,
    cut: bool = False,
    effort: float = 1.0,
    memory: int = MEMORY,
) -> Cost:
    """Time and memory of `words`, with swaps for ``swaps`` of them."""
    check_text(text)
    check(1.0 if reach is None else reach, effort, memory)
    wanted = chosen_tiers(tiers, colour, reach)
    probe = model if isinstance(model, Probe) else Probe(model)
    if cut:
        text = probe.cut(text)
    prepared = probe.read(text, at)
    judged = target_of(probe, prepared, layer if target == "layer" else target)
    chosen = chosen_words(prepared, only)
    size = affordable(probe, prepared.n, judged.layer, memory)
    tiers = wanted or default_tiers(probe, judged, len(chosen), prepared.n, colour)
    blocks = Blocks(prepared, chosen, 1.0)
    rows = min(size, len(chosen))
    which = torch.arange(rows)
    times = []
    for _ in range(2):  # the first one warms up
        started = time.perf_counter()
        delta = (1e-3 * torch.randn(rows, blocks.size)).to(prepared.embeds).requires_grad_(True)
        torch.autograd.grad(judged.change2(blocks.moved(which, delta)).sum(), delta)
        times.append(time.perf_counter() - started)
    each = passes_per_word(
        tiers, len(chosen), reach=reach or 1.0, effort=effort, passes=passes, draws=draws
    )
    looks = len(chosen) * each * (2 if twin else 1) + FORWARD * TRIED * swaps
    if wanted is None and "real-words" not in tiers:
        looks += FORWARD * draws * places_in_time(probe, judged, prepared.n, draws)
    grown = TWICE if "local" in tiers else 1
    return Cost(
        len(chosen),
        prepared.n,
        times[-1] / rows * looks,
        min(rows * grown, size) * row_bytes(probe, prepared.n, judged.layer),
    )
