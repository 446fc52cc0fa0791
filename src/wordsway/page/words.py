"""The place *Words*: tiers as they are done, and everything about one word.

Every number comes from `wordsway.probing`: the tiers of a text are asked for one after the other,
and put together they are what `wordsway words` says in one go.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from wordsway.auditing.pairs import pairs
from wordsway.core.errors import InputError
from wordsway.models.probe import Probe
from wordsway.page.commands import pairs_command, words_command, words_python
from wordsway.page.worker import WorkerState, file_event, key_of
from wordsway.probing.differences import word_edits
from wordsway.probing.real_words import DRAWS
from wordsway.probing.results import Words, WordSway
from wordsway.probing.swap import swap
from wordsway.probing.targets import target_of
from wordsway.probing.tiers import TIERS, headline_tier
from wordsway.probing.words import chosen_tiers, default_tiers, largest_words, words
from wordsway.render.views.words import tier_numbers, words_data

#: Real words that are listed for one word.
TOP = 12


def words_steps(ask: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    """Events: for each tier both texts, then the commands, which words differ, and how far apart
    the model holds the texts.
    """
    texts = [ask["text"], *([ask["other"]] if ask.get("other") else [])]
    answers = [answer(ask | {"text": text}, state) for text in texts]
    last: dict[int, Words] = {}
    if all(answers):
        last = {which: found for which, found in enumerate(answers) if found}
        for which, found in last.items():
            yield _event(which, found, final=True)
    else:
        probe = state.probe(ask["model"])
        runs = [staged(text, probe, ask, state) for text in texts]
        for which, found in _in_turn(runs):
            last[which] = found
            yield _event(which, found, final=False)
        for which, text in enumerate(texts):
            state.answers.keep(_key(ask | {"text": text}), last[which])
    coloured = {tier: _commands(ask | {"colour": tier}, texts) for tier in _everywhere(last[0])}
    yield {"kind": "command", "coloured": coloured} | _commands(ask, texts)
    if len(texts) == 2:
        edits = word_edits(*texts)
        a = {index for edit in edits for index in edit.a_words}
        b = {index for edit in edits for index in edit.b_words}
        yield {"kind": "edits", "words": [_places(last[0], a), _places(last[1], b)]}
        if texts[0] != texts[1]:
            yield from _between(texts, ask, state)
    yield {"kind": "done"}


def _between(texts: list[str], ask: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    """How far apart the model holds the two texts: what `wordsway pairs` says, if it does."""
    key = key_of("pair", {name: ask[name] for name in ("model", "seed")} | {"texts": texts})
    if key not in state.answers.values:
        probe = state.probe(ask["model"])
        try:
            found = pairs(texts[0], texts[1], probe, seed=ask["seed"], progress=state.progress)
        except InputError:  # texts that cannot be laid beside each other
            return
        state.answers.keep(key, found.pairs[0].models[0])
    one = state.answers.values[key]
    yield {"kind": "pair", "cosine": one.cosine, "percentile": one.percentile}


def _key(ask: dict[str, Any]) -> str:
    """One text's answer; which text stood beside it does not matter."""
    names = ("text", "model", "layer", "target", "tiers", "colour", "cut", "seed")
    return key_of("words", {name: ask.get(name) for name in names})


def answer(ask: dict[str, Any], state: WorkerState) -> Words | None:
    """The stored result of a request about one text, or of the same without its colour, where all
    words have that tier.
    """
    found: Words | None = state.answers.values.get(_key(ask))
    if found is not None:
        return found
    found = state.answers.values.get(_key(ask | {"colour": None}))
    tier = headline_tier(ask.get("tiers"), ask.get("colour"))
    return replace(found, tier=tier) if found and tier in _everywhere(found) else None


def _everywhere(found: Words) -> list[str]:
    """The tiers that every word has."""
    return [tier for tier in found.tiers if tier not in found.partial]


def _commands(ask: dict[str, Any], texts: list[str]) -> dict[str, str]:
    lines = [words_command(ask | {"text": text}) for text in texts]
    lines += [pairs_command(texts, ask)] if len(texts) == 2 else []
    return {"command": "\n".join(lines), "python": words_python(ask)}


