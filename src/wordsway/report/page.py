"""`index.html`: one self-contained page per run, readable offline, wide and narrow, light and dark."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wordsway.studies.finding import FAILS, HOLDS, Finding
from wordsway.whole import whole

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


@dataclass(frozen=True)
class Plate:
    """A figure of the page: its SVG, its caption, and the files beside the page."""

    title: str
    svg: Path
    caption: str
    files: Sequence[str]


@dataclass(frozen=True)
class Page:
    """Everything that the page says."""

    title: str
    lead: str
    plates: Sequence[Plate]
    findings: Sequence[Finding]
    facts: dict[str, str]
    command: str
    notes: Sequence[str] = field(default_factory=list)


def write_page(page: Page, path: Path) -> Path:
    """One file without any reference to another place; whole or not at all."""
    body = [f"<h1>{_text(page.title)}</h1>", f'<p class="lead">{_text(page.lead)}</p>']
    body += [_plate(plate, number) for number, plate in enumerate(page.plates)]
    if page.findings:
        body += ["<h2>What the paper claims, and what was measured</h2>", _findings(page.findings)]
    body += [f"<p>{_text(note)}</p>" for note in page.notes]
    body += ["<h2>Where these numbers come from</h2>", f"<pre>{_text(page.command)}</pre>", _facts(page.facts)]
    document = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(page.title)}</title><style>{STYLE}</style></head>\n<body><main>\n" + "\n".join(body) + "\n</main></body></html>\n"
    )
    with whole(path) as partial:
        partial.write_text(document, "utf-8")
    return path


def _plate(plate: Plate, number: int) -> str:
    links = " · ".join(f'<a href="{_text(name)}">{_text(name)}</a>' for name in plate.files)
    return (
        f'<h2>{_text(plate.title)}</h2><figure role="group" aria-label="{_text(plate.title)}">'
        f'<div class="plot">{_inline(plate.svg, number)}</div>'
        f"<figcaption>{_text(plate.caption)} <br>{links}</figcaption></figure>"
    )


def _inline(path: Path, number: int) -> str:
    """The SVG without its prologue, its names made unique so that several fit on one page."""
    svg = path.read_text("utf-8")
    svg = svg[svg.index("<svg") :]
    width = float(re.search(r'width="([\d.]+)pt"', svg)[1])  # type: ignore[index]
    svg = svg.replace("<svg ", f'<svg style="max-width:{width * 1.35:.0f}px;min-width:{width * 0.8:.0f}px" ', 1)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>f{number}-", svg)


def _findings(findings: Sequence[Finding]) -> str:
    rows = []
    for one in findings:
        kind = {HOLDS: "agrees", FAILS: "disagrees"}.get(one.verdict, "open")
        cells = "".join(f"<td>{_text(cell)}</td>" for cell in (one.figure, one.claim, one.series, one.measured))
        rows.append(f'<tr>{cells}<td class="verdict {kind}">{_text(one.verdict)}</td></tr>')
    head = "<tr><th>Figure</th><th>Claim</th><th>On</th><th>Measured (95 % interval)</th><th>Verdict</th></tr>"
    return f'<div class="scroll"><table><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>'


def _facts(facts: dict[str, str]) -> str:
    return "<dl>" + "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in facts.items()) + "</dl>"


def _text(value: object) -> str:
    """Escaped, and without characters that could steer anything."""
    return html.escape("".join(char if char.isprintable() or char in "\n\t" else "�" for char in str(value)))
