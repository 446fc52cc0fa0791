"""Modal verbs and comparatives: what must be, may be, and is more or less."""

from __future__ import annotations

from collections.abc import Iterator

from wordsway.audit.edits.edit import Change, Rule, Sentence
from wordsway.audit.edits.lexicon import negated, words
from wordsway.text.wordnet import wordnet

_MODALS = {
    "must": "might",
    "should": "might",
    "will": "might",
    "would": "must",
    "can": "must",
    "could": "must",
    "may": "must",
    "might": "must",
    "shall": "may",
}
#: Adverbs that stand between a modal verb and its verb.
_BETWEEN = words("also always never only still even definitely really easily")
_SUBJECT_LIKE = words("i you he she it we they this that there who which")
#: What one can do without being made to: "I can see", "I would think".
_MIND = words("see think remember tell imagine believe understand say relate only")
#: "I must say" and "I would recommend it" commit to nothing more than "I say" does.
_SAYING = words("say admit confess recommend suggest agree guess")
_NOT_VERBS = words("of in at on a the no you i we they he she it not")


def _modals(sentence: Sentence) -> Iterator[Change]:
    for at in range(1, len(sentence.tokens)):
        word, before = sentence.word(at), sentence.word(at - 1)
        if word not in _MODALS or sentence.named(at) or "if" in sentence.words:
            continue
        verb = sentence.word(at + 1)
        verb = sentence.word(at + 2) if verb in _BETWEEN else verb
        if not _verb(verb) or not _subject(sentence, at - 1):
            continue
        if word in ("would", "could") and verb == "have":
            continue
        if {"than", "lest"} & sentence.words or (before == "i" and verb in _SAYING):
            continue
        if "definitely" in (sentence.word(at + 1), before):
            continue
        if word in ("can", "could", "would"):
            if any(negated(one) for one in sentence.lower) or not _main(sentence, at):
                continue
            if before == "i" and verb in _MIND:
                continue
        if verb in ("like", "love", "rather", "prefer") or "only" in sentence.lower[at : at + 2]:
            continue
        yield sentence.replaced(at, at, _MODALS[word])


def _main(sentence: Sentence, at: int) -> bool:
    """Does the subject before word ``at`` begin the sentence, or a clause beside the first?"""
    first = at - 1 if sentence.word(at - 1) in _SUBJECT_LIKE else at - 2
    return first == 0 or sentence.word(first - 1) in (",", "and", "but", ";")


def _verb(word: str) -> bool:
    return word in ("be", "have", "do") or (
        word not in _NOT_VERBS and bool(wordnet().senses(word, "verb"))
    )


def _subject(sentence: Sentence, at: int) -> bool:
    """A pronoun, or a noun behind its article."""
    word = sentence.word(at)
    if word in _SUBJECT_LIKE:
        return True
    article = sentence.word(at - 1) in ("the", "this", "my", "his", "her", "their", "your", "our")
    return article and bool(wordnet().senses(word, "noun")) and not wordnet().senses(word, "adv")


_OPPOSITES = {
    "better": "worse",
    "worse": "better",
    "best": "worst",
    "worst": "best",
    "bigger": "smaller",
    "larger": "smaller",
    "smaller": "larger",
    "older": "younger",
    "younger": "older",
    "longer": "shorter",
    "shorter": "longer",
    "faster": "slower",
    "slower": "faster",
    "higher": "lower",
    "lower": "higher",
    "stronger": "weaker",
    "weaker": "stronger",
    "easier": "harder",
    "harder": "easier",
    "richer": "poorer",
    "cheaper": "dearer",
    "happier": "sadder",
    "smarter": "dumber",
    "funnier": "duller",
    "biggest": "smallest",
    "largest": "smallest",
    "oldest": "youngest",
    "youngest": "oldest",
    "longest": "shortest",
    "strongest": "weakest",
    "weakest": "strongest",
    "highest": "lowest",
    "lowest": "highest",
    "fastest": "slowest",
    "funniest": "dullest",
}
_SUPERLATIVES = {word for word in _OPPOSITES if word.endswith(("st", "est"))}
_FIXED = words("known interest friend friends left way to trying when")
_NOT_COMPARED = words("had for no any or and i'd you'd you we know known knows knew")
_DEGREE = {"more": "less", "less": "more", "most": "least", "least": "most"}


def _comparatives(sentence: Sentence) -> Iterator[Change]:
    if any(negated(word) for word in sentence.lower):
        return
    for at, word in enumerate(sentence.lower):
        before, after = sentence.word(at - 1), sentence.word(at + 1)
        if word not in _OPPOSITES and word not in _DEGREE:
            continue
        if sentence.named(at) or sentence.named(at + 1):
            continue
        if word in _SUPERLATIVES:
            if before in ("the", "its", "his", "her", "their") and after.isalpha():
                if after in _FIXED or sentence.word(at - 2) in ("make", "makes", "made", "making"):
                    continue
                yield sentence.replaced(at, at, _OPPOSITES[word])
        elif word in _OPPOSITES:
            if before in _NOT_COMPARED:
                continue
            if after in ("and", "or", "off", "yet", "still", "known", "brother", "sister", "to"):
                continue
            yield sentence.replaced(at, at, _OPPOSITES[word])
        elif word in ("more", "less") and _gradable(after) and after not in ("so", "often"):
            if before not in ("no", "any", "once", "and", "or", "the", "one", "bit", "little"):
                yield sentence.replaced(at, at, _DEGREE[word])
        elif word in ("most", "least") and before == "the" and _gradable(after):
            yield sentence.replaced(at, at, _DEGREE[word])


def _gradable(word: str) -> bool:
    """An adjective, and nothing else that could stand behind more (more money, more running)."""
    parts = wordnet().parts(word)
    return "adj" in parts and "noun" not in parts and len(word) > 5


MODALS = Rule("modals", "turning", "must becomes might, can must, will might", _modals)
COMPARATIVES = Rule("comparatives", "turning", "better becomes worse, more less", _comparatives)
