"""`make report`: the chapter of statements and proofs as one PDF, out/report.pdf.

Its pages are those of the built site (`make docs`), in the order of docs/index.md, printed by
Chromium.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path

from tools.browser import find
from tools.pages import DOCS, PUBLISHED, ROOT
from wordsway.version import __version__

SITE, REPORT = ROOT / "out" / "docs", ROOT / "out" / "report.pdf"
TITLE = "Statements and proofs of wordsway"
STYLE = """
@page { size: A4; margin: 22mm 20mm 20mm; }
body { font: 10.5pt/1.4 "STIX Two Text", "Liberation Serif", "Times New Roman", serif; }
nav { break-after: page; } h1 { font-size: 17pt; margin-top: 1.6em; }
h2 { font-size: 13pt; } h3 { font-size: 11.5pt; }
h1, h2, h3 { line-height: 1.2; break-after: avoid; }
header h1 { font-size: 22pt; margin-top: 15mm; }
a { color: inherit; text-decoration: none; } .headerlink { display: none; }
code { font: 0.82em "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
table { border-collapse: collapse; font-size: 8.5pt; width: 100%; }
th, td { border-bottom: 0.4pt solid #888; padding: 2pt 6pt 2pt 0; text-align: left; }
td { vertical-align: top; } td p, th p { margin: 0; } tr, div.math { break-inside: avoid; }
nav ol { list-style: none; padding-left: 1.2em; } nav > ol { padding-left: 0; }
body { margin: 0; } math { font-size: 1em; } p { orphans: 3; widows: 3; }
"""
#: The width of a page less its margins, in pixels of 1/96 inch, and formulas that exceed it.
WIDTH = 642
TOO_WIDE = """() => [...document.querySelectorAll("div.math")]
    .filter((formula) => formula.scrollWidth > formula.clientWidth)
    .map((formula) => formula.innerText.replace(/\\s+/g, " ").slice(0, 80))"""
FOOTER = """<div style="width: 100%; text-align: center; font: 8pt serif">
    <span class="pageNumber"></span></div>"""


def chapter() -> list[str]:
    """The pages of the chapter, such as statements/dense."""
    contents = (DOCS / "index.md").read_text("utf-8").partition(":caption: Proofs")[2]
    names = contents.partition("```")[0].split()
    return [name for name in names if name.startswith(("statements/", "proofs-"))]


def article(page: str, pages: list[str], site: Path = SITE) -> str:
    """The text of a page; its links stay in the report, or lead to where the page is published."""
    html = (site / f"{page}.html").read_text("utf-8")
    found = re.search(r"<article role=\"main\"[^>]*>(.*?)</article>", html, flags=re.DOTALL)
    assert found, f"{page}.html has no article"

    def link(match: re.Match[str]) -> str:
        path, _, anchor = match[1].partition("#")
        if "://" in path:
            return match[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        target = target.removesuffix(".html") if path else page
        if target in pages:
            return f'href="#{target}/{anchor}"'
        return f'href="{PUBLISHED}docs/{target}.md"'

    text = re.sub(r'\bid="([^"]*)"', rf'id="{page}/\1"', found[1])
    text = re.sub(r'\bhref="([^"]*)"', link, text)
    return f'<a id="{page}/"></a>{text}'


def contents(articles: list[str]) -> str:
    """The headings of the first two levels, as nested lists of links."""
    heading = r'<section[^>]* id="([^"]*)">\s*<h([12])>(.*?)<a class="headerlink"'
    lines = [
        (int(level), f'<a href="#{place}">{title}</a>')
        for text in articles
        for place, level, title in re.findall(heading, text)
    ]
    items = "".join(
        f"<li>{link}</li>" if level == 1 else f"<li><ol><li>{link}</li></ol></li>"
        for level, link in lines
    )
    return f"<nav><h2>Contents</h2><ol>{items}</ol></nav>"


def document(site: Path = SITE) -> str:
    """The whole report as HTML, to be stored next to the site's pages."""
    pages = chapter()
    articles = [article(page, pages, site) for page in pages]
    head = (
        f'<meta charset="utf-8"><title>{TITLE} {__version__}</title>'
        f'<link rel="stylesheet" href="_static/site.css"><style>{STYLE}</style>'
    )
    place = f'<a href="{PUBLISHED}docs/statements/index.md">{PUBLISHED}docs/statements</a>'
    title = (
        f"<header><h1>{TITLE}</h1><p>The wordsway authors. Version {__version__}, MIT licence.</p>"
        f"<p>Cite as: The wordsway authors, <i>{TITLE}</i>, version {__version__}, {place}.</p>"
        "</header>"
    )
    body = title + contents(articles) + "".join(articles)
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>'


def print_pdf(source: Path, target: Path) -> list[str]:
    """Print a page; return the beginnings of formulas that are too wide for it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=find(), args=["--no-sandbox"])
        page = opened.new_page(viewport={"width": WIDTH, "height": 900})
        page.goto(source.as_uri())
        wide = list(page.evaluate(TOO_WIDE))
        page.pdf(
            path=target,
            prefer_css_page_size=True,
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=FOOTER,
            outline=True,
            tagged=True,
        )
        opened.close()
    return wide


def main() -> int:
    if find() is None:
        print("report: Chromium is missing: make browser", file=sys.stderr)
        return 1
    source = SITE / "report.html"
    source.write_text(document(), "utf-8")
    wide = print_pdf(source, REPORT)
    for formula in wide:
        print(f"report: too wide for the page: {formula}", file=sys.stderr)
    print(REPORT.relative_to(ROOT))
    return int(bool(wide))


if __name__ == "__main__":
    sys.exit(main())
