"""The verb and the command, through the experiment engine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas
import pytest

import tiny
import wordsway as ws
from jobs import Here
from wordsway.auditing.audit import CHUNK, AuditRequest
from wordsway.auditing.cases import collect
from wordsway.auditing.running import forecast_request
from wordsway.cli.app import run
from wordsway.core.errors import InputError, WordswayError
from wordsway.engine.provenance import Provenance
from wordsway.engine.workers import JobOutcome, LocalWorkers, work
from wordsway.models.files import ModelName

TEXTS = [
    "the film isn't good, and the plot was not bad.",
    "it's a fine film, and she is always good.",
    "they do not like the film, and it was very good.",
    "he is good, and you can't see the cast.",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny.save(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs run in this process, but for the test of workers."""
    monkeypatch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here())


def without_time(found: ws.Audit) -> dict[str, Any]:
    return found.to_dict() | {"seconds": 0, "files": []}


@pytest.mark.slow
def test_a_leaderboard(model: str, tmp_path: Path) -> None:
    models = [model, f"{model}:random=1"]
    found = ws.audit(models, TEXTS, draws=3, out=tmp_path, workers=1)
    document = json.loads(found.to_json())
    assert {one["name"] for one in document["models"]} == {
        Path(model).name,
        f"{Path(model).name}:random=1",
    }
    first = document["models"][0]["kinds"][0]
    fields = "kind texts auc low high median_turning median_keeping blind"
    assert set(fields.split()) <= set(first)
    assert 0 <= first["low"] <= first["auc"] <= first["high"] <= 1
    assert len(first["layers"]) == 4
    assert 0 <= first["percentile_low"] <= first["percentile"] <= first["percentile_high"] <= 100
    scores = [one["levels"][document["level"]]["score"] for one in document["models"]]
    assert scores == sorted(scores, reverse=True)
    name = Path(model).name
    assert [(one["name"], one["of"]) for one in document["baselines"]] == [
        ("word overlap", None),
        (f"{name}: mean of word vectors", name),
        (f"{name}:random", name),
    ]
    edits = pandas.read_parquet(tmp_path / "edits.parquet")
    assert set(edits["role"]) == {"turning", "keeping"} and len(edits) == 2 * len(edits) // 2
    assert all(path.is_file() for path in found.files) and len(found.files) == 6
    assert "wordsway" in found.versions