def _places(found: Words, spans: set[int]) -> list[int]:
    """The places in ``found.words`` of these words of the text; words that share a token have one
    place.
    """
    starts = [word.index for word in found.words]
    return sorted({bisect_right(starts, index) - 1 for index in spans} - {-1})


def _in_turn(runs: list[Iterator[Words]]) -> Iterator[tuple[int, Words]]:
    """The first stage of every text, then the second of every text, …"""
    left = dict(enumerate(runs))
    while left:
        for which in list(left):
            found = next(left[which], None)
            if found is None:
                del left[which]
            else:
                yield which, found


def staged(text: str, probe: Probe, ask: dict[str, Any], state: WorkerState) -> Iterator[Words]:
    """The words of a text after each tier of the request, as `words` plans them; all of them have
    the same headline tier.
    """
    how = _how(ask)
    colour = ask.get("colour")
    headline = headline_tier(ask.get("tiers"), colour)
    encoded = probe.read(probe.cut(text) if ask["cut"] else text)
    target = target_of(probe, encoded, ask["layer"] if ask["target"] == "layer" else ask["target"])
    wanted = chosen_tiers(ask.get("tiers"), colour)
    tiers = wanted or default_tiers(probe, target, len(encoded.words), encoded.n, colour)
    found: Words | None = None
    for tier in tiers:
        more = words(text, probe, tiers=[tier], progress=state.progress, **how)
        found = replace(more if found is None else joined(found, more, tier), tier=headline)
        yield found
    if found is None or wanted or "real-words" in tiers:
        return
    places = largest_words(found.words, probe, target, encoded.n, DRAWS)
    if places:
        some = [found.words[place].index for place in places]
        more = words(text, probe, tiers=["real-words"], word=some, progress=state.progress, **how)
        yield replace(joined(found, more, "real-words"), partial=("real-words",))


def _how(ask: dict[str, Any]) -> dict[str, Any]:
    named = ("layer", "target", "cut", "seed")
    return {name: ask[name] for name in named}


def joined(found: Words, more: Words, tier: str) -> Words:
    """What was known, and what one more tier says."""
    by_index = {word.index: word for word in more.words}
    added: list[WordSway] = []
    for word in found.words:
        other = by_index.get(word.index)
        fields = (
            {} if other is None else {name: getattr(other, name) for name in TIERS[tier].fields}
        )
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


def _event(which: int, found: Words, *, final: bool) -> dict[str, Any]:
    event = {"kind": "words", "which": which, "result": found.to_dict(), "kept": final}
    return event | words_data(found)


def word_steps(ask: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    """Events about one word: its curve with profile and ceiling, then the real words that move the
    model most.
    """
    key = key_of("word", ask)
    kept = state.answers.values.get(key)
    if kept is None:
        probe = state.probe(ask["model"])
        one = words(
            ask["text"],
            probe,
            tiers=["curve"],
            word=[ask["index"]],
            progress=state.progress,
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
            progress=state.progress,
        )
        kept = (one, found)
        state.answers.keep(key, kept)
    else:
        yield _curve_event(kept[0])
    yield {"kind": "swaps", "swaps": kept[1].to_dict()}
    yield {"kind": "done"}


def _curve_event(one: Words) -> dict[str, Any]:
    word = one.words[0]
    found = {"word": word.to_dict(), "layer": one.layer, "numbers": tier_numbers(one, word)}
    return {"kind": "curve"} | found


def words_file(ask: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    """The words of a text as a file; what is no longer in memory is computed again."""
    found = answer(ask, state)
    if found is None:
        for _ in words_steps(ask | {"other": None}, state):
            yield {"kind": "progress", "stage": "measuring again", "done": 0, "total": 0}
        found = answer(ask, state)
    assert found is not None
    yield file_event(found, ask["ending"], "words")


TASKS = {"words": words_steps, "word": word_steps, "words/file": words_file}
