"""Names of places and people: another of the same sort."""

from __future__ import annotations

from collections.abc import Iterator

from wordsway.auditing.background import Place
from wordsway.auditing.edits.edit import EnglishSentence, Rule
from wordsway.auditing.edits.lexicon import word_lists

LISTS = word_lists("names")
_OTHER = LISTS.places | LISTS.people


def _names(sentence: EnglishSentence) -> Iterator[Place]:
    for at, token in enumerate(sentence.tokens):
        name = token.text.removesuffix("'s")
        if name not in _OTHER or sentence.text.count(name) > 1:
            continue
        beside = sentence.named(at + 1) or (sentence.named(at - 1) and at > 1)
        if name in LISTS.places and (
            beside or (at == 1 and sentence.tokens[0].lower not in LISTS.small)
        ):
            continue  # a part of a title or of another name: American Beauty, Paris Hilton
        if name not in LISTS.places and sentence.named(at - 1):
            continue
        yield sentence.replaced(at, at, _OTHER[name] + token.text[len(name) :])


NAMES = Rule("names", "turning", "a person, a place or a nation becomes another one", _names)
