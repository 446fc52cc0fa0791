"""The place *Words*: tiers as they are done, and everything about one word.

Every number comes from `wordsway.probing`: the tiers of a text are asked for one after the other,
and put together they are what `wordsway words` says in one go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from wordsway.audit.pairs import pairs
from wordsway.errors import InputError
from wordsway.models.probe import Probe
from wordsway.page.commands import pairs_command, words_command, words_python
from wordsway.page.desk import Desk, key_of
from wordsway.probing.differences import word_edits
from wordsway.probing.measuring import default_tiers, places_in_time
from wordsway.probing.real_words import DRAWS
from wordsway.probing.results import TIERS, Words, WordSway
from wordsway.probing.swap import swap
from wordsway.probing.targets import target_of
from wordsway.probing.words import words
from wordsway.render.wording.word_columns import TITLES
from wordsway.render.wording.words import (
    facts,
    headline,
    interval,
    meaning,
    notes,
    pieces,
    plain,
    ranks,
    scale,
    shades,
    tier_numbers,
    tip,
)

#: Real words that are listed for one word.
TOP = 12
#: What a tier adds to a word.
ADDED = {
    "mean-local": ("mean_local", "mean_local_error"),
    "local": ("local", "local_converged", "direction", "sensitivity", "profile", "noise", "delta"),
    "real-words": ("real",),
    "curve": ("curve", "sensitivity", "profile", "noise", "delta"),
}


def words_steps(ask: dict[str, Any], desk: Desk) -> Iterator[dict[str, Any]]:
    """Events: for each tier both texts, then the commands, which words differ, and how far apart
    the model holds the texts.
    """
    texts = [ask["text"], *([ask["other"]] if ask.get("other") else [])]
    said = [ask | {"text": text} for text in texts]
    lines = [words_command(one) for one in said]
    lines += [pairs_command(texts, ask)] if len(texts) == 2 else []
    first = {"kind": "command", "command": "\n".join(lines)}
    first["python"] = words_python(ask)
    keys = [answer_key(ask | {"text": text}) for text in texts]
    if all(key in desk.answers.values for key in keys):
        for which, key in enumerate(keys):
            yield _event(which, desk.answers.values[key], final=True)
    else:
        probe = desk.probe(ask["model"])
        runs = [staged(text, probe, ask, desk) for text in texts]
        last: dict[int, Words] = {}
        for stages in _in_turn(runs):
            for which, found in stages:
                last[which] = found
                yield _event(which, found, final=False)
        for which, key in enumerate(keys):
            desk.answers.keep(key, last[which])
    yield first
    if len(texts) == 2:
        edits = word_edits(*texts)
        yield {
            "kind": "edits",
            "words": [
                sorted({row for edit in edits for row in edit.a_words}),
                sorted({row for edit in edits for row in edit.b_words}),
            ],
        }
        if texts[0] != texts[1]:
            yield from _between(texts, ask, desk)
    yield {"kind": "done"}


def _between(texts: list[str], ask: dict[str, Any], desk: Desk) -> Iterator[dict[str, Any]]:
    """How far apart the model holds the two texts: what `wordsway pairs` says, if it does."""
    key = key_of("pair", {name: ask[name] for name in ("model", "seed")} | {"texts": texts})
    if key not in desk.answers.values:
        probe = desk.probe(ask["model"])
        try:
            found = pairs(texts[0], texts[1], probe, seed=ask["seed"], progress=desk.progress)
        except InputError:  # texts that cannot be laid beside each other
            return
        desk.answers.keep(key, found.pairs[0].models[0])
    one = desk.answers.values[key]
    yield {"kind": "pair", "cosine": one.cosine, "percentile": one.percentile}


def answer_key(ask: dict[str, Any]) -> str:
    """One text's answer; which text stood beside it does not matter."""
    names = ("text", "model", "layer", "target", "tiers", "cut", "seed")
    return key_of("words", {name: ask.get(name) for name in names})


def _in_turn(runs: list[Iterator[Words]]) -> Iterator[list[tuple[int, Words]]]:
    """The first stage of every text, then the second of every text, …"""
    left = dict(enumerate(runs))
    while left:
        for which in list(left):
            found = next(left[which], None)
            if found is None:
                del left[which]
            else:
                yield [(which, found)]


def staged(text: str, probe: Probe, ask: dict[str, Any], desk: Desk) -> Iterator[Words]:
    """The words of a text after each tier: mean local first, then those that `words` would measure
    by itself, or those that were asked for.
    """
    how = _how(ask)
    found = words(text, probe, tiers=["mean-local"], progress=desk.progress, **how)
    yield _coloured(found)
    for tier, only in _tiers(probe, found, ask):
        more = words(text, probe, tiers=[tier], word=only, progress=desk.progress, **how)
        found = joined(found, more, tier)
        yield _coloured(found)


