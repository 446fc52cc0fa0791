"""Modal verbs and comparatives: what must be, may be, and is more or less."""

from __future__ import annotations

from collections.abc import Iterator

from wordsway.auditing.background import Place
from wordsway.auditing.edits.edit import EnglishSentence, Rule
from wordsway.auditing.edits.lexicon import SHARED, negated, word_lists
from wordsway.text.wordnet import wordnet

LISTS = word_lists("modality")


def _modals(sentence: EnglishSentence) -> Iterator[Place]:
    for at in range(1, len(sentence.tokens)):
        word, before = sentence.word(at), sentence.word(at - 1)
        if word not in LISTS.modals or sentence.named(at) or "if" in sentence.words:
            continue
        verb = sentence.word(at + 1)
        verb = sentence.word(at + 2) if verb in LISTS.between else verb
        if not _verb(verb) or not _subject(sentence, at - 1):
            continue
        if word in ("would", "could", "might", "may") and verb == "have":
            continue  # it might have been better: of what is not so
        if word in ("will", "should", "must") and LISTS.unsure & sentence.words:
            continue
        if verb == "be" and not sentence.word(at + 2).isalpha():  # as it should be.
            continue
        if {"than", "lest", "matter", "either"} & sentence.words or (
            before == "i" and verb in LISTS.saying
        ):
            continue
        if sentence.word(at - 2) == "much":  # how much you should …
            continue
        if "definitely" in (sentence.word(at + 1), before):
            continue
        if word in ("can", "could", "would"):
            if any(negated(one) for one in sentence.lower) or not _main(sentence, at):
                continue
            if (before == "i" and verb in LISTS.mind) or verb == "tell":  # you can tell that …
                continue
        if verb in ("like", "love", "rather", "prefer") or "only" in sentence.lower[at : at + 2]:
            continue
        yield sentence.replaced(at, at, LISTS.modals[word])


def _main(sentence: EnglishSentence, at: int) -> bool:
    """Does the subject before word ``at`` begin the sentence, or a clause next to the first?"""
    first = at - 1 if sentence.word(at - 1) in LISTS.subject_like else at - 2
    return first == 0 or sentence.word(first - 1) in (",", "and", "but", ";")


def _verb(word: str) -> bool:
    return word in ("be", "have", "do") or (
        word not in LISTS.not_verbs and bool(wordnet().senses(word, "verb"))
    )


def _subject(sentence: EnglishSentence, at: int) -> bool:
    """A pronoun, or a noun behind its article."""
    word = sentence.word(at)
    if word in LISTS.subject_like:
        return True
    article = sentence.word(at - 1) in ("the", "this", "my", "his", "her", "their", "your", "our")
    return article and bool(wordnet().senses(word, "noun")) and not wordnet().senses(word, "adv")


_SUPERLATIVES = {word for word in LISTS.opposites if word.endswith(("st", "est"))}
_DEGREE = {"more": "less", "less": "more", "most": "least", "least": "most"}


def _comparatives(sentence: EnglishSentence) -> Iterator[Place]:
    if any(negated(word) for word in sentence.lower):
        return
    for at, word in enumerate(sentence.lower):
        before, after = sentence.word(at - 1), sentence.word(at + 1)
        if word not in LISTS.opposites and word not in _DEGREE:
            continue
        if sentence.named(at) or sentence.named(at + 1):
            continue
        if word in _SUPERLATIVES:
            if before in ("the", "its", "his", "her", "their") and after.isalpha():
                if after in LISTS.fixed or sentence.word(at - 2) in (
                    "make",
                    "makes",
                    "made",
                    "making",
                ):
                    continue
                yield sentence.replaced(at, at, LISTS.opposites[word])
        elif word in LISTS.opposites:
            if before in LISTS.not_compared or (word in LISTS.sides and after in LISTS.parts):
                continue
            if (
                word in LISTS.adverbs
                and before not in SHARED.be
                and wordnet().senses(before, "verb")
            ):
                continue  # laugh harder, last longer
            if after in ("and", "or", "off", "yet", "still", "known", "brother", "sister", "to"):
                continue
            yield sentence.replaced(at, at, LISTS.opposites[word])
        elif word in ("more", "less") and _gradable(after) and after not in ("so", "often"):
            if before not in ("no", "any", "once", "and", "or", "the", "one", "bit", "little"):
                yield sentence.replaced(at, at, _DEGREE[word])
        elif word in ("most", "least") and before == "the" and _gradable(after):
            yield sentence.replaced(at, at, _DEGREE[word])


def _gradable(word: str) -> bool:
    """An adjective, and nothing else that could stand behind more (more money, more running)."""
    parts = wordnet().parts(word)
    return "adj" in parts and "noun" not in parts and len(word) > 5


MODALS = Rule("modals", "turning", "must → might, can → must, will → might", _modals)
COMPARATIVES = Rule("comparatives", "turning", "better → worse, more → less", _comparatives)
