"""One HTML document that needs no other file: its style, its frame, and the rules that a browser
holds it to.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from wordsway.core.escape import html_json, html_line


@cache
def asset(name: str) -> str:
    """A style sheet or a script that lies beside this file."""
    return (files("wordsway.render.html") / "assets" / name).read_text("utf-8")


def document(
    title: str,
    body: Sequence[str],
    *,
    style: str = "",
    data: Mapping[str, Any] | None = None,
    script: str = "",
) -> str:
    """A whole page, readable offline, wide and narrow, light and dark; ``data`` is kept in it as
    JSON, and only ``script`` may run.
    """
    scripts = f"; script-src '{_digest(script)}'" if script else ""
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:{scripts}; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html_line(title)}</title><style>{asset('page.css')}{style}</style></head>",
        "<body><main>",
        *body,
        "</main>",
    ]
    if data is not None:
        parts.append(f'<script type="application/json" id="result">{html_json(data)}</script>')
    if script:
        parts.append(f"<script>{script}</script>")
    return "\n".join(parts) + "</body></html>\n"


def page_around(
    title: str, fragment: str, facts: Mapping[str, object], data: Mapping[str, Any]
) -> str:
    """A page around a fragment: its title above, where its numbers come from below."""
    body = [f"<h1>{html_line(title)}</h1>", fragment]
    if facts:
        body += ["<h2>Where these numbers come from</h2>", facts_list(facts)]
    model = f" · {facts['model']}" if "model" in facts else ""
    return document(f"{title}{model}", body, data=data)


def facts_list(facts: Mapping[str, object]) -> str:
    """Names with their values."""
    rows = "".join(
        f"<dt>{html_line(name)}</dt><dd><bdi>{html_line(value)}</bdi></dd>"
        for name, value in facts.items()
    )
    return f"<dl>{rows}</dl>"


def _digest(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
