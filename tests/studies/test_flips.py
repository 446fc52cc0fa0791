"""Learning trials: labels, new texts, real words, grids that learn."""

from __future__ import annotations

import json
from dataclasses import replace
from statistics import median
from typing import Any

import pytest
import torch

from jobs import Here, OnThese
from wordsway.cli.app import run
from wordsway.core.errors import InputError
from wordsway.core.seeds import derive
from wordsway.engine.run import run_jobs
from wordsway.engine.store import Store
from wordsway.learning.results import ignored_share
from wordsway.studies import corpus_texts
from wordsway.studies.cells import FlipJob
from wordsway.studies.corpus_texts import CorpusTexts
from wordsway.studies.flips import learning_trials
from wordsway.studies.request import LearningOptions, Request, trial_bytes
from wordsway.studies.spec import parse_study
from wordsway.studies.tables import cells_frame
from wordsway.studies.texts import LabelledGaussianTexts, TextOptions

F64 = torch.float64


def naive(phi, train, labels, X, y):
    """θ*, fine-tuned and re-trained by dense pseudo-inverses."""
    Phi = torch.stack([phi.exact(one).flatten() for one in train])
    phi_x, y_train = phi.exact(X).flatten(), torch.tensor(labels, dtype=F64)
    start = torch.linalg.pinv(Phi) @ y_train
    fine = start + phi_x * (y - phi_x @ start) / (phi_x @ phi_x)
    again = torch.linalg.pinv(torch.cat([Phi, phi_x[None]])) @ torch.cat(
        [y_train, torch.tensor([y], dtype=F64)]
    )
    return start, fine, again


def test_a_change_that_the_old_model_makes_is_no_learnt_flip(capsys):
    """The direct loss makes all errors 0 at A near 1: no share is shown, and no verdict. The
    default loss keeps γ below 1.
    """
    sizes: dict[str, Any] = {"n": 10, "d": 64, "train": 20, "trials": 4}
    for more, told in (({"loss": "direct"}, False), ({}, True)):
        result = learning_trials("raf", **sizes | more)
        shares = [ignored_share(one["error"], one["gamma"]) for one in result.trials]
        assert [share is not None for share in shares] == [told] * 4
        result.show()
        assert ("ignored: median" in capsys.readouterr().out) is told
        assert told is (median(one["alignment"] for one in result.trials) < 0.7)
    assert result.to_dict()["loss"] == "penalised" and result.to_dict()["penalty"] == 1


@pytest.mark.slow
def test_among_turned_labels_the_least_uncertain_is_the_easiest():
    """Errors of 1e-29 and 1e-19 are both 0: γ decides, and rounding does not."""
    result = learning_trials("raf", n=8, d=64, train=20, loss="direct", positions="all")
    rows = result.trials[0]["rows"]
    assert [row["position"] for row in rows] == list(range(8)) and all(
        row["error"] < 1e-12 for row in rows
    )
    assert result.trials[0]["gamma"] == min(row["gamma"] for row in rows)
    assert sum(row["seconds"] for row in rows) <= result.trials[0]["seconds"]


@pytest.mark.slow
def test_a_forecast_of_learning_grows_with_what_is_asked(capsys):
    def told(*more):
        assert (
            run(["learn", "--map", "raf", "--n", "20", "--d", "64", *more, "--forecast", "--json"])
            == 0
        )
        return json.loads(capsys.readouterr().out)

    small, large = told("--train", "10"), told("--train", "20000", "--trials", "2")
    assert small["train"] == 10 and 0 < small["forecast_seconds"] < 60
    assert large["forecast_seconds"] > 10 * small["forecast_seconds"]
    grown = large["forecast_peak_mb"] - small["forecast_peak_mb"]
    request = Request("raf", n=20, d=64)
    many, few = (trial_bytes(replace(request, learning=LearningOptions(N))) for N in (20_000, 10))
    assert grown == pytest.approx((many - few) / 1e6, rel=0.2)


