"""Labels as ±1."""

from __future__ import annotations

from collections.abc import Mapping

from wordsway.core.errors import InputError

#: Names whose sign is not a matter of taste.
KNOWN = {
    "0": -1,
    "1": 1,
    "-1": -1,
    "neg": -1,
    "pos": 1,
    "negative": -1,
    "positive": 1,
    "false": -1,
    "true": 1,
    "no": -1,
    "yes": 1,
}


def spelled(label: object) -> str:
    """A label as text: 1, 1.0, True and "1" are not told apart from their spelling in a file.

    >>> spelled(1.0), spelled(True), spelled(" pos ")
    ('1', 'true', 'pos')
    """
    if isinstance(label, bool):
        return str(label).lower()
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    return str(label).strip()


def signs(kinds: set[str], where: str) -> Mapping[str, int]:
    """−1 or +1 for each kind of label: by its name where that says it, else the smaller one is −1.

    >>> dict(sorted(signs({"pos", "neg"}, "reviews.csv").items()))
    {'neg': -1, 'pos': 1}
    >>> dict(sorted(signs({"spam", "ham"}, "mail.csv").items()))
    {'ham': -1, 'spam': 1}
    """
    if len(kinds) > 2:
        shown = ", ".join(sorted(kinds)[:5]) + (" …" if len(kinds) > 5 else "")
        raise InputError(
            f"two kinds of labels in {where}",
            f"{shown}",
            "keep two of them, or pass an empty --label-column to read without labels",
        )
    by_name = {kind: KNOWN[kind.lower()] for kind in kinds if kind.lower() in KNOWN}
    if len(by_name) == len(kinds) and len(set(by_name.values())) == len(kinds):
        return by_name
    ordered = sorted(kinds, key=_order)
    return dict(zip(ordered, (-1, 1) if len(ordered) == 2 else (1,), strict=True))


def _order(kind: str) -> tuple[int, float, str]:
    try:
        return (0, float(kind), kind)
    except ValueError:
        return (1, 0.0, kind)
