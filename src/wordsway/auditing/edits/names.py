"""Names of places and people: another of the same sort."""

from __future__ import annotations

from collections.abc import Iterator

from wordsway.auditing.background import Place
from wordsway.auditing.edits.edit import EnglishSentence, Rule
from wordsway.auditing.edits.lexicon import words

_CITIES = "London Paris Berlin Tokyo Chicago Boston Madrid Vienna Rome Moscow Toronto Dublin"
_COUNTRIES = (
    "England Germany Italy Spain Japan Canada Russia Ireland Mexico France Australia Brazil India "
    "Egypt Sweden Poland"
)
_NATIONS = (
    "American British French German Italian Spanish Japanese Russian Canadian Irish Mexican "
    "Australian Chinese Swedish Polish"
)
_MEN = (
    "John Robert Michael David Peter Paul James Richard Thomas Charles George Steven Kevin Brian "
    "Eric Daniel Matthew Andrew Edward Joe Sam Henry Tom Tim Jim"
)
_WOMEN = (
    "Mary Susan Jennifer Linda Barbara Elizabeth Sarah Karen Nancy Helen Sandra Laura Julia Emily "
    "Anna Emma Lisa Jane Alice Kate Amy Rachel Diane Julie"
)


def _next() -> dict[str, str]:
    """Each name with the one half a list further on."""
    return {
        name: group[(at + len(group) // 2) % len(group)]
        for group in (listed.split() for listed in (_CITIES, _COUNTRIES, _NATIONS, _MEN, _WOMEN))
        for at, name in enumerate(group)
    }


_OTHER = _next()
_PLACES = words(f"{_CITIES} {_COUNTRIES} {_NATIONS}")


def _names(sentence: EnglishSentence) -> Iterator[Place]:
    for at, token in enumerate(sentence.tokens):
        name = token.text.removesuffix("'s")
        if name not in _OTHER or sentence.text.count(name) > 1:
            continue
        beside = sentence.named(at + 1) or (sentence.named(at - 1) and at > 1)
        if name in _PLACES and (beside or (at == 1 and sentence.tokens[0].lower not in _SMALL)):
            continue  # a part of a title or of another name: American Beauty, Paris Hilton
        if name not in _PLACES and sentence.named(at - 1):
            continue
        yield sentence.replaced(at, at, _OTHER[name] + token.text[len(name) :])


_SMALL = words("in the a an this that his her my it's from most many some")

NAMES = Rule("names", "turning", "a person, a place or a nation becomes another one", _names)
