"""The verb: which word of a text moves a pretrained model, and how far.

Numbers come in tiers, from the quickest: mean local, local, real words, the curve S(ρ); each is the
same from another seed, or comes with its error. Every word gets the same plan, whatever the length
of the text and the words beside it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from wordsway.core.checks import Bytes, Count, OneText, Positive, Reach, Seed, Several, validated
from wordsway.core.errors import InputError, renamed
from wordsway.core.progress import Progress, silent
from wordsway.core.reading import Word
from wordsway.core.result import versions
from wordsway.core.runtime import peak_bytes, single_thread
from wordsway.models.probe import Prepared, Probe
from wordsway.probing.heads import labels_of
from wordsway.probing.inputs import check, check_text
from wordsway.probing.local import PASSES
from wordsway.probing.measuring import Plan, default_tiers, measure, with_twin
from wordsway.probing.memory import MEMORY
from wordsway.probing.real_words import DRAWS
from wordsway.probing.results import Words, WordSway
from wordsway.probing.target import Target
from wordsway.probing.targets import target_of
from wordsway.probing.tiers import TIERS, headline_tier, in_order
from wordsway.probing.vector_targets import LogitsTarget

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
    prepared = probe.read(text, at)
    judged = target_of(probe, prepared, layer if target == "layer" else target, scaling)
    plan = Plan(wanted, passes, draws, reach, effort, seed, memory, colour)
    chosen = chosen_words(prepared, word)
    with single_thread(prepared.n <= SMALL):
        measured = measure(probe, prepared, judged, chosen, plan, progress)
        if twin:
            measured = with_twin(measured, probe, prepared, judged, plan, progress)
    found = tuple(measured)
    done = tuple(tier for tier in TIERS if any(word.score(tier) for word in found))
    everywhere = wanted or default_tiers(probe, judged, len(chosen), prepared.n, colour)
    tried = "real-words" in everywhere
    label, probability = _prediction(judged)
    return Words(
        text=text,
        words=found,
        tokens=tuple(token.piece for token in prepared.reading.tokens),
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


def chosen_words(prepared: Prepared, only: int | str | Sequence[int | str] | None) -> list[Word]:
    """The words that were asked about, each once."""
    if only is None:
        return list(prepared.words)
    several = isinstance(only, Iterable) and not isinstance(only, str)
    named: list[int | str] = list(only) if several else [only]  # type: ignore[arg-type, list-item]
    if not named:
        raise InputError("a word of the text", "none", "name one, or leave word out for all")
    return list(dict.fromkeys(prepared.word(which) for which in named))


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
