"""All kinds of edits, by name."""

from __future__ import annotations

from wordsway.audit.edits.edit import Rule
from wordsway.audit.edits.meaning import ANTONYMS, SYNONYMS
from wordsway.audit.edits.modality import COMPARATIVES, MODALS
from wordsway.audit.edits.names import NAMES
from wordsway.audit.edits.negation import NEGATION
from wordsway.audit.edits.quantities import NUMBERS, QUANTIFIERS, UNITS
from wordsway.audit.edits.small_words import ARTICLES, POLITENESS
from wordsway.audit.edits.spelling import CONTRACTIONS, SPELLING

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
    )
}
TURNING = tuple(name for name, rule in RULES.items() if rule.role == "turning")
KEEPING = tuple(name for name, rule in RULES.items() if rule.role == "keeping")
