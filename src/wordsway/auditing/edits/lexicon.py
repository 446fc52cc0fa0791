"""Words that rules read, from word_lists.toml: function words, auxiliaries, and the lists of each
file of rules.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from types import SimpleNamespace


def words(listed: str) -> frozenset[str]:
    """Return a set of words, written in a row."""
    return frozenset(listed.split())


def pairs(table: str) -> dict[str, str]:
    """Return the rows "word other" of a table, separated by bars or line breaks; "~" is a space."""
    rows = [row.split() for row in table.replace("\n", "|").split("|") if row.strip()]
    return {one: other.replace("~", " ") for one, other in rows}


_SECTIONS = tomllib.loads(files(__package__).joinpath("word_lists.toml").read_text("utf-8"))


def word_lists(section: str) -> SimpleNamespace:
    """Return the lists of a section: sets of words, and tables of pairs as dictionaries."""
    found = _SECTIONS[section].items()
    return SimpleNamespace(
        **{name: pairs(listed) if "|" in listed else words(listed) for name, listed in found}
    )


SHARED = word_lists("shared")
AUXILIARIES: frozenset[str] = SHARED.be | SHARED.have | SHARED.do | SHARED.modals
FUNCTION: frozenset[str] = AUXILIARIES.union(
    SHARED.determiners,
    SHARED.prepositions,
    SHARED.conjunctions,
    SHARED.subjects,
    SHARED.possessives,
    SHARED.others,
)


def negated(word: str) -> bool:
    """Return whether this word alone is a negation."""
    return word in SHARED.negations or word.endswith("n't")
