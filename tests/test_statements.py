"""The table of statements: what it names exists, and every module with a certificate is in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tools.pages import DOCS, ROOT

CHAPTER = DOCS / "statements"
SOURCE, TESTS = ROOT / "src" / "wordsway", ROOT / "tests"
ROWS = [
    line.strip("| ").split(" | ")
    for line in (CHAPTER / "index.md").read_text("utf-8").splitlines()
    if line.startswith(("| [Theorem", "| [Lemma"))
]


def named(cell: str) -> Iterator[tuple[str, str]]:
    """(file, name) for `file.py`: `one`, `two`; `other.py`: `three`."""
    for part in cell.split("; "):
        path, *names = re.findall(r"`([^`]+)`", part)
        assert path.endswith(".py") and names, part
        yield from ((path, name) for name in names)


@cache
def defined(path: Path) -> set[str]:
    """Every function and class of a module, methods included."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)}


def headings(page: Path) -> dict[str, str]:
    """Anchors of a page and the text below each heading."""
    parts = re.split(r"^#{2,4} (.*)$", page.read_text("utf-8"), flags=re.MULTILINE)[1:]
    names = [re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-") for name in parts[::2]]
    return dict(zip(names, parts[1::2], strict=True))


def test_each_statement_has_a_proof_code_and_tests():
    for statement, code, tests in ROWS:
        target = re.match(r"\[(\w+ \d+)\]\(([^#)]+)#([^)]+)\)", statement)
        assert target, statement
        name, page, anchor = target.groups()
        assert anchor.startswith(name.lower().replace(" ", "-") + "-"), statement
        below = headings(CHAPTER / page)
        assert anchor in below, f"{page} has no heading {anchor}"
        assert "Proof." in below[anchor] or "The proof is" in below[anchor], name
        for where, cell in ((SOURCE, code), (TESTS, tests)):
            for path, symbol in named(cell):
                assert symbol in defined(where / path), f"{name}: {path} has no {symbol}"
        assert all(symbol.startswith("test_") for _, symbol in named(tests)), name


def test_statements_are_numbered_and_none_is_left_out():
    told = [re.findall(r"^\[(\w+) (\d+)\]", statement)[0] for statement, *_ in ROWS]
    for kind in ("Theorem", "Lemma"):
        numbers = sorted(int(number) for name, number in told if name == kind)
        assert numbers == list(range(1, len(numbers) + 1))
    proved = [
        anchor
        for page in [*CHAPTER.glob("*.md"), DOCS / "proofs-drf.md"]
        for anchor in headings(page)
        if anchor.startswith(("theorem-", "lemma-"))
    ]
    assert len(proved) == len(ROWS)


def test_every_module_that_makes_a_certificate_is_in_the_table():
    making = r"Certificate\.(exact|probable)\(|\.replaced\(\[|Certificate\(torch"
    listed = {path for _, code, _ in ROWS for path, _ in named(code)}
    for path in SOURCE.rglob("*.py"):
        name = str(path.relative_to(SOURCE))
        if re.search(making, path.read_text("utf-8")):
            assert name in listed, f"{name} makes a certificate without a statement"
