"""Fix texts without moving characters, so that spans fit the original."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wordsway.core.errors import InputError

_BREAK = re.compile(r"<\s{0,8}/?\s{0,8}br\s{0,8}/?\s{0,8}>", re.IGNORECASE)
STRAY = re.compile("[\ud800-\udfff]")


@dataclass
class Faults:
    """Counts of texts read, HTML line breaks, texts with encoding faults, and rows skipped."""

    texts: int = 0
    breaks: int = 0
    encoding: int = 0
    empty: int = 0

    def to_dict(self) -> dict[str, int]:
        return {
            "texts": self.texts,
            "html_breaks": self.breaks,
            "encoding_faults": self.encoding,
            "empty": self.empty,
        }


def clean(text: str, faults: Faults) -> str:
    """The text with HTML line breaks blanked and undecodable bytes as �, of the same length; both
    are counted.

    >>> faults = Faults()
    >>> clean("Good.<br /><br />Bad.", faults), faults.breaks
    ('Good.\\n     \\n     Bad.', 2)
    """
    faults.texts += 1
    if "<" in text:
        text, found = _BREAK.subn(lambda match: "\n" + " " * (len(match[0]) - 1), text)
        faults.breaks += found
    if not text.isascii() and STRAY.search(text):
        text = STRAY.sub("�", text)
        faults.encoding += 1
    return text


def checked(text: object, name: str = "a text") -> str:
    """The text, if it is one of whole characters."""
    if isinstance(text, (list, tuple)):
        raise InputError(
            f"{name}, a string",
            f"a {type(text).__name__} of {len(text)}",
            "pass them one by one: for text in texts, with one ws.Probe for all",
        )
    if not isinstance(text, str) or STRAY.search(text):
        got = "lone surrogates" if isinstance(text, str) else type(text).__name__
        raise InputError(
            f"{name} of whole characters", got, "decode bytes first, with errors='replace'"
        )
    return text


def text_with_words(text: str, name: str = "a text") -> str:
    """The text, if it is one of whole characters that is not empty."""
    if not checked(text, name).strip():
        remedy = 'write one, such as "I love her smile"'
        raise InputError(f"{name} with words in it", "an empty one", remedy)
    return text
