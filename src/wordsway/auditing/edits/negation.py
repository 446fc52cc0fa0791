"""Negation put in or taken out: "It is good." ↔ "It is not good."

Put in: behind the first auxiliary of the main clause, or with do before a few common verbs. Taken
out: "not" behind an auxiliary, or "n't" at its end. Sentences with words that need a negation
("any", "yet") or shun one ("some", "already") are not edited, nor are those with a second one.
"""

from __future__ import annotations

from collections.abc import Iterator

from wordsway.auditing.background import Place
from wordsway.auditing.edits.edit import EnglishSentence, Rule
from wordsway.auditing.edits.lexicon import AUXILIARIES, SHARED, negated, word_lists, words
from wordsway.text.forms import inflected, verb_forms
from wordsway.text.wordnet import wordnet

LISTS = word_lists("negation")

_WONT = {"won't": "will", "can't": "can", "shan't": "shall", "cannot": "can"}
_FIRST = SHARED.determiners | words("i you he she it we they this that there")


def _insertions(sentence: EnglishSentence) -> Iterator[Place]:
    words = sentence.lower
    if any(negated(word) for word in words) or words[0] not in _FIRST | LISTS.contracted:
        return
    if LISTS.asserting & sentence.words or "as well" in sentence.text:
        return
    for at, word in enumerate(words[:8]):
        if (word in SHARED.conjunctions and at > 0) or word in (",", ";", ":"):
            return
        following = sentence.word(at + 1)
        if word in LISTS.contracted and at == 0:
            if sentence.misspelled_its(at):
                return
            if following not in LISTS.shun and _goes_on(following):
                yield sentence.inserted(at + 1, "not")
            return
        if word in (SHARED.be | SHARED.have | SHARED.modals) - {"be", "been", "being"} and at > 0:
            if following in LISTS.shun or not _goes_on(following):
                return
            if sentence.named(at - 1) and sentence.named(at + 1):  # a title: My Name is Modesty
                return
            if (following, sentence.word(at + 2)) == ("one", "thing"):  # …, but another to …
                return
            if sentence.word(at - 1) in ("guess", "opinion", "theory", "point"):
                return  # My guess is he did it
            if word in SHARED.modals and following in LISTS.said:
                return
            if word in SHARED.have and not _participle(following):
                return
            if word in SHARED.modals and not _base(following):
                return
            if word == "can":
                yield sentence.replaced(at, at, "cannot")
            else:
                yield sentence.inserted(at + 1, "not")
            return
        if at == 1 and words[0] in LISTS.pronouns | LISTS.third:
            yield from _with_do(sentence, at)
            return


def _goes_on(word: str) -> bool:
    return word.isalpha() and word not in SHARED.prepositions | AUXILIARIES - words(
        "be have do been being"
    )


def _participle(word: str) -> bool:
    return word == "been" or any(
        form in ("ed", "en") and wordnet().senses(base, "verb") for base, form in verb_forms(word)
    )


def _base(word: str) -> bool:
    return word in ("be", "have", "do") or bool(wordnet().senses(word, "verb"))


def _with_do(sentence: EnglishSentence, at: int) -> Iterator[Place]:
    """I like → I do not like; he loved → he did not love."""
    if sentence.word(at + 1) in LISTS.shun - {"it", "this", "these", "those", "that"}:
        return
    for base, form in verb_forms(sentence.word(at)):
        if base not in LISTS.verbs:
            continue
        plain = sentence.word(0) in LISTS.pronouns
        verb = {"": "do", "s": "does", "ed": "did"}.get(form)
        if verb is None or (form == "" and not plain) or (form == "s" and plain):
            continue
        if base == "have" and sentence.word(at + 1) not in SHARED.determiners:
            continue
        yield sentence.replaced(at, at, f"{verb} not {base}")
        return


def _removals(sentence: EnglishSentence) -> Iterator[Place]:
    words = sentence.lower
    if sum(negated(word) for word in words) != 1:
        return
    at = next(index for index, word in enumerate(words) if negated(word))
    before = sentence.word(at - 1)
    if set(words[at + 1 :]) & SHARED.with_negation or sentence.word(at + 1) in (
        ",",
        ".",
        "a",
        "have",
    ):
        return
    if sentence.word(at - 2) == "or":  # it may or may not
        return
    if "if" in words[:at] and "for" in (sentence.word(at + 1), sentence.word(at + 2)):
        return  # if it wasn't for the music
    word = words[at]
    if word == "not":
        if before in SHARED.be | SHARED.have | SHARED.modals and sentence.word(at + 1).isalpha():
            yield sentence.removed(at, at)
        elif before in ("do", "does", "did"):
            yield from _without_do(sentence, at - 1, at, before)
    elif word.endswith("n't") or word == "cannot":
        verb = _WONT.get(word, word.removesuffix("n't"))
        if verb in ("do", "does", "did"):
            yield from _without_do(sentence, at, at, verb)
        elif (
            verb in SHARED.be | SHARED.have | SHARED.modals
            and at > 0
            and before not in (",", "just")
        ):
            if verb in SHARED.modals and not _base(sentence.word(at + 1)):  # he could but wouldn't.
                return
            yield sentence.replaced(at, at, verb)


def _without_do(sentence: EnglishSentence, first: int, not_at: int, verb: str) -> Iterator[Place]:
    """do not like → like, didn't like → liked; an order ("Don't watch it") → "Watch it"."""
    base = sentence.word(not_at + 1)
    if not base.isalpha() or not wordnet().senses(base, "verb") or base.endswith("ly"):
        return
    if base == "know" and sentence.word(not_at + 2) in (",", "a"):  # I don't know, …
        return
    if first == 0:
        if verb == "do":
            yield sentence.replaced(first, not_at + 1, base)
        return
    if sentence.word(first - 1) in (",", "why", "and", "or"):
        return
    form = {"do": "", "does": "s", "did": "ed"}[verb]
    yield sentence.replaced(first, not_at + 1, inflected(base, form))  # type: ignore[arg-type]


def _negation(sentence: EnglishSentence) -> Iterator[Place]:
    yield from _insertions(sentence)
    yield from _removals(sentence)


NEGATION = Rule("negation", "turning", "a “not” is put in or taken out", _negation)
