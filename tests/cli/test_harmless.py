"""What comes from outside cannot drive the terminal through an error, a warning or a show()."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
import torch

import wordsway as ws
from pages import HARMFUL
from wordsway.cli.app import run
from wordsway.cli.output import ProgressLine

ESCAPE = "\x1b[2J\x1b]0;owned\x07"


def lines(capsys: pytest.CaptureFixture[str]) -> str:
    """Standard error, without its own new lines."""
    return capsys.readouterr().err.replace("\n", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["measure", f"--{ESCAPE}"],
        [f"{ESCAPE}command"],
        ["measure", "--map", ESCAPE, "--n", "3", "--d", "3"],
        ["measure", "--map", "raf", "--n", "3", "--d", "3", "--data", f"/nowhere/{ESCAPE}.csv"],
        ["sweep", f"{ESCAPE}.toml", "--out", "x"],
    ],
)
def test_an_error_line_is_harmless(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) in (1, 2)
    said = lines(capsys)
    assert said.startswith("wordsway: ") and not HARMFUL.search(said)


def test_columns_and_file_names_in_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"{ESCAPE.replace('/', '')}.csv"
    path.write_text(f"{ESCAPE}a,{ESCAPE}b\n1,2\n", "utf-8")
    arguments = ["measure", "--map", "raf", "--n", "3", "--d", "3", "--data", str(path)]
    assert run(arguments) == 2
    said = lines(capsys)
    assert not HARMFUL.search(said) and "owned" in said


def test_a_warning_is_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("wordsway")
    handlers = list(logger.handlers)
    logger.handlers.clear()
    try:
        run(["--version"])
        logger.warning("cannot read %s", ESCAPE)
        said = lines(capsys)
    finally:
        logger.handlers[:] = handlers
    assert "cannot read" in said and not HARMFUL.search(said)


def test_markup_in_a_word_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["[/b]", "[link=http://x]here[/link]", "[bold]", ":smile:"]
    X = ws.Sample(torch.randn(4, 4, generator=torch.Generator().manual_seed(0)), words=words)
    ws.sensitivity(ws.RAF(4, 3), X, seed=0, certificate=False).show()
    shown = capsys.readouterr().out
    for word in words:
        assert word[:24] in shown.replace("…", word[23:24])


def test_progress_lines_are_harmless() -> None:
    line = ProgressLine()
    line("fetching \x1b]0;title\x07 of\nsomebody", 1, 4, "best \x1b[2J")
    assert "\x1b" not in line.text() and "\x07" not in line.text() and "\n" not in line.text()
