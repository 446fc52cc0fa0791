"""Every measured number of the book names the command that gives it, or a dated note."""

from __future__ import annotations

import re
from pathlib import Path

import typer.main

import benchmarks.__main__
from tools.pages import DOCS, ROOT
from wordsway.cli.commands import app

#: Pages of proofs derive their numbers, and generated pages have none.
BOOK = [
    ROOT / "README.md",
    *(
        page
        for page in sorted(DOCS.rglob("*.md"))
        if not {"notes", "statements", "_generated"} & set(page.parts)
        and not page.stem.startswith("proofs")
    ),
]
NOTES = sorted((DOCS / "notes").glob("*.md"))
#: Two decimal places or more: a number that somebody measured.
MEASURED = re.compile(r"(?<!Python )(?<![\w.])\d+\.\d\d+\b")
COMMAND = re.compile(r"`((?:wordsway|python -m|make) [^`]+)`|^(wordsway [^\n]+)$", re.MULTILINE)


def sections(page: Path) -> list[tuple[str, str]]:
    """Headings of the second level with their text; before the first stands the page's title."""
    parts = re.split(r"^## (.*)$", page.read_text("utf-8"), flags=re.MULTILINE)
    return list(zip([page.stem, *parts[1::2]], parts[::2], strict=True))


def prose(text: str) -> str:
    """Without blocks (other tests run them), code, formulas and targets of links."""
    text = re.sub(r"^(```|\$\$).*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`|\$[^$\n]*\$|\]\([^)]*\)", "", text)


def sources(text: str) -> list[str]:
    """The commands of a section, blocks included, and its links to notes."""
    found = [one or other for one, other in COMMAND.findall(text)]
    return found + re.findall(r"\]\((?:\.\./)*(?:docs/)?notes/([\w-]+)\.md", text)


def test_measured_numbers_name_their_source() -> None:
    for page in BOOK:
        for heading, text in sections(page):
            numbers = MEASURED.findall(prose(text))
            assert not numbers or sources(text), f"{page}, {heading}: {numbers}"


def test_commands_named_in_sentences_exist() -> None:
    parts = set(re.findall(r"python -m benchmarks ([a-z-]+)", benchmarks.__main__.__doc__ or ""))
    parts |= set(benchmarks.__main__.parts(ROOT))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    verbs = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    named = r"`(wordsway|python -m benchmarks|make) ([a-z-]+)"
    for page in BOOK:
        for kind, name in re.findall(named, text_of(page)):
            known = {"wordsway": verbs, "make": targets}.get(kind, parts)
            assert name in known or name.startswith("-"), f"{page}: {kind} {name}"


def text_of(page: Path) -> str:
    """A page without its blocks, which other tests run."""
    return re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def test_notes_are_dated() -> None:
    """By a day, a month, or the version that was measured."""
    dated = r"\b20\d\d-\d\d-\d\d\b|\b[A-Z][a-z]+ 20\d\d\b|(?:[Vv]ersion|wordsway) \d+\.\d+"
    for page in NOTES:
        assert re.search(dated, page.read_text("utf-8")), page


def test_slopes_of_the_ingredients_are_those_of_the_note() -> None:
    slope = r"−?\d\.\d\d \[−?\d\.\d\d, −?\d\.\d\d\]"
    page, note = (DOCS / place / "ingredients.md" for place in ("explanation", "notes"))
    shown = re.findall(slope, page.read_text("utf-8"))
    assert len(shown) > 40 and set(shown) <= set(re.findall(slope, note.read_text("utf-8")))
