"""Commands of the README, reference and explanation pages run as they stand there, at toy size: a
small model, a few texts, a few rows. (Tutorials and how-to pages run as they are: test_pages.)
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

import tiny
from jobs import Here
from tools.pages import ROOT, blocks, commands, inside, pages, runs_commands
from wordsway.cli.app import run

#: Commands that other tests run: `serve` waits for a browser, and a cluster has to be there.
ELSEWHERE = {
    "serve": "tests/page",
    "reproduce": "tests/paper/test_reproduce.py",
    "data": "tests/data/test_data.py",
    "length": "tests/lengths/test_lengths.py",
    "--cluster": "tests/engine/test_dask.py",
    "--shard": "tests/engine/test_slurm.py",
    "--merge": "tests/engine/test_run.py",
}
OF_MODELS = ("words", "swap", "attract", "attention", "pairs", "audit", "compare")
#: Texts and words of the small vocabulary; smaller sizes; files that the test lays down.
TOY = {
    "I love her much": "the film was good",
    "I love her smile": "the film was bad",
    "Write about a happy dog.": "the film was good",
    "Write about a hungry dog.": "the film was bad",
    "much": "good",
    "her": "film",
    "imdb": "labelled.csv",
    "examples/grid.toml": "grid.toml",
    "negation=0.85": "negation=0",
    "rewording.negation=0.5": "rewording.negation=0",
}
SIZES = {"--n": "4", "--d": "8", "--train": "4", "--trials": "2", "--limit": "2"}
REVIEWS = "".join(
    f"the film was {'good' if number % 2 else 'dull'} and the plot was number {number},"
    f"{number % 2}\n"
    for number in range(12)
)
FILES = {
    "modals.txt": "can\nmay\nmust\nnever\n",
    "reviews.csv": f"review,sentiment\n{REVIEWS}",
    "labelled.csv": f"text,label\n{REVIEWS}",
    "pairs.csv": "a,b\nthe film was good,the film was bad\n",
    "articles.txt": REVIEWS.replace(",", " "),
    "my_texts.csv": "text\n" + "The film was good and the plot was not dull.\n" * 2,
    "my_triples.csv": "text,rewording,change,kind\n"
    + "the film was good,it was a good film,the film was not good,negation\n" * 2,
    "grid.toml": '[[grid]]\nmap = "raf"\nn = 4\nd = 8\n',
}


def shown() -> list[list[str]]:
    """Every command that a page only shows, once."""
    found = {
        shlex.join(words): words
        for page in pages()
        if not runs_commands(page)
        for block in blocks(page)
        if block.language == "sh"
        for words in commands(block.code)
    }
    return list(found.values())


def toy(words: list[str], model: str) -> list[str]:
    """The same command, smaller."""
    small = [TOY.get(word, word) for word in words]
    for option, value in SIZES.items():
        if option in small:
            small[small.index(option) + 1] = value
    if small[0] in OF_MODELS:
        while "--model" in small:
            at = small.index("--model")
            del small[at : at + 2]
        small += ["--model", model]
    if small[0] == "audit":
        small = [word for word in small if word != "--quick"]
        small += ["--texts", "2", "--draws", "1", "--out", "audited"]
        small += [] if "--data" in small else ["--data", "my_texts.csv"]
        small += ["--kind", "negation"]
    return small


def test_what_is_not_run_here_is_run_elsewhere():
    for place in ELSEWHERE.values():
        assert (ROOT / place).exists(), place
    assert len(shown()) > 30 and set(TOY) & {word for words in shown() for word in words}


@pytest.mark.slow
def test_every_command_shown_runs(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here())
    model = str(tiny.save(tmp_path / "model"))
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    failed = {}
    for words in shown():
        if set(words) & set(ELSEWHERE):
            continue
        with inside(tmp_path):
            status = run(toy(words, model))
        told = capsys.readouterr()
        if status or not (told.out or told.err):
            failed[shlex.join(words)] = f"{status}: {told.err[-300:]}"
    assert failed == {}