def _how(ask: dict[str, Any]) -> dict[str, Any]:
    named = ("layer", "target", "cut", "seed")
    return {name: ask[name] for name in named}


def _tiers(
    probe: Probe, found: Words, ask: dict[str, Any]
) -> Iterator[tuple[str, list[int | str] | None]]:
    """Tiers behind the first, each with the words that get it; None: all of them."""
    if ask.get("tiers") is not None:
        yield from ((tier, None) for tier in TIERS if tier in ask["tiers"] and tier != "mean-local")
        return
    prepared = probe.read(found.text)
    target = target_of(probe, prepared, ask["layer"] if ask["target"] == "layer" else ask["target"])
    tiers = default_tiers(probe, target, len(found), prepared.n)
    yield from ((tier, None) for tier in tiers if tier != "mean-local")
    if "real-words" not in tiers:
        ordered = sorted(found.words, key=lambda word: -(word.mean_local or 0.0))
        places = places_in_time(probe, target, prepared.n, DRAWS)
        if places:
            yield "real-words", [word.index for word in ordered[:places]]


def joined(found: Words, more: Words, tier: str) -> Words:
    """What was known, and what one more tier says."""
    by_index = {word.index: word for word in more.words}
    added: list[WordSway] = []
    for word in found.words:
        other = by_index.get(word.index)
        fields = {} if other is None else {name: getattr(other, name) for name in ADDED[tier]}
        if tier == "curve" and other is not None:
            fields |= {name: getattr(other, name) for name in ADDED["local"]}
        added.append(replace(word, **fields))
    tiers = tuple(name for name in TIERS if name in (*found.tiers, *more.tiers))
    statuses = [one.status for one in (found, more) if one.status != "converged"]
    return replace(
        found,
        words=tuple(added),
        tiers=tiers,
        seconds=found.seconds + more.seconds,
        peak_mb=max(found.peak_mb, more.peak_mb),
        status="; ".join(dict.fromkeys(statuses)) or "converged",
    )


def _coloured(found: Words) -> Words:
    """Coloured as `words` does: by real words where all have them, else by mean local."""
    whole = all(word.score("real-words") for word in found.words)
    return replace(found, tier="real-words" if whole else "mean-local")


def _event(which: int, found: Words, *, final: bool) -> dict[str, Any]:
    return {
        "kind": "words",
        "which": which,
        "result": found.to_dict(),
        "pieces": pieces(found),
        "views": {tier: _view(replace(found, tier=tier)) for tier in found.tiers},
        "notes": notes(found),
        "facts": facts(found),
        "numbers": [tier_numbers(found, word) for word in found.words],
        "kept": final,
    }


def _view(found: Words) -> dict[str, Any]:
    """How the text looks when coloured by one tier."""
    top = headline(found)
    low, high = scale(found)
    return {
        "title": TITLES[found.tier],
        "plain": plain(found),
        "meaning": meaning(found),
        "low": low,
        "high": high,
        "shades": shades(found),
        "ranks": ranks(found),
        "numbers": [interval(word.score(found.tier)) for word in found.words],
        "tips": [tip(found, word) for word in found.words],
        "headline": {"names": [name for name, _ in top.names], "text": top.text},
    }


def word_steps(ask: dict[str, Any], desk: Desk) -> Iterator[dict[str, Any]]:
    """Events about one word: its curve with profile and ceiling, then the real words that move the
    model most.
    """
    key = key_of("word", ask)
    kept = desk.answers.values.get(key)
    if kept is None:
        probe = desk.probe(ask["model"])
        one = words(
            ask["text"],
            probe,
            tiers=["curve"],
            word=[ask["index"]],
            progress=desk.progress,
            **_how(ask),
        )
        yield _curve_event(one)
        target = ask["layer"] if ask["target"] == "layer" else ask["target"]
        found = swap(
            one.text,
            ask["index"],
            probe,
            target=target,
            top=TOP,
            worst_case=False,
            seed=ask["seed"],
            progress=desk.progress,
        )
        kept = (one, found)
        desk.answers.keep(key, kept)
    else:
        yield _curve_event(kept[0])
    yield {"kind": "swaps", "swaps": kept[1].to_dict()}
    yield {"kind": "done"}


def _curve_event(one: Words) -> dict[str, Any]:
    word = one.words[0]
    found = {"word": word.to_dict(), "layer": one.layer, "numbers": tier_numbers(one, word)}
    return {"kind": "curve"} | found
