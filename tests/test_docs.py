"""The documentation site builds offline, without warnings, and has a page for everything."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tools.browser import find
from tools.pages import DOCS, ROOT
from tools.report import document, print_pdf


@pytest.mark.slow
def test_the_site_builds_without_warnings(tmp_path):
    """Every command is on it, and the search index needs no server."""
    build = f"-m sphinx -W --keep-going -q -b html -d {tmp_path}/trees {DOCS} {tmp_path}/site"
    done = subprocess.run(
        [sys.executable, *build.split()], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    site = tmp_path / "site"
    assert (site / "searchindex.js").read_text("utf-8").startswith("Search.setIndex(")
    commands = (site / "reference" / "commands.html").read_text("utf-8")
    for name in ("measure", "words", "attract", "audit", "data get"):
        assert f"wordsway {name}" in commands
    for page in site.rglob("*.html"):
        assert 'src="http' not in page.read_text("utf-8"), f"{page.name} loads from the network"
    if find() is not None:  # in a thread of its own: other tests may have a browser open in theirs
        with ThreadPoolExecutor(1) as thread:
            assert "Maps" in thread.submit(_search, site, "sparsemax").result()
    _check_report(site)


def _check_report(site: Path) -> None:
    """Links inside the chapter stay inside, and every formula is one that fits on the page."""
    html = document(site)
    places, inside = (set(re.findall(rf'{name}="#?([^"]*)"', html)) for name in ("id", "href"))
    inside = {link for link in inside if "://" not in link}
    assert len(inside) > 40 and inside - places == {"_static/site.css"}
    assert "$" not in re.sub(r"<(code|style).*?</\1>", "", html, flags=re.DOTALL)
    assert html.count("<math") > 300
    if find() is not None:
        (site / "report.html").write_text(html, "utf-8")
        with ThreadPoolExecutor(1) as thread:
            assert not thread.submit(print_pdf, site / "report.html", site / "r.pdf").result()
        assert (site / "r.pdf").read_bytes().count(b"/Type /Page\n") >= 12


def _search(site: Path, words: str) -> list[str]:
    """What the site's search finds as a reader has it, from a file address."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(), args=["--no-sandbox"])
        shown = browser.new_page()
        shown.goto(f"{site.as_uri()}/search.html?q={words}")
        shown.wait_for_selector("ul.search li a")
        found = shown.locator("ul.search li a").all_inner_texts()
        browser.close()
    return list(found)


def test_every_page_is_in_a_table_of_contents():
    index = (DOCS / "index.md").read_text("utf-8")
    for page in DOCS.rglob("*.md"):
        name = str(page.relative_to(DOCS).with_suffix(""))
        if name != "index" and "_generated" not in name:
            assert f"\n{name}\n" in index, f"{name} is in no toctree"


def test_the_book_has_at_most_20_000_words():
    """Prose alone: blocks and tables do not count, a formula counts as one word; the reference
    and the notes are looked up, not read.
    """
    index = (DOCS / "index.md").read_text("utf-8")
    sections = re.findall(r":caption: ([A-Z][A-Za-z ]*)\n\n(.*?)```", index, flags=re.DOTALL)
    pages = {name: body.split() for name, body in sections}
    assert {"Tutorials", "How to", "Verbs", "Explanation", "Proofs"} <= set(pages)
    words = 0
    for name in set(pages) - {"Reference", "Notes"}:
        for page in pages[name]:
            text = (DOCS / f"{page}.md").read_text("utf-8")
            text = re.sub(r"```.*?```|<!--.*?-->|^\|.*?$", "", text, flags=re.DOTALL | re.MULTILINE)
            words += len(re.sub(r"\$\$.*?\$\$|\$[^$]*\$", "F", text, flags=re.DOTALL).split())
    assert 10_000 < words <= 20_000
