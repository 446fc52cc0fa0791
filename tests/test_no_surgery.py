"""No other library is modified, and no private name of one is used: read from the syntax tree.

Four rules hold for every module of `src/wordsway`, without exceptions:

1.  No attribute of a foreign module or class is assigned or deleted, and no method of any object
    is replaced by a function. Foreign is whatever is imported from outside the package, and what
    is reached from it by attributes (`torch.nn.Module`), `import_module` or `sys.modules`.
2.  `sys.modules` is not written to.
3.  There are no import hooks: `sys.meta_path`, `sys.path_hooks`, `sys.path_importer_cache`.
4.  No private name (`_name`) is imported or read unless this package defines it.

A private name counts as foreign when no module of the package defines a name that is spelled
alike. This needs no types, so it also holds for objects that come out of calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "wordsway"
HOOKS = {"meta_path", "path_hooks", "path_importer_cache"}
WRITES = {"update", "pop", "popitem", "setdefault", "clear", "__setitem__", "__delitem__"}
#: Names with an underscore that Python's documentation describes: they are public.
DOCUMENTED = {"_exit", "_replace", "_asdict", "_fields", "_make"}
#: Calls that take the name of an attribute or of a module.
BY_NAME = {"getattr", "setattr", "delattr", "hasattr", "attrgetter", "methodcaller"}
IMPORTS = {"import_module", "__import__", "find_spec"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in DOCUMENTED | {"_"}


def defined_names(tree: ast.AST) -> set[str]:
    """Private names that a module defines: functions, classes, variables, attributes of self."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and is_own(node) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return {name for name in found if is_private(name)}


class Module:
    """One module's syntax, and the names in it that are bound to foreign modules or classes."""

    def __init__(self, tree: ast.AST, own: set[str]) -> None:
        self.tree, self.own = tree, own
        self.functions: set[str] = set()
        self.foreign: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.split(".")[0] != "wordsway":
                        self.foreign.add(alias.asname or alias.name.split(".")[0])
            elif isinstance(node, ast.ImportFrom) and not self._is_ours(node):
                self.foreign |= {alias.asname or alias.name for alias in node.names}
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.functions.add(node.name)
        while self._spread():
            pass

    @staticmethod
    def _is_ours(node: ast.ImportFrom) -> bool:
        return node.level > 0 or (node.module or "").split(".")[0] == "wordsway"

    def _spread(self) -> bool:
        """Names assigned from foreign ones are foreign; whether there were any."""
        before = len(self.foreign)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign) and self.is_foreign(node.value):
                self.foreign |= {one.id for one in node.targets if isinstance(one, ast.Name)}
            elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
                named = isinstance(node.target, ast.Name) and self.is_foreign(node.value)
                self.foreign |= {ast.unparse(node.target)} if named else set()
        return len(self.foreign) > before

    def is_foreign(self, node: ast.AST) -> bool:
        """Whether an expression is a foreign module, class or function, or a module by its name.

        What a foreign class or function returns is an object of ours to fill in.
        """
        if isinstance(node, ast.Name):
            return node.id in self.foreign
        if isinstance(node, ast.Attribute | ast.Subscript):
            return self.is_foreign(node.value)
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            called = node.func.id if isinstance(node.func, ast.Name) else called
            if called in ("getattr", "type", "vars") and node.args:
                return self.is_foreign(node.args[0])
            if called == "get" and isinstance(node.func, ast.Attribute):
                return is_modules(node.func.value)
            return called in IMPORTS or called == "import_transformers"
        return False

    def offences(self) -> Iterator[tuple[int, str]]:
        for node in ast.walk(self.tree):
            for what in self._offences(node):
                yield getattr(node, "lineno", 0), what

    def _offences(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete):
            yield from self._assignment(node)
        elif isinstance(node, ast.Call):
            yield from self._call(node)
        elif isinstance(node, ast.Attribute):
            if node.attr in HOOKS and isinstance(node.value, ast.Name) and node.value.id == "sys":
                yield f"import hook sys.{node.attr}"
            if is_private(node.attr) and node.attr not in self.own:
                yield f"private {ast.unparse(node)}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if any(map(is_private, alias.name.split("."))):
                    yield f"private module {alias.name}"
        elif isinstance(node, ast.ImportFrom) and not self._is_ours(node):
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            if any(map(is_private, names)):
                yield f"private {ast.unparse(node)}"
            if node.module == "sys" and (HOOKS | {"modules"}) & set(names):
                yield f"tables of the import system: {ast.unparse(node)}"

    def _assignment(
        self, node: ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete
    ) -> Iterator[str]:
        targets: list[ast.expr] = (
            node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
        )
        value = None if isinstance(node, ast.Delete) else node.value
        for target in flattened(targets):
            if isinstance(target, ast.Subscript) and is_modules(target.value):
                yield f"write to {ast.unparse(target)}"
            elif isinstance(target, ast.Attribute | ast.Subscript):
                if self.is_foreign(target.value) and not is_environment(target.value):
                    yield f"assignment to {ast.unparse(target)}"
                elif isinstance(target, ast.Attribute) and self._replaces_method(target, value):
                    yield f"method {ast.unparse(target)} replaced"

    def _replaces_method(self, target: ast.Attribute, value: ast.expr | None) -> bool:
        if is_own(target) or target.attr.startswith("__"):
            return False
        return isinstance(value, ast.Lambda) or (
            isinstance(value, ast.Name) and value.id in self.functions
        )

    def _call(self, node: ast.Call) -> Iterator[str]:
        function, arguments = node.func, node.args
        name = function.attr if isinstance(function, ast.Attribute) else ""
        name = function.id if isinstance(function, ast.Name) else name
        if isinstance(function, ast.Attribute) and name in WRITES:
            inside = function.value
            if is_modules(inside):
                yield f"write to sys.modules by {name}"
            elif ast.unparse(inside).startswith("vars(") and self.is_foreign(inside):
                yield f"write to {ast.unparse(inside)}"
        if name in ("setattr", "delattr") and arguments and self.is_foreign(arguments[0]):
            yield f"{name} on {ast.unparse(arguments[0])}"
        if name in BY_NAME | IMPORTS:
            for argument in arguments:
                text = argument.value if isinstance(argument, ast.Constant) else None
                parts = text.split(".") if isinstance(text, str) else []
                if any(is_private(part) and part not in self.own for part in parts):
                    yield f"private {text!r} by name"


