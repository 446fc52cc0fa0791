"""A picture inside a document."""

from __future__ import annotations

import re


def inline_svg(svg: str, prefix: str) -> str:
    """An SVG without its prologue, as wide as there is room for, on white; its names begin with
    ``prefix``, so that several fit on one page.
    """
    svg = svg[svg.index("<svg") :]
    width = float(re.search(r'width="([\d.]+)pt"', svg)[1])  # type: ignore[index]
    look = f"width:100%;max-width:{width * 1.35:.0f}px;height:auto;background:#fff"
    svg = svg.replace("<svg ", f'<svg role="img" style="{look}" ', 1)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}", svg)
