"""Sentences to be edited: cut from texts, filtered for readability, or written for the package."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files

from wordsway.auditing.edits.lexicon import AUXILIARIES, FUNCTION, SUBJECTS, words
from wordsway.core.reading import word_spans
from wordsway.text.forms import singular, verb_forms
from wordsway.text.wordnet import PARTS, wordnet

#: Words of a sentence, punctuation not counted.
SHORTEST, LONGEST = 8, 30
#: Parts of the packaged sentences.
PACKAGED = ("everyday", "medical", "legal")
_ABBREVIATION = re.compile(
    r"\b(?:Mr|Mrs|Ms|Dr|Prof|Sr|Jr|St|vs|etc|e\.g|i\.e|No|Vol|Lt|Col|Gen|Capt|[A-Z])\.$"
)
_END = re.compile(r"[.!?](?=\s+[\"'“‘(]?[A-Z0-9])|\n+")
#: What a readable sentence is made of.
_PLAIN = re.compile(r"[A-Z][A-Za-z0-9 ,;:'’%$-]+[.!]")
#: Quotation marks and dashes, which are no part of a word.
_LOOSE = re.compile(r"(?<!\w)['’-]|['’-](?!\w)")
_CAPITALS = {"I", "A", "TV", "DVD", "US", "UK", "USA", "CGI", "B", "OK"}


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, by its full stops and lines.

    >>> list(sentences("I met Dr. Lee. He was late!  So what?"))
    ['I met Dr. Lee.', 'He was late!', 'So what?']
    """
    start = 0
    for mark in _END.finditer(text):
        if _ABBREVIATION.search(text[start : mark.end()]) and text[mark.start()] == ".":
            continue
        if text[start : mark.end()].strip():
            yield " ".join(text[start : mark.end()].split())
        start = mark.end()
    if text[start:].strip():
        yield " ".join(text[start:].split())


def plain(sentence: str) -> bool:
    """A quick look: from a capital to a full stop, without quotations, dashes and the like."""
    return _PLAIN.fullmatch(sentence) is not None and _LOOSE.search(sentence) is None


def readable(sentence: str) -> bool:
    """A whole English sentence of 8 to 30 words in plain signs, without slips of the pen.

    >>> readable("The story is simple, but the actors make it a pleasure.")
    True
    >>> readable("the story is simpel but teh actors make it a pleasure.")
    False
    """
    if not plain(sentence):
        return False
    words = [sentence[a:b] for a, b in word_spans(sentence)]
    spelled = [word for word in words if word[0].isalnum()]
    if not SHORTEST <= len(spelled) <= LONGEST:
        return False
    lower = [word.lower().replace("’", "'") for word in spelled]
    if any(one == two for one, two in itertools.pairwise(lower)):
        return False
    if any(len(word) > 1 and word.isupper() and word not in _CAPITALS for word in spelled):
        return False
    if not any(word in AUXILIARIES or "'" in word for word in lower):
        return False
    if lower[0] in _FRAGMENTS or (not SUBJECTS.intersection(lower) and "the" not in lower):
        return False
    names = sum(word[0].isupper() for word in spelled[1:] if word != "I")
    return names <= 4 and all(
        word[0].isupper() or word[0].isdigit() or known(word.lower().replace("’", "'"))
        for word in spelled
    )


#: First words of what is mostly a piece of a sentence, or leans on the one before.
_FRAGMENTS = words("which who whom whose because except than or nor like such especially")


@lru_cache(maxsize=100_000)
def known(word: str) -> bool:
    """Is this an English word, as WordNet and the function words tell?

    >>> known("movies"), known("don't"), known("shouldn't"), known("simpel")
    (True, True, True, False)
    """
    if word in FUNCTION:
        return True
    if "'" in word:
        head, _, tail = word.rpartition("'")
        ending = tail in ("s", "d", "m", "re", "ve", "ll") and known(head)
        return ending or (tail == "t" and head.endswith("n") and head[:-1] in _BEFORE_NOT)
    if "-" in word:
        return all(known(part) for part in word.split("-") if part) and not word.endswith("-")
    net = wordnet()
    bases = {word, singular(word) or word, *(base for base, _ in verb_forms(word))}
    bases |= {word.removesuffix("r"), word.removesuffix("er"), word.removesuffix("est")}
    bases |= {f"{word[:-3]}y"} if word.endswith("ier") else set()
    return any(net.senses(base, pos) for base in bases for pos in PARTS)


_BEFORE_NOT = AUXILIARIES | {"ca", "wo", "sha", "need", "ai"}


def packaged(topic: str | None = None) -> list[tuple[str, str]]:
    """The package's own sentences as (topic, sentence); of one topic, or all.

    >>> len(packaged("medical")) >= 40, {topic for topic, _ in packaged()} == set(PACKAGED)
    (True, True)
    """
    table = files("wordsway.auditing").joinpath("sentences.csv").read_text("utf-8")
    rows = list(csv.reader(table.splitlines()))[1:]
    return [(name, text) for name, text in rows if topic in (None, name)]
