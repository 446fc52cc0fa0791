"""One name, one meaning: the same data and the same version on every machine and in every run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tiny
from jobs import Here, OnThese, cell, fake, small_cells
from wordsway.core.result import versions
from wordsway.engine import provenance as provenances
from wordsway.engine.provenance import (
    Provenance,
    ProvenanceMismatch,
    compare_versions,
    provenance_of,
)
from wordsway.engine.run import run_jobs
from wordsway.engine.store import Record, Store
from wordsway.engine.workers import JobOutcome, work
from wordsway.studies.cells import HASHES, Cell
from wordsway.studies.request import Request
from wordsway.studies.texts import TextOptions

LINES = [f"the film number {number} was good and the plot fine" for number in range(8)]


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    path = tmp_path / "reviews.csv"
    path.write_text("text\n" + "\n".join(LINES))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A tiny model, and texts cut to what it can read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordsway.studies.corpus_texts.PAPER_CONTEXT", 32)
        yield str(tiny.save(tmp_path_factory.mktemp("tiny")))


def study(reviews: Path, model: str, trials: int = 2) -> list[Cell]:
    texts = TextOptions(model=model, text_column="text")
    request = Request("raf", 4, 6, data=str(reviews), texts=texts, certificate=False, effort=0.1)
    return [Cell(request, trial) for trial in range(trials)]


def test_a_file_rewritten_between_two_runs_is_noticed(
    reviews: Path, model: str, tmp_path: Path
) -> None:
    """Version 0.1.0 said "0 cells done now, 2 before" and gave the old file's numbers."""
    store = Store(tmp_path / "store")
    assert run_jobs(study(reviews, model), store, OnThese(Here())).done == 2
    assert run_jobs(study(reviews, model), store, OnThese(Here())).before == 2
    before = study(reviews, model)[0].fingerprint()["corpus_sha256"]
    reviews.write_text("text\n" + "\n".join(line.replace("good", "bad") for line in LINES))
    after = study(reviews, model)[0].fingerprint()["corpus_sha256"]
    assert before != after
    for trials in (2, 4):
        with pytest.raises(ProvenanceMismatch, match="another corpus") as caught:
            run_jobs(study(reviews, model, trials), store, OnThese(Here()))
        assert before[:12] in str(caught.value) and after[:12] in str(caught.value)
    assert len(store) == 2, "nothing was added, nothing lost"
    other = Store(tmp_path / "other")
    assert run_jobs(study(reviews, model), other, OnThese(Here())).done == 2
    old, new = (
        {key: record.outputs["text"]["sha256"] for key, record in some.records()}
        for some in (store, other)
    )
    assert old.keys() == new.keys() and old != new, "the new file was read, not what is in memory"


def test_labels_rewritten_between_two_runs_are_noticed(
    reviews: Path, model: str, tmp_path: Path
) -> None:
    """The same texts under other labels: the hash of the texts alone does not see it."""

    def write(labels: list[str]) -> None:
        rows = [f"{line},{label}" for line, label in zip(LINES, labels, strict=True)]
        reviews.write_text("text,label\n" + "\n".join(rows))

    def jobs(trials: int) -> list[Cell]:
        texts = TextOptions(model=model, text_column="text", label_column="label")
        return [
            replace(one, request=replace(one.request, texts=texts))
            for one in study(reviews, model, trials)
        ]

    store = Store(tmp_path / "store")
    write(["0", "1"] * 4)
    run_jobs(jobs(2), store, OnThese(Here()))
    write(["neg", "pos"] * 4)
    assert run_jobs(jobs(2), store, OnThese(Here())).before == 2, "another spelling of the same"
    write(["0"] + ["1"] * 7)
    with pytest.raises(ProvenanceMismatch, match="other labels"):
        run_jobs(jobs(3), store, OnThese(Here()))
    assert len(store) == 2


def test_a_store_that_knows_no_labels_is_understood() -> None:
    """Cells before 0.2 tell the hashes of texts and model; labels bind from the first that tells
    them.
    """
    provenance = Provenance()
    provenance.record("s", {"corpus_sha256": "a" * 64}, "the store")
    provenance.record("s", {"corpus_sha256": "a" * 64, "labels_sha256": "b" * 64}, "this machine")
    with pytest.raises(ProvenanceMismatch, match="other labels"):
        provenance.record("s", {"corpus_sha256": "a" * 64, "labels_sha256": "c" * 64}, "a worker")
    with pytest.raises(ProvenanceMismatch, match="another corpus"):
        provenance.record("s", {"corpus_sha256": "c" * 64, "labels_sha256": "b" * 64}, "a worker")


