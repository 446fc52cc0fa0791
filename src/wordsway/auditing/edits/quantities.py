"""Numbers, units and quantifiers: how many, of what, and of how many of them it is true."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wordsway.auditing.background import Place
from wordsway.auditing.edits.edit import EnglishSentence, Rule
from wordsway.auditing.edits.lexicon import AUXILIARIES, SHARED, negated, word_lists, words
from wordsway.text.forms import singular, verb_forms
from wordsway.text.wordnet import wordnet

LISTS = word_lists("quantities")

_DIGITS = re.compile(r"[2-9]|[1-9]\d{1,3}")
_RATING = re.compile(r"\d|10")


def _numbers(sentence: EnglishSentence) -> Iterator[Place]:
    for at, token in enumerate(sentence.tokens):
        if token.lower in LISTS.words:
            if (
                not sentence.in_name(at)
                and not _beside_another(sentence, at)
                and sentence.word(at - 2) != "out"
                and _counted(sentence, at + 1)
            ):
                yield sentence.replaced(at, at, LISTS.words[token.lower])
        elif _DIGITS.fullmatch(token.text) and not _glued(sentence, at):
            if _beside_another(sentence, at) or token.text in ("180", "360", "911"):
                continue
            if LISTS.children & set(sentence.lower[at : at + 6]):  # 6 year old kids
                continue
            if sentence.word(at - 1) == "an" and token.text == "18":  # a certificate
                continue
            rating = sentence.word(at - 1) in ("a", "an") or sentence.word(at + 1) == "out"
            if rating and _RATING.fullmatch(token.text):
                low = int(token.text) <= 5 and sentence.word(at + 3) not in words("4 5 five four")
                yield sentence.replaced(at, at, "9" if low else "2" if token.text != "2" else "4")
            elif sentence.word(at - 1) == "at" and int(token.text) <= 12:  # o'clock
                hour = int(token.text)
                yield sentence.replaced(at, at, str(hour + 4 if hour < 8 else hour - 5))
            elif sentence.word(at - 2) != "out":
                year = not _counted(sentence, at + 1)
                yield sentence.replaced(at, at, _other(int(token.text), year))


def _beside_another(sentence: EnglishSentence, at: int) -> bool:
    return bool({sentence.word(at - 1), sentence.word(at + 1)} & LISTS.not_beside)


def _glued(sentence: EnglishSentence, at: int) -> bool:
    """Is the number a part of something larger: 2.5, 1,000, 9:30, a title (Rocky 2), number 1?"""
    token, text = sentence.tokens[at], sentence.text
    before, after = text[token.start - 1 : token.start], text[token.end : token.end + 1]
    beside = (before not in ("", " ", "$")) or (after not in ("", " ", ".", ",", "%", "!", ";"))
    decimal = after in (".", ",") and text[token.end + 1 : token.end + 2].isdigit()
    title = sentence.named(at - 1) or sentence.named(at + 1) or sentence.word(at + 1) == "mile"
    title = title or (at == 1 and sentence.word(2) in AUXILIARIES)  # Zoey 101 is
    film = sentence.word(at - 1).endswith("'s") and not sentence.word(at + 1).isalpha()
    sound = sentence.word(at + 1) in SHARED.determiners | SHARED.subjects  # 4 the win, 2 you
    return beside or decimal or title or film or sound or sentence.word(at - 1) in LISTS.of_names


def _other(number: int, year: bool = True) -> str:
    """Another number of the same sort: years and ages stay possible, others are off by ten times.

    >>> [_other(number) for number in (1985, 5, 12, 90, 300)]
    ['1945', '50', '52', '40', '30']
    """
    if year and 1900 <= number <= 2029:
        return str(number - 40 if number >= 1950 else number + 40)
    if 10 <= number < 100:
        return str(number + 40 if number < 60 else number - 50)
    return str(number // 10 if number % 10 == 0 else number * 10)


def _counted(sentence: EnglishSentence, at: int) -> bool:
    """Is there a plural, one of the next two words?"""
    for index in (at, at + 1):
        word = sentence.word(index)
        base = singular(word)
        if base is not None and wordnet().senses(base, "noun"):
            return not sentence.named(index) and word not in LISTS.body
        if not wordnet().senses(word, "adj"):
            return False
    return False


_PLURALS = {"foot": "feet", "century": "centuries", "inch": "inches"}
_COUNTS = set(LISTS.words) | words("few several many hundred thousand dozen couple")


def _unit(word: str) -> str | None:
    """A unit in its singular, if the word is one."""
    base = next((one for one, many in _PLURALS.items() if many == word), None)
    return base or (word if word in LISTS.same or word in LISTS.units else singular(word))


def _units(sentence: EnglishSentence) -> Iterator[Place]:
    for at in range(1, len(sentence.tokens)):
        number = sentence.word(at - 1)
        if number not in _COUNTS and not number.isdigit():
            continue
        word = sentence.word(at)
        base = None if word in LISTS.units and word not in LISTS.same else _unit(word)
        if base not in LISTS.units or sentence.in_name(at) or sentence.named(at - 1):
            continue
        if {_unit(sentence.word(at - 2)), _unit(sentence.word(at - 3))} & set(LISTS.units):
            continue  # an hour and fifty minutes
        if base == "cent" and number in ("two", "2"):  # one's opinion
            continue
        if sentence.word(at + 1) == "old" or re.fullmatch(r"(19|20)\d\d", number):
            continue
        new = LISTS.units[base]
        one = new in LISTS.same and word in LISTS.same  # five million, but several millions
        yield sentence.replaced(at, at, new if one else _PLURALS.get(new, f"{new}s"))


_WITH_OF = {"all": "none", "most": "few", "many": "few", "some": "none"}
_EVERY = {"every", "each"}


def _quantifiers(sentence: EnglishSentence) -> Iterator[Place]:
    words = sentence.lower
    negations = sum(negated(word) for word in words)
    for at, word in enumerate(words):
        if word not in LISTS.single and word not in _WITH_OF:
            continue
        if negations > negated(word) or sentence.in_name(at):
            continue
        if not negated(word) and LISTS.asserting & set(words[at + 1 :]):
            continue
        if word in _WITH_OF and sentence.word(at + 1) == "of":
            if _partitive(sentence, at):
                yield sentence.replaced(at, at, _WITH_OF[word])
        elif (
            word in LISTS.single
            and sentence.word(at - 1) not in LISTS.not_before
            and _fits(sentence, at)
        ):
            yield sentence.replaced(at, at, LISTS.single[word])


def _partitive(sentence: EnglishSentence, at: int) -> bool:
    """All of the scenes: at the beginning of a clause, and of what can be counted."""
    if not (at == 0 or sentence.word(at - 1) in ("and", ",", "but", "that", "because")):
        return False
    if sentence.word(at) == "all":
        if sentence.lower.count("all") > 1:
            return False
        return sentence.word(at + 2) in LISTS.partitive
    return sentence.word(at + 2) in LISTS.partitive and _counted(sentence, at + 3)


def _fits(sentence: EnglishSentence, at: int) -> bool:
    word, before, after = sentence.word(at), sentence.word(at - 1), sentence.word(at + 1)
    if word in _EVERY:
        return at == 0 and after not in LISTS.times and "noun" in wordnet().parts(after)
    if word in ("always", "never", "often", "rarely", "frequently", "seldom"):
        if before not in LISTS.subject_end and not before.endswith(("'s", "'ve", "'re", "'m")):
            return False
        if negated(word) and (
            after in LISTS.no_always or set(sentence.lower) & SHARED.with_negation
        ):
            return False
        if word == "never" and _once(before, after):
            return False
        if "any" in sentence.words:
            return False
        return after not in LISTS.not_behind_adverb
    if at > 0 or after in ("else", "but", ",", "about", "that", "to", "of", "more"):
        return False
    if word == "nothing":
        verb = after in AUXILIARIES or any(form == "s" for _, form in verb_forms(after))
        return verb and not set(sentence.lower) & SHARED.with_negation
    if word != "many" or after == "people":
        return True
    return singular(after) is not None and after != "moons"


def _once(before: str, after: str) -> bool:
    """Is it said of one event, as in "was never shown", "it never did"?"""
    modal = before in ("will", "was", "were") or before.endswith("'ve")
    return modal or after in ("did", "made", "happened") or after.endswith("ed")


NUMBERS = Rule("numbers", "turning", "a number becomes another one", _numbers)
UNITS = Rule("units", "turning", "a unit becomes a much larger or smaller one", _units)
QUANTIFIERS = Rule(
    "quantifiers", "turning", "all → none, always → never, many → few, and back", _quantifiers
)
