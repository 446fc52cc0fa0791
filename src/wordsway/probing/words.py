"""The verb `words`: which word of a text moves a pretrained model, and how far.

Numbers come in tiers, from the quickest: mean local, local, real words, the curve S(ρ); each is the
same from another seed, or comes with its error. Every word gets the same plan, whatever the length
of the text and the words beside it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from wordsway.core.checks import Bytes, Count, OneText, Positive, Reach, Seed, Several, validated
from wordsway.core.errors import InputError, WordswayError, renamed
from wordsway.core.progress import Progress, silent
from wordsway.core.reading import Word
from wordsway.core.result import versions
from wordsway.core.runtime import peak_bytes, single_thread
from wordsway.models.heads import labels_of
from wordsway.models.probe import EncodedText, Probe
from wordsway.probing.ceiling import ceilings, residual_ceilings
from wordsway.probing.curve import CurvePoint, curves, reaches_up_to
from wordsway.probing.inputs import check, check_text
from wordsway.probing.local import PASSES, Local, local, mean_local, sketch_of
from wordsway.probing.memory import MEMORY, affordable, at_once, room_for, weight_of
from wordsway.probing.moves import Blocks, attained, noise_blocks
from wordsway.probing.real_words import DRAWS, RealWords, real_words
from wordsway.probing.results import Words, WordSway
from wordsway.probing.targets import LogitsTarget, Target, target_of
from wordsway.probing.tiers import TIERS, headline_tier, in_order

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
    encoded: EncodedText,
    target: Target,
    chosen: list[Word],
    plan: Plan,
    progress: Progress,
) -> list[WordSway]:
    """The words with every tier of the plan."""
    tiers = plan.tiers or default_tiers(probe, target, len(chosen), encoded.n, plan.colour)
    everywhere = "real-words" in tiers

    def real(words: Sequence[Word]) -> list[RealWords | None]:
        size = at_once(probe, encoded.n, target.layer, plan.memory)
        how: dict[str, Any] = {"draws": plan.draws, "seed": plan.seed, "size": size}
        return real_words(probe, encoded, target, words, **how, progress=progress)

    found = _small_moves(probe, encoded, target, chosen, tiers, plan, progress)
    some = real(chosen) if everywhere else []
    places = list(range(len(found) if everywhere else 0))
    if plan.tiers is None and not everywhere:
        places = largest_words(found, probe, target, encoded.n, plan.draws)
        some = real([chosen[place] for place in places])
    for place, one in zip(places, some, strict=True):
        found[place] = replace(found[place], real=one)
    return _finite(found)


def _small_moves(
    probe: Probe,
    encoded: EncodedText,
    target: Target,
    chosen: list[Word],
    tiers: Sequence[str],
    plan: Plan,
    progress: Progress,
) -> list[WordSway]:
    """The words with their ceilings, and with all tiers but real words."""
    size = affordable(probe, encoded.n, target.layer, plan.memory)
    blocks = Blocks(encoded, chosen, 1.0)
    reach = plan.reach or 1.0
    uppers, upper_reach = ceilings(probe, encoded, target, chosen), None
    if None in uppers:
        uppers, upper_reach = residual_ceilings(probe, encoded, target, chosen, reach), reach
    found = [
        WordSway(
            word.index,
            word.text,
            word.start,
            word.end,
            word.rows,
            encoded.radius(word) * reach,
            upper=upper,
            upper_reach=None if upper is None else upper_reach,
            unknown=encoded.reading.is_unknown(word),
            joined=word.joined,
        )
        for word, upper in zip(chosen, uppers, strict=True)
    ]
    sketch = torch.empty(0)
    if "mean-local" in tiers or "local" in tiers:
        sketch = sketch_of(target, encoded, passes=plan.passes, seed=plan.seed, progress=progress)
    if "mean-local" in tiers:
        means = mean_local(sketch, encoded, chosen)
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
            room=room_for(probe, blocks.encoded.n, target.layer, plan.memory),
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
    encoded: EncodedText,
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
    text = other.read(encoded.text, encoded.at)
    same = target_of(other, text, target.name, target.scaling)
    tiers = ("local", "curve") if plan.tiers and "curve" in plan.tiers else ("local",)
    again = [text.word(word.index) for word in found]
    twins = measure(other, text, same, again, replace(plan, tiers=tiers), progress)
    return [replace(word, twin=twin.profile) for word, twin in zip(found, twins, strict=True)]


#: Tokens of a text up to which two threads are no quicker than one: all of it is small products.
SMALL = 8


@renamed(only="word")
@validated
def words(
    text: OneText,
    model: str | Path | Probe = "minilm",
    *,
    layer: int | str = "last",
    target: str = "layer",
    tiers: str | Several[str] | None = None,
    colour: str | None = None,
    word: int | str | Sequence[int | str] | None = None,
    reach: Reach | None = None,
    at: str = "words",
    scaling: str = "auto",
    passes: Count = PASSES,
    draws: Count = DRAWS,
    twin: bool = False,
    cut: bool = False,
    seed: Seed = 0,
    effort: Positive = 1.0,
    memory: Bytes = MEMORY,
    progress: Progress = silent,
) -> Words:
    """How far changing each word of a text moves a pretrained model.

    Parameters
    ----------
    layer : the layer whose hidden states are judged: 0 … L, "input" or "last"
    target : "layer", or "all" layers, "pooled", "cosine", "logits", "next-token"
        (`wordsway.probing.targets`)
    tiers : what to measure among "mean-local", "local", "real-words", "curve"; by default the first
        three on short texts, and on long ones the first, with real words for as many words as take
        a few seconds
    colour : the tier that names the word that moves the model most, and colours and orders all
        words (`headline_tier`); it is measured in addition to the default tiers. By default mean
        local, unless only other tiers are requested
    word : the word, or words, to ask about, by number (from 0) or spelling; all by default
    reach : ρ, Δ may be ρ times as long as a row of the word's embedding; asking for one measures
        the curve up to it. Without, ``sensitivity`` is what the worst small direction attains at
        ρ = 1, where `local` was measured
    at : "words" moves rows of the embedding matrix (`inputs_embeds`), "input" rows of
        hidden_states[0]
    scaling : how rows count: "frobenius" by their norm, "rows" alike, "auto" alike where a few rows
        hold most of the norm
    passes, draws : backward passes of mean local, and real words per place
    twin : also look at a twin of the model with random weights
    cut : keep the beginning of a text that is longer than the model can read
    effort : how long to search the curve
    memory : bytes that the work may take beside the model
    """
    started = time.perf_counter()
    check_text(text)
    check(1.0 if reach is None else reach, effort, memory)
    wanted = chosen_tiers(tiers, colour, reach)
    probe = model if isinstance(model, Probe) else Probe(model)
    whole = len(text)
    if cut:
        text = probe.cut(text)
    encoded = probe.read(text, at)
    judged = target_of(probe, encoded, layer if target == "layer" else target, scaling)
    plan = Plan(wanted, passes, draws, reach, effort, seed, memory, colour)
    chosen = chosen_words(encoded, word)
    with single_thread(encoded.n <= SMALL):
        measured = measure(probe, encoded, judged, chosen, plan, progress)
        if twin:
            measured = with_twin(measured, probe, encoded, judged, plan, progress)
    found = tuple(measured)
    done = tuple(tier for tier in TIERS if any(word.score(tier) for word in found))
    everywhere = wanted or default_tiers(probe, judged, len(chosen), encoded.n, colour)
    tried = "real-words" in everywhere
    label, probability = _prediction(judged)
    return Words(
        text=text,
        words=found,
        tokens=tuple(token.piece for token in encoded.reading.tokens),
        target=judged.name,
        layer=judged.layer,
        layers=probe.layers.count,
        tier=headline_tier(tiers, colour, reach),
        tiers=done,
        scaling=judged.scaling,
        passes=passes,
        draws=draws,
        reach=1.0 if reach is None else reach,
        at=at,
        model=probe.describe(),
        seed=seed,
        seconds=time.perf_counter() - started,
        peak_mb=peak_bytes() / 1e6,
        status=_status(found, done, tried),
        versions=versions(),
        label=label,
        probability=probability,
        cut=whole if whole > len(text) else None,
        partial=tuple(tier for tier in done if tier not in everywhere),
    )


def chosen_tiers(
    tiers: Sequence[str] | None, colour: str | None = None, reach: float | None = None
) -> tuple[str, ...] | None:
    """The requested tiers, in their order; a reach requests the curve. None: the default tiers of
    the text, with that of ``colour``.
    """
    asked = [tiers] if isinstance(tiers, str) else list(tiers or ())
    for tier in [*asked, *([] if colour is None else [colour])]:
        if tier not in TIERS:
            raise InputError(
                f"a tier among {', '.join(TIERS)}", repr(tier), "leave it out for the default"
            )
    if not asked and reach is None:
        return None
    named = [colour] if colour else []
    return in_order([*asked, *named, *(["curve"] if reach is not None else [])])


def chosen_words(encoded: EncodedText, only: int | str | Sequence[int | str] | None) -> list[Word]:
    """The words that were asked about, each once."""
    if only is None:
        return list(encoded.words)
    several = isinstance(only, Iterable) and not isinstance(only, str)
    named: list[int | str] = list(only) if several else [only]  # type: ignore[arg-type, list-item]
    if not named:
        raise InputError("a word of the text", "none", "name one, or leave word out for all")
    return list(dict.fromkeys(encoded.word(which) for which in named))


def _prediction(target: Target) -> tuple[str | None, float | None]:
    if not isinstance(target, LogitsTarget) or target.label is None:
        return None, None
    return labels_of(target.model)[target.label], target.probability(target.logits)


def _status(found: Sequence[WordSway], done: Sequence[str], tried: bool) -> str:
    loose = [word.word for word in found if word.local_converged is False]
    parts = [f"local not converged for {len(loose)} of {len(found)} words"] if loose else []
    alone = [word.word for word in found if word.real is None] if tried else []
    if alone:
        names = ", ".join(map(repr, alone[:3])) + (" …" if len(alone) > 3 else "")
        parts.append(
            f"no real word of as many tokens known for {names} "
            "(words of several tokens come from WordNet: wordsway data get wordnet)"
        )
    if "curve" in done:
        parts.append("S(ρ) is a lower end: a larger effort may find more")
    return "; ".join(parts) or "converged"
