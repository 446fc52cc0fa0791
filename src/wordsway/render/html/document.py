"""One HTML document that needs no other file: its style, its modules as one script, its policy."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from wordsway.core.errors import WordswayError
from wordsway.core.escape import html_json, html_line
from wordsway.core.result import json_value

#: The package whose folder `assets` has the modules that all pages share.
SHARED = "wordsway.render.html"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w.]+)";\n', flags=re.MULTILINE)
_NAMED = re.compile(r"^(?:export )?(?:const|let|function\*?|class) (\w+)", flags=re.MULTILINE)


@cache
def asset(name: str, package: str = SHARED) -> str:
    """A style sheet or a script of a package, or of the shared ones where it has none."""
    file = files(package) / "assets" / name
    return (file if file.is_file() else files(SHARED) / "assets" / name).read_text("utf-8")


def document(
    title: str,
    body: Sequence[str],
    *,
    style: str = "",
    data: Mapping[str, Mapping[str, Any]] | None = None,
    script: str = "",
) -> str:
    """A whole page; ``data`` is embedded as JSON under its names, and only ``script`` may run."""
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
    parts += [
        f'<script type="application/json" id="{name}">{html_json(json_value(one))}</script>'
        for name, one in (data or {}).items()
    ]
    if script:
        parts.append(f"<script>{script}</script>")
    return "\n".join(parts) + "</body></html>\n"


def bundled(entry: str, package: str = SHARED, *, module: bool = False) -> str:
    """The modules that ``entry`` needs as one script, each after those that it imports."""
    order: list[str] = []

    def visit(name: str, path: tuple[str, ...] = ()) -> None:
        if name in path:
            raise WordswayError(f"{name} imports itself: {' → '.join((*path, name))}")
        if name not in order:
            for needed in _IMPORT.findall(asset(name, package)):
                visit(needed, (*path, name))
            order.append(name)

    visit(entry)
    parts = {name: _IMPORT.sub("", asset(name, package)) for name in order}
    known: dict[str, str] = {}
    for name, part in parts.items():
        for exported in _NAMED.findall(part):
            if exported in known:
                raise WordswayError(f"{exported} is named in both {known[exported]} and {name}")
            known[exported] = name
    body = "\n".join(
        part if module and name == entry else re.sub(r"^export ", "", part, flags=re.MULTILINE)
        for name, part in parts.items()
    )
    return body if module else f'(() => {{\n"use strict";\n{body}}})();\n'


def _digest(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
