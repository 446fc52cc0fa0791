"""Data flows one way: no layer imports from a layer above it, no modules import each other in a
circle, and imports of our own modules inside functions are limited to `ENTRY_POINTS`.

All imports count: at the top of a module, inside functions (where a cycle can hide) and under
``if TYPE_CHECKING:``. An import for types alone obeys the order of the layers, too; it never runs,
so it cannot close a cycle of modules inside one layer.
"""

from __future__ import annotations

from inspect import ismodule

import pytest

from tools.imports import (
    FRONT,
    LAYERS,
    PACKAGE,
    Import,
    cycles,
    imports,
    imports_of_source,
    layer_of,
    modules,
    syntax,
    upward,
)

#: Where our own modules may be imported inside functions.
ENTRY_POINTS = ("cli", *FRONT)


@pytest.fixture(scope="module")
def found() -> list[Import]:
    return imports()


def test_every_module_is_in_a_layer_and_every_layer_exists():
    layers = {layer_of(name) for name in modules()}
    assert layers - set(FRONT) == set(LAYERS)
    assert len(set(LAYERS)) == len(LAYERS)


def test_no_layer_imports_upward(found: list[Import]):
    assert [str(edge) for edge in upward(found)] == []


def test_no_modules_import_each_other_in_a_circle(found: list[Import]):
    running = [edge for edge in found if edge.kind != "types"]
    assert cycles(running) == []


def test_imports_inside_functions_are_in_entry_points_only(found: list[Import]):
    inside = [edge for edge in found if edge.kind == "function"]
    assert [str(edge) for edge in inside if layer_of(edge.source) not in ENTRY_POINTS] == []


def test_every_import_leads_to_a_module(found: list[Import]):
    known = set(modules())
    assert {edge.target for edge in found} <= known
    assert len(found) > 500, "the whole package was read"
    assert {edge.kind for edge in found} == {"module", "function", "types"}


SOURCE = """
import wordsway.core.seeds
from wordsway.maps import base
from . import neighbour
from .neighbour import name
from ..render import plot
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from wordsway.cli.app import run
else:
    from wordsway.core import errors
class Late:
    def method(self):
        if True:
            from wordsway.paper import figures
        return lambda: __import__("importlib").import_module("wordsway.theory")
try:
    import wordsway.core.result
except ImportError:
    pass
"""


def test_imports_are_found_wherever_they_hide():
    known = [
        "wordsway.maps.base",
        "wordsway.text.neighbour",
        "wordsway.core.errors",
        "wordsway.render",
    ]
    seen = [
        (edge.target, edge.kind) for edge in imports_of_source(SOURCE, "wordsway.text.here", known)
    ]
    assert seen == [
        ("wordsway.core.seeds", "module"),
        ("wordsway.maps.base", "module"),
        ("wordsway.text.neighbour", "module"),
        ("wordsway.text.neighbour", "module"),
        ("wordsway.render", "module"),
        ("wordsway.cli.app", "types"),
        ("wordsway.core.errors", "module"),
        ("wordsway.paper", "function"),
        ("wordsway.theory", "function"),
        ("wordsway.core.result", "module"),
    ]


@pytest.mark.parametrize("kind", ["module", "function", "types"])
def test_an_upward_import_of_any_kind_is_refused(kind):
    offender = Import("wordsway.maps.base", "wordsway.cli.app", kind, 1)
    package = Import("wordsway.cli.app", "wordsway", kind, 1)
    downward = Import("wordsway.cli.app", "wordsway.maps.base", kind, 1)
    assert upward([offender, package, downward]) == [offender, package]


def test_heavy_libraries_live_in_one_package_each():
    import ast

    homes = {
        "transformers": "models",
        "tokenizers": "models",
        "matplotlib": "render",
        "huggingface_hub": "data",
        "distributed": "engine",
        "fastapi": "page",
        "uvicorn": "page",
        "flint": "verifier",
    }
    for path in sorted(PACKAGE.rglob("*.py")):
        layer = path.relative_to(PACKAGE).parts[0]
        for node in ast.walk(syntax(path)):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            for name in names:
                library = name.split(".")[0]
                assert homes.get(library, layer) == layer, f"{path} imports {library}"


def test_no_module_of_the_package_is_named_like_a_public_name():
    """Importing ``wordsway.x`` binds x on the package: a verb of that name would be gone."""
    import wordsway

    verbs = {name for name in wordsway.__all__ if not ismodule(getattr(wordsway, name))}
    assert {name.split(".")[1] for name in modules() if "." in name} & verbs == set()
