"""Meaning-preserving edits of small words: articles, "that", "please"."""

from __future__ import annotations

from collections.abc import Iterator

from wordsway.auditing.background import Place
from wordsway.auditing.edits.edit import EnglishSentence, Rule
from wordsway.auditing.edits.lexicon import SUBJECTS, words
from wordsway.text.wordnet import wordnet

#: In a text about it, "this film" and "the film" are one.
_ITSELF = words("film movie picture show series book story episode documentary")
_SAYING = words(
    "think thinks thought believe believes say says said know knows knew hope hopes feel feels "
    "felt "
    "guess realize realized realise suppose admit admits wish swear bet assume"
)
_CLAUSE = (SUBJECTS - {"that", "this"}) | {"the"}


def _articles(sentence: EnglishSentence) -> Iterator[Place]:
    for at, word in enumerate(sentence.lower):
        before, after = sentence.word(at - 1), sentence.word(at + 1)
        if word == "this" and after in _ITSELF and not _more(sentence, at + 2):
            yield sentence.replaced(at, at, "the")
        elif word == "of" and before in ("all", "both") and after in ("the", "these", "his"):
            yield sentence.removed(at, at)
        elif word in ("all", "both") and after in ("the", "these", "those") and at > 0:
            if before in ("of", "with", "for", "in") and sentence.word(at - 2) != "first":
                yield sentence.replaced(at, at, f"{word} of")
        elif word == "that" and before in _SAYING and after in _CLAUSE:
            yield sentence.removed(at, at)
        elif before in _SAYING and word in ("it", "he", "she", "they") and _finite(after):
            yield sentence.inserted(at, "that")


def _more(sentence: EnglishSentence, at: int) -> bool:
    """Does the noun continue (this film noir), or have a restrictive clause (this movie that …)?"""
    word = sentence.word(at)
    plain = word in ("is", "was", "has", "had", "and", "for", "in", "on", "to", "as", "but", "with")
    return not (plain or not word.isalpha())


def _finite(word: str) -> bool:
    return word in ("is", "was", "are", "were", "has", "had", "will", "would", "can", "could")


_ORDERS = words(
    "avoid see watch do don't rent buy skip save give read take make call remember try keep send "
    "open close check use leave bring tell ask wait"
)
_SOFT = words("you your this it the a his her me us yourself not waste that these at out")

_NO_ORDERS = {("don't", "you"), ("give", "me"), ("tell", "me"), ("call", "me"), ("call", "it")}
_EXAMPLES = words("scene scenes example instance case fact character characters plot story")


def _politeness(sentence: EnglishSentence) -> Iterator[Place]:
    """An order with please: "Avoid this film." ↔ "Please avoid this film." """
    words = sentence.lower
    verb = sentence.word(1).removesuffix("n't")
    if words[0] == "please" and verb != "to" and wordnet().senses(verb, "verb"):
        first = sentence.tokens[1].text
        start = sentence.tokens[0].start
        end = sentence.tokens[1].end
        yield Place(start, sentence.text[start:end], first[:1].upper() + first[1:])
    elif words[0] in _ORDERS and sentence.word(1) in _SOFT and "please" not in sentence.words:
        if (
            "or don't" in sentence.text
            or (words[0], sentence.word(1)) in _NO_ORDERS
            or (words[0] == "take" and _EXAMPLES & sentence.words)
        ):
            return  # "Give me a reason and …", "Take the last scene", "Call me old" order nothing
        first = sentence.tokens[0].text
        yield Place(0, first, f"Please {first[:1].lower()}{first[1:]}")


ARTICLES = Rule(
    "articles", "keeping", "this film becomes the film, think that think, and back", _articles
)
POLITENESS = Rule("politeness", "keeping", "an order gets or loses its please", _politeness)
