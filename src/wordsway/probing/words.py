"""The verb: which word of a text moves a pretrained model, and in which layer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from wordsway.errors import InputError, WordswayError
from wordsway.format import format_bytes
from wordsway.models.probe import Prepared, Probe
from wordsway.probing.results import Words, WordSway
from wordsway.probing.search import (
    MEMORY,
    Blocks,
    Effort,
    Target,
    affordable,
    at_once,
    row_bytes,
    weight_of,
    worst,
)
from wordsway.probing.swap import TRIED
from wordsway.progress import Progress
from wordsway.reading import Word
from wordsway.result import versions
from wordsway.runtime import peak_bytes
from wordsway.seeds import generator

#: Draws of noise that a profile is compared with.
DRAWS = 4


def words(
    text: str,
    model: str | Probe = "minilm",
    *,
    layer: int | str = "last",
    only: Sequence[int | str] | None = None,
    reach: float = 1.0,
    at: str = "words",
    twin: bool = False,
    seed: int = 0,
    effort: float = 1.0,
    memory: int = MEMORY,
    progress: Callable[[str, int, int], None] | None = None,
) -> Words:
    """How far each word of a text can move a layer of a pretrained model.

    Parameters
    ----------
    layer : the layer whose hidden states are searched: 0 … L, "input" or "last"; profiles tell all
        of them
    only : words to search, by number or spelling; all of them by default
    reach : ρ, Δ may be ρ times as long as the word's own embedding
    at : "words" moves rows of the embedding matrix (`inputs_embeds`), "input" rows of
        hidden_states[0]
    twin : also search a twin of the model with random weights
    memory : bytes that the search may take beside the model
    """
    started = time.perf_counter()
    check(reach, effort, memory)
    probe = model if isinstance(model, Probe) else Probe(model)
    prepared = probe.read(text, at)
    chosen = _chosen(prepared, only)
    number = probe.layers.number(layer)
    if number == 0 and at == "input":
        raise InputError(
            "a layer behind the one that moves",
            "layer 0",
            "take layer 1 or later, or move the words",
        )
    plan = Effort.of(len(chosen), prepared.n, effort, weight_of(probe, number))
    told = progress or (lambda what, done, total: None)
    blocks = Blocks(prepared, chosen, reach)
    deltas, _, rested = worst(
        probe,
        blocks,
        number,
        effort=plan,
        seed=seed,
        memory=memory,
        progress=lambda _, done, total, note="": told("searching", int(done), int(total)),
    )
    profiles = profile(probe, prepared, chosen, deltas, memory)
    noise = noise_profile(probe, blocks, seed, memory)
    other: list[tuple[float, ...] | None] = [None] * len(chosen)
    if twin:
        other = list(
            _twin(
                probe,
                prepared,
                chosen,
                number,
                reach,
                plan,
                seed,
                memory,
                lambda _, done, total, note="": told(
                    "searching the twin", int(done), int(total)
                ),
            )
        )
    if not all(math.isfinite(value) for row in profiles for value in row):
        raise WordswayError(
            "hidden states are not numbers any more under the Δ found: take a smaller reach, or a wider dtype"
        )
    found = tuple(
        WordSway(
            word.index,
            word.text,
            word.start,
            word.end,
            word.rows,
            profiles[row][number],
            profiles[row],
            noise[row],
            float(blocks.radius[row]),
            other[row],
            deltas[row],
        )
        for row, word in enumerate(chosen)
    )
    return Words(
        text,
        found,
        tuple(token.piece for token in prepared.reading.tokens),
        number,
        probe.layers.count,
        reach,
        at,
        probe.describe(),
        seed,
        time.perf_counter() - started,
        peak_bytes() / 1e6,
        "at rest"
        if rested
        else f"best of {plan.passes} looks per word; a larger effort may find more",
        versions(),
    )


def profile(
    probe: Probe,
    prepared: Prepared,
    chosen: Sequence[Word],
    deltas: Sequence[torch.Tensor],
    memory: int,
) -> list[tuple[float, ...]]:
    """The relative change of every layer 0 … L, one row per word and its Δ; sums in float64."""
    size = at_once(probe, prepared.n, probe.layers.count, memory)
    rows: list[tuple[float, ...]] = []
    with torch.no_grad():
        base = [
            state[0].double() for state in probe.layers.every(prepared.embeds[None], prepared.at)
        ]
        for start in range(0, len(chosen), size):
            embeds = prepared.embeds.repeat(len(chosen[start : start + size]), 1, 1)
            for at, (word, delta) in enumerate(
                zip(chosen[start : start + size], deltas[start : start + size], strict=True)
            ):
                embeds[at, list(word.rows)] += delta.to(embeds)
            states = probe.layers.every(embeds, prepared.at)
            change = torch.stack(
                [
                    (s.double() - b).flatten(1).norm(dim=1) / b.norm()
                    for s, b in zip(states, base, strict=True)
                ],
                1,
            )
            rows += [tuple(one) for one in change.tolist()]
    return rows


def noise_profile(
    probe: Probe, blocks: Blocks, seed: int, memory: int, draws: int = DRAWS
) -> list[tuple[float, ...]]:
    """The same for Gaussian noise of the same norm, the mean over draws."""
    prepared, rows = blocks.prepared, []
    for at, word in enumerate(blocks.words):
        noise = generator(seed, "noise", word.index)
        block = torch.randn(draws, len(word.rows), prepared.embeds.shape[1], generator=noise).to(
            prepared.embeds
        )
        block *= (blocks.radius[at] / block.flatten(1).norm(dim=1))[:, None, None]
        found = torch.tensor(
            profile(probe, prepared, [word] * draws, list(block), memory), dtype=torch.float64
        )
        rows.append(tuple(found.mean(0).tolist()))
    return rows


def _twin(
    probe: Probe,
    prepared: Prepared,
    chosen: Sequence[Word],
    layer: int,
    reach: float,
    plan: Effort,
    seed: int,
    memory: int,
    progress: Progress,
) -> list[tuple[float, ...]]:
    """Profiles of the worst Δ in the model's twin with random weights, on the same tokens."""
    other = Probe(
        probe.source,
        device=probe.options.device,
        dtype=probe.options.dtype,
        twin=seed,
        trust_remote_code=probe.options.remote_code,
    )
    text = other.read(prepared.text, prepared.at)
    again = [text.word(word.index) for word in chosen]
    deltas, _, _ = worst(
        other, Blocks(text, again, reach), layer, effort=plan, seed=seed, memory=memory, progress=progress
    )
    return profile(other, text, again, deltas, memory)


