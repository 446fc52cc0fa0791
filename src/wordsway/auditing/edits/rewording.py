"""Rewordings that preserve the meaning: clause order, voice, negated opposites, digits, a frame.

Each is made only where the words around it decide that it is safe; most sentences allow none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wordsway.auditing.background import Place
from wordsway.auditing.edits.edit import EnglishSentence, Rule
from wordsway.auditing.edits.lexicon import (
    AUXILIARIES,
    CONJUNCTIONS,
    DETERMINERS,
    NEGATIONS,
    PREPOSITIONS,
    pairs,
    words,
)
from wordsway.text.forms import inflected, verb_forms
from wordsway.text.wordnet import wordnet

#: Words that begin a subordinate clause, and those whose clause may also move to the front: what
#: follows "after", "before" and "until" may be no clause ("before the end").
_LINKS = words("if because when after before although unless until while")
_TO_FRONT = words("if because when although unless")
#: Behind the comma these begin no main clause: "If you can, and if you must, …".
_NO_MAIN = words(
    "and or but so which who whom whose nor yet then not if when because although well"
)
_THIRD = words("he she it they him her them his its their this that these those one")
_PERSONS = words("i you he she it we they")
#: "even if", "as if", "the best part is when", "I wonder if": no clause of its own.
_BEFORE_LINKS = words(
    "even as only just long soon right shortly and or but what not is are was were be see know ask "
    "wonder wondering remember like except about of time times day year moment point been"
)


def _clauses(sentence: EnglishSentence) -> Iterator[Place]:
    """ "If I win, we eat." ↔ "We eat if I win." """
    text, lower = sentence.text, sentence.lower
    links = [at for at, word in enumerate(lower) if word in _LINKS]
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
        if sentence.word(commas[0] + 1) in _NO_MAIN or _refers(main, clause):
            return
        made = f"{_capital(main)} {lower[0]}{clause[len(lower[0]) :]}{end}"
    elif at > 2 and lower[at] in _TO_FRONT and not commas and _starts_clause(sentence, at + 1):
        link, first = sentence.tokens[at], sentence.tokens[0]
        main, clause = body[: link.start].strip(), body[link.start :]
        if sentence.word(at - 1) in _BEFORE_LINKS or _refers(main, clause):
            return
        if first.lower not in _PERSONS | {"the", "my", "your", "our"}:
            return
        spelled = first.text if first.lower == "i" else first.lower
        made = f"{_capital(clause)}, {spelled}{main[len(first.text) :]}{end}"
    else:
        return
    yield Place(0, text.rstrip(), made)


def _starts_clause(sentence: EnglishSentence, at: int) -> bool:
    """Do a subject and a verb follow? A pronoun, or a determiner and a noun."""
    return sentence.word(at) in _PERSONS or sentence.word(at) in ("the", "my", "your", "our")


def _refers(one: str, other: str) -> bool:
    """Return whether a clause has a pronoun that may stand for a word of the other clause."""
    return bool(_THIRD & set(re.findall(r"[a-z]+", f"{one} {other}".lower())))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_NOUN = r"(?:the|a|an|my|your|our|his|her|their|this) (?:[\w-]+ ){0,2}[\w-]+"
_NAME = r"[A-Z][a-z]+(?: [A-Z][a-z]+){1,2}"
_REST = r"((?: in \d{4}| last year)?[.!])"
_PASSIVE = re.compile(rf"((?i:{_NOUN})|{_NAME}) (?:was|were) (\w+) by ({_NOUN}|{_NAME}){_REST}")
_ACTIVE = re.compile(rf"((?i:{_NOUN})|{_NAME}) (\w+ed) ({_NOUN}){_REST}")


def _voice(sentence: EnglishSentence) -> Iterator[Place]:
    """ "The tenant signed the lease." ↔ "The lease was signed by the tenant." """
    text = sentence.text.rstrip()
    if found := _PASSIVE.fullmatch(text):
        patient, verb, agent, rest = found.groups()
        past = _past(verb.lower())
        made = f"{_capital(agent)} {past} {_inside(patient)}{rest}"
    elif found := _ACTIVE.fullmatch(text):
        agent, verb, patient, rest = found.groups()
        past = _past(verb.lower())
        was = "were" if patient.split()[-1].endswith("s") else "was"
        made = f"{_capital(patient)} {was} {verb} by {_inside(agent)}{rest}"
    else:
        return
    nouns = [*agent.split(), *patient.split()]
    if past is None or any(word.lower() in _NO_NOUN or word.endswith("ly") for word in nouns):
        return
    yield Place(0, text, made)


def _inside(phrase: str) -> str:
    """A phrase that was first, as it is spelled inside of a sentence: names keep their capital."""
    first = phrase.split()[0].lower()
    return phrase[:1].lower() + phrase[1:] if first in DETERMINERS else phrase


#: Words that end a noun phrase, or count: "no judge signed it" has another passive.
_NO_NOUN = (
    NEGATIONS
    | PREPOSITIONS
    | AUXILIARIES
    | CONJUNCTIONS
    | words("all every each some many most several any both only way time first")
)
#: Verbs whose subject acts on their object, so that either voice says the same.
_ACTING = words(
    "sign approve reject review cancel repair inspect deliver open close paint clean examine treat "
    "accept invite attack visit describe discover finish damage destroy direct produce create "
    "design develop record publish select adopt notice report order answer solve replace remove "
    "install test check confirm deny grant issue collect return punish reward rescue help ignore "
    "write make shoot kill compose edit film play perform release murder kidnap choose build steal"
)


def _past(verb: str) -> str | None:
    """The past of a verb that acts on its object, given as its past or its participle."""
    for base, form in verb_forms(verb):
        if base in _ACTING and form in ("ed", "en"):
            return inflected(base, "ed")
    return None


#: Opposites with nothing in between: what is not the one is the other.
_OPPOSITES = pairs("""
possible impossible|impossible possible|legal illegal|illegal legal|true false|false true
complete incomplete|incomplete complete|visible invisible|invisible visible|correct incorrect
incorrect correct|present absent|absent present|available unavailable|unavailable available
unable able|safe unsafe|unsafe safe|valid invalid|invalid valid|necessary unnecessary
unnecessary necessary|predictable unpredictable|unpredictable predictable|realistic unrealistic
unrealistic realistic|unlikely likely|unfair fair|unclear clear|uncommon common
accurate inaccurate|inaccurate accurate|appropriate inappropriate|inappropriate appropriate
aware unaware|unaware aware
""")
_COPULAS = words("is are was were it's he's she's they're we're i'm that's")


#: "how it is possible" and "as long as was necessary" state nothing.
_ASKED = words("how why whether if when as until unless")


def _opposites(sentence: EnglishSentence) -> Iterator[Place]:
    """ "It is possible." → "It is not impossible."; "It is not legal." → "It is illegal." """
    lower = sentence.lower
    negations = sum(word in NEGATIONS or word.endswith("n't") for word in lower)
    for at, word in enumerate(lower):
        other = _OPPOSITES.get(word)
        if other is None or sentence.in_name(at) or _ASKED & set(lower[:at]):
            continue
        if word in ("true", "false") and sentence.word(at + 1) == "to":
            continue  # true to life
        if sentence.word(at - 1) in _COPULAS and not negations and _predicate(sentence, at):
            yield sentence.replaced(at, at, f"not {other}")
        elif (
            (sentence.word(at - 1) == "not" and negations == 1)
            and sentence.word(at - 2) in _COPULAS
            and _predicate(sentence, at)
        ):
            yield sentence.replaced(at - 1, at, other)


def _predicate(sentence: EnglishSentence, at: int) -> bool:
    """Return whether the adjective ends the clause, so that it describes no noun behind it."""
    return sentence.word(at + 1) in (".", "!", ";", "to", "that")


_DIGITS = pairs("""
two 2|three 3|four 4|five 5|six 6|seven 7|eight 8|nine 9|ten 10|eleven 11|twelve 12|fifteen 15
twenty 20|thirty 30|forty 40|fifty 50|sixty 60|seventy 70|eighty 80|ninety 90
""")
_SPELLED = {digits: word for word, digits in _DIGITS.items()}
#: "Ocean's 11", "number 3", "9/11", "Part 2", "5 stars" are names or marks, not counts.
_MARKS = words("number part no page chapter season act version channel area room route level $ £ €")


def _digits(sentence: EnglishSentence) -> Iterator[Place]:
    """ "ten minutes" ↔ "10 minutes" """
    for at, word in enumerate(sentence.lower):
        other = _DIGITS.get(word) or _SPELLED.get(word)
        before, after = sentence.word(at - 1), sentence.word(at + 1)
        if other is None or sentence.in_name(at) or before in _MARKS or not after.isalpha():
            continue
        token = sentence.tokens[at]
        beside = sentence.text[max(0, token.start - 1) : token.end + 1].replace(token.text, "", 1)
        if beside.strip() or any(c in _DIGITS or c in _SPELLED for c in (before, after)):
            continue
        if after in words("and or of to point hundred thousand million th st nd rd x"):
            continue
        if at == 0 and word in _DIGITS:
            continue  # a sentence begins with no digit
        yield sentence.replaced(at, at, other)


_FRAMED = words("the this these my your his her our their i you he she we they it there")


def _frame(sentence: EnglishSentence) -> Iterator[Place]:
    """ "The shop is open." → "It is true that the shop is open." """
    first = sentence.tokens[0]
    if first.lower not in _FRAMED or sentence.text.rstrip()[-1:] != "." or "?" in sentence.words:
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
VOICE = Rule("voice", "keeping", "active becomes passive, and back", _voice, "rewording")
OPPOSITES = Rule(
    "negated opposite",
    "keeping",
    "possible becomes not impossible, and back",
    _opposites,
    "rewording",
)
DIGITS = Rule("digits", "keeping", "ten becomes 10, and back", _digits, "rewording")
FRAME = Rule("frame", "keeping", "“It is true that” comes before the sentence", _frame, "rewording")
