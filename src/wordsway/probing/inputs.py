"""Requests that no verb on a model's text can answer, refused at the door."""

from __future__ import annotations

import math
from numbers import Real

from wordsway.errors import InputError
from wordsway.format import format_bytes
from wordsway.probing.memory import MEMORY
from wordsway.text.clean import checked


def check_text(text: object) -> str:
    """One text, before a model is loaded for it."""
    return checked(text)


def check_reach(reach: object) -> None:
    if not isinstance(reach, Real) or not 1e-6 <= float(reach) <= 1e6:
        raise InputError(
            "a reach ρ between 1e-6 and 1e6",
            repr(reach),
            "1 lets Δ be as long as the word's own embedding",
        )


def check(reach: object, effort: object = 1.0, memory: int = MEMORY) -> None:
    """Refuse what no search can do."""
    check_reach(reach)
    if not isinstance(effort, Real) or not 0 < float(effort) < math.inf:
        raise InputError("an effort > 0", repr(effort), "1 is the default")
    if memory < 2**20:
        raise InputError(
            "a memory budget of at least 1 MiB", format_bytes(memory), "leave it at 2 GiB"
        )
