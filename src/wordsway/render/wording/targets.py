"""What moves, and in which unit its change is counted, in plain words."""

from __future__ import annotations

NAMES = {
    "all": "the average layer",
    "pooled": "the text's embedding",
    "cosine": "the text's embedding (cosine distance)",
    "logits": "the classifier's answer (its logits)",
    "next-token": "the next token's distribution",
}
SIZES = {
    "cosine": "as 1 − cosine (0: the same direction, 1: at a right angle)",
    "next-token": "as a distance of distributions (0: the same, 1.41: nothing in common)",
}


def named(target: str, layers: int | None = None) -> str:
    """What moves; a layer says of how many, where that is known.

    >>> named("layer 6", 6), named("pooled")
    ('layer 6 of 6', "the text's embedding")
    """
    return NAMES.get(target, target if layers is None else f"{target} of {layers}")


def sized(target: str) -> str:
    """In which unit its change is counted.

    >>> sized("layer 6")
    'relative to its size'
    """
    return SIZES.get(target, "relative to its size")
