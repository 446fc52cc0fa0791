"""Every command and every block of code that a page shows runs, and prints what the page says."""

from __future__ import annotations

import pytest

from jobs import Here
from tools.pages import ROOT, blocks, commands, differences, pages, parse, run_page, runs_commands

PAGES = pages()
#: Languages of blocks that are shown and not run: outputs, formulas, files.
INERT = {"text", "", "toml", "json", "yaml", "bibtex"}

#: Of the first numbers that anybody reads: what another processor may round to.
TOLERANCE = {"README.md": 0.002}


def test_every_command_shown_is_understood():
    """With all its options, whether or not it is run below."""
    for page in PAGES:
        for block in blocks(page):
            known = block.language in INERT | {"python", "sh"} or block.language.startswith("{")
            assert known, f"{page}: ```{block.language}"
            if block.language == "sh":
                for words in commands(block.code):
                    parse(words)


#: Pages without a block that runs have nothing to compare.
RUNNING = [
    page
    for page in PAGES
    if any(
        block.language == "python" or (block.language == "sh" and runs_commands(page))
        for block in blocks(page)
    )
]


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNING, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_shows_is_what_happens(page, tmp_path, monkeypatch):
    """Jobs run in this process; what they find does not depend on where (tests/engine)."""
    monkeypatch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here())
    for shown in run_page(page, tmp_path):
        if shown.output is not None:
            told = differences(shown.output.code, shown.printed, TOLERANCE.get(page.name, 0.02))
            assert told == [], f"{page.name}: python -m tools.pages {page.relative_to(ROOT)}"


def test_an_output_of_another_version_is_noticed():
    """Version 0.2.0's README showed the first line where its code printed the second."""
    old, new = "raf: 3.432 ≤ S ≤ 4.451 (exact)", "raf: 3.402 ≤ S ≤ 4.463 (exact)"
    assert differences(old, new, TOLERANCE["README.md"]) == [f"{old} ≠ {new}"]
    assert differences(new, new.replace("3.402", "3.403"), TOLERANCE["README.md"]) == []


def test_a_command_with_an_option_that_does_not_exist_is_refused():
    with pytest.raises(Exception, match="No such option"):
        parse(["measure", "--map", "raf", "--n", "3", "--d", "2", "--no-such-option"])
    with pytest.raises(Exception, match="No such command"):
        parse(["mesure"])
