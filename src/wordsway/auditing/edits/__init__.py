"""Minimal edits of English sentences whose effect on the meaning is known: all kinds, by name.

A new kind is a `Rule` in a file of this folder, and its line in `RULES`; one that turns the meaning
also needs gold triples (`wordsway.auditing.gold`).
"""

from __future__ import annotations

from wordsway.auditing.edits.edit import Rule
from wordsway.auditing.edits.meaning import ANTONYMS, SYNONYMS
from wordsway.auditing.edits.modality import COMPARATIVES, MODALS
from wordsway.auditing.edits.names import NAMES
from wordsway.auditing.edits.negation import NEGATION
from wordsway.auditing.edits.quantities import NUMBERS, QUANTIFIERS, UNITS
from wordsway.auditing.edits.rewording import CLAUSES, DIGITS, FRAME, OPPOSITES
from wordsway.auditing.edits.small_words import ARTICLES, POLITENESS
from wordsway.auditing.edits.spelling import CONTRACTIONS, SPELLING

RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        NEGATION,
        ANTONYMS,
        NUMBERS,
        UNITS,
        QUANTIFIERS,
        NAMES,
        MODALS,
        COMPARATIVES,
        SYNONYMS,
        SPELLING,
        CONTRACTIONS,
        ARTICLES,
        POLITENESS,
        CLAUSES,
        OPPOSITES,
        DIGITS,
        FRAME,
    )
}
TURNING = tuple(name for name, rule in RULES.items() if rule.role == "turning")
KEEPING = tuple(name for name, rule in RULES.items() if rule.role == "keeping")
SMALL = tuple(name for name in KEEPING if RULES[name].strength == "small")
