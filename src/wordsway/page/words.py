"""The place *Words*: the tiers of `wordsway words` as they are done, and all about one word."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from wordsway.auditing.pairs import pairs
from wordsway.core.errors import InputError
from wordsway.page.commands import pairs_command, words_command, words_python
from wordsway.page.worker import WorkerState, file_event, key_of
from wordsway.probing.differences import word_edits
from wordsway.probing.request import WordsRequest
from wordsway.probing.results import Swaps, Words
from wordsway.probing.swap import swap
from wordsway.probing.words import measure
from wordsway.render.numbers import whole_percent
from wordsway.render.views.words import tier_numbers, words_data

#: Real words that are listed for one word.
TOP = 12


def words_steps(ask: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    """Each tier of both texts, the commands, the words that differ, and the texts' distance."""
    texts = [ask["text"], *([ask["other"]] if ask.get("other") else [])]
    answers = [answer(ask | {"text": text}, state) for text in texts]
    last: dict[int, Words] = {}
    if all(answers):
        last = {which: found for which, found in enumerate(answers) if found}
        for which, found in last.items():
            yield _event(which, found, final=True)
    else:
        probe = state.probe(ask["model"])
        runs = [measure(text, probe, request_of(ask), state.progress) for text in texts]
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
    """The distance of the two texts in the model, by `wordsway pairs`, if it gives one."""
    key = key_of("pair", {name: ask[name] for name in ("model", "seed")} | {"texts": texts})
    if key not in state.answers.values:
        probe = state.probe(ask["model"])
        try:
            found = pairs(texts[0], texts[1], probe, seed=ask["seed"], progress=state.progress)
        except InputError:  # texts that cannot be aligned
            return
        state.answers.keep(key, found.pairs[0].models[0])
    one = state.answers.values[key]
    ends = one.percentile_low, one.percentile_high
    shown = None if one.percentile is None else whole_percent(one.percentile, *ends)
    yield {"kind": "pair", "cosine": one.cosine, "percentile": shown}


def _key(ask: dict[str, Any]) -> str:
    """One text's answer; it does not depend on the text it is compared with."""
    names = ("text", "model", "layer", "target", "tiers", "colour", "cut", "seed")
    return key_of("words", {name: ask.get(name) for name in names})


def answer(ask: dict[str, Any], state: WorkerState) -> Words | None:
    """The stored answer about one text, recoloured where all words have the wanted tier."""
    found: Words | None = state.answers.values.get(_key(ask))
    if found is not None:
        return found
    found = state.answers.values.get(_key(ask | {"colour": None}))
    tier = request_of(ask).headline
    return replace(found, tier=tier) if found and tier in _everywhere(found) else None


def _everywhere(found: Words) -> list[str]:
    """The tiers that every word has."""
    return [tier for tier in found.tiers if tier not in found.partial]


def _commands(ask: dict[str, Any], texts: list[str]) -> dict[str, str]:
    lines = [words_command(ask | {"text": text}) for text in texts]
    lines += [pairs_command(texts, ask)] if len(texts) == 2 else []
    return {"command": "\n".join(lines), "python": words_python(ask)}


def _places(found: Words, spans: set[int]) -> list[int]:
    """The places of these words; words that share a token have one place."""
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


def request_of(ask: dict[str, Any], **more: Any) -> WordsRequest:
    """The equivalent request in Python and on the command line."""
    names = ("layer", "target", "tiers", "colour", "cut", "seed")
    return WordsRequest(**{name: ask[name] for name in names if name in ask} | more)


def _event(which: int, found: Words, *, final: bool) -> dict[str, Any]:
    event = {"kind": "words", "which": which, "result": found.to_dict(), "kept": final}
    return event | words_data(found)


def word_steps(ask: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    """One word: its curve with profile and ceiling, then its most effective replacements."""
    request = request_of(ask, tiers=["curve"], word=ask["index"])

    def measured() -> Words:
        *_, last = measure(ask["text"], state.probe(ask["model"]), request, state.progress)
        return last

    one: Words = state.answers.get(key_of("word", ask), measured)
    word = one.words[0]
    found = {"word": word.to_dict(), "layer": one.layer, "numbers": tier_numbers(one, word)}
    searched = ask | {"tiers": ["curve"], "word": [ask["index"]]}
    yield {"kind": "curve"} | found | _commands(searched, [ask["text"]])

    def swapped() -> Swaps:
        how = {"target": request.wanted, "top": TOP, "seed": request.seed, "worst_case": False}
        probe = state.probe(ask["model"])
        return swap(one.text, ask["index"], probe, progress=state.progress, **how)

    swaps: Swaps = state.answers.get(key_of("swaps", ask), swapped)
    yield {"kind": "swaps", "swaps": swaps.to_dict()}
    yield {"kind": "done"}


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
