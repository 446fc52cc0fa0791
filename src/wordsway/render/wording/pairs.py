"""What every medium says of pairs of texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wordsway.audit.explained import EXPLAINED
from wordsway.audit.pairs_result import Pair, PairInModel, Pairs

#: Every column, with the sentence that explains it.
COLUMNS = {
    "cosine": EXPLAINED["cosine"],
    "change": EXPLAINED["change"],
    "above": "The share of random real words in the place of the change that move the embedding "
    "less than it does.",
    "parts in": EXPLAINED["parts"],
}


def in_place(pair: Pair) -> tuple[str, str, str, str]:
    """What stands before the change, what goes, what comes, and what stands behind it."""
    start, before, after = pair.place
    return pair.a[:start], before.strip(), after.strip(), pair.a[start + len(before) :]


def heading(pairs: Pairs) -> str:
    """How many pairs, and what they were compared with."""
    count = len(pairs.pairs)
    words = f", beside {pairs.draws} random words in each place" if pairs.draws else ""
    return f"{count:,} {'pair' if count == 1 else 'pairs'} of texts{words}"


def percent(share: float | None) -> str:
    """
    >>> percent(12.5), percent(None)
    ('12 %', '–')
    """
    return "–" if share is None else f"{share:.0f} %"


def verdict(one: PairInModel) -> str:
    """One sentence about a percentile."""
    if one.percentile is None:
        return ""
    return f"{percent(one.percentile)} of random words move it less"


def models_facts(models: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Every model with its hash and what else decides its numbers."""
    facts = {}
    for number, model in enumerate(models, 1):
        more = [
            f"{name} {model[name]}" for name in ("pooling", "dtype", "twin") if _says(model, name)
        ]
        facts[f"model {number}"] = ", ".join([str(model["name"]), f"{model['sha256']}", *more])
    return facts


def _says(model: Mapping[str, Any], name: str) -> bool:
    return model.get(name) is not None