def is_own(node: ast.Attribute) -> bool:
    """An attribute of self."""
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def is_modules(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "modules"
        and isinstance(node.value, ast.Name)
        and node.value.id == "sys"
    )


def is_environment(node: ast.AST) -> bool:
    """`os.environ` is made to be written to."""
    return ast.unparse(node) == "os.environ"


def flattened(targets: list[ast.expr]) -> Iterator[ast.expr]:
    for target in targets:
        if isinstance(target, ast.Tuple | ast.List):
            yield from flattened(target.elts)
        else:
            yield target.value if isinstance(target, ast.Starred) else target


def offences(source: str, own: set[str] | None = None) -> list[str]:
    tree = ast.parse(source)
    names = defined_names(tree) | (own or set())
    return [f"line {line}: {what}" for line, what in Module(tree, names).offences()]


def test_no_other_library_is_modified() -> None:
    sources = {path: path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}
    assert len(sources) > 100, "the whole package was read"
    own = set().union(*(defined_names(ast.parse(text)) for text in sources.values()))
    found = [
        f"{path.relative_to(SOURCE)}: {what}"
        for path, text in sources.items()
        for what in offences(text, own)
    ]
    assert found == []


OFFENDING = {
    "module": "import torch\ntorch.distributed.is_available = lambda: False",
    "class": "from transformers import PreTrainedModel\nPreTrainedModel.get = 3",
    "class behind a name": "import transformers as t\nmodel = t.PreTrainedModel\nmodel.get = None",
    "class of an object": "import typer\napp = typer.Typer\ntype(app).command = None",
    "delete": "import torch\ndel torch.compile",
    "in a tuple": "import torch\na, torch.compile = 1, 2",
    "more": "import torch\ntorch.version += '1'",
    "setattr": "import torch\nsetattr(torch, 'compile', None)",
    "dictionary": "import torch\nvars(torch).update(compile=None)",
    "imported by name": "import importlib\nm = importlib.import_module('torch')\nm.compile = None",
    "module by name": "import sys\nmain = sys.modules['__main__']\nmain.__spec__ = None",
    "module by get": "import sys\nmain = sys.modules.get('torch')\nmain.compile = None",
    "own class": "import sys\nsys.modules[__name__].__class__ = int",
    "table": "from torch.nn import functional\nfunctional.TABLE['a'] = 1",
    "method": "layer = make()\nlayer.update = lambda: None",
    "method by name": "def update(): ...\nlayer = make()\nlayer.update = update",
    "modules": "import sys\nsys.modules['torch'] = None",
    "modules deleted": "import sys\ndel sys.modules['torch']",
    "modules updated": "import sys\nsys.modules.update({})",
    "modules imported": "from sys import modules",
    "meta path": "import sys\nsys.meta_path.insert(0, None)",
    "path hooks": "import sys\nsys.path_hooks.append(None)",
    "private attribute": "import torch\ntorch.ops.aten._math(1)",
    "private on an object": "config = make()\nconfig._attn_implementation = 'eager'",
    "private standard": "import atexit\natexit._run_exitfuncs()",
    "private import": "from torch._dynamo import disable",
    "private module": "import torch._dynamo",
    "private name": "from typer.core import _main",
    "getattr": "getattr(config, '_attn_implementation', None)",
    "import by name": "import importlib\nimportlib.import_module('torch._dynamo')",
}
HARMLESS = {
    "own attribute": "class A:\n    def __init__(self):\n        self._x = 1\n        a()._x",
    "own name": "from wordsway.maps import FeatureMap\nFeatureMap.of = staticmethod(len)",
    "made object": "import torch\nmodel = torch.nn.Linear(1, 1)\nmodel.weight = None",
    "environment": "import os\nos.environ['A'] = '1'",
    "documented": "import os\nos._exit(1)",
    "read modules": "import sys\n'torch' in sys.modules",
    "dunder": "value.__class__.__name__",
    "own private by name": "class A:\n    _kept = 1\ngetattr(A, '_kept')",
}


@pytest.mark.parametrize("name", OFFENDING)
def test_the_reader_sees(name: str) -> None:
    assert len(offences(OFFENDING[name])) >= 1


@pytest.mark.parametrize("name", HARMLESS)
def test_the_reader_lets_pass(name: str) -> None:
    assert offences(HARMLESS[name]) == []
