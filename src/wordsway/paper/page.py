"""`index.html`: one self-contained page per run, with its figures, its claims and its facts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wordsway.atomic import atomic
from wordsway.escape import html_text
from wordsway.paper.finding import FAILS, HOLDS, Finding
from wordsway.render.html.page import document, facts_list


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
    body = [f"<h1>{html_text(page.title)}</h1>", f'<p class="lead">{html_text(page.lead)}</p>']
    body += [_plate(plate, number) for number, plate in enumerate(page.plates)]
    if page.findings:
        body += ["<h2>What the paper claims, and what was measured</h2>", _findings(page.findings)]
    body += [f"<p>{html_text(note)}</p>" for note in page.notes]
    body += [
        "<h2>Where these numbers come from</h2>",
        f"<pre>{html_text(page.command)}</pre>",
        facts_list(page.facts),
    ]
    with atomic(path) as partial:
        partial.write_text(document(page.title, body), "utf-8")
    return path


def _plate(plate: Plate, number: int) -> str:
    links = " · ".join(f'<a href="{html_text(name)}">{html_text(name)}</a>' for name in plate.files)
    return (
        f'<h2>{html_text(plate.title)}</h2><figure role="group" aria-label="{html_text(plate.title)}">'
        f'<div class="plot">{_inline(plate.svg, number)}</div>'
        f"<figcaption>{html_text(plate.caption)} <br>{links}</figcaption></figure>"
    )


def _inline(path: Path, number: int) -> str:
    """The SVG without its prologue, its names made unique so that several fit on one page."""
    svg = path.read_text("utf-8")
    svg = svg[svg.index("<svg") :]
    width = float(re.search(r'width="([\d.]+)pt"', svg)[1])  # type: ignore[index]
    svg = svg.replace(
        "<svg ", f'<svg style="max-width:{width * 1.35:.0f}px;min-width:{width * 0.8:.0f}px" ', 1
    )
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>f{number}-", svg)


def _findings(findings: Sequence[Finding]) -> str:
    rows = []
    for one in findings:
        kind = {HOLDS: "agrees", FAILS: "disagrees"}.get(one.verdict, "open")
        cells = "".join(
            f"<td>{html_text(cell)}</td>"
            for cell in (one.figure, one.claim, one.series, one.measured)
        )
        rows.append(f'<tr>{cells}<td class="verdict {kind}">{html_text(one.verdict)}</td></tr>')
    head = "<tr><th>Figure</th><th>Claim</th><th>On</th><th>Measured (95 % interval)</th><th>Verdict</th></tr>"
    return f'<div class="scroll"><table><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>'
