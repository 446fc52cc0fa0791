"""The core stays small: what belongs to an extra is asked for at the door, by name."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tools.dist import REMEDIES, ROOT, WORKS, attempt
from tools.imports import name_called, syntax

PACKAGE = ROOT / "src" / "wordsway"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: Packages whose import has another name.
IMPORTED_AS = {"python_flint": "flint"}
EXTRAS = {
    extra: {
        IMPORTED_AS.get(name, name)
        for name in (re.split(r"[><=\[]", line)[0].replace("-", "_") for line in lines)
    }
    for extra, lines in PROJECT["optional-dependencies"].items()
    if extra not in ("all", "dev", "docs")
}
CORE = {re.split("[><=]", line)[0].replace("-", "_") for line in PROJECT["dependencies"]}
#: What may be imported at the top of a module, since only a door with `needs` leads there.
BEHIND_A_DOOR = {
    "matplotlib": "render/plot/",
    "transformers": "models/",
    "sentence_transformers": "integrations/",
    "flint": "verifier/",
}


def test_all_names_every_extra_and_no_extra_repeats_the_core():
    every = PROJECT["optional-dependencies"]["all"][0]
    assert set(re.findall(r"\w+", every.partition("[")[2])) == set(EXTRAS)
    assert not CORE & set.union(*EXTRAS.values())


def runs(tree: ast.Module) -> list[tuple[str, bool]]:
    """The libraries that a module imports while it runs, each with whether `needs` stands before it
    in the same function.
    """
    found: list[tuple[str, bool]] = []

    def visit(node: ast.AST, guarded: set[str]) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            guarded = {
                str(argument.value)
                for call in ast.walk(node)
                if isinstance(call, ast.Call) and name_called(call) == "needs"
                for argument in call.args[1:]
                if isinstance(argument, ast.Constant)
            }
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        found.extend((name.split(".")[0], name.split(".")[0] in guarded) for name in names)
        for child in ast.iter_child_nodes(node):
            visit(child, guarded)

    visit(tree, set())
    return found


#: Functions that run only behind the door of another one.
INNER = {
    ("data/hub.py", "huggingface_hub"),
    ("engine/dask_cluster.py", "distributed"),
    ("models/tokens.py", "tokenizers"),
}


def test_every_import_of_an_extra_stands_behind_needs():
    libraries = set.union(*EXTRAS.values()) - {"fastapi", "uvicorn"}
    seen = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        place = str(path.relative_to(PACKAGE))
        for library, guarded in runs(syntax(path)):
            if library not in libraries:
                continue
            seen.add(library)
            behind = place.startswith(BEHIND_A_DOOR.get(library, "nowhere"))
            assert guarded or behind or (place, library) in INNER, f"{place} imports {library}"
    assert {"transformers", "matplotlib", "pyarrow", "distributed", "tokenizers"} <= seen


def test_needs_names_an_extra_that_brings_the_library():
    count = 0
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.Call) and name_called(node) == "needs":
                extra, *wanted = (getattr(argument, "value", None) for argument in node.args)
                for library in wanted:
                    if isinstance(library, str):
                        count += 1
                        assert library in EXTRAS[extra], f"{path.name}: {extra} has no {library}"
    assert count >= 8


#: Read by Python before anything else: these libraries are not there.
HIDING = """
import sys
for name in {names}:
    sys.modules[name] = None
"""


@pytest.mark.slow
def test_without_extras_the_core_works_and_each_absence_says_what_to_install(tmp_path, capsys):
    """As `make dist` tries it in an empty environment, here with the libraries hidden."""
    hidden = sorted(set.union(*EXTRAS.values()))
    python = tmp_path / "python"
    (tmp_path / "sitecustomize.py").write_text(HIDING.format(names=hidden))
    python.write_text(
        "#!/bin/sh\n"
        f'export PYTHONPATH="{tmp_path}:{PACKAGE.parent}"\n'
        f'exec "{sys.executable}" "$@"\n'
    )
    python.chmod(0o755)
    attempt(python, tmp_path)
    shown = capsys.readouterr().out
    assert shown.count(": 0") >= len(WORKS) and shown.count(": 1, ") == len(REMEDIES)


def test_a_module_can_be_run():
    done = subprocess.run(
        [sys.executable, "-m", "wordsway", "--version"],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(PACKAGE.parent), "PATH": "/usr/bin:/bin"},
    )
    assert done.stdout.startswith("wordsway ")


def test_the_citation_has_the_version_of_the_code():
    from wordsway.version import __version__

    told = Path(ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {__version__}\n" in told, "of the software"
    assert f"\n    version: {__version__}\n" in told.partition("type: report")[2], "of the report"


def test_the_changelog_has_the_version_of_the_code_in_its_form():
    """Keep a Changelog: the newest version on top with its date, and six kinds of changes."""
    from wordsway.version import __version__

    lines = Path(ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    versions = [line for line in lines if line.startswith("## ") and line != "## Unreleased"]
    assert re.fullmatch(rf"## {re.escape(__version__)} – \d{{4}}-\d\d-\d\d", versions[0])
    order = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
    for section in "\n".join(lines).split("\n## ")[1:]:
        kinds = re.findall(r"^### (.*)$", section, flags=re.MULTILINE)
        assert kinds == [kind for kind in order if kind in kinds], section.splitlines()[0]
    told = [line for line in lines if line and not line.startswith("#")]
    assert len(told) == len(set(told)), "a line stands there twice"
    assert max(map(len, told)) <= 120, "one line per change"


def test_the_workflow_tries_every_target_on_every_version_that_is_promised():
    promised = re.findall(r'Python :: (3\.\d+)"', Path(ROOT / "pyproject.toml").read_text())
    workflow = Path(ROOT / ".github" / "workflows" / "check.yml").read_text()
    quoted = ", ".join(f'"{version}"' for version in promised)
    assert f"python: [{quoted}]" in workflow and "target: [check, test, docs, dist]" in workflow


def test_a_corpus_is_not_fetched_without_the_libraries_of_its_model(monkeypatch, capsys):
    from wordsway.cli.app import run

    opened: list[str] = []
    monkeypatch.setattr("wordsway.core.errors.find_spec", lambda name: None)
    monkeypatch.setattr("wordsway.studies.corpus_texts.open_corpus", opened.append)
    unseen = ["--data", "imdb", "--seed", "1811"]  # no other test keeps its texts in memory
    assert run(["measure", "--map", "raf", "--n", "12", "--d", "16", *unseen]) != 0
    assert "[models]" in capsys.readouterr().err and not opened


def test_an_installation_names_what_is_large():
    from tools.install import progress

    wheel = "torch-2.13.0%2Bcpu-cp311-cp311-manylinux_2_28_x86_64.whl"
    told = progress(f"  Downloading https://download.example/whl/{wheel} (190.4 MB)\n")
    assert told == "  torch 2.13.0+cpu, 190.4 MB"
    assert progress("  Using cached numpy-2.4.6-cp311-cp311-linux.whl (16.7 MB)\n") == (
        "  numpy 2.4.6, 16.7 MB, in pip's cache"
    )
    assert progress("  Downloading rich-14.0.0-py3-none-any.whl (243 kB)\n") is None
    assert progress("Requirement already satisfied: torch in .venv (2.13.0)\n") is None
