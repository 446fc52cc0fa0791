"""The imports between modules of `src/wordsway`, read from the syntax trees.

``LAYERS`` lists the top-level modules and folders of the package from the lowest to the highest: a
layer imports from itself and from lower layers. There are three kinds of imports:

``module``    runs when the module is imported;
``function``  runs when a function is called: deferred, and it can hide a cycle;
``types``     stands under ``if TYPE_CHECKING:`` and never runs.

>>> [found.target for found in imports_of_source("from wordsway.maps import RAF", "wordsway.cli.x")]
['wordsway.maps']
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "wordsway"

#: From the lowest to the highest: each imports only from itself and from lower ones.
LAYERS = (
    "version",
    "proof_format",
    "verifier",
    "core",
    "constraints",
    "engine",
    "data",
    "text",
    "models",
    "gaussian",
    "optimize",
    "theory",
    "maps",
    "intervals",
    "learning",
    "probing",
    "studies",
    "auditing",
    "lengths",
    "paper",
    "integrations",
    "testing",
    "render",
    "page",
    "cli",
)
#: The package's ``__init__`` is above all layers: it exports everything, nothing imports it.
FRONT = ("__init__", "__main__")

Kind = Literal["module", "function", "types"]


@dataclass(frozen=True)
class Import:
    """``source`` imports ``target`` (both dotted names of modules) in line ``line``."""

    source: str
    target: str
    kind: Kind
    line: int

    @property
    def layers(self) -> tuple[str, str]:
        """The layer that imports, and the layer it imports from."""
        return layer_of(self.source), layer_of(self.target)

    def __str__(self) -> str:
        return f"{self.source} → {self.target}"


def layer_of(module: str) -> str:
    """The layer of a dotted name.

    >>> layer_of("wordsway.maps.attention.one_matrix.view"), layer_of("wordsway")
    ('maps', '__init__')
    """
    return [*module.split("."), "__init__"][1]


def modules() -> dict[str, Path]:
    """The package's modules by dotted name, in alphabetical order."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def syntax(path: Path) -> ast.Module:
    """The syntax tree of a file of the package, read once in a process."""
    return ast.parse(path.read_text())


def name_called(call: ast.Call) -> str:
    """What is called: the last part of a dotted name, or nothing where it is computed.

    >>> name_called(ast.parse("importlib.import_module('x')").body[0].value)
    'import_module'
    """
    return getattr(call.func, "id", "") or getattr(call.func, "attr", "")


@cache
def imports() -> list[Import]:
    """Every import of one module of the package by another."""
    known = modules()
    return [
        found
        for name, path in known.items()
        for found in imports_of_tree(
            syntax(path), name, known, is_package=path.name == "__init__.py"
        )
    ]


def imports_of_source(
    source: str, name: str, known: Iterable[str] = (), is_package: bool = False
) -> list[Import]:
    """The imports of the package's modules in the text of the module ``name``.

    ``from wordsway.a import b`` means the module ``wordsway.a.b`` where that is ``known`` as one,
    else the module ``wordsway.a``.
    """
    return imports_of_tree(ast.parse(source), name, known, is_package)


def imports_of_tree(
    tree: ast.Module, name: str, known: Iterable[str] = (), is_package: bool = False
) -> list[Import]:
    """The same of a module's syntax tree."""
    package = name if is_package else name.rpartition(".")[0]
    names = set(known)
    return [
        Import(name, target, kind, getattr(node, "lineno", 0))
        for node, kind in _walk(tree, "module")
        for target in _targets(node, package, names)
        if target == "wordsway" or target.startswith("wordsway.")
    ]


def _walk(node: ast.AST, kind: Kind) -> Iterator[tuple[ast.AST, Kind]]:
    for child in ast.iter_child_nodes(node):
        inner = kind
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inner = "function"
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for statement in child.body:
                yield statement, "types"
            for statement in child.orelse:
                yield statement, kind
                yield from _walk(statement, kind)
            continue
        yield child, inner
        yield from _walk(child, inner)


def _targets(node: ast.AST, package: str, known: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parts = package.split(".")
            parts = parts[: len(parts) - node.level + 1]
            base = ".".join([*parts, base] if base else parts)
        for alias in node.names:
            inside = f"{base}.{alias.name}"
            yield inside if inside in known else base
    elif isinstance(node, ast.Call) and name_called(node) == "import_module":
        # A computed name says at least that something of the package is meant.
        first = node.args[0] if node.args else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield first.value
        elif isinstance(first, ast.JoinedStr) and "wordsway" in ast.unparse(first):
            yield "wordsway"


def upward(found: Iterable[Import]) -> list[Import]:
    """Imports from a higher layer. ``__init__`` may import all."""
    return [
        edge
        for edge in found
        if edge.layers[0] not in FRONT
        and (edge.layers[1] in FRONT or LAYERS.index(edge.layers[1]) > LAYERS.index(edge.layers[0]))
    ]


def cycles(found: Iterable[Import]) -> list[list[str]]:
    """Groups of modules that reach each other by imports (strongly connected components).

    >>> cycles([Import("a", "b", "module", 1), Import("b", "a", "function", 1)])
    [['a', 'b']]
    """
    after: dict[str, set[str]] = {}
    for edge in found:
        if edge.source != edge.target:
            after.setdefault(edge.source, set()).add(edge.target)

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for module in after.get(waiting.pop(), ()):
                if module not in seen:
                    seen.add(module)
                    waiting.append(module)
        return seen

    reach = {module: reached(module) for module in after}
    groups: dict[frozenset[str], list[str]] = {}
    for module, there in reach.items():
        if module in there:
            group = frozenset(other for other in there if module in reach.get(other, ()))
            groups[group] = sorted(group)
    return sorted(groups.values())
