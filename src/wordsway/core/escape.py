"""Escape untrusted text for terminals, pages, pictures and spreadsheets; the only module that does.

A word, a label, a column or a file name may contain anything. All output of such text passes
through here, so that it can neither control a terminal, nor become markup, nor be evaluated by a
spreadsheet.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

#: Joiners shape letters and emoji; they steer nothing.
JOINERS = "\u200c\u200d"
RIGHT_TO_LEFT = {"R", "AL", "AN"}
#: A cell that a spreadsheet would compute: a sign (full-width ones count in some languages) with
#: something behind it.
_FORMULA = re.compile("'*[\\s\ufeff]*[=+\\-@＝＋－＠].", re.DOTALL)


def readable(text: object) -> str:
    """Replace unprintable characters by �, and white space by a space or a new line.

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
    """A readable text in one line.

    >>> one_line("no such file:\\r\\n\\x1b]0;title\\x07")
    'no such file: �]0;title�'
    """
    return readable(text).replace("\n", " ")


def same_length(text: str) -> str:
    """A readable text with every character in its own place, where some spans of it are marked.

    >>> same_length("a\\r\\nb")
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


def runs_right_to_left(text: str) -> bool:
    return any(unicodedata.bidirectional(char) in RIGHT_TO_LEFT for char in text)


def html_text(text: object) -> str:
    """A readable text for HTML, between tags or in a quoted attribute.

    >>> html_text('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return html.escape(readable(text))


def html_line(text: object) -> str:
    return html.escape(one_line(text))


def html_name(word: object) -> str:
    """A word for HTML that keeps its direction to itself."""
    return f"<bdi>{html_line(word)}</bdi>"


def html_json(data: Mapping[str, Any]) -> str:
    """JSON for a script element: plain ASCII that ends no script and opens no comment.

    >>> html_json({"word": "</script>"})
    '{"word":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for char in "<>&\x7f":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def csv_cell(value: Any) -> Any:
    """A cell that no spreadsheet evaluates: a text that would be a formula gets a leading '.

    Numbers, also those in texts, stay. A text that already begins with one gets another, so that
    removing one restores the original.

    >>> csv_cell("=HYPERLINK(1)"), csv_cell("-0.5"), csv_cell("well-made"), csv_cell(-0.5)
    ("'=HYPERLINK(1)", '-0.5', 'well-made', -0.5)
    """
    if not isinstance(value, str) or not _FORMULA.match(value):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def csv_frame(frame: pandas.DataFrame) -> pandas.DataFrame:
    """A table, ready for a CSV file: no text and no column name is evaluated as a formula."""
    texts = {
        name: frame[name].map(csv_cell)
        for name in frame.columns
        if frame[name].dtype.kind == "O" or str(frame[name].dtype) in ("str", "string", "category")
    }
    return frame.assign(**texts).rename(columns=csv_cell)
