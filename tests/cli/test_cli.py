"""The command line as a person and a script meet it: real processes, exit status, one line per
error.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import wordsway as ws
from wordsway.cli.app import run
from wordsway.data.catalogue import CATALOGUE

SMALL = ["measure", "--map", "raf", "--n", "6", "--d", "5"]


def wordsway(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wordsway.cli.app", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


def only_progress(err: str) -> bool:
    """On a slow machine progress may have begun; nothing else belongs on standard error."""
    return all(line.startswith("trial ") for line in err.splitlines())


@pytest.mark.parametrize("name", ["drf", "raf"])
def test_json_is_one_document_with_the_promised_fields(name, capsys):
    assert (
        run(
            [
                "measure",
                "--map",
                name,
                "--n",
                "6",
                "--d",
                "5",
                "--trials",
                "3",
                "--seed",
                "4",
                "--json",
            ]
        )
        == 0
    )
    out, err = capsys.readouterr()
    data = json.loads(out)
    assert {
        "map",
        "n",
        "d",
        "k",
        "depth",
        "seed",
        "data",
        "trials",
        "mean",
        "sd",
        "peak_mb",
        "versions",
    } <= set(data)
    assert (data["map"], data["n"], data["d"], data["k"], data["seed"], data["data"]) == (
        name,
        6,
        5,
        30,
        4,
        "gaussian",
    )
    assert data["depth"] == (2 if name == "drf" else None)
    assert len(data["trials"]) == 3
    for trial in data["trials"]:
        assert {"lower", "upper", "position", "seconds"} <= set(trial)
        assert 0 < trial["lower"] <= trial["upper"]
        assert trial["position"] == 0
    assert data["mean"] == pytest.approx(sum(t["lower"] for t in data["trials"]) / 3)
    assert data["sd"] > 0 and data["peak_mb"] > 50
    assert only_progress(err)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_numbers_and_a_trial_can_be_made_again(capsys):
    import wordsway as ws

    results = []
    for seed in ("1", "1", "2"):
        assert run([*SMALL, "--seed", seed, "--trials", "2", "--json"]) == 0
        results.append([t["lower"] for t in json.loads(capsys.readouterr().out)["trials"]])
    assert results[0] == results[1] != results[2]
    assert run([*SMALL, "--seed", "1", "--trials", "2", "--json"]) == 0
    trial = json.loads(capsys.readouterr().out)["trials"][1]
    again = ws.sensitivity(
        ws.RAF(5, trial["map_seed"]),
        ws.Sample.gaussian(6, 5, trial["sample_seed"]),
        positions=[0],
        seed=trial["search_seed"],
    )
    assert again.lower == trial["lower"]


@pytest.mark.slow
def test_real_text_moves_its_first_word(tmp_path, capsys):
    """Row 0 of a real text is [CLS]: by default its first word moves, and the row is told."""
    texts = tmp_path / "texts.csv"
    texts.write_text("text,label\nthe film was good and long,1\na dull plot and a bad cast,-1\n")
    corpus = ["--data", str(texts), "--n", "6", "--d", "8"]
    arguments = ["measure", "--map", "raf", *corpus]
    assert run([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["positions"] == ["word:0"]
    assert told["trials"][0]["position"] == 1 and told["trials"][0]["word"] in ("the", "a")
    assert run(arguments) == 0
    assert "word 0" in capsys.readouterr().out
    assert run([*arguments, "--positions", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["trials"][0]["position"] == 0
    assert run([*SMALL, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["positions"] == [0]


@pytest.mark.slow
def test_positions(capsys):
    assert run([*SMALL, "--positions", "all", "--json"]) == 0
    every = json.loads(capsys.readouterr().out)
    assert run([*SMALL, "--positions", "1,4", "--json"]) == 0
    two = json.loads(capsys.readouterr().out)
    assert two["trials"][0]["position"] in (1, 4)
    assert every["mean"] >= two["mean"] * (1 - 1e-6)


def test_the_table_reads_well(capsys):
    assert run([*SMALL, "--trials", "2"]) == 0
    out, _ = capsys.readouterr()
    for part in (
        "RAF n=6 d=5",
        "attained",
        "certified",
        "S, row 0: mean attained",
        "±",
        "peak memory",
        "float64",
    ):
        assert part in out
    assert run(SMALL) == 0
    assert "mean" not in capsys.readouterr().out, "of one trial"


def test_no_certificate(capsys):
    assert run([*SMALL, "--no-certificate", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["trials"][0]["upper"] is None


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (
            ["measure", "--map", "cnn", "--n", "6", "--d", "5"],
            2,
            "a map among rf, drf, raf, relu-raf",
        ),
        (["measure", "--map", "raf", "--n", "0", "--d", "5"], 2, "n ≥ 1"),
        (["measure", "--map", "raf", "--n", "6", "--d", "-3"], 2, "d ≥ 1"),
        (["measure", "--map", "raf", "--n", "six", "--d", "5"], 2, "--n"),
        (["measure", "--map", "raf", "--n", "6"], 2, "--d"),
        (
            ["measure", "--map", "raf", "--n", "6", "--d", "5", "--k", "3"],
            2,
            "k only with rf or drf",
        ),
        (
            ["measure", "--map", "rf", "--n", "6", "--d", "5", "--depth", "3"],
            2,
            "depth only with drf",
        ),
        (["measure", "--map", "rf", "--n", "6", "--d", "5", "--k", "0"], 2, "k ≥ 1"),
        ([*SMALL, "--positions", "6"], 2, "between 0 and 5"),
        ([*SMALL, "--positions", "0,0"], 2, "distinct"),
        ([*SMALL, "--positions", "first"], 2, "numbers like 0,3"),
        ([*SMALL, "--trials", "0"], 2, "trials ≥ 1"),
        ([*SMALL, "--data", "nosuch"], 2, "expected gaussian, a corpus (imdb), a file or a folder"),
        (["corpus", "gaussian"], 2, "expected a corpus (imdb), a file or a folder, got 'gaussian'"),
        (["length", "--host", "gaussian"], 2, "expected own, filler, a corpus (imdb), a file or a"),
        ([*SMALL, "--proof", "x", "--no-certificate"], 2, "got --no-certificate: omit"),
        ([*SMALL, "--proof", f"{__file__}/x"], 2, "test_cli.py is not a writable folder"),
        (["words", "A text.", "--out", f"{__file__}/x.html"], 2, "is not a writable folder"),
        (["audit", "--forecast", "--documents", "no.txt"], 2, "a file of texts, got no.txt"),
        (
            ["sweep", "grid.toml", "--out", "x", "--forecast", "--merge", "no"],
            2,
            "store to merge",
        ),
        (["length", "--windows", "0,1"], 2, "to be a list of whole numbers ≥ 1 that is not empty,"),
        (["serve", "--model", "foo"], 2, "bert-base), a Hugging Face id or a folder, got 'foo'"),
        ([*SMALL, "--memory", "0"], 2, "memory budget"),
        ([*SMALL, "--frobnicate"], 2, "frobnicate"),
        (["frobnicate"], 2, "frobnicate"),
        (
            [
                "measure",
                "--map",
                "rf",
                "--n",
                "150",
                "--d",
                "768",
                "--positions",
                "all",
                "--memory",
                "0.01",
            ],
            1,
            "name fewer positions",
        ),
    ],
)
def test_errors_are_one_line_on_standard_error(arguments, status, message, capsys):
    assert run(arguments) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1 and err.startswith("wordsway: ") and message in err
    assert "Traceback" not in err


def test_a_map_that_vanishes_is_reported_not_crashed(capsys, monkeypatch):
    import wordsway.studies.measure as trials

    def vanish(*_args, **_options):
        raise RuntimeError("boom")

    monkeypatch.setattr(trials, "sensitivity", vanish)
    assert run(SMALL) == 1
    assert (
        capsys.readouterr().err
        == "wordsway: RuntimeError: boom (run again with --debug for the traceback)\n"
    )
    assert run([*SMALL, "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["measure", "--help"], ["learn", "--help"], []])
def test_help_is_everywhere(arguments, capsys):
    assert run(arguments) == 0
    assert "Usage" in capsys.readouterr().out


def test_version():
    done = wordsway("--version")
    assert done.returncode == 0 and done.stdout.startswith("wordsway 0.")


@pytest.mark.slow
def test_a_real_process_prints_nothing_but_json():
    done = wordsway(*SMALL, "--json")
    assert done.returncode == 0 and only_progress(done.stderr)
    json.loads(done.stdout)


@pytest.mark.slow
def test_ctrl_c_keeps_finished_trials():
    arguments = [*SMALL, "--trials", "1000000", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "wordsway.cli.app", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # ignored where the tests run in the background
    )
    first = next(line for line in process.stderr if "of 1000000" in line)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert first, "progress in plain lines after two seconds"
    assert process.returncode == 1
    data = json.loads(out)
    assert data["interrupted"] is True and 1 <= len(data["trials"]) < 1_000_000
    assert "Traceback" not in err


@pytest.mark.slow
def test_forecast_says_time_and_memory():
    """Fresh processes at a paper's size: peak memory within a factor 2 of what was forecast. How
    true the time is, docs/notes/performance.md tells.
    """
    line = ["measure", "--map", "raf", "--n", "100", "--d", "384", "--json"]
    forecast = json.loads(wordsway(*line, "--forecast").stdout)
    real = json.loads(wordsway(*line).stdout)
    assert forecast["forecast_seconds"] > 0
    assert 0.5 < forecast["forecast_peak_mb"] / real["peak_mb"] < 2


@pytest.mark.slow
def test_peak_memory_is_the_programs_own_not_its_launchers():
    """A launcher that holds a gigabyte must not show in the figure of the program it starts."""
    code = (
        "import subprocess, sys; held = bytearray(10**9); "
        "print(subprocess.run(sys.argv[1:], capture_output=True, text=True).stdout)"
    )
    command = [sys.executable, "-m", "wordsway.cli.app", *SMALL, "--json"]
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["peak_mb"] < 700


def test_an_unwritable_folder_is_one_line(tmp_path, capsys):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert run(["reproduce", "2-left", "--quick", "--out", str(blocked / "figures")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "Traceback" not in err


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
@pytest.mark.slow
def test_progress_in_a_terminal_is_one_live_line():
    read, write = os.openpty()
    arguments = [*SMALL, "--trials", "400", "--positions", "all"]
    process = subprocess.Popen(
        [sys.executable, "-m", "wordsway.cli.app", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=write,
    )
    os.close(write)
    shown = ""
    try:
        while shown.count("left") < 2:
            shown += os.read(read, 10_000).decode()
    finally:
        process.kill()
        process.wait()
        os.close(read)
    assert "\r" in shown and shown.count("\n") == 0


@pytest.mark.slow
def test_measure_on_reviews(capsys):
    """Each trial names its review; the same seed draws the same ones, whatever the number of
    trials.
    """
    line = [
        "measure",
        "--map",
        "raf",
        "--data",
        "imdb",
        "--n",
        "30",
        "--d",
        "64",
        "--json",
        "--seed",
        "4",
    ]
    assert run([*line, "--trials", "3"]) == 0
    three = json.loads(capsys.readouterr().out)
    assert run([*line, "--trials", "1"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert (
        one["trials"][0]["text"] == three["trials"][0]["text"]
        and one["trials"][0]["lower"] == three["trials"][0]["lower"]
    )
    assert len({trial["text"]["sha256"] for trial in three["trials"]}) == 3
    assert {trial["text"]["label"] for trial in three["trials"]} <= {-1, 1}
    source = three["source"]
    assert (
        source["model"] == "minilm"
        and len(source["model_sha256"]) == len(source["corpus_sha256"]) == 64
    )
    assert source["cache_version"] and source["read"]["texts"] == 50_000


@pytest.mark.slow
def test_measure_on_a_file(capsys, tmp_path):
    path = tmp_path / "reviews.csv"
    path.write_text(
        "body,stars\n"
        + "\n".join(
            f"a film with number {n} and a plot that goes on and on,{n % 2}" for n in range(9)
        )
    )
    line = [
        "measure",
        "--map",
        "relu-raf",
        "--data",
        str(path),
        "--n",
        "8",
        "--d",
        "32",
        "--trials",
        "2",
    ]
    assert (
        run(
            [
                *line,
                "--text-column",
                "body",
                "--label-column",
                "stars",
                "--positions",
                "word:2",
                "--json",
            ]
        )
        == 0
    )
    result = json.loads(capsys.readouterr().out)
    assert [trial["position"] for trial in result["trials"]] == [3, 3] and result["trials"][0][
        "word"
    ] == "with"
    assert result["source"]["corpus"] == "reviews.csv" and result["source"]["labels"] == {
        "0": -1,
        "1": 1,
    }
    assert run([*line, "--text-column", "body"]) == 0
    assert "reviews.csv:" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--data", "nowhere.csv"], "check the name or the path"),
        (["--data", "imdb:nothing"], "a model (minilm, mpnet"),
        (["--data", "minilm"], "write imdb:minilm"),
        (["--data", "imdb", "--d", "400"], "d ≤ 384"),
        (["--data", "imdb", "--padding", "left"], "none, pad, paper"),
        (["--data", "imdb", "--layer", "9"], "0 to 6"),
        (["--data", "imdb", "--n", "400", "--padding", "paper"], "n ≤ 256"),
        (["--data", "short.txt", "--n", "5000"], "n = 5000 tokens"),
        (["--data", "imdb", "--positions", "word:99"], "words 0 to"),
        (["--padding", "pad"], "gaussian texts"),
        (["--positions", "word:0"], "a sample without a text"),
    ],
)
def test_bad_text_requests_are_one_line(capsys, tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.txt").write_text("\n".join(f"film number {n}" for n in range(5)))
    line = ["measure", "--map", "raf"]
    for name, default in (("--n", "8"), ("--d", "16")):
        line += [] if name in options else [name, default]
    assert run([*line, *options]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and said in err


def test_data_commands(capsys):
    assert run(["data", "list", "--json"]) == 0
    entries = {row["name"]: row for row in json.loads(capsys.readouterr().out)["entries"]}
    assert list(entries) == [*CATALOGUE]
    assert entries["imdb"]["here"] and entries["minilm"]["here"]
    assert all(row["licence"] and row["sources"] for row in entries.values())
    assert run(["data", "list"]) == 0
    assert "Apache-2.0" in capsys.readouterr().out
    assert run(["data", "get", "imdb", "minilm"]) == 0
    assert capsys.readouterr().out.count("already in") == 2
    assert run(["data", "get", "nothing"]) == 2
    assert ", ".join(CATALOGUE) in capsys.readouterr().err


def test_a_proof_that_is_not_written_names_the_certificate(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    pytest.importorskip("flint")
    path = tmp_path / "rf.proof"
    assert run(["measure", "--map", "rf", "--n", "40", "--d", "96", "--proof", str(path)]) == 1
    (warning,) = caplog.messages
    assert "at most 1,048,576 weights" in warning and "(certificate: 1 − 1e-9)" in warning
    assert "rf.proof was not written" in capsys.readouterr().err and not path.exists()


def test_a_result_is_printed_before_its_files_are_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("flint")
    measured = ["measure", "--map", "rf", "--n", "4", "--d", "3", "--proof"]
    path = tmp_path / "new" / "rf.proof"
    assert run([*measured, str(path)]) == 0
    assert f"written: {path} (in a new folder)" in capsys.readouterr().out and path.exists()

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert run([*measured, str(path)]) == 1
    out, err = capsys.readouterr()
    assert "certified" in out and "(No space left on device): choose another file" in err


@pytest.mark.parametrize(("d", "draw"), [(4, "dense"), (128, "on-demand")])
def test_json_states_whether_seeds_recreate_the_weights(
    d: int, draw: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["measure", "--map", "rf", "--n", "60", "--d", str(d), "--json"]) == 0
    (trial,) = json.loads(capsys.readouterr().out)["trials"]
    X = ws.Sample.gaussian(60, d, trial["sample_seed"])
    phi = ws.RF(60, d, seed=trial["map_seed"])
    phi(X.replaced(1, torch.ones(d)))  # before the witness is queried
    change = phi(X.replaced(0, trial["delta"])) - phi(X)
    found = float(change.norm() / phi(X).norm())
    assert trial["draw"] == draw
    assert (found == pytest.approx(trial["lower"])) == (draw == "dense")
