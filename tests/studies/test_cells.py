"""Requests and cells: named by their content, the same numbers anywhere."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest
import torch

from jobs import cell
from wordsway.core.errors import InputError, MemoryBudgetError
from wordsway.engine.job import canonical
from wordsway.engine.run import Meter
from wordsway.maps.registry import MAPS
from wordsway.studies.cells import Cell, FlipJob, jobs_of
from wordsway.studies.measure import measure, run_trials
from wordsway.studies.request import LearningOptions, Request
from wordsway.studies.texts import TextOptions

BASE = Request("raf", 10, 8, seed=5)


def test_a_cell_is_its_content() -> None:
    first = Cell(BASE, 2)
    assert first == Cell(Request("raf", 10, 8, seed=5), 2)
    assert hash(first) == hash(Cell(Request("raf", 10, 8, seed=5), 2))
    changes = [
        Cell(BASE, 3),
        Cell(replace(BASE, seed=6), 2),
        Cell(replace(BASE, map="relu-raf"), 2),
        Cell(replace(BASE, positions="all"), 2),
        Cell(replace(BASE, effort=2.0), 2),
        Cell(replace(BASE, radius=1.0), 2),
        Cell(replace(BASE, map="drf", options={"depth": 3}), 2),
    ]
    assert len({first.key, *(other.key for other in changes)}) == 1 + len(changes)
    searched = [one for one in changes if one.request.drawn == BASE and one.trial == 2]
    assert len(searched) == 3  # rows, effort, radius
    for one in searched:
        assert one.seed == first.seed, "the same text and weights"
    drawn = [one for one in changes if one not in searched]
    assert len({first.seed, *(one.seed for one in drawn)}) == 1 + len(drawn)


PAPER = TextOptions(padding="paper")
#: Keys and seeds as version 0.3.0 writes them. A store outlives versions: if this fails, what is
#: stored everywhere is computed again. (First-row cells have the seeds of 0.1.0, and all other
#: cells of the trial the same ones; cells that learn have the seeds of 0.2.0.)
WRITTEN = [
    (
        "3b61a59b6a111c68a6abc85339fc71be9fad54c99fd438edce7076cfd5e97a2d",
        8192010324019629787,
        cell("raf", 10, 8, 2, seed=5),
    ),
    (
        "904504b5dc32a06e40f165b4c7c9445bf8d36b1f769597ff12028eabfa5a1a6a",
        3013212704293416185,
        cell("rf", 90, 192, positions="all", certificate=False, effort=0.6),
    ),
    (
        "e3063bb754439ca37d43421a4d43fedad53f950736f4ce512888c11c24bac5ba",
        2823998973220682982,
        cell("drf", 50, 768, 1, options={"depth": 4}),
    ),
    (
        "e5e9fe243e9b85511dd36ba3b193eae3752bfe9fc9331b4a614ed295fe1ff527",
        7193364568991254595,
        cell("rf", 10, 64, options={"k": 500}),
    ),
    (
        "a5ddbb125487a2916cfdce5fd6c9717cbe1fa3ca58fe0abc7841e3b0b6613a71",
        6448141832021304622,
        cell("raf", 9, 8, positions=(1, "word:3"), data="imdb"),
    ),
    (
        "8ee5e4e86dcb53c212a1a82c5d6ceec493454a093b029d6662b26b54aec379d9",
        1195288910159027633,
        cell("raf", 40, 384, 2, data="imdb:minilm", texts=PAPER),
    ),
]


@pytest.mark.parametrize(("key", "seed", "job"), WRITTEN)
def test_keys_and_seeds_are_what_they_were(key: str, seed: int, job: Cell) -> None:
    assert (job.key, job.seed) == (key, seed)


def test_learning_under_the_same_weights_is_one_job() -> None:
    """Its seed is that of version 0.2.0, whatever is learnt; its key depends on all of it."""
    learnt = [
        LearningOptions(100, update, loss, penalty)
        for update in ("fine-tune", "retrain")
        for loss, penalty in (("align", 0.0), ("penalised", 0.1))
    ]
    request = Request("raf", 40, 384)
    points = [
        (replace(request, learning=one), trial) for one in (None, *learnt) for trial in range(2)
    ]
    measured, other, job, last = jobs_of(points)
    assert isinstance(measured, Cell) and isinstance(other, Cell)
    assert isinstance(job, FlipJob) and isinstance(last, FlipJob)
    assert job.flips == tuple(learnt) and job.seed == 4265786470272923027 != last.seed
    assert job.content["flips"][1] == {
        "train": 100,
        "update": "fine-tune",
        "loss": "penalised",
        "penalty": 0.1,
    }
    less = FlipJob(request, 0, tuple(learnt[:3]))
    assert less.seed == job.seed and less.key != job.key
    with pytest.raises(InputError, match="fewer training texts than features, 20"):
        FlipJob(Request("raf", 5, 4), 0, (LearningOptions(20, "retrain"),))


def test_the_content_of_a_cell() -> None:
    """What is not at its default may be added, what was there stays as it was."""
    assert cell("raf", 10, 8, 2, seed=5).content == {
        "map": "raf",
        "n": 10,
        "d": 8,
        "trial": 2,
        "k": None,
        "depth": None,
        "positions": [0],
        "data": "gaussian",
        "seed": 5,
        "certificate": True,
        "effort": 1.0,
        "version": 4,
    }


@pytest.mark.slow
def test_results_do_not_depend_on_other_cells_or_threads() -> None:
    job = cell("raf", 9, 8, 1, positions="all")
    first = job.run()
    cell("rf", 5, 4).run()
    torch.set_num_threads(1)
    again = job.run()
    del first["seconds"], again["seconds"]
    assert first == again


@pytest.mark.slow
def test_trial_t_has_the_same_review_at_every_size() -> None:
    options = TextOptions(padding="paper")
    texts = [
        cell(name, n, 32, 1, data="imdb", texts=options).run()["text"]
        for name, n in (("raf", 5), ("rf", 9))
    ]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"n": 0}, "n ≥ 1"),
        ({"map": "cnn"}, "a map among"),
        ({"options": {"k": 3}}, "k only with rf or drf"),
        ({"options": {"magic": 3}}, "an option of a map"),
        ({"radius": 0.0}, "radius between"),
        ({"positions": (10,)}, "between 0 and 9"),
        ({"texts": TextOptions(model="minilm")}, "gaussian texts"),
        ({"learning": LearningOptions(5, real_words=True)}, "a corpus, to try real words"),
    ],
)
def test_a_wrong_request(change: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        replace(BASE, **change)


@pytest.mark.parametrize(
    ("learning", "said"),
    [
        ({"train": 1}, "train ≥ 2"),
        ({"train": 5, "update": "never"}, "among fine-tune, retrain"),
        ({"train": 5, "loss": "none"}, "among align, direct, penalised"),
        ({"train": 5, "loss": "align", "penalty": 1.0}, "the penalised loss alone"),
        ({"train": 5, "penalty": 0.0}, "a penalty > 0"),
    ],
)
def test_a_wrong_learning_part(learning: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        LearningOptions(**learning)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(MAPS))
def test_measure_keeps_the_witness_and_every_row(name: str) -> None:
    """Δ attains ``lower`` on the map and the text that the seeds make again; rows have ends."""
    import wordsway as ws

    result = measure(name, 6, 5, positions=[1, 4], radius=1.5, trials=2, seed=3)
    request = Request(name, 6, 5)
    for trial in result.trials:
        phi = request.build(trial.map_seed)
        X = ws.Sample.gaussian(6, 5, trial.sample_seed)
        before, after = phi.exact(X), phi.exact(X.replaced(trial.position, trial.delta))
        assert float((after - before).norm() / before.norm()) == pytest.approx(trial.lower)
        assert float(trial.delta.norm()) <= 1.5 * (1 + 1e-12)
        assert [row.position for row in trial.words] == [1, 4]
        assert max(row.lower for row in trial.words) == trial.lower
    plain = json.loads(result.to_json())
    assert len(plain["trials"][0]["delta"]) == 5 and plain["radius"] == 1.5
    assert set(plain["trials"][0]["words"][0]) == {"position", "word", "lower", "upper"}
    assert len(result.frame()) == 2
    stored = cell(name, 6, 5).run()
    assert "delta" not in stored and "words" not in stored, "the seeds make them again"


@pytest.mark.slow
def test_an_average_stands_beside_the_worst_in_measurements_and_cells() -> None:
    import wordsway as ws

    plain, both = (measure("raf", 6, 5, trials=2, seed=3, average=count) for count in (None, 40))
    assert not plain.averages
    assert "average" not in plain.to_dict()
    assert [trial.lower for trial in plain.trials] == [trial.lower for trial in both.trials]
    for trial in both.trials:
        X = ws.Sample.gaussian(6, 5, trial.sample_seed)
        phi = Request("raf", 6, 5).build(trial.map_seed)
        found = ws.sensitivity(phi, X, positions=0, seed=trial.search_seed, average=40)
        assert trial.average == found.average
        assert trial.real is None
    total = both.averages["average"]
    assert total.draws == 80
    assert total.mean == pytest.approx(both.frame()["average_mean"].mean())
    assert total.most == both.frame()["average_most"].max() < both.frame()["lower"].max()
    assert json.loads(both.to_json())["average"]["q90"] == total.q90
    request = Request("raf", 6, 5, average=40)
    assert {"average_mean", "average_q99"} <= set(Cell(request).run())
    with pytest.raises(InputError, match="average between 1 and 1e6"):
        Request("raf", 6, 5, average=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["raf", "relu-raf", "rf"])
def test_a_shortlist_finds_the_largest_of_all_rows(name: str) -> None:
    """Rows of a shortlist have the noise that they have among all rows."""
    for trial in range(3):
        every = Request(name, n=40, d=24, positions="all", certificate=False)
        whole, short = (
            Cell(request, trial).run() for request in (every, replace(every, shortlist=12))
        )
        assert short["position"] == whole["position"]
        assert short["lower"] == pytest.approx(whole["lower"], rel=1e-6)


def test_a_shortlist_is_evenly_spaced_where_weights_are_drawn_on_demand() -> None:
    """The first row comes first, so that its weights are those that it meets alone."""
    every = Request("rf", n=40, d=80, positions="all", certificate=False, shortlist=4)
    for trial in range(3):
        short, spaced, first = (
            Cell(replace(every, positions=rows, shortlist=count), trial).run()
            for rows, count in (("all", 4), ((0, 10, 20, 30), None), ((0,), None))
        )
        for name in ("lower", "position", "map_seed", "search_seed"):
            assert short[name] == spaced[name]
        assert short["lower"] >= first["lower"]


def test_what_cannot_fit_is_refused_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("wordsway.studies.measure.source_of", lambda *_: pytest.fail("drawn"))
    monkeypatch.setattr("wordsway.studies.request.available_memory", lambda: 64e9)
    large = Request("raf", 8000, 64)
    with pytest.raises(MemoryBudgetError, match="before the search begins; the budget is"):
        run_trials(replace(large, memory=2**30 // 10))
    with pytest.raises(MemoryBudgetError, match="is free"):
        run_trials(replace(large, n=10**6))


def test_a_million_layers_are_refused() -> None:
    with pytest.raises(InputError, match="depth between 1 and 1000"):
        Request("drf", 6, 5, {"depth": 1_000_000})


def test_contents_have_one_spelling() -> None:
    assert canonical({"b": 1, "a": "é"}) == '{"a":"é","b":1}'
    with pytest.raises(ValueError, match="JSON"):
        canonical({"a": float("nan")})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["raf", "relu-raf", "rf"])
def test_a_learning_job_does_not_depend_on_other_jobs(name: str) -> None:
    """The same outputs again, after another trial and with more texts known; and what each setting
    finds alone, within the tolerance of the search. RF at this size draws its weights on demand.
    """
    n, d = {"rf": (40, 80)}.get(name, (20, 24))
    learnt = tuple(
        LearningOptions(train, update, loss)
        for train in (20, 4)
        for update in ("fine-tune", "retrain")
        for loss in ("align", "direct")
    )
    job, *others = (FlipJob(Request(name, n, d), trial, learnt) for trial in range(2))

    def outputs() -> list[dict[str, Any]]:
        return [
            {name: value for name, value in one.items() if name != "seconds"}
            for one in job.run()["flips"]
        ]

    first = outputs()
    FlipJob(Request(name, n, d), 2, (LearningOptions(300),)).run()
    others[0].run()
    assert outputs() == first
    for one, together in zip(learnt[::3], first[::3], strict=True):
        (alone,) = FlipJob(job.request, 0, (one,)).run()["flips"]
        for field in ("error", "gamma", "alignment", "before_original"):
            assert alone[field] == pytest.approx(together[field], rel=1e-3, abs=1e-3)


def test_cells_of_one_size_follow_each_other_by_their_texts() -> None:
    cells = [
        FlipJob(Request("raf", 8, 16, data=data), trial, (LearningOptions(6),))
        for trial in range(4)
        for data in ("gaussian", "imdb:minilm", "imdb:mpnet")
    ]
    sources = [job.source for job in Meter(cells).order]
    changes = sum(one != other for one, other in itertools.pairwise(sources))
    assert changes <= 3  # the first of a family goes first