@pytest.mark.slow
def test_tables_are_the_same_for_any_number_of_workers(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, and on two workers; tests/engine has clusters, which run any job."""
    one = ws.audit(model, TEXTS, draws=3, out=tmp_path / "one", workers=1)
    monkeypatch.setattr("wordsway.engine.run.LocalWorkers", LocalWorkers)
    two = ws.audit(model, TEXTS, draws=3, out=tmp_path, workers=2)
    assert without_time(one) == without_time(two)
    for name in ("audit.csv", "edits.csv", "edits.parquet"):
        assert (tmp_path / name).read_bytes() == (tmp_path / "one" / name).read_bytes()
    again = ws.audit(model, TEXTS, draws=3, out=tmp_path, workers=1)  # from the store
    assert without_time(again) == without_time(two)
    pandas.testing.assert_frame_equal(one.frame(), two.frame())


@pytest.mark.slow
def test_a_job_is_its_content(model: str) -> None:
    cases = collect(TEXTS).cases
    (job,) = AuditRequest(model).jobs(ModelName(model), collect(TEXTS))
    assert job.key == replace(job).key and job.key != replace(job, draws=3).key
    outputs = json.loads(json.dumps(job.run()))
    for case, output in zip(cases, outputs["texts"], strict=True):
        effects = job.effects_in(output)
        assert not isinstance(effects, str)
        assert len(effects) == len(case.edits) and effects[0].value > 0
    assert job.size > 0 and job.estimate() > 0
    with pytest.raises(InputError, match="other files"):
        replace(job, model_sha256="0" * 64).run()


@pytest.mark.slow
def test_a_text_has_the_same_numbers_beside_any_other(model: str) -> None:
    chosen = collect(TEXTS)
    cases = chosen.cases * 10
    jobs = AuditRequest(model, draws=1).jobs(ModelName(model), replace(chosen, cases=cases))
    assert len(jobs[0].texts) == CHUNK
    assert sum(len(job.texts) for job in jobs) == len(cases)
    for text, output in zip(jobs[0].texts, jobs[0].run()["texts"], strict=True):
        (alone,) = replace(jobs[0], texts=(text,)).run()["texts"]
        for one, other in zip(alone["edits"], output["edits"], strict=True):
            assert one["distances"] == pytest.approx(other["distances"], rel=1e-3, abs=1e-6)
            assert one["percentile"] == other["percentile"]


def test_a_forecast_counts_what_is_left(model: str) -> None:
    cost = forecast_request(AuditRequest([model], TEXTS, draws=2), workers=1)
    assert cost.left == cost.total == 2 and cost.seconds > 0  # the model and its twin


def test_bad_requests(model: str) -> None:
    for given, message in (
        ({"models": []}, "a model"),
        ({"fail_under": ["humour=0.5"]}, "that is measured"),
        ({"draws": -1}, "draws"),
        ({"data": ["Guten Tag, das ist gut."]}, "can be edited"),
        ({"texts": 0}, "texts ≥ 1"),
        ({"target": "foo"}, "got 'foo'"),
    ):
        how: dict[str, Any] = {"models": model, "data": TEXTS} | given
        with pytest.raises(InputError, match=message):
            ws.audit(**how)


@pytest.mark.slow
def test_texts_that_fail_are_told(model: str) -> None:
    long = "it's a fine film, and he is good, " + "it's very very fine, " * 8 + "too."
    found = ws.audit(model, [*TEXTS, long], draws=0, workers=1)
    assert len(found.failed) == 1 and "at most 64 tokens" in found.failed[0][1].reason


def test_a_baseline_without_results_is_left_out(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(part: str) -> Here:
        def outcome(job: Any) -> JobOutcome:
            failed = JobOutcome(job, None, {}, "no")
            return failed if part in job.model else work(job, Provenance())

        return Here(outcome)

    monkeypatch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: failing(":random"))
    found = ws.audit(model, TEXTS[:2], draws=0, out=tmp_path / "twin")
    assert [one.name for one in found.baselines] == ["word overlap", "mean of word vectors"]
    (line,) = found.left_out
    assert line.startswith("Left out of the baselines:") and "--retry-failed" in line
    assert "Left out of the baselines" in (tmp_path / "twin" / "index.html").read_text("utf-8")
    monkeypatch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: failing(""))
    with pytest.raises(WordswayError, match=r"has no results .*--retry-failed"):
        ws.audit(model, TEXTS[:2], draws=0, out=tmp_path / "model")


@pytest.mark.slow
def test_the_command(model: str, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("text\n" + "\n".join(f'"{text}"' for text in TEXTS) + "\n\n", "utf-8")
    documents = tmp_path / "documents.txt"
    documents.write_text("\n".join(f"the film was {'very ' * n}good" for n in range(12)), "utf-8")
    base = ["audit", "--model", model, "--data", str(path), "--draws", "0", "--workers", "1"]
    base += ["--out", str(tmp_path / "out")]
    assert run([*base, "--documents", str(documents), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["models"][0]["retrieval"][0]["queries"] >= 1
    assert (tmp_path / "out" / "index.html").is_file()
    assert run([*base, "--fail-under", "all=1", "--fail-under", "antonyms=0"]) == 1
    said = capsys.readouterr()
    assert "gate failed" in said.err and " < 1 " in said.err and "≥ 1" not in said.err
    assert "gate passed: " in said.err and "≥ 0" in said.err
    assert "Is the edit that preserves" in said.out
    assert run([*base, "--forecast"]) == 0
    assert run([*base, "--fail-under", "negation"]) == 2


@pytest.mark.slow
def test_rows_that_cannot_be_used_are_told(model: str, tmp_path: Path, capsys: Any) -> None:
    huge = "word " * 2_000_000
    german, japanese = "Das ist kein guter Film.", "これは良い映画です。"
    rows = [TEXTS[2], huge, "", german, "good", TEXTS[1], japanese]
    path = tmp_path / "texts.csv"
    path.write_text("text\n" + "\n".join(f'"{row}"' for row in rows) + "\n", "utf-8")
    found = ws.audit(model, path, draws=0, workers=1)
    assert found.texts == 2 and [one.row for one in found.refused] == [2, 3, 4, 5, 7]
    reasons = [one.reason for one in found.refused]
    assert "more than 20,000" in reasons[0] and "empty" in reasons[1]
    assert all("no English sentence" in reason for reason in reasons[2:])
    lines = tmp_path / "texts.txt"
    lines.write_text("\n".join(rows), "utf-8")
    same = ws.audit(model, lines, draws=0, workers=1)
    assert same.texts == 2 and [one.row for one in same.refused] == [2, 4, 5, 7]  # no empty line
    assert same.refused[0].reason == reasons[0]
    base = ["audit", "--model", model, "--out", str(tmp_path / "out"), "--data"]
    for name, text in (("empty.csv", ""), ("header.csv", "text\n"), ("german.txt", german)):
        (tmp_path / name).write_text(text, "utf-8")
        assert run([*base, str(tmp_path / name)]) == 2
        error = capsys.readouterr().err.strip().splitlines()[-1]
        assert "expected" in error and "got" in error


@pytest.mark.slow
def test_pairs_without_a_partner_are_told(model: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(
        "a,b,kind\n"
        "the film was good,the film was bad,antonyms\n"
        "the film was good,the film was fine,keeping\n"
        "the film was good,the film was good,antonyms\n"
        "das ist gut,das ist schlecht,german\n",
        "utf-8",
    )
    found = ws.audit(model, path, draws=0, workers=1)
    assert found.texts == 1 and [one.row for one in found.refused] == [3, 4]
    assert "the same" in found.refused[0].reason and "preserves" in found.refused[1].reason
