"""The parts of speech of an English word in the very form in which it stands: a verb in the past is
replaced by a verb in the past, a plural by a plural.

Words of the closed classes (articles, pronouns, prepositions, …) are a table; what others can be,
WordNet says of their base forms, by how often it met them.
"""

from __future__ import annotations

from functools import cache

from wordsway.text.forms import singular, verb_forms
from wordsway.text.wordnet import Pos, wordnet

_CLASSES = {
    "determiner": "a an the this that these those my your his her its our their some any no every "
    "each either neither both all another",
    "subject": "i you he she it we they who",
    "object": "me you him her it us them whom",
    "preposition": "of in on at by for with from to into onto over under above below between among "
    "through during before after against about without within near behind beside beyond upon "
    "toward towards across along around off since until",
    "conjunction": "and or but nor yet so because although though while if unless whereas than as",
    "question": "what which when where why how whose who whom",
    "auxiliary": "do does did can could will would shall should may might must",
}
CLOSED: dict[str, frozenset[str]] = {
    word: frozenset(part for part, words in _CLASSES.items() if word in words.split())
    for word in " ".join(_CLASSES.values()).split()
}
#: Forms that no rule makes: they are verbs, too.
_BE = {"am": "", "are": "", "is": "s", "was": "ed", "were": "ed"}
#: A part of speech met less often than this share of the word's most frequent one is left out.
RARE = 0.1


@cache
def parts_in_form(word: str) -> frozenset[str]:
    """What the word can be, such as "verb ed" or "noun s"; empty where nothing is known. A proper
    name is no noun: it does not stand where one does.

    >>> sorted(parts_in_form("loved")), sorted(parts_in_form("her")), sorted(parts_in_form("women"))
    (['verb ed'], ['determiner', 'object'], ['noun s'])
    >>> sorted(parts_in_form("paris")), parts_in_form("qzx")
    (['name'], frozenset())
    """
    word = word.lower()
    if word in CLOSED:
        return CLOSED[word]
    net = wordnet().counts
    found: dict[str, int] = {}

    def add(base: str, pos: Pos, form: str = "") -> None:
        count = net.get(base, {}).get(pos)
        if count is not None:
            kind = "name" if pos == "noun" and wordnet().is_name(base) else pos
            name = f"{kind} {form}".strip()
            found[name] = max(count, found.get(name, 0))

    for base, form in verb_forms(word):
        add(base, "verb", "ed" if form == "en" else form)
    if word in _BE:
        add("be", "verb", _BE[word])
    add(word, "noun")
    add(word, "adj")
    add(word, "adv")
    one = singular(word)
    if one is not None:
        add(one, "noun", "s")
    for ending in ("er", "est"):
        if word.endswith(ending):
            stem = word.removesuffix(ending)
            for base in (stem, f"{stem}e", stem[:-1], f"{stem[:-1]}y"):
                add(base, "adj", ending)
    most = max(found.values(), default=0)
    return frozenset(name for name, count in found.items() if count >= RARE * most)
