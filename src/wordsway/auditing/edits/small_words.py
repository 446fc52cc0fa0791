"""Meaning-preserving edits of small words: articles, "that", "please"."""

from __future__ import annotations

from collections.abc import Iterator

from wordsway.auditing.background import Place
from wordsway.auditing.edits.edit import EnglishSentence, Rule
from wordsway.auditing.edits.lexicon import SHARED, word_lists
from wordsway.text.wordnet import wordnet

LISTS = word_lists("small_words")

_CLAUSE = (SHARED.subjects - {"that", "this"}) | {"the"}


def _articles(sentence: EnglishSentence) -> Iterator[Place]:
    for at, word in enumerate(sentence.lower):
        before, after = sentence.word(at - 1), sentence.word(at + 1)
        if word == "this" and after in LISTS.itself and not _more(sentence, at + 2):
            yield sentence.replaced(at, at, "the")
        elif word == "of" and before in ("all", "both") and after in ("the", "these", "his"):
            yield sentence.removed(at, at)
        elif word in ("all", "both") and after in ("the", "these", "those") and at > 0:
            if before in ("of", "with", "for", "in") and sentence.word(at - 2) != "first":
                yield sentence.replaced(at, at, f"{word} of")
        elif word == "that" and before in LISTS.saying and after in _CLAUSE:
            yield sentence.removed(at, at)
        elif before in LISTS.saying and word in ("it", "he", "she", "they") and _finite(after):
            yield sentence.inserted(at, "that")


def _more(sentence: EnglishSentence, at: int) -> bool:
    """Does the noun continue (this film noir), or have a restrictive clause (this movie that …)?"""
    word = sentence.word(at)
    plain = word in ("is", "was", "has", "had", "and", "for", "in", "on", "to", "as", "but", "with")
    return not (plain or not word.isalpha())


def _finite(word: str) -> bool:
    return word in ("is", "was", "are", "were", "has", "had", "will", "would", "can", "could")


_NO_ORDERS = {("don't", "you"), ("give", "me"), ("tell", "me"), ("call", "me"), ("call", "it")}


def _politeness(sentence: EnglishSentence) -> Iterator[Place]:
    """An order with please: "Avoid this film." ↔ "Please avoid this film." """
    words = sentence.lower
    verb = sentence.word(1).removesuffix("n't")
    if words[0] == "please" and verb != "to" and wordnet().senses(verb, "verb"):
        first = sentence.tokens[1].text
        start = sentence.tokens[0].start
        end = sentence.tokens[1].end
        yield Place(start, sentence.text[start:end], first[:1].upper() + first[1:])
    elif (
        words[0] in LISTS.orders
        and sentence.word(1) in LISTS.soft
        and "please" not in sentence.words
    ):
        if (
            "or don't" in sentence.text
            or (words[0], sentence.word(1)) in _NO_ORDERS
            or (words[0] == "take" and LISTS.examples & sentence.words)
        ):
            return  # "Give me a reason and …", "Take the last scene", "Call me old" order nothing
        first = sentence.tokens[0].text
        yield Place(0, first, f"Please {first[:1].lower()}{first[1:]}")


ARTICLES = Rule(
    "articles", "keeping", "this film → the film, I think that → I think, and back", _articles
)
POLITENESS = Rule("politeness", "keeping", "an order gets or loses its please", _politeness)
