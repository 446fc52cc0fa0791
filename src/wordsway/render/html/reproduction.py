"""`index.html`: one self-contained page per run, with its figures, its claims and its facts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from wordsway.escape import html_line
from wordsway.paper.finding import FAILS, HOLDS, Finding
from wordsway.paper.reproduce import Drawn, Reproduction
from wordsway.render.html import fragments, pages
from wordsway.render.html.page import document, facts_list

TITLE = "How far can one word sway a layer?"
LEAD = (
    "The figures of “Towards Understanding the Word Sensitivity of Attention Layers” (Bombari and "
    "Mondelli, ICML 2024), measured anew: S is the largest relative change of a layer’s features "
    "when one word moves by at most its own norm. Figures 4 and 5 ask what follows: can a linear "
    "readout of the layer learn that this word flips the label? Figures 1, 3.3 and 3.4 show the "
    "same inside pretrained models."
)
CLASSES = {HOLDS: "agrees", FAILS: "disagrees"}
HEADS = ("Figure", "Claim", "On", "Measured (95 % interval)", "Verdict")


@fragments.register(Reproduction)
def reproduction_fragment(result: Reproduction) -> str:
    """The claims; the figures are on the page."""
    return _findings(result.findings)


@pages.register(Reproduction)
def reproduction_page(result: Reproduction) -> str:
    """Figures, claims and facts, without any reference to another place."""
    lead = LEAD + (" A quick subset of the full run." if result.quick else "")
    body = [f"<h1>{html_line(TITLE)}</h1>", f'<p class="lead">{html_line(lead)}</p>']
    body += [_figure(drawn, result.folder, number) for number, drawn in enumerate(result.figures)]
    if result.findings:
        body += ["<h2>What the paper claims, and what was measured</h2>"]
        body += [_findings(result.findings)]
    body += [
        "<h2>Where these numbers come from</h2>",
        f"<pre>{html_line(result.command)}</pre>",
        facts_list(result.facts),
    ]
    return document(TITLE, body, data=result.to_dict())


def _figure(drawn: Drawn, folder: Path, number: int) -> str:
    names = [html_line(name) for name in drawn.files]
    links = " · ".join(f'<a href="{name}">{name}</a>' for name in names)
    title = html_line(drawn.title)
    picture = _inline(folder / f"{drawn.name}.svg", number)
    return (
        f'<h2>{title}</h2><figure role="group" aria-label="{title}">'
        f'<div class="plot">{picture}</div>'
        f"<figcaption>{html_line(drawn.caption)} <br>{links}</figcaption></figure>"
    )


def _inline(path: Path, number: int) -> str:
    """The SVG without its prologue, its names made unique so that several fit on one page."""
    svg = path.read_text("utf-8")
    svg = svg[svg.index("<svg") :]
    found = re.search(r'width="([\d.]+)pt"', svg)
    width = float(found[1]) if found else 600.0
    limits = f"max-width:{width * 1.35:.0f}px;min-width:{width * 0.8:.0f}px"
    svg = svg.replace("<svg ", f'<svg style="{limits}" ', 1)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>f{number}-", svg)


def _findings(findings: Sequence[Finding]) -> str:
    rows = []
    for found in findings:
        kind = CLASSES.get(found.verdict, "open")
        texts = (found.figure, found.claim, found.series, found.measured)
        cells = "".join(f"<td>{html_line(text)}</td>" for text in texts)
        verdict = html_line(found.verdict)
        rows.append(f'<tr>{cells}<td class="verdict {kind}">{verdict}</td></tr>')
    head = "".join(f"<th>{name}</th>" for name in HEADS)
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="scroll"><table>{body}</table></div>'
