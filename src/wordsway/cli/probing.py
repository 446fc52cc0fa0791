"""What the commands on pretrained models share: where the text comes from."""

from __future__ import annotations

import sys

from wordsway.errors import InputError


def text_of(text: str | None) -> str:
    """The text of an argument, or of standard input where it is "-" or missing and something is piped in."""
    if text is None and sys.stdin.isatty():
        raise InputError("a text", "none", 'write it behind the command: wordsway words "I love her much"')
    if text is None or text == "-":
        piped = sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\n")
        if not piped.strip():
            raise InputError("a text", "nothing on standard input", 'write it behind the command: wordsway words "I love her much"')
        return piped
    return text
