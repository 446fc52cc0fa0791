"""One HTML document that needs no other file: its look, its frame, and the rules that a browser
holds it to.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from wordsway.render.letters import escaped_line

STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5b6675; --paper: #fbfaf7; --card: #ffffff; --line: #e3e0d8; --accent: #0072b2;
  --good: #00724f; --bad: #b3401b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e6e1; --soft: #a3adba; --paper: #14171c; --card: #1c2027; --line: #323843;
  --accent: #6cb8e6; --good: #4fc39b; --bad: #f08a5d; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 2.5rem 1.2rem 4rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .4rem; letter-spacing: -.01em; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .8rem; }
p { max-width: 68ch; } .lead { color: var(--soft); margin-top: 0; }
figure { margin: 0 0 1.6rem; background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1rem; }
figure svg { width: 100%; height: auto; display: block; margin: 0 auto; background: #fff; border-radius: 6px; }
.plot { overflow-x: auto; }
figcaption { color: var(--soft); font-size: .92rem; margin-top: .7rem; }
figcaption b { color: var(--ink); }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 12px; background: var(--card); }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; padding: .55rem .8rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; } tr:last-child td { border-bottom: 0; }
.verdict { font-weight: 600; white-space: nowrap; } .agrees { color: var(--good); } .disagrees { color: var(--bad); }
.open { color: var(--soft); }
code, pre { font: .88rem/1.5 ui-monospace, SFMono-Regular, Menlo, monospace; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem; overflow-x: auto; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.2rem; font-size: .94rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
a { color: var(--accent); }
@media (max-width: 640px) { dl { grid-template-columns: 1fr; } dt { margin-top: .4rem; }
  h1 { font-size: 1.5rem; } main { padding-top: 1.4rem; }
  th, td { padding: .45rem .55rem; } }
@media print { body { background: #fff; } figure, .scroll, pre { break-inside: avoid; } }
"""


def document(
    title: str,
    body: Sequence[str],
    *,
    look: str = "",
    data: Mapping[str, Any] | None = None,
    script: str = "",
) -> str:
    """A whole page, readable offline, wide and narrow, light and dark; ``data`` is kept in it as
    JSON, and only ``script`` may run.
    """
    scripts = f"; script-src '{_digest(script)}'" if script else ""
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:{scripts}; base-uri 'none'; form-action 'none'"
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escaped_line(title)}</title><style>{STYLE}{look}</style></head>",
        "<body><main>",
        *body,
        "</main>",
    ]
    if data is not None:
        parts.append(f'<script type="application/json" id="result">{_embedded(data)}</script>')
    if script:
        parts.append(f"<script>{script}</script>")
    return "\n".join(parts) + "</body></html>\n"


def around(title: str, fragment: str, facts: Mapping[str, object], data: Mapping[str, Any]) -> str:
    """A page around a fragment: its title above, where its numbers come from below."""
    body = [
        f"<h1>{escaped_line(title)}</h1>",
        fragment,
        "<h2>Where these numbers come from</h2>",
        facts_list(facts),
    ]
    return document(f"{title} · {facts['model']}", body, data=data)


def facts_list(facts: Mapping[str, object]) -> str:
    """Names with their values."""
    rows = "".join(
        f"<dt>{escaped_line(name)}</dt><dd><bdi>{escaped_line(value)}</bdi></dd>"
        for name, value in facts.items()
    )
    return f"<dl>{rows}</dl>"


def _embedded(data: Mapping[str, Any]) -> str:
    """JSON in plain ASCII that ends no script and opens no comment: < > & only as \\u003c and so
    on.
    """
    plain = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return (
        plain.replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026")
        .replace("\x7f", "\\u007f")
    )


def _digest(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
