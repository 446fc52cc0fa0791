"""A user's function as part of a job: its name, its source, and its import in a worker."""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

from wordsway.core.errors import InputError, first_line
from wordsway.engine.provenance import ProvenanceMismatch
from wordsway.version import __version__

#: Whether this process is importing a user's module for a job, and the functions it has by name.
_importing = False
_loaded: dict[ImportableFunction, Callable[..., Any]] = {}


class SweepReached(BaseException):
    """A module that is imported for a job calls `sweep` itself: it is a script without
    ``if __name__ == "__main__"``. ``namespace`` is what the script has defined by then.
    """

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        super().__init__("a sweep inside a worker")
        self.namespace = namespace


def stop_in_worker(function: object) -> None:
    """Stop a script that is imported in a worker where it starts a sweep of ``function``."""
    if _importing:
        raise SweepReached(getattr(function, "__globals__", {}))


@dataclass(frozen=True)
class ImportableFunction:
    """A function or class by its module and name; ``folder`` is where its module was found."""

    module: str
    name: str
    folder: str = field(compare=False)

    @classmethod
    def of(cls, function: Callable[..., Any]) -> ImportableFunction:
        """Name a function; refuse one that other processes cannot import.

        >>> ImportableFunction.of(lambda n: n)
        Traceback (most recent call last):
        wordsway.core.errors.InputError: expected a function that worker processes can import, got \
a lambda or nested function: define it with def at the top level of a module; pass its \
variables through grid=
        """
        expected = "a function that worker processes can import"
        module, name = (getattr(function, part, None) for part in ("__module__", "__qualname__"))
        if not isinstance(module, str) or not isinstance(name, str):
            raise InputError(
                expected, type(function).__name__, "write a def around it at the top of a module"
            )
        if "<" in name:
            raise InputError(
                expected,
                "a lambda or nested function",
                "define it with def at the top level of a module; pass its variables through grid=",
            )
        file = getattr(sys.modules.get(module), "__file__", None)
        if module == "__main__":
            spec = getattr(sys.modules[module], "__spec__", None)
            module = spec.name if spec else Path(file or "").stem
        if not file or not Path(file).is_file():
            raise InputError(
                expected,
                f"{name} of an interactive session",
                "save it in a file, say mymaps.py, and write from mymaps import …",
            )
        depth = module.count(".") + (Path(file).stem == "__init__")
        named = cls(module, name, str(Path(file).resolve().parents[depth]))
        _loaded[named] = function
        return named

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"

    def load(self) -> Callable[..., Any]:
        """The function itself, imported in this process."""
        if self not in _loaded:
            _loaded[self] = _imported(self)
        return _loaded[self]

    @property
    def source(self) -> str:
        """The identity of its code on this machine: the version of an installed package; otherwise
        SHA-256 of its source and of all that it uses of the modules in its folder.
        """
        return _source(self.module, self.name, self.folder)


@lru_cache(maxsize=64)
def _source(module: str, name: str, folder: str) -> str:
    package = module.partition(".")[0]
    if package == "wordsway":  # the metadata of an editable installation may be of another version
        return f"{package} {__version__}"
    if "site-packages" in Path(folder).parts:
        with suppress(metadata.PackageNotFoundError):
            return f"{package} {metadata.version(package)}"
    texts = sorted(_sources(module, name, folder))
    if not texts:
        raise InputError("a function with Python source", f"{module}:{name}", "define it with def")
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def _imported(named: ImportableFunction) -> Callable[..., Any]:
    global _importing
    if named.folder not in sys.path:
        sys.path.insert(0, named.folder)
    before, _importing = _importing, True
    try:
        space: Mapping[str, Any] = vars(importlib.import_module(named.module))
    except SweepReached as reached:
        space = reached.namespace
    except Exception as error:  # the user's module may raise anything
        raise ProvenanceMismatch(
            f"cannot import {named} in a worker ({type(error).__name__}: {first_line(error)}): "
            "its module must be importable there; what was stored is safe"
        ) from error
    finally:
        _importing = before
    first, *rest = named.name.split(".")
    if first not in space:
        raise ProvenanceMismatch(
            f"cannot import {named} in a worker: define it before the first ws.sweep of its file, "
            'or put the sweeps under if __name__ == "__main__":'
        )
    found: Any = space[first]
    for part in rest:
        found = getattr(found, part)
    return found


def _sources(module: str, name: str, folder: str) -> Iterator[str]:
    """The source of a name, and of all names that it uses in modules of the folder."""
    todo, seen = [(module, name.partition(".")[0])], set()
    while todo:
        place = todo.pop()
        if place in seen:
            continue
        seen.add(place)
        path = _file(place[0], folder)
        if path is None:
            continue
        for statement in _bindings(path).get(place[1], ()):
            yield f"{place[0]}:{place[1]}\n{ast.unparse(statement)}"
            own = {node.arg for node in ast.walk(statement) if isinstance(node, ast.arg)}
            for node in ast.walk(statement):
                if isinstance(node, ast.ImportFrom):
                    base = "." * node.level + (node.module or "")
                    if node.level:
                        package = (
                            place[0] if path.stem == "__init__" else place[0].rpartition(".")[0]
                        )
                        base = resolve_name(base, package)
                    todo += [(base, one.name) for one in node.names]
                    todo += [(f"{base}.{one.name}", "*") for one in node.names]
                elif isinstance(node, ast.Import):
                    todo += [(one.name, "*") for one in node.names]
                elif isinstance(node, ast.Name) and node.id not in own:
                    todo.append((place[0], node.id))


def _file(module: str, folder: str) -> Path | None:
    """The source file of a module in this folder; None for modules of other places."""
    parts = Path(folder, *module.split("."))
    for path in (parts.with_suffix(".py"), parts / "__init__.py"):
        if path.is_file() and "site-packages" not in path.parts:
            return path
    return None


@lru_cache(maxsize=256)
def _bindings(path: Path) -> dict[str, list[ast.stmt]]:
    """The top-level statements of a file by the names that they bind; ``*`` has all of them."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in ast.parse(path.read_bytes()).body:
        if isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test):
            continue
        names = {"*"}
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(statement.name)
        else:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    names.add(node.id)
                elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                    names.add(node.name)
                elif isinstance(node, ast.alias):
                    names.add((node.asname or node.name).partition(".")[0])
        for name in names:
            found.setdefault(name, []).append(statement)
    return found


def parameters_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a function by name."""
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        raise InputError(
            "a function whose parameters have names", repr(function), "write a def around it"
        ) from None
