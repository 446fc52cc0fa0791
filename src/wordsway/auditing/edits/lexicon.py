"""Words that rules share: function words, auxiliaries, words that go only with negation."""

from __future__ import annotations


def words(listed: str) -> frozenset[str]:
    """Return a set of words, written in a row."""
    return frozenset(listed.split())


def pairs(table: str) -> dict[str, str]:
    """Return the rows "word other" of a table, separated by bars or line breaks; "~" is a space."""
    rows = [row.split() for row in table.replace("\n", "|").split("|") if row.strip()]
    return {one: other.replace("~", " ") for one, other in rows}


SUBJECTS = words("i you he she it we they this that there")
DETERMINERS = words(
    "the this that these those my your his her its our their a an some any no every each"
)
POSSESSIVES = words("my your his her its our their")
BE = words("is are was were am be been being")
HAVE = words("has have had")
DO = words("do does did")
MODALS = words("can could will would shall should may might must")
AUXILIARIES = BE | HAVE | DO | MODALS
NEGATIONS = words(
    "no not never nothing nobody none nowhere neither nor hardly barely scarcely rarely seldom "
    "without cannot nope few little"
)
#: Where one of these stands, removing a negation leaves no English ("It is any good").
WITH_NEGATION = words(
    "any anything anyone anybody anywhere anymore ever yet either neither nor at even but until "
    "unless much many necessarily exactly quite really only just because although though "
    "or bother mind care help long all that so too very far unlike single second "
    "believe least"
)
PREPOSITIONS = words(
    "of in on at by for with from about into over under through between against during after "
    "before to as like than off up down out around behind near without within upon"
)
CONJUNCTIONS = words(
    "and or but if when while because although though since that which who whom whose what where "
    "why how whether unless until so yet nor as"
)
OTHERS = words(
    "i me myself you yourself yourselves he him himself she herself it itself we us ourselves they "
    "them themselves everyone everybody everything someone somebody something anyone anybody "
    "anything not no never too very also both either neither such same own few many much more most "
    "less least other another each every all half several enough only just even still already "
    "always often sometimes usually ever again once twice then there here now well perhaps maybe "
    "however therefore thus instead otherwise indeed rather quite almost nearly anyway else "
    "one two three four five six seven eight nine ten let lets yes ok okay etc per via hers ours "
    "theirs mine yours cannot away back together apart along across above below toward towards "
    "onto beyond despite except besides among amongst throughout whatever whoever whichever "
    "whenever wherever ought shall ain't gonna whereas inside outside without"
)
FUNCTION = DETERMINERS | AUXILIARIES | PREPOSITIONS | CONJUNCTIONS | OTHERS | SUBJECTS | POSSESSIVES


def negated(word: str) -> bool:
    """Return whether this word alone is a negation."""
    return word in NEGATIONS or word.endswith("n't")
