"""What tests of views share: texts that would do harm, what no view may pass on, and a page as a
browser takes it.
"""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser
from typing import Any

from rich.console import Console

HOSTILE = (
    "<script>alert(1)</script> </script> <!-- \x1b[31mred \x9b1m \x00 \x07 "
    "שלום עולם مرحبا e\u0301a\u0301 👩\u200d👧 😀 \u202eevil\u2066"
    " $x$ $ [bold] [/bold] :smile: &amp; \"'> 你好\u2028line\u2029\r\nend \ud800 \ufeff \x7f"
)
#: What no view may pass on: controls of the terminal, overrides of the direction, halves of
#: characters.
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def printed(panel: object, width: int, *, colours: bool = False, **options: Any) -> str:
    file = io.StringIO()
    Console(
        file=file,
        width=width,
        force_terminal=colours,
        color_system="truecolor" if colours else None,
        **options,
    ).print(panel)
    return file.getvalue()


class Page(HTMLParser):
    """A document as a browser takes it: its tags, and what is read."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.read: list[str] = []
        self.data = ""
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "rect", "path", "circle", "polyline"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.data += data
        elif self.open and self.open[-1] != "style":
            self.read.append(data)

    def attributes(self, name: str) -> list[str]:
        return [attrs[name] or "" for _, attrs in self.tags if name in attrs]
