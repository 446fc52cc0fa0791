"""Rewordings that preserve the meaning: clause order, negated opposites, digits, a frame.

Each is made only where the words around it decide that it is safe; most sentences allow none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wordsway.auditing.background import Place
from wordsway.auditing.edits.edit import EnglishSentence, Rule
from wordsway.auditing.edits.lexicon import SHARED, word_lists, words
from wordsway.text.forms import verb_forms
from wordsway.text.wordnet import wordnet

LISTS = word_lists("rewording")


def _clauses(sentence: EnglishSentence) -> Iterator[Place]:
    """ "If I win, we eat." ↔ "We eat if I win." """
    text, lower = sentence.text, sentence.lower
    links = [at for at, word in enumerate(lower) if word in LISTS.links]
    end = text.rstrip()[-1:]
    if len(links) != 1 or end not in (".", "!") or lower.count(end) != 1:
        return
    if {";", ":", "-", "–", "—", "(", '"', "?", "then", "wish"} & sentence.words:
        return
    (at,) = links
    body = text.rstrip()[:-1]
    commas = [place for place, word in enumerate(lower) if word == ","]
    if at == 0 and len(commas) == 1 and lower[0] != "while":
        comma = sentence.tokens[commas[0]]
        clause, main = body[: comma.start], body[comma.end :].strip()
        if sentence.word(commas[0] + 1) in LISTS.no_main or _refers(main, clause):
            return
        made = f"{_capital(main)} {lower[0]}{clause[len(lower[0]) :]}{end}"
    elif at > 2 and lower[at] in LISTS.to_front and not commas and _starts_clause(sentence, at + 1):
        link, first = sentence.tokens[at], sentence.tokens[0]
        main, clause = body[: link.start].strip(), body[link.start :]
        if sentence.word(at - 1) in LISTS.before_links or _refers(main, clause):
            return
        if first.lower not in LISTS.persons | {"the", "my", "your", "our"}:
            return
        spelled = first.text if first.lower == "i" else first.lower
        made = f"{_capital(clause)}, {spelled}{main[len(first.text) :]}{end}"
    else:
        return
    yield Place(0, text.rstrip(), made)


def _starts_clause(sentence: EnglishSentence, at: int) -> bool:
    """Do a subject and a verb follow? A pronoun, or a determiner and a noun."""
    return sentence.word(at) in LISTS.persons or sentence.word(at) in ("the", "my", "your", "our")


def _refers(one: str, other: str) -> bool:
    """Return whether a clause has a pronoun that may stand for a word of the other clause."""
    return bool(LISTS.third & set(re.findall(r"[a-z]+", f"{one} {other}".lower())))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _opposites(sentence: EnglishSentence) -> Iterator[Place]:
    """ "It is possible." → "It is not impossible."; "It is not legal." → "It is illegal." """
    lower = sentence.lower
    negations = sum(word in SHARED.negations or word.endswith("n't") for word in lower)
    for at, word in enumerate(lower):
        other = LISTS.opposites.get(word)
        if other is None or sentence.in_name(at) or LISTS.asked & set(lower[:at]):
            continue
        if word in ("true", "false") and sentence.word(at + 1) == "to":
            continue  # true to life
        if sentence.word(at - 1) in LISTS.copulas and not negations and _predicate(sentence, at):
            yield sentence.replaced(at, at, f"not {other}")
        elif (
            (sentence.word(at - 1) == "not" and negations == 1)
            and sentence.word(at - 2) in LISTS.copulas
            and _predicate(sentence, at)
        ):
            yield sentence.replaced(at - 1, at, other)


def _predicate(sentence: EnglishSentence, at: int) -> bool:
    """Return whether the adjective ends the clause, so that it describes no noun behind it."""
    return sentence.word(at + 1) in (".", "!", ";", "to", "that")


_SPELLED = {digits: word for word, digits in LISTS.digits.items()}


def _digits(sentence: EnglishSentence) -> Iterator[Place]:
    """ "ten minutes" ↔ "10 minutes" """
    for at, word in enumerate(sentence.lower):
        other = LISTS.digits.get(word) or _SPELLED.get(word)
        before, after = sentence.word(at - 1), sentence.word(at + 1)
        if other is None or sentence.in_name(at) or before in LISTS.marks or not after.isalpha():
            continue
        token = sentence.tokens[at]
        beside = sentence.text[max(0, token.start - 1) : token.end + 1].replace(token.text, "", 1)
        if beside.strip() or any(c in LISTS.digits or c in _SPELLED for c in (before, after)):
            continue
        if after in words("and or of to point hundred thousand million th st nd rd x"):
            continue
        if at == 0 and word in LISTS.digits:
            continue  # a sentence begins with no digit
        yield sentence.replaced(at, at, other)


def _frame(sentence: EnglishSentence) -> Iterator[Place]:
    """ "The shop is open." → "It is true that the shop is open." """
    first = sentence.tokens[0]
    if (
        first.lower not in LISTS.framed
        or sentence.text.rstrip()[-1:] != "."
        or "?" in sentence.words
    ):
        return
    if sentence.words & words("let please honestly frankly seriously why save avoid oh well") or (
        sentence.lower.count(".") != 1 or sentence.word(1) in (",", ":")
    ):
        return
    if not any(_finite(word) for word in sentence.lower[1:8]):
        return
    spelled = first.text if first.lower == "i" else first.lower
    yield Place(first.start, first.text, f"It is true that {spelled}")


def _finite(word: str) -> bool:
    """Return whether a word is surely a finite verb: without one, a sentence is a fragment."""
    if word in words(
        "is are was were has have had do does did can could will would should may must"
    ):
        return True
    return word.endswith("ed") and any(
        form == "ed" and wordnet().senses(base, "verb") for base, form in verb_forms(word)
    )


CLAUSES = Rule(
    "clause order", "keeping", "the clause with if, because, when … moves", _clauses, "rewording"
)
OPPOSITES = Rule(
    "negated opposite",
    "keeping",
    "possible becomes not impossible, and back",
    _opposites,
    "rewording",
)
DIGITS = Rule("digits", "keeping", "ten becomes 10, and back", _digits, "rewording")
FRAME = Rule("frame", "keeping", "“It is true that” comes before the sentence", _frame, "rewording")
