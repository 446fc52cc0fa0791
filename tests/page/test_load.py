"""The mixed load of `benchmarks.mixed_load` for a few seconds, with a small model."""

from __future__ import annotations

import csv

import pytest


@pytest.mark.slow
def test_mixed_load_ends_no_worker_and_blocks_nobody(small_model, tmp_path):
    """Without audits, whose workers take longer than all the rest; test_places starts some."""
    from benchmarks.mixed_load import CLIENTS, audit, report, run

    model = str(small_model)
    load, watch, printed = run(
        3,
        tmp_path / "memory.csv",
        models=(model,),
        options=("--model", model),
        clients=tuple(one for one in CLIENTS if one is not audit),
    )
    told = report(load, watch, printed)
    statuses = {status for client, status in load.counts if client != "slow"}
    assert statuses <= {"200", "answered", "left", "503"}, told
    assert {status for client, status in load.counts if client == "health"} == {"200"}, told
    for client in ("words", "swap", "attention", "pairs", "theory", "burst"):
        assert load.counts[client, "answered"] > 0, told
    assert load.counts["left", "left"] > 0, told
    assert not any("page worker" in line for line in printed), told
    with (tmp_path / "memory.csv").open() as file:
        samples = list(csv.DictReader(file))
    assert max(float(row["uss_mb"]) for row in samples) < 2000, told