@pytest.mark.slow
def test_the_inequality_holds_on_every_trial():
    """Small problems of all kinds, with the certified upper end; a violation raises."""
    checked = 0
    for name in ("rf", "raf", "relu-raf"):
        for update in ("fine-tune", "retrain"):
            for loss in ("align", "direct"):
                result = learning_trials(
                    name, n=12, d=8, train=10, trials=4, seed=1, update=update, loss=loss
                )
                for trial in result.trials:
                    assert trial["error"] >= trial["bound"] - 1e-6
                    checked += trial["bound"] > 0
    assert checked > 10, "the floor says something"


def test_gaussian_texts_that_are_kept_are_those_that_are_drawn_again():
    plain, kept = (LabelledGaussianTexts(6, 5, seed=3, keep=keep) for keep in (0, 3 * 6 * 5 * 8))
    for index in (4, 0, 2, 0, 3, 2):
        assert torch.equal(plain.matrix(index), kept.matrix(index))
    assert kept.matrix(2) is kept.matrix(2) and kept.matrix(3) is not kept.matrix(3)


@pytest.mark.slow
def test_lessons_on_gaussian_texts_and_reviews(capsys):
    lessons = LabelledGaussianTexts(6, 5, seed=0)
    labels = [lessons.draw(index).text["label"] for index in range(200)]
    assert (
        labels.count(1) == 100
        and lessons.draw(3).text == LabelledGaussianTexts(6, 5, seed=0).draw(3).text
    )
    line = [
        "learn",
        "--map",
        "raf",
        "--n",
        "12",
        "--d",
        "32",
        "--train",
        "10",
        "--trials",
        "2",
        "--data",
        "imdb",
        "--json",
    ]
    assert run(line) == 0
    result = json.loads(capsys.readouterr().out)
    assert (
        result["train"] == 10
        and result["source"]["padding"] == "paper"
        and len(result["trials"]) == 2
    )
    fields = {
        "before_original",
        "before_changed",
        "after_original",
        "after_changed",
        "error",
        "gamma",
        "alignment",
        "bound",
    }
    assert fields <= set(result["trials"][0])
    assert result["trials"][0]["text"]["id"] != result["trials"][1]["text"]["id"]
    assert run(line[:-1]) == 0
    shown = capsys.readouterr().out
    assert "10 training texts" in shown and "(imdb)" in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--train", "1"], "train ≥ 2"),
        (["--train", "10", "--update", "forget"], "fine-tune, retrain"),
        (["--train", "10", "--loss", "hinge"], "align, direct, penalised"),
        (["--train", "10", "--penalty", "0"], "a penalty > 0"),
        (["--train", "10", "--loss", "align", "--penalty", "1"], "the penalised loss alone"),
        (["--train", "10", "--data", "imdb", "--n", "300"], "n ≤ 256"),
    ],
)
def test_bad_lessons_are_one_line(options, said, capsys):
    line = ["learn", "--map", "raf", "--d", "16"] + ([] if "--n" in options else ["--n", "5"])
    assert run([*line, *options]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.strip().count("\n") == 0 and said in err


def test_more_training_texts_than_there_are(tmp_path, capsys):
    corpus = tmp_path / "few.csv"
    rows = [f"a text of some words number {number},{number % 2}" for number in range(12)]
    corpus.write_text("\n".join(["text,label", *rows]))
    line = ["learn", "--map", "raf", "--d", "16", "--n", "5", "--data", str(corpus)]
    assert run([*line, "--train", "40"]) == 2
    err = capsys.readouterr().err
    assert err.strip().count("\n") == 0 and "different texts" in err
    # A Gram matrix of so many texts does not fit: said before any of them is read.
    assert run([*line, "--train", "2000000"]) == 1
    assert "needs about" in capsys.readouterr().err


@pytest.mark.slow
def test_grids_may_learn(tmp_path):
    """Cells that learn go through the same store and table; other cells keep their names."""
    text = """
    trials = 2
    [[grid]]
    map = ["raf", "rf"]
    n = 6
    d = 8
    train = [6, 10]
    update = ["fine-tune", "retrain"]
    [[grid]]
    map = "raf"
    n = 6
    d = 8
    """
    study = parse_study(text)
    assert sorted(type(job) is FlipJob for job in study.cells) == [False] * 2 + [True] * 4
    store = Store(tmp_path)
    tally = run_jobs(study.cells, store, OnThese(Here()))
    assert tally.done == 6 and not tally.failed
    table = cells_frame(store)
    learnt = table.dropna(subset=["train"])
    assert len(table) == 18 and len(learnt) == 16
    assert (learnt["error"] >= learnt["bound"] - 1e-6).all()
    settings = ["map", "trial", "train", "update", "loss", "penalty"]
    assert len(learnt.drop_duplicates(settings)) == 16
    head = "[[grid]]\nmap = 'raf'\nn = 6\nd = 8\n"
    for wrong, said in (
        ("train = 4\nloss = 'hinge'", "align, direct, penalised"),
        ("train = 1", "train ≥ 2"),
    ):
        with pytest.raises(InputError, match=said):
            parse_study(head + wrong)
    with pytest.raises(InputError, match="say how many training texts"):
        parse_study("[[grid]]\nmap = 'raf'\nn = 6\nd = 8\nloss = 'direct'")


@pytest.mark.slow
def test_real_words_are_evaluated_exactly():
    """Every piece of the vocabulary in one place: the errors of the best, recomputed with dense
    pseudo-inverses from the text with it.
    """
    result = learning_trials("raf", n=12, d=32, train=6, data="imdb", real_words=True)
    trial = result.trials[0]
    request = result.request
    source = CorpusTexts(request.data, 12, 32, request.seed, 7, request.texts)
    train, labels = (
        [source.draw(at).sample for at in range(6)],
        [source.label(at) for at in range(6)],
    )
    new, y, phi = (
        source.draw(6).sample,
        source.label(6),
        request.build(derive(request.seed, "trial", 0, "map")),
    )
    theta = naive(phi, train, labels, new, y)[1]
    pieces, rows = source.drawn.embedder.candidates(new.reading.text, 0, 32)
    for one in trial["real_words"]:
        swapped = new.replaced(0, rows[pieces.index(one["piece"])].to(F64) - new.X[0])
        assert one["error"] == pytest.approx(
            float(phi.exact(swapped).flatten() @ theta + y) ** 2, rel=1e-5, abs=1e-8
        )
    assert trial["real_words_tried"] == 30_522 and len(trial["real_words"]) == 10
    errors = [one["error"] for one in trial["real_words"]]
    assert errors == sorted(errors) and errors[0] <= trial["unchanged_error"]
    assert trial["error"] <= errors[0] + 1e-9, (
        "a Δ in the ball does what a neighbouring word does, here"
    )


@pytest.mark.slow
def test_a_source_embeds_what_is_asked_for_and_not_what_others_have_drawn(monkeypatch):
    """A study that drew many texts must not fill the memory of the next one, which looks at a few
    of the same draw.
    """
    monkeypatch.setattr(corpus_texts, "AT_ONCE", 4)
    many = CorpusTexts("imdb", 12, 32, 5, 40, TextOptions(padding="paper"))
    few = CorpusTexts("imdb", 8, 32, 5, 1, TextOptions(padding="paper"))
    assert few.drawn is many.drawn and len(few.drawn.texts) == 40
    drawn = few.draw(6)
    assert sorted(few.rows) == [4, 5, 6, 7] and not many.rows
    torch.testing.assert_close(drawn.sample.X, many.draw(6).sample.X[:8], rtol=0, atol=0)
    assert [many.draw(at).text["id"] for at in range(40)] == [
        few.draw(at).text["id"] for at in range(40)
    ]
