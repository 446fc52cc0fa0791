"""Help, completion and names: the habits of the terminal and of Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any

import pytest
import typer.main

import tiny
import wordsway as ws
from wordsway.cli.app import run
from wordsway.cli.commands import app


def commands(group: Any = None, path: str = "wordsway") -> list[str]:
    """Every command, those of groups included."""
    group = group or typer.main.get_command(app)
    found = []
    for name, command in group.commands.items():
        place = f"{path} {name}"
        found += commands(command, place) if hasattr(command, "commands") else [place]
    return found


def test_help_of_every_command(capsys, monkeypatch):
    """In 80 columns no text is cut, and switches have no value."""
    monkeypatch.setenv("COLUMNS", "80")
    for path in commands():
        assert run([*path.split()[1:], "--help"]) == 0
        shown = capsys.readouterr().out
        switches = [line for line in shown.splitlines() if "<bool>" in line]
        assert path in shown and "… │" not in shown
        assert all("--help" in line for line in switches)


def test_commands_are_in_two_groups():
    group: Any = typer.main.get_command(app)
    shown: dict[str, set[str]] = {}
    for name, command in group.commands.items():
        shown.setdefault(command.rich_help_panel, set()).add(name)
    assert set(shown) == {"Models", "Research"}
    research = "measure verify learn sweep reproduce playground data"
    assert shown["Research"] == set(research.split())


def test_deprecated_options_are_hidden_warn_and_work(capsys, tmp_path):
    """On standard error, so that standard output stays one JSON document."""
    model, page = str(tiny.save(tmp_path / "model")), tmp_path / "attract.html"
    base = ["attract", "the film was good", "--model", model, "--json"]
    assert run([*base, "--word", "1"]) == 0
    new = capsys.readouterr()
    assert run([*base, "--index", "1", "--html", str(page)]) == 0
    old = capsys.readouterr()
    assert json.loads(old.out)["after"] == json.loads(new.out)["after"] and page.exists()
    assert "deprecated" not in new.err
    assert "--index is deprecated: use --word NUMBER" in old.err
    assert "--html is deprecated: use --out FILE.html" in old.err
    same = ["attention", "the film was good", "--model", model, "--json", "--attract", "film"]
    assert run(same) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["after"] == json.loads(new.out)["after"]
    assert "use wordsway attract" in told.err
    assert run(["attract", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--index" not in shown and "--html" not in shown


def test_errors_point_to_the_help_of_the_command(capsys):
    assert run(["words", "a", "--reach", "far"]) == 2
    said = "expected a number for --reach, got 'far': see wordsway words --help"
    assert said in capsys.readouterr().err
    assert run(["serve", "--port", "99999"]) == 2
    assert "expected at most 65535 for --port, got '99999': see" in capsys.readouterr().err
    assert run(["data", "gt"]) == 2
    assert "(see wordsway data --help)" in capsys.readouterr().err
    assert run(["data"]) == 2
    assert "choose list or get (see wordsway data --help)" in capsys.readouterr().err


COMPLETE = {"bash": ("COMP_WORDS", "COMP_CWORD"), "zsh": ("_TYPER_COMPLETE_ARGS",), "fish": ()}


@pytest.mark.slow
@pytest.mark.parametrize("shell", COMPLETE)
def test_completion_answers(shell):
    env = os.environ | {
        "_WORDSWAY_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": "wordsway mea",
        "COMP_CWORD": "1",
        "_TYPER_COMPLETE_ARGS": "wordsway mea",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_WORD_TO_COMPLETE": "mea",
    }
    done = subprocess.run(
        [sys.executable, "-m", "wordsway"], env=env, capture_output=True, text=True
    )
    assert "measure" in done.stdout and "words" not in done.stdout.split(), done.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_completion_installs_and_works_in_bash(tmp_path):
    """As a person would: install, open a shell, press tab."""
    program = tmp_path / "wordsway"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m wordsway "$@"\n')
    program.chmod(0o755)
    env = os.environ | {
        "HOME": str(tmp_path),
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
    }
    install = (
        "wordsway --install-completion zsh; [ $? = 2 ] && wordsway --install-completion && true"
    )
    subprocess.run(["bash", "-c", install], env=env, check=True, timeout=60)
    press_tab = (
        "source ~/.bashrc; complete -p wordsway >/dev/null || exit 3; "
        "COMP_WORDS=(wordsway att); COMP_CWORD=1; "
        'f=$(complete -p wordsway | sed "s/.*-F \\([^ ]*\\).*/\\1/"); $f wordsway; '
        'echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", press_tab], env=env, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["attention", "attract"], done.stderr


def test_old_names_warn_and_work():
    with pytest.warns(DeprecationWarning, match=r"wordsway\.Learned is now wordsway\.FlipRow"):
        assert ws.Learned is ws.FlipRow  # type: ignore[attr-defined]