def test_a_worker_with_other_data_is_refused_before_its_first_cell(
    reviews: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,) = study(reviews, model, 1)
    monkeypatch.setattr(Cell, "run", lambda _: pytest.fail("the cell was run"))
    hashes = job.fingerprint() | {"corpus_sha256": "0" * 64}
    outcome = work(job, Provenance(versions(), {str(job.source): hashes}))
    assert outcome.refused and outcome.error is not None
    assert "another corpus" in outcome.error and "000000000000…" in outcome.error


def test_two_workers_with_different_data_stop_the_run(
    reviews: Path, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither data nor model is on the machine that drives: the first worker decides, the second is
    compared with it, and the run stops with both hashes named.
    """
    monkeypatch.setattr(Cell, "source_is_here", lambda _: False)

    def one_of_two(job: Any) -> JobOutcome:
        source = {"corpus_sha256": f"{len(here.ran):064x}", "model_sha256": "a" * 64}
        done = fake(job)
        return replace(done, outputs=(done.outputs or {}) | {"source": source})

    here = Here(one_of_two)
    store = Store(tmp_path / "store")
    with pytest.raises(ProvenanceMismatch, match="another corpus"):
        run_jobs(study(reviews, model, 3), store, OnThese(here))
    assert len(here.ran) == 2 and len(store) == 1 and here.closed


def test_hashes_of_stored_cells_are_binding(reviews: Path, model: str, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    jobs = study(reviews, model, 3)
    run_jobs(jobs[:1], store, OnThese(Here()))
    agreed = provenance_of(jobs, store)
    (hashes,) = agreed.for_job(jobs[1]).sources.values()
    assert set(HASHES) <= set(hashes)
    assert hashes.items() <= jobs[0].fingerprint().items()
    assert agreed.for_job(cell("raf", 4, 5)).sources == {}, "Gaussian texts have no source"


def test_a_worker_of_another_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    required = Provenance(versions() | {"wordsway": "9.9.9"})
    outcome = work(small_cells(1)[0], required)
    assert outcome.refused and "this run 9.9.9" in (outcome.error or "")
    newer = versions() | {"wordsway": "9.9.9"}
    weakened = Here(lambda job: replace(fake(job), facts=newer | {"host": "elsewhere"}))
    store = Store(tmp_path / "store")
    with pytest.raises(ProvenanceMismatch, match=r"elsewhere has wordsway 9\.9\.9"):
        run_jobs(small_cells(2), store, OnThese(weakened))
    assert len(store) == 0, "its cells are not counted as done"
    monkeypatch.setattr(provenances, "versions", lambda *_: newer)
    assert work(small_cells(1)[0], Provenance(newer)).outputs is not None


def test_other_versions_are_recorded_and_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    facts = Provenance().versions | {"torch": "1.0", "host": "elsewhere"}
    here = Here(lambda job: replace(fake(job), facts=facts))
    store = Store(tmp_path / "store")
    assert run_jobs(small_cells(3), store, OnThese(here)).done == 3
    assert caplog.text.count("elsewhere has torch 1.0, this run") == 1
    assert {record.facts["torch"] for _, record in store.records()} == {"1.0"}
    assert compare_versions({"wordsway": "1"}, {"wordsway": "1"}, "w") == []


def test_a_record_that_is_dropped_shifts_no_other(
    reviews: Path, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every stored record is read by its own job, also behind one that cannot be read, and where
    a job is listed twice.
    """
    jobs = study(reviews, model, trials=4)
    store = Store(tmp_path / "store")
    for job in jobs:
        outcome = fake(job)
        assert outcome.outputs is not None
        store.add(Record(job.content, outcome.outputs | {"trial": job.trial}, {}))
    read: list[tuple[int, int]] = []

    def hashes(job: Cell, outputs: dict[str, Any]) -> dict[str, str]:
        read.append((job.trial, outputs["trial"]))
        return {}

    monkeypatch.setattr(Cell, "hashes_in", hashes)
    every = Store.records
    dropped = min(job.key for job in jobs)
    monkeypatch.setattr(
        Store, "records", lambda *some: (pair for pair in every(*some) if pair[0] != dropped)
    )
    provenance_of([jobs[0], *jobs], store)
    assert len(read) == 3 and all(job == record for job, record in read)
