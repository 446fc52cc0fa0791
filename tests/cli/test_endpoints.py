"""Endpoints and functions on the command line."""

from __future__ import annotations

import json

import pytest

from tests.models.test_endpoint import serving
from wordsway.cli.app import run

PAIR = ["The drug is safe.", "The drug is unsafe."]


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    from wordsway import data

    wordnet = data.get("wordnet").folder
    monkeypatch.setenv("WORDSWAY_HOME", str(tmp_path))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "wordnet").symlink_to(wordnet)


def test_pairs_of_an_endpoint(capsys):
    with serving() as server:
        command = ["pairs", *PAIR, "--endpoint", server.url, "--model", "m", "--draws", "0"]
        assert run([*command, "--json"]) == 0
        first = json.loads(capsys.readouterr().out)
        assert len(server.texts) == 2
        assert run([*command, "--json"]) == 0
        printed = capsys.readouterr()
        again = json.loads(printed.out)
        assert again["pairs"] == first["pairs"]
        assert (first["models"][0]["vectors_sent"], again["models"][0]["vectors_sent"]) == (2, 0)
        assert again["models"][0]["vectors_stored"] == 2 and "2 from the store" in printed.err
        assert len(server.texts) == 4, "two stored texts are compared"
        assert run([*command, "--max-texts", "1"]) == 0  # both are stored
        assert run([*command, "--fresh", "--max-texts", "1"]) == 2
        assert run([*command, "--fresh"]) == 0
        assert "2 vectors from the server, 0 from the store" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb",
    [
        ["audit", "--data", "everyday", "--texts", "3"],
        ["length", "--data", "gold", "--texts", "3", "--windows", "1,2,4", "--no-baselines"],
    ],
)
def test_a_forecast_counts_the_texts_that_are_sent(verb, tmp_path, capsys):
    with serving() as server:
        command = [*verb, "--endpoint", server.url, "--model", "m", "--out", str(tmp_path / "out")]
        assert run([*command, "--forecast", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert server.texts == [] and told["texts"] > 10
        assert run(command) == 0
        assert len(server.texts) == told["texts"] == len(set(server.texts))
        assert run([*command, "--forecast", "--json"]) == 0
        assert json.loads(capsys.readouterr().out.splitlines()[-1])["texts"] == 0


@pytest.mark.parametrize(
    "options",
    [["--endpoint", "http://127.0.0.1:1/v1"], ["--key-env", "KEY"], ["--model", "python:nothing"]],
)
def test_incomplete_requests_are_refused(options, capsys):
    assert run(["pairs", *PAIR, *options]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
