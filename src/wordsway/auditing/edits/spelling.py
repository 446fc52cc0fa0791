"""Meaning-preserving edits of letters: British and American spelling, contractions."""

from __future__ import annotations

from collections.abc import Iterator

from wordsway.auditing.background import Place
from wordsway.auditing.edits.edit import EnglishSentence, Rule
from wordsway.auditing.edits.lexicon import AUXILIARIES, word_lists, words
from wordsway.text.forms import verb_forms

LISTS = word_lists("spelling")


_VARIANTS = LISTS.pairs | {
    two: one for one, two in LISTS.pairs.items() if one not in LISTS.one_way and " " not in two
}
_PLURAL = {
    f"{one}s": f"{two}s" for one, two in _VARIANTS.items() if one[-1] in "rel" if two[-1] in "rel"
}
_NOT_ADVERBS = {"while", "whilst"}


def _spelling(sentence: EnglishSentence) -> Iterator[Place]:
    for at, word in enumerate(sentence.lower):
        other = _VARIANTS.get(word) or _PLURAL.get(word)
        if other is None or sentence.named(at):
            continue
        if word in _NOT_ADVERBS and sentence.word(at - 1) in words("a the worth every little"):
            continue
        yield sentence.replaced(at, at, other)


_SHORT = {"is": "'s", "are": "'re", "am": "'m", "have": "'ve", "will": "'ll", "would": "'d"}
_BEFORE = {
    "is": words("it he she that there"),
    "are": words("they we you"),
    "am": {"i"},
    "have": words("i you we they"),
    "will": words("i you he she it we they"),
    "would": words("i you he she we they"),
}
_NOT = {"will": "won't", "can": "can't"}
_SHORT_WITH_NOT = AUXILIARIES - LISTS.no_short


def _contractions(sentence: EnglishSentence) -> Iterator[Place]:
    for at, word in enumerate(sentence.lower):
        if sentence.named(at):
            continue
        after = sentence.word(at + 1)
        if after == "not" and word in _SHORT_WITH_NOT:
            if at > 0 and sentence.word(at + 2) not in ("only", "just"):
                yield sentence.replaced(at, at + 1, _NOT.get(word, f"{word}n't"))
        elif word == "cannot":
            yield sentence.replaced(at, at, "can't")
        elif word.endswith("n't") and at > 0 and word != "ain't":
            yield from _long_not(sentence, at, word)
        elif "'" in word:
            yield from _long(sentence, at, word, after)
        elif _joins(sentence, at) and _goes_on(sentence, at + 2, after):
            if sentence.word(at - 1) in ("as", "than"):  # as it is
                continue
            yield sentence.replaced(at, at + 1, sentence.tokens[at].text + _SHORT[after])


def _joins(sentence: EnglishSentence, at: int) -> bool:
    """Is this a pronoun that takes the next word on? A “that” may be another word altogether."""
    word = sentence.word(at)
    return word in _BEFORE.get(sentence.word(at + 1), ()) and not (word == "that" and at > 0)


def _goes_on(sentence: EnglishSentence, at: int, verb: str) -> bool:
    """No contraction at the end of a clause, nor of a have that is owned."""
    word = sentence.word(at)
    if not word.isalpha() or word in ("and", "but", "or", "that", "because", "if", "when", "not"):
        return False
    participle = any(form in ("ed", "en") for _, form in verb_forms(word)) or word == "been"
    return verb != "have" or participle


def _long_not(sentence: EnglishSentence, at: int, word: str) -> Iterator[Place]:
    verb = {"won't": "will", "can't": "can", "shan't": "shall"}.get(word, word[:-3])
    if sentence.word(at - 1) in (",", "why"):  # a tag question, or one
        return
    new = "cannot" if verb == "can" else f"{verb} not"
    yield sentence.replaced(at, at, new)


_LONG = {"'re": "are", "'ve": "have", "'ll": "will", "'m": "am"}


def _long(sentence: EnglishSentence, at: int, word: str, after: str) -> Iterator[Place]:
    head, ending = word[: word.rindex("'")], word[word.rindex("'") :]
    spelled = sentence.tokens[at].text[: len(head)]
    if ending in _LONG and head in ("i", "you", "we", "they", "he", "she", "it"):
        yield sentence.replaced(at, at, f"{spelled} {_LONG[ending]}")
    elif ending == "'s" and head in ("it", "he", "she", "that", "there"):
        if sentence.misspelled_its(at):
            return
        participle = any(form == "en" for _, form in verb_forms(after)) or after.endswith("ed")
        if after in ("been", "had", "got"):
            yield sentence.replaced(at, at, f"{spelled} has")
        elif not participle:
            yield sentence.replaced(at, at, f"{spelled} is")


SPELLING = Rule("spelling", "keeping", "British spelling becomes American, and back", _spelling)
CONTRACTIONS = Rule(
    "contractions", "keeping", "do not → don't, it is → it's, and back", _contractions
)
