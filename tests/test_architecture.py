"""docs/architecture.md is true: the picture is what the imports say, the walks name what exists and
go once down and once back through the rooms.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tools.architecture import PICTURE, draw
from tools.imports import PACKAGE, ROOMS, ROOT, syntax

PAGE = (ROOT / "docs" / "architecture.md").read_text()
STEP = re.compile(r"^\d+\. `([\w/]+\.py)` · `([\w.]+)`: ", flags=re.MULTILINE)


def walks() -> dict[str, tuple[list[tuple[str, str]], list[tuple[str, str]]]]:
    """Per verb the steps (file, name) on the way down, and on the way back."""
    found = {}
    for section in PAGE.split("\n### ")[1:]:
        title = re.match(r"`wordsway (\w+)`", section)
        assert title, section.splitlines()[0]
        down, back = section.split("\nBack:\n")
        found[title[1]] = STEP.findall(down), STEP.findall(back)
    return found


def names_of(path: Path) -> set[str]:
    """Functions, classes, methods and constants of a module, methods as Class.method."""
    found = set()
    for node in syntax(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}.{inner.name}"
                for inner in node.body
                if isinstance(inner, ast.FunctionDef)
            }
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def room(path: str) -> int:
    return ROOMS.index(path.split("/")[0].removesuffix(".py"))


@pytest.mark.slow
def test_the_picture_is_what_the_imports_say():
    assert PICTURE.read_text() == draw(), "run `make picture`"


def test_every_verb_has_a_walk():
    verbs = ["measure", "learn", "sweep", "reproduce", "words", "swap", "attention", "compare"]
    assert list(walks()) == [*verbs, "serve"]


@pytest.mark.parametrize("verb", walks())
def test_a_walk_names_what_exists(verb: str):
    down, back = walks()[verb]
    assert len(down) >= 4 and len(back) >= 2
    for path, name in [*down, *back]:
        assert name in names_of(PACKAGE / path), f"{path} has no {name}"


@pytest.mark.parametrize("verb", walks())
def test_a_walk_passes_each_room_once_down_and_once_back(verb: str):
    """From the command down through the rooms, and back up: no room is entered twice."""
    down, back = walks()[verb]
    assert down[0][0] == f"cli/{verb}.py"
    assert _once([room(path) for path, _ in down], falling=True)
    assert _once([room(path) for path, _ in back], falling=False)


def _once(rooms: list[int], falling: bool) -> bool:
    return rooms == sorted(rooms, reverse=falling)


def test_a_walk_that_comes_back_too_early_is_refused():
    assert _once([5, 5, 3], falling=True)
    assert not _once([5, 3, 5], falling=True)
