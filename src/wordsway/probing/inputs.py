"""Requests that no verb on a model's text can answer, refused at the door."""

from __future__ import annotations

from wordsway.core.checks import Bytes, Positive, Reach, validated
from wordsway.core.errors import InputError
from wordsway.core.format import format_bytes
from wordsway.probing.memory import MEMORY
from wordsway.text.clean import checked


def check_text(text: object) -> str:
    """One text, before a model is loaded for it."""
    return checked(text)


@validated
def check(reach: Reach, effort: Positive = 1.0, memory: Bytes = MEMORY) -> None:
    """Refuse what no search can do."""
    if memory < 2**20:
        raise InputError(
            "a memory budget of at least 1 MiB", format_bytes(memory), "leave it at 2 GiB"
        )
