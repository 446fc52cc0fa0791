"""Modal verbs and comparatives: what must be, may be, and is more or less."""

from __future__ import annotations

from collections.abc import Iterator

from wordsway.auditing.background import Place
from wordsway.auditing.edits.edit import EnglishSentence, Rule
from wordsway.auditing.edits.lexicon import BE, negated, pairs, words
from wordsway.text.wordnet import wordnet

_MODALS = pairs("""
must might|should might|will might|would must|can must|could must|may must|might must|shall may
""")
#: Adverbs that stand between a modal verb and its verb.
_BETWEEN = words("also always never only still even definitely really easily")
_SUBJECT_LIKE = words("i you he she it we they this that there who which")
#: What one can do without being made to: "I can see", "I would think".
_MIND = words("see think remember tell imagine believe understand say relate only")
#: "I must say" and "I would recommend it" commit to nothing more than "I say" does.
_SAYING = words(
    "say admit confess recommend suggest agree guess tell add mention bet urge argue note applaud "
    "be"
)
#: With these what will be is only possible anyway.
_UNSURE = words("hope hopes hoped hoping maybe perhaps probably wish wishes possibly likely")
_NOT_VERBS = words("of in at on a the no you i we they he she it not")


def _modals(sentence: EnglishSentence) -> Iterator[Place]:
    for at in range(1, len(sentence.tokens)):
        word, before = sentence.word(at), sentence.word(at - 1)
        if word not in _MODALS or sentence.named(at) or "if" in sentence.words:
            continue
        verb = sentence.word(at + 1)
        verb = sentence.word(at + 2) if verb in _BETWEEN else verb
        if not _verb(verb) or not _subject(sentence, at - 1):
            continue
        if word in ("would", "could", "might", "may") and verb == "have":
            continue  # it might have been better: of what is not so
        if word in ("will", "should", "must") and _UNSURE & sentence.words:
            continue
        if verb == "be" and not sentence.word(at + 2).isalpha():  # as it should be.
            continue
        if {"than", "lest", "matter", "either"} & sentence.words or (
            before == "i" and verb in _SAYING
        ):
            continue
        if sentence.word(at - 2) == "much":  # how much you should …
            continue
        if "definitely" in (sentence.word(at + 1), before):
            continue
        if word in ("can", "could", "would"):
            if any(negated(one) for one in sentence.lower) or not _main(sentence, at):
                continue
            if (before == "i" and verb in _MIND) or verb == "tell":  # you can tell that …
                continue
        if verb in ("like", "love", "rather", "prefer") or "only" in sentence.lower[at : at + 2]:
            continue
        yield sentence.replaced(at, at, _MODALS[word])


def _main(sentence: EnglishSentence, at: int) -> bool:
    """Does the subject before word ``at`` begin the sentence, or a clause next to the first?"""
    first = at - 1 if sentence.word(at - 1) in _SUBJECT_LIKE else at - 2
    return first == 0 or sentence.word(first - 1) in (",", "and", "but", ";")


def _verb(word: str) -> bool:
    return word in ("be", "have", "do") or (
        word not in _NOT_VERBS and bool(wordnet().senses(word, "verb"))
    )


def _subject(sentence: EnglishSentence, at: int) -> bool:
    """A pronoun, or a noun behind its article."""
    word = sentence.word(at)
    if word in _SUBJECT_LIKE:
        return True
    article = sentence.word(at - 1) in ("the", "this", "my", "his", "her", "their", "your", "our")
    return article and bool(wordnet().senses(word, "noun")) and not wordnet().senses(word, "adv")


_OPPOSITES = pairs("""
better worse|worse better|best worst|worst best|bigger smaller|larger smaller|smaller larger
older younger|younger older|longer shorter|shorter longer|faster slower|slower faster
higher lower|lower higher|stronger weaker|weaker stronger|easier harder|harder easier
richer poorer|cheaper dearer|happier sadder|smarter dumber|funnier duller|biggest smallest
largest smallest|oldest youngest|youngest oldest|longest shortest|strongest weakest
weakest strongest|highest lowest|lowest highest|fastest slowest|funniest dullest
""")
_SUPERLATIVES = {word for word in _OPPOSITES if word.endswith(("st", "est"))}
_FIXED = words("known interest friend friends left way to trying when they i you he she we")
#: Behind a verb these say how it is done, and their opposites do not.
_ADVERBS = words("harder easier longer shorter")
#: The lower deck is no less high than others: it has an upper one.
_SIDES = words("lower higher")
_PARTS = words(
    "appendage appendages back berth body class classes deck decks depths east education end half "
    "jaw leg legs level levels limb limbs lip middle part parts power powers ranks school side"
)
_NOT_COMPARED = words("had for no any or and i'd you'd you we know known knows knew")
_DEGREE = {"more": "less", "less": "more", "most": "least", "least": "most"}


def _comparatives(sentence: EnglishSentence) -> Iterator[Place]:
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
            if before in _NOT_COMPARED or (word in _SIDES and after in _PARTS):
                continue
            if word in _ADVERBS and before not in BE and wordnet().senses(before, "verb"):
                continue  # laugh harder, last longer
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
