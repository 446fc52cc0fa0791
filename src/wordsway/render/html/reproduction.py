"""`index.html`: one self-contained page per run, with its figures, its claims and its facts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wordsway.core.escape import html_line
from wordsway.paper.finding import FAILS, HOLDS, Finding
from wordsway.paper.reproduce import Drawn, Reproduction
from wordsway.render.html import elements, fragments, pages
from wordsway.render.html.page import document, facts_list
from wordsway.render.html.picture import inline_svg
from wordsway.render.views.sweep import tally_line
from wordsway.render.wording.findings import HOW_DECIDED, TABLES

TITLE = "How far can one word sway a layer?"
LEAD = (
    "The figures of “Towards Understanding the Word Sensitivity of Attention Layers” (Bombari and "
    "Mondelli, ICML 2024), measured anew: S is the largest relative change of a layer’s features "
    "when one word moves by at most its own norm. Figures 4 and 5 ask what follows: can a linear "
    "readout of the layer learn that this word flips the label? Figures 1, 3.3 and 3.4 show the "
    "same inside pretrained models."
)
CLASSES = {HOLDS: "agrees", FAILS: "disagrees"}
HEADS = ("Figure", "Claim", "On", "Measured [95 % interval]", "Agrees if", "Verdict")


@fragments.register(Reproduction)
def reproduction_fragment(result: Reproduction) -> str:
    """The claims; the figures are on the page."""
    page = f"{tally_line(result.tally, result.folder / 'store')} · the page: {result.page}"
    return elements.frame([*_tables(result), elements.source(page)])


@pages.register(Reproduction)
def reproduction_page(result: Reproduction) -> str:
    """Figures, claims and facts, without any reference to another place."""
    lead = LEAD + (" A quick subset of the full run." if result.quick else "")
    body = [f"<h1>{html_line(TITLE)}</h1>", f'<p class="lead">{html_line(lead)}</p>']
    body += [_figure(drawn, result.folder, number) for number, drawn in enumerate(result.figures)]
    body += _tables(result)
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
    svg = (folder / f"{drawn.name}.svg").read_text("utf-8")
    picture = inline_svg(svg, f"f{number}-")
    return (
        f'<h2>{title}</h2><figure role="group" aria-label="{title}">'
        f'<div class="plot">{picture}</div>'
        f"<figcaption>{html_line(drawn.caption)} <br>{links}</figcaption></figure>"
    )


def _tables(result: Reproduction) -> list[str]:
    """The paper's claims, then wordsway's own checks, where there are any."""
    parts = []
    for source, title in TABLES.items():
        found = result.findings_of(source)
        if found:
            parts += [f"<h2>{html_line(title)}</h2>", _findings(found)]
    return [*parts, elements.soft(HOW_DECIDED)] if parts else []


def _findings(findings: Sequence[Finding]) -> str:
    heads = [(name, elements.LEFT) for name in HEADS]
    rows = [
        [
            *(
                html_line(text)
                for text in (
                    found.figure,
                    found.claim,
                    found.series,
                    found.measured,
                    found.rule,
                )
            ),
            f'<b class="{CLASSES.get(found.verdict, "open")}">{html_line(found.verdict)}</b>',
        ]
        for found in findings
    ]
    return elements.table(heads, rows)
