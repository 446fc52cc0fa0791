"""The project around the code: light imports, one-way imports, documents that are true."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.imports import LAYERS

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "wordsway"

#: What takes long to import, the quickest first.
HEAVY = (
    "rich",
    "numpy",
    "matplotlib",
    "pandas",
    "scipy",
    "pyarrow",
    "torch",
    "huggingface_hub",
    "transformers",
    "datasets",
    "distributed",
    "fastapi",
)

STAGES = """
import json, sys
def loaded():
    return [name for name in {heavy} if name in sys.modules]
stages = []
import wordsway
stages.append(loaded())
import wordsway.cli.app, wordsway.cli.commands
stages.append(loaded())
wordsway.cli.app.run(["data", "get", "imdb", "minilm"])
stages.append(loaded())
wordsway.sensitivity
stages.append(loaded())
print(json.dumps(stages))
"""


@pytest.mark.slow
def test_import_is_light():
    """`import wordsway`, the command line and `data get` of what is here load nothing heavy; the
    verb loads torch and NumPy, and no plotting, data frames or transformers.
    """
    done = subprocess.run(
        [sys.executable, "-c", STAGES.format(heavy=HEAVY)],
        capture_output=True,
        text=True,
        check=True,
    )
    package, commands, data, verb = json.loads(done.stdout.splitlines()[-1])
    assert (package, commands, data) == ([], [], [])
    assert verb == ["numpy", "torch"]


def test_every_file_of_the_package_is_installed():
    """What is not Python is named in the package data."""
    import tomllib

    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    named = {
        path
        for package, patterns in told["package-data"].items()
        for pattern in patterns
        for path in (ROOT / "src" / package.replace(".", "/")).glob(pattern)
    }
    present = {path for path in SOURCE.rglob("*") if path.is_file()}
    assert {path for path in present if path.suffix not in {".py", ".pyc"}} == named


def test_the_table_of_packages_is_complete():
    """CONTRIBUTING lists every folder and the modules beside them, from the ground up."""
    table = re.findall(r"^\| (`.*?) \|", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.MULTILINE)
    packages = [name for row in table for name in re.findall(r"`(\w+)/?`", row)]
    assert packages == list(LAYERS)


def test_class_names_are_unique():
    found: dict[str, Path] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for name in re.findall(r"^class ([A-Z]\w*)", path.read_text("utf-8"), flags=re.MULTILINE):
            assert name not in found, f"{name} in {found[name].name} and {path.name}"
            found[name] = path


def test_dependencies_are_explained():
    table = (ROOT / "docs" / "dependencies.md").read_text()
    names = re.findall(
        r'^    "([a-z0-9-]+)[><=]', (ROOT / "pyproject.toml").read_text(), flags=re.MULTILINE
    )
    assert len(names) >= 25
    for name in names:
        assert f"`{name}`" in table, name


def test_links_between_pages_lead_somewhere():
    for page in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        *(ROOT / "docs").rglob("*.md"),
    ]:
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} → {target}"


def test_files_named_in_the_pages_exist():
    """`src/…`, `tests/…`, `docs/…` and packages' files such as `maps/registry.py`."""
    places = (ROOT, SOURCE, ROOT / "docs")
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for name in re.findall(r"`((?:[\w-]+/)+[\w-]+\.(?:py|md|toml))`", page.read_text()):
            assert any((place / name).exists() for place in places), f"{page.name} names {name}"


def test_no_path_of_a_machine_is_left_in_the_project():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".txt"} and path.exists():
            assert str(ROOT) + "/" not in path.read_text(), name


@pytest.mark.slow
def test_benchmark_cases_are_what_they_say():
    """The naive procedure and ours see the same weights and text: at a small size the naive value
    is inside our interval.
    """
    from benchmarks.cases import Case, run

    for name in ("raf", "relu-raf", "rf", "drf"):
        case = Case("small", name, 8, 6, depth=2 if name == "drf" else 1, rate=1.0)
        plain, ours = run(case, "naive"), run(case, "ours-certified")
        value = float(ours["value"])
        assert float(plain["value"]) <= value * (1 + 1e-6)
        assert value <= float(ours["upper"])
        json.dumps([plain, ours])


def test_the_gate_runs_style_types_and_all_tests():
    """A type error in a test reached main while the gate ran tests alone."""
    lines = re.findall(r"^make (.*)$", (ROOT / ".ci" / "run").read_text(), flags=re.MULTILINE)
    assert {"lint", "types", "test"} <= set(" ".join(lines).split())
