"""Antonyms and synonyms from WordNet, guarded so that sentences stay readable.

No tagger determines the part of speech of a word, or its sense. So a word is replaced only where
both are nearly unambiguous: in the texts tagged for WordNet, at least `SHARE` of its uses have one
part of speech, and at least `DOMINANT` of these the very sense whose antonym or synonym is taken;
the new word must be known as well, and mostly of the same part of speech itself. What this still
gets wrong is listed in ``word_pairs.toml``. Of the synonyms that pass, only those of its list
``accepted`` are used.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files

from wordsway.auditing.background import Place
from wordsway.auditing.edits.edit import EnglishSentence, Rule
from wordsway.auditing.edits.lexicon import FUNCTION, pairs, words
from wordsway.text.forms import Form, inflected, plural, singular, verb_forms
from wordsway.text.wordnet import PARTS, Pos, wordnet

_LISTS = tomllib.loads(files(__package__).joinpath("word_pairs.toml").read_text("utf-8"))
SURE_OPPOSITES, SURE_SYNONYMS = pairs(_LISTS["opposites"]), pairs(_LISTS["synonyms"])
REFUSED, ACCEPTED, COMMON = (words(_LISTS[name]) for name in ("refused", "accepted", "common"))
NOT_AFTER, NOT_BEFORE, ONLY_BEFORE, IDIOMS = (
    {word: words(listed) for word, listed in _LISTS[name].items()}
    for name in ("not_after", "not_before", "only_before", "idioms")
)
#: Of a word's uses in tagged texts: those of one part of speech, and those of one sense of it.
SHARE, DOMINANT = 0.85, 0.6
#: Uses that a word needs to be known well enough.
USES = 4
#: Letters of an adjective that is compared by its ending.
SHORT = 5


@cache
def readings(word: str) -> tuple[tuple[str, Pos, Form], ...]:
    """The (base, part of speech, form) that a spelling can be, WordNet knowing the base."""
    found: list[tuple[str, Pos, Form]] = []
    net = wordnet()
    found += [(word, pos, "") for pos in PARTS if pos != "verb" and net.senses(word, pos)]
    one = singular(word)
    if one is not None and net.senses(one, "noun"):
        found.append((one, "noun", "s"))
    found += [(base, "verb", form) for base, form in verb_forms(word) if net.senses(base, "verb")]
    return tuple(found)


@cache
def likely(word: str) -> tuple[str, Pos, Form] | None:
    """The one reading of a spelling that is nearly always meant; None where none is.

    >>> likely("loved"), likely("light")
    (('love', 'verb', 'ed'), None)
    """
    net = wordnet()
    uses: dict[tuple[str, Pos, Form], int] = {}
    for base, pos, form in readings(word):
        # A form is one of about three of its verb, a plural one of two of its noun.
        part = {"verb": 3, "noun": 2 if form else 1}.get(pos, 1)
        uses[base, pos, form] = max(1, net.count(base, pos)) // part + (part == 1)
    total = sum(uses.values())
    best = max(uses, key=lambda reading: uses[reading], default=None)
    if best is None or net.count(best[0], best[1]) < USES or uses[best] < SHARE * total:
        return None
    return best


def dominant(base: str, pos: Pos, number: int = 1) -> bool:
    """Is this sense nearly always meant?"""
    net = wordnet()
    return any(
        sense.number == number and sense.count >= DOMINANT * net.count(base, pos)
        for sense in net.senses(base, pos)
    )


@cache
def opposite(word: str) -> str | None:
    """The antonym in the same form.

    >>> opposite("happy"), opposite("manages"), opposite("light")
    ('unhappy', 'fails', None)
    """
    if word in SURE_OPPOSITES:
        return SURE_OPPOSITES[word]
    reading = likely(word) if word.isalpha() else None
    if reading is None or word in FUNCTION or reading[0] in REFUSED:
        return None
    base, pos, _ = reading
    return _best(reading, [one for one in wordnet().antonyms(base, pos) if _usable(one, pos)])


@cache
def same(word: str) -> str | None:
    """The synonym in the same form.

    >>> same("rapidly"), same("films"), same("light")
    ('quickly', 'movies', None)
    """
    if word in SURE_SYNONYMS:
        return SURE_SYNONYMS[word]
    reading = likely(word) if word.isalpha() else None
    if reading is None or reading[0] not in ACCEPTED:
        return None
    base, pos, _ = reading
    net = wordnet()
    back = [  # the synonym must mean mostly this, too
        one
        for one in net.synonyms(base, pos)
        if _usable(one, pos)
        and any(
            base in net.synonyms(one, pos, sense.number) and dominant(one, pos, sense.number)
            for sense in net.senses(one, pos)
        )
    ]
    return _best(reading, back)


def _best(reading: tuple[str, Pos, Form], others: list[str]) -> str | None:
    """The most frequent of the others, in the form of the reading."""
    base, pos, form = reading
    if not others or not dominant(base, pos):
        return None
    best = max(others, key=lambda one: wordnet().count(one, pos))
    if pos == "noun" and form == "s":
        return plural(best)
    if form == "ed" and inflected(best, "ed") != inflected(best, "en"):
        return None  # past or participle (was repaired, was broke)? Undecidable without a tagger
    return inflected(best, form)


def _usable(one: str, pos: Pos) -> bool:
    net = wordnet()
    count = net.count(one, pos)
    every = sum(net.count(one, part) for part in PARTS)
    plain = one.isalpha() and one.islower() and one not in FUNCTION
    return plain and count >= max(USES, SHARE * every)


def _replaced(sentence: EnglishSentence, other: Callable[[str], str | None]) -> Iterator[Place]:
    for at, word in enumerate(sentence.lower):
        new = other(word)
        if new is None or new in sentence.words or sentence.in_name(at):
            continue
        before, after = sentence.word(at - 1), sentence.word(at + 1)
        if before in NOT_AFTER.get(word, ()) or after in NOT_BEFORE.get(word, ()):
            continue
        if before in ("more", "most") and len(new) <= SHORT:  # most expensive, but cheapest
            continue
        if word in ONLY_BEFORE and after not in ONLY_BEFORE[word]:
            continue
        if word in IDIOMS and IDIOMS[word] & sentence.words:
            continue
        yield sentence.replaced(at, at, new)


ANTONYMS = Rule(
    "antonyms",
    "turning",
    "a word becomes its opposite in WordNet",
    lambda sentence: _replaced(sentence, opposite),
)


def _synonyms(sentence: EnglishSentence) -> list[Place]:
    """All of them; those of very common words only if there are no others."""
    found = list(_replaced(sentence, same))
    return [change for change in found if change.before.lower() not in COMMON] or found


SYNONYMS = Rule("synonyms", "keeping", "a word becomes its synonym in WordNet", _synonyms)