@dataclass(frozen=True)
class Cost:
    """What a search will take: seconds, and bytes beside the model."""

    words: int
    tokens: int
    seconds: float
    bytes: float


def forecast(
    text: str,
    model: str | Probe = "minilm",
    *,
    layer: int | str = "last",
    only: Sequence[int | str] | None = None,
    at: str = "words",
    twin: bool = False,
    swaps: int = 0,
    effort: float = 1.0,
    memory: int = MEMORY,
) -> Cost:
    """Time and memory of `words`, with real words for ``swaps`` of them, on this machine: one batch
    is timed, forwards and backwards.
    """
    check(1.0, effort, memory)
    probe = model if isinstance(model, Probe) else Probe(model)
    prepared = probe.read(text, at)
    number = probe.layers.number(layer)
    chosen = _chosen(prepared, only)
    plan = Effort.of(len(chosen), prepared.n, effort, weight_of(probe, number))
    size = affordable(probe, prepared.n, number, memory)
    blocks, target = Blocks(prepared, chosen, 1.0), Target(probe, prepared, number)
    rows = min(size, len(chosen) * plan.starts)
    which = torch.arange(rows) % len(chosen)
    times = []
    for _ in range(2):  # the first one warms up
        started = time.perf_counter()
        delta = (1e-3 * torch.randn(rows, blocks.size)).to(prepared.embeds).requires_grad_(True)
        torch.autograd.grad(target.change2(blocks.moved(which, delta)).sum(), delta)
        times.append(time.perf_counter() - started)
    looks = (
        len(chosen) * ((plan.passes + 0.4) * (2 if twin else 1) + DRAWS * 0.4) + 0.4 * TRIED * swaps
    )  # forwards alone takes two fifths
    return Cost(
        len(chosen),
        prepared.n,
        times[-1] / rows * looks,
        rows * row_bytes(probe, prepared.n, number),
    )


def _chosen(prepared: Prepared, only: Sequence[int | str] | None) -> list[Word]:
    return (
        list(prepared.words)
        if only is None
        else list(dict.fromkeys(prepared.word(one) for one in only))
    )


def check(reach: float, effort: float = 1.0, memory: int = MEMORY) -> None:
    """Refuse what no search can do."""
    if not 1e-6 <= reach <= 1e6:
        raise InputError(
            "a reach ρ between 1e-6 and 1e6", reach, "1 is the word's own norm, as in the paper"
        )
    if not (effort > 0 and math.isfinite(effort)):
        raise InputError("an effort > 0", effort, "1 is the default")
    if memory < 2**20:
        raise InputError(
            "a memory budget of at least 1 MiB", format_bytes(memory), "leave it at 2 GiB"
        )
