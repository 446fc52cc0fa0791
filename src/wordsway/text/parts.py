"""The parts of speech of an English word in the form in which it stands (a verb in the past is
replaced by a verb in the past, a plural by a plural), and in its place in a sentence.

Words of the closed classes (articles, pronouns, prepositions, …) are a table; what others can be
follows from WordNet's counts of their base forms. Where a word can be of several parts, its
neighbours decide by a few rules; where they do not, nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from wordsway.text.forms import ENGLISH, singular, verb_forms
from wordsway.text.wordnet import Pos, wordnet

CLOSED: dict[str, frozenset[str]] = {
    word: frozenset(part for part, words in ENGLISH["closed"].items() if word in words.split())
    for word in " ".join(ENGLISH["closed"].values()).split()
}
#: Forms that no rule makes: they are verbs, too.
_BE = {"am": "", "are": "", "is": "s", "was": "ed", "were": "ed"}
#: A part of speech met less often than this share of the word's most frequent one is left out.
RARE = 0.1


_LINKS, _DEGREES = (frozenset(ENGLISH[name].split()) for name in ("links", "degrees"))
_NEGATIONS = {"not", "never", "n't"}


@cache
def part_counts(word: str) -> dict[str, int]:
    """How often the word was met as each of the parts that it can be in this form, such as
    "verb ed" or "noun s"; 0 for those of the closed classes. A proper name is no noun: it does not
    stand where one does.

    >>> sorted(part_counts("safe")), part_counts("qzx")
    (['adj', 'noun'], {})
    """
    word = word.lower()
    if word in CLOSED:
        return dict.fromkeys(CLOSED[word], 0)
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
    return found


def parts_in_form(word: str) -> frozenset[str]:
    """What the word can be; parts met far less often than its most frequent one are left out.

    >>> sorted(parts_in_form("loved")), sorted(parts_in_form("her")), sorted(parts_in_form("women"))
    (['verb ed'], ['determiner', 'object'], ['noun s'])
    >>> sorted(parts_in_form("paris")), parts_in_form("qzx")
    (['name'], frozenset())
    """
    counts = part_counts(word)
    most = max(counts.values(), default=0)
    return frozenset(name for name, count in counts.items() if count >= RARE * most)


def is_mainly(word: str, parts: frozenset[str]) -> bool:
    """Whether the word is one of these parts more often than anything else, and was met as such.

    >>> is_mainly("dull", frozenset({"adj"})), is_mainly("drummer", frozenset({"adj"}))
    (True, False)
    """
    counts = part_counts(word)
    if word.lower() in CLOSED:
        return not parts.isdisjoint(counts)
    most = max(counts.values(), default=0)
    return most > 0 and any(counts.get(part) == most for part in parts)


def parts_in_place(words: Sequence[str], at: int) -> frozenset[str]:
    """What ``words[at]`` can be between its neighbours: of one kind (noun, verb, adjective, adverb,
    …) where they decide, of several where they do not.

    >>> sorted(parts_in_place("The drug is safe .".split(), 3))
    ['adj']
    >>> sorted(parts_in_place("They keep the safe in a wall".split(), 3))
    ['noun']
    >>> sorted(parts_in_place("I love her much".split(), 1))
    ['verb']
    """
    usual, possible = parts_in_form(words[at]), frozenset(part_counts(words[at]))
    if len(kinds(possible)) > 1:
        before = [word.lower() for word in words[:at]]
        after = words[at + 1].lower() if at + 1 < len(words) else ""
        for parts in (usual, possible):
            for kind in _expected(before, after):
                found = frozenset(part for part in parts if part.split()[0] == kind)
                if found:
                    return found
    return usual


def kinds(parts: frozenset[str]) -> set[str]:
    """Parts of speech without their forms.

    >>> sorted(kinds(frozenset({"verb ed", "verb", "noun s"})))
    ['noun', 'verb']
    """
    return {part.split()[0] for part in parts}


def _expected(before: list[str], after: str) -> tuple[str, ...]:
    """Kinds of word that can stand between these, likeliest first; none if undecided."""
    while before and before[-1] in _NEGATIONS:
        before = before[:-1]
    last = before[-1] if before else ""
    closed, following = CLOSED.get(last, frozenset()), CLOSED.get(after, frozenset())
    previous, next_kinds = kinds(parts_in_form(last)), kinds(parts_in_form(after))
    ends = not after[:1].isalnum()
    if last in _DEGREES:
        return ("adj", "adv")
    if last in _BE or {base for base, _ in verb_forms(last)} & _LINKS:
        return ("adj", "verb") if ends or following & {"preposition", "conjunction"} else ()
    if "auxiliary" in closed or last == "to" or closed == {"subject"}:
        return ("verb",)
    if "determiner" in closed and "object" not in closed:
        return ("adj", "noun", "name") if next_kinds & {"noun", "adj"} else ("noun", "name")
    if previous == {"adj"}:
        return ("noun", "name")
    if last and "determiner" in following and previous <= {"noun", "name"}:
        return ("verb",)
    if "verb" in previous or "object" in closed:
        if ends:
            return ("object", "adv", "noun")
        return ("determiner",) if next_kinds and next_kinds <= {"noun", "name"} else ()
    return ()
