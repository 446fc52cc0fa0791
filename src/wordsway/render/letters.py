"""Letters made harmless: no text can drive a terminal, a page or a picture."""

from __future__ import annotations

import html
import re
import unicodedata

#: Joiners shape letters and emoji; they steer nothing.
JOINERS = "\u200c\u200d"
RIGHT_TO_LEFT = {"R", "AL", "AN"}


def readable(text: object) -> str:
    """A text in characters that can be seen: others become �, white space a space or a new line.

    >>> readable("a\\x1b[31m\\u202eb\\xa0c")
    'a�[31m�b c'
    """
    lines = re.sub("\r\n|[\r\u2028\u2029]", "\n", str(text))
    return "".join(_visible(char) for char in lines)


def _visible(char: str) -> str:
    if char.isprintable() or char == "\n" or char in JOINERS:
        return char
    return " " if char == "\t" or unicodedata.category(char) == "Zs" else "�"


def one_line(text: object) -> str:
    """The same, in one line."""
    return readable(text).replace("\n", " ")


def in_its_place(text: str) -> str:
    """The same with every character in its own place, for texts of which some spans are marked.

    >>> in_its_place("a\\r\\nb")
    'a  b'
    """
    return "".join(" " if char.isspace() else _visible(char) for char in text)


def shortened(text: object, limit: int) -> str:
    """One line without needless space, cut in the middle when it is long.

    >>> shortened("from  beginning to end", 11)
    'from … end'
    """
    shown = " ".join(one_line(text).split())
    half = (limit - 3) // 2
    return shown if len(shown) <= limit else f"{shown[:half].rstrip()} … {shown[-half:].lstrip()}"


def escaped(text: object) -> str:
    """A readable text for HTML."""
    return html.escape(readable(text))


def escaped_line(text: object) -> str:
    return html.escape(one_line(text))


def escaped_name(word: object) -> str:
    """A word for HTML that keeps its direction to itself."""
    return f"<bdi>{escaped_line(word)}</bdi>"


def runs_right_to_left(text: str) -> bool:
    return any(unicodedata.bidirectional(char) in RIGHT_TO_LEFT for char in text)
