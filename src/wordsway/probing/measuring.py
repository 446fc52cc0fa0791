"""Every tier that a plan asks for, measured for words of one text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from wordsway.core.errors import WordswayError
from wordsway.core.progress import Progress
from wordsway.core.reading import Word
from wordsway.models.probe import Prepared, Probe
from wordsway.probing.attained import attained
from wordsway.probing.blocks import Blocks
from wordsway.probing.ceiling import ceilings
from wordsway.probing.curve import CurvePoint, curves, reaches_up_to
from wordsway.probing.local import Local, local, mean_local, sketch_of
from wordsway.probing.memory import affordable, at_once, room_for, weight_of
from wordsway.probing.profiles import noise_blocks
from wordsway.probing.real_words import RealWords, real_words
from wordsway.probing.residual_ceiling import residual_ceilings
from wordsway.probing.results import WordSway
from wordsway.probing.target import Target
from wordsway.probing.targets import target_of
from wordsway.probing.tiers import in_order

#: Words × tokens, in units of MiniLM's cost per token, up to which a text is short: all words get
#: the first three tiers.
SHORT = 1500
#: Tokens, in the same units, that real words may take by default in a long text: its words with the
#: largest mean local come first.
REAL_TOKENS = 16_000
#: A graph that is differentiated twice takes so many times the memory of one that is once.
TWICE = 3


@dataclass(frozen=True)
class Plan:
    """What to measure of every word; ``tiers`` None: as the length of the text allows, and
    ``colour`` in any case.
    """

    tiers: tuple[str, ...] | None
    passes: int
    draws: int
    reach: float | None
    effort: float
    seed: int
    memory: int
    colour: str | None = None


def default_tiers(
    probe: Probe, target: Target, words: int, tokens: int, colour: str | None = None
) -> tuple[str, ...]:
    """All but the curve for a short text; the first for a long one; and ``colour``."""
    units = words * tokens * weight_of(probe, target.layer)
    tiers = ("mean-local", "local", "real-words") if units <= SHORT else ("mean-local",)
    return in_order([*tiers, *([colour] if colour else [])])


def places_in_time(probe: Probe, target: Target, tokens: int, draws: int) -> int:
    """How many words of a long text get real words by default."""
    return int(REAL_TOKENS / (draws * tokens * weight_of(probe, target.layer)))


def largest_words(
    found: Sequence[WordSway], probe: Probe, target: Target, tokens: int, draws: int
) -> list[int]:
    """The places in ``found`` that get real words by default where not all do: those with the
    largest mean local.
    """
    places = sorted(range(len(found)), key=lambda place: -(found[place].mean_local or 0.0))
    return places[: places_in_time(probe, target, tokens, draws)]


def measure(
    probe: Probe,
    prepared: Prepared,
    target: Target,
    chosen: list[Word],
    plan: Plan,
    progress: Progress,
) -> list[WordSway]:
    """The words with every tier of the plan."""
    tiers = plan.tiers or default_tiers(probe, target, len(chosen), prepared.n, plan.colour)
    everywhere = "real-words" in tiers

    def real(words: Sequence[Word]) -> list[RealWords | None]:
        size = at_once(probe, prepared.n, target.layer, plan.memory)
        how: dict[str, Any] = {"draws": plan.draws, "seed": plan.seed, "size": size}
        return real_words(probe, prepared, target, words, **how, progress=progress)

    found = _small_moves(probe, prepared, target, chosen, tiers, plan, progress)
    some = real(chosen) if everywhere else []
    places = list(range(len(found) if everywhere else 0))
    if plan.tiers is None and not everywhere:
        places = largest_words(found, probe, target, prepared.n, plan.draws)
        some = real([chosen[place] for place in places])
    for place, one in zip(places, some, strict=True):
        found[place] = replace(found[place], real=one)
    return _finite(found)


def _small_moves(
    probe: Probe,
    prepared: Prepared,
    target: Target,
    chosen: list[Word],
    tiers: Sequence[str],
    plan: Plan,
    progress: Progress,
) -> list[WordSway]:
    """The words with their ceilings, and with all tiers but real words."""
    size = affordable(probe, prepared.n, target.layer, plan.memory)
    blocks = Blocks(prepared, chosen, 1.0)
    reach = plan.reach or 1.0
    uppers, upper_reach = ceilings(probe, prepared, target, chosen), None
    if None in uppers:
        uppers, upper_reach = residual_ceilings(probe, prepared, target, chosen, reach), reach
    found = [
        WordSway(
            word.index,
            word.text,
            word.start,
            word.end,
            word.rows,
            prepared.radius(word) * reach,
            upper=upper,
            upper_reach=None if upper is None else upper_reach,
            unknown=prepared.reading.is_unknown(word),
            joined=word.joined,
        )
        for word, upper in zip(chosen, uppers, strict=True)
    ]
    sketch = torch.empty(0)
    if "mean-local" in tiers or "local" in tiers:
        sketch = sketch_of(target, prepared, passes=plan.passes, seed=plan.seed, progress=progress)
    if "mean-local" in tiers:
        means = mean_local(sketch, prepared, chosen)
        found = [
            replace(word, mean_local=mean.value, mean_local_error=mean.error)
            for word, mean in zip(found, means, strict=True)
        ]
    if "local" in tiers:
        small = local(target, blocks, sketch, size=max(1, size // TWICE), progress=progress)
        found = [
            replace(word, local=one.value, local_converged=one.converged, direction=one.direction)
            for word, one in zip(found, small, strict=True)
        ]
        found = _lower_ends(probe, target, blocks, found, small, tiers, plan, size, progress)
    return found


def _lower_ends(
    probe: Probe,
    target: Target,
    blocks: Blocks,
    found: list[WordSway],
    small: list[Local],
    tiers: Sequence[str],
    plan: Plan,
    size: int,
    progress: Progress,
) -> list[WordSway]:
    """What is attained: by the curve's last Δ, else along ± the worst small direction, or by noise
    where that does more.
    """
    reach = plan.reach or 1.0
    here = blocks.at_reach(reach)
    noise = noise_blocks(here, plan.seed)
    points: list[tuple[CurvePoint, ...] | None] = [None] * len(found)
    if "curve" in tiers:
        lines = curves(
            probe,
            target,
            blocks,
            small,
            reaches=reaches_up_to(reach),
            effort=plan.effort,
            seed=plan.seed,
            room=room_for(probe, blocks.prepared.n, target.layer, plan.memory),
            progress=progress,
        )
        points = [line.points for line in lines]
        candidates = [[line.deltas[-1]] for line in lines]
    else:
        ways = [here.radius[place] * one.direction for place, one in enumerate(small)]
        candidates = [[way, -way] for way in ways]
    how: dict[str, Any] = {"size": size, "memory": plan.memory}
    how["noise_counts"] = "curve" not in tiers
    reached = attained(probe, target, here, candidates, noise, **how)
    return [
        replace(
            word,
            curve=points[place],
            sensitivity=one.value,
            profile=one.profile,
            noise=one.noise,
            delta=one.delta,
        )
        for place, (word, one) in enumerate(zip(found, reached, strict=True))
    ]


def _finite(found: list[WordSway]) -> list[WordSway]:
    for word in found:
        numbers = [word.mean_local, word.local, word.sensitivity, *(word.profile or ())]
        if not all(value is None or math.isfinite(value) for value in numbers):
            raise WordswayError(
                "hidden states are not numbers any more under the Δ found: "
                "take a smaller reach, or a wider dtype"
            )
    return found


def with_twin(
    found: list[WordSway],
    probe: Probe,
    prepared: Prepared,
    target: Target,
    plan: Plan,
    progress: Progress,
) -> list[WordSway]:
    """The profiles that the same tiers find in the model's twin with random weights."""
    other = Probe(
        probe.source,
        device=probe.options.device,
        dtype=probe.options.dtype,
        twin=plan.seed,
        trust_remote_code=probe.options.remote_code,
    )
    text = other.read(prepared.text, prepared.at)
    same = target_of(other, text, target.name, target.scaling)
    tiers = ("local", "curve") if plan.tiers and "curve" in plan.tiers else ("local",)
    again = [text.word(word.index) for word in found]
    twins = measure(other, text, same, again, replace(plan, tiers=tiers), progress)
    return [replace(word, twin=twin.profile) for word, twin in zip(found, twins, strict=True)]
