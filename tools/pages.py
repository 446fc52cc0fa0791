"""The blocks of the documentation, run: what a page shows is what happens.

    python -m tools.pages docs/tutorials/first-result.md     run it, and write what it printed

In a page, blocks of Python share one scope, and commands run in one folder of their own. A block of
``text`` behind one that ran is its output. A comment in the line before a block changes that:

    <!-- not run: why -->      shown only; its commands are still parsed, options and all
    <!-- file: grid.toml -->   the block is a file in that folder

Tutorials and how-to pages run every block without such a comment; on the other pages Python runs,
and commands are parsed, and run at toy size (tests/test_page_commands.py).
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PUBLISHED = "https://github.com/wordsway/wordsway/blob/main/"
#: Columns of the terminal in which commands run.
WIDTH = 88
_FENCE = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*?) -->\n)?^```(?P<language>[^\n`]*)\n(?P<code>.*?)^```$",
    flags=re.MULTILINE | re.DOTALL,
)
#: What differs from run to run: times, sizes of memory, dates, versions and hashes.
_VARIES = re.compile(
    r"(?:about |≈ ?)?\d[\d.,]*(?:e[-+]\d+)? ?(?:ms|s|min|h|kB|MB|GB|GiB)\b|\b[0-9a-f]{12,64}\b…?"
)
_NUMBER = re.compile(r"[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?%?")


@dataclass(frozen=True)
class Block:
    """One block of a page: its language, the comment before it, its text, and where that stands."""

    language: str
    note: str
    code: str
    start: int
    end: int


@dataclass(frozen=True)
class Shown:
    """A block that ran: what it printed, and the block of output that the page shows for it."""

    block: Block
    printed: str
    output: Block | None


def pages() -> list[Path]:
    """Every page that is shown to somebody."""
    found = [*DOCS.glob("*.md")]
    for kind in ("tutorials", "how-to", "reference", "explanation"):
        found += (DOCS / kind).glob("*.md")
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(found)]


def runs_commands(page: Path) -> bool:
    """Whether the commands of a page are run, not only parsed."""
    return page.parent.name in ("tutorials", "how-to")


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [
        Block(
            found["language"],
            found["note"] or "",
            found["code"],
            found.start("code"),
            found.end("code"),
        )
        for found in _FENCE.finditer(page.read_text("utf-8"))
    ]


def commands(code: str) -> list[list[str]]:
    """The wordsway commands of a block of shell, without comments and redirections.

    >>> commands("make run\\nwordsway words 'a b' --json > x.json  # one document")
    [['words', 'a b', '--json']]
    """
    lines = re.sub(r"\\\n\s*", " ", code).splitlines()
    found = [shlex.split(line, comments=True) for line in lines if line.startswith("wordsway ")]
    return [words[1 : words.index(">") if ">" in words else None] for words in found]


def parse(words: list[str]) -> None:
    """Let the command line read a command, options and all, without running it."""
    import typer.main

    from wordsway.cli.commands import app

    command: Any = typer.main.get_command(app)
    if words[0].startswith("-"):  # of the program itself, and done as soon as it is read
        known = {name for param in command.params for name in (*param.opts, "--help", "-h")}
        assert words[0] in known, words[0]
        return
    context = command.make_context("wordsway", list(words), resilient_parsing=False)
    rest = [*context._protected_args, *context.args]
    while hasattr(command, "commands"):
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, list(rest), parent=context)
        rest = [*getattr(context, "_protected_args", []), *context.args]


def run_page(page: Path, folder: Path) -> Iterator[Shown]:
    """Run the blocks of a page, one after the other, in ``folder``."""
    from wordsway.cli.app import run

    scope: dict[str, object] = {"__name__": "__page__"}
    every = blocks(page)
    for number, block in enumerate(every):
        if block.note.startswith("file: "):
            (folder / block.note.removeprefix("file: ")).write_text(block.code, "utf-8")
            continue
        if block.note.startswith("not run"):
            continue
        printed = io.StringIO()
        with inside(folder), contextlib.redirect_stdout(printed):
            if block.language == "python":
                exec(compile(block.code, str(page), "exec"), scope)
            elif block.language == "sh" and runs_commands(page):
                for line in block.code.splitlines():
                    if line.startswith("python "):  # a file of the page
                        script = [sys.executable, *shlex.split(line, comments=True)[1:]]
                        print(subprocess.run(script, stdout=-1, check=True, text=True).stdout)
                for words in commands(block.code):
                    status = run(words)
                    assert status == 0, f"{page.name}: wordsway {shlex.join(words)}: {status}"
            else:
                continue
        after = every[number + 1] if number + 1 < len(every) else None
        shown = after is not None and after.language == "text" and not after.note
        yield Shown(block, printed.getvalue(), after if shown else None)


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder, in a terminal of one width."""
    before, columns = Path.cwd(), os.environ.get("COLUMNS")
    os.chdir(folder)
    os.environ["COLUMNS"] = str(WIDTH)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.pop("COLUMNS")
        if columns is not None:
            os.environ["COLUMNS"] = columns


def differences(shown: str, printed: str, tolerance: float = 0.02) -> list[str]:
    """Where an output is not what the page shows: words have to agree, numbers within 2 % (another
    processor may round its way to another maximum), times and sizes of memory not at all.

    >>> differences("S = 3.43 in 2 s", "S = 3.44 in 9 s"), differences("S = 3.4", "S = 4.3")
    ([], ['S = 3.4 ≠ S = 4.3'])
    """
    found = []
    mine, theirs = _telling(shown), _telling(printed)
    for ours, other in zip(mine, theirs, strict=False):
        same = _NUMBER.sub("0", ours) == _NUMBER.sub("0", other)
        pairs = zip(_NUMBER.findall(ours), _NUMBER.findall(other), strict=False)
        if not same or any(_far(a, b, tolerance) for a, b in pairs):
            found.append(f"{ours} ≠ {other}")
    if len(mine) != len(theirs):
        found.append(f"{len(mine)} lines ≠ {len(theirs)} lines")
    return found


def _telling(text: str) -> list[str]:
    """The lines of an output, without what varies and without rules and bars."""
    lines = [re.sub(r"[\s━─▏▎▍▌▋▊▉█░]+", " ", _VARIES.sub("#", line)) for line in text.splitlines()]
    return [line.strip() for line in lines if line.strip()]


def _far(a: str, b: str, tolerance: float) -> bool:
    x, y = (float(one.replace("−", "-").rstrip("%")) for one in (a, b))
    return abs(x - y) > tolerance * max(abs(x), abs(y)) + 1.5 * 10.0 ** -_places(a)


def _places(number: str) -> int:
    return len(re.split("[e%]", number)[0].partition(".")[2]) or 9


def write_outputs(page: Path) -> int:
    """Put what the blocks print into the page; how many outputs there are."""
    with tempfile.TemporaryDirectory() as folder:
        found = [shown for shown in run_page(page, Path(folder)) if shown.output is not None]
    text = page.read_text("utf-8")
    for shown in reversed(found):
        assert shown.output is not None
        lines = [line.rstrip() for line in shown.printed.strip("\n").splitlines()]
        text = text[: shown.output.start] + "\n".join(lines) + "\n" + text[shown.output.end :]
    page.write_text(text, "utf-8")
    return len(found)


if __name__ == "__main__":
    for name in sys.argv[1:] or pages():
        print(f"{name}: {write_outputs(Path(name).resolve())} outputs", file=sys.stderr)
