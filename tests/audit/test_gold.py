"""The gold triples are what docs/gold.md says."""

from __future__ import annotations

import difflib
import re
from collections import Counter

from wordsway.auditing.edits import TURNING
from wordsway.auditing.gold import gold_triples


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def words_changed(a: str, b: str) -> int:
    one, other = words(a), words(b)
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    same = sum(block.size for block in matcher.get_matching_blocks())
    return max(len(one), len(other)) - same


def overlap(a: str, b: str) -> float:
    one, other = set(words(a)), set(words(b))
    return len(one & other) / len(one | other)


def test_fields_kinds_and_counts():
    triples = gold_triples()
    assert len(triples) >= 400 and len({one.text for one in triples}) == len(triples)
    assert {one.field for one in triples} == {"everyday", "medical", "legal", "finance", "support"}
    kinds = Counter(one.kind for one in triples)
    assert set(kinds) == set(TURNING) and min(kinds.values()) >= 40
    assert min(Counter((one.field, one.kind) for one in triples).values()) >= 9


def test_rewordings_have_their_strength_and_changes_are_minimal():
    for one in gold_triples():
        assert len({one.text, one.light, one.heavy, one.change}) == 4
        assert 1 <= words_changed(one.text, one.light) <= 4, one
        assert overlap(one.text, one.heavy) <= 0.4, one
        assert words_changed(one.text, one.change) <= 3, one
        for text in one[2:]:
            assert text == text.strip() and text[-1] in ".?!" and text[0].isupper(), text
