"""Learning: equal to plain linear algebra, readouts equal to the definition, an inequality that
never fails.
"""

from __future__ import annotations

import json
import math

import pytest
import torch

import wordsway as ws
from wordsway.cli.app import run
from wordsway.errors import InputError
from wordsway.experiments import Request
from wordsway.experiments import texts as sources
from wordsway.experiments.lessons import GaussianLessons, Lesson, lesson_bytes, teach
from wordsway.experiments.texts import CorpusTexts, TextOptions
from wordsway.gaussian.joint import JointMatrix
from wordsway.learning import interpolate as interpolation
from wordsway.learning.interpolate import interpolate
from wordsway.learning.learn import evaluate_change, learn, search_changes
from wordsway.learning.loss import CHEAP, Loss, NegativeLoss, starts_at_zero
from wordsway.learning.problem import update_interpolator
from wordsway.learning.stack import DenseStack, JointStack, stack
from wordsway.optimize import maximise
from wordsway.seeds import derive
from wordsway.vectors import into_ball

F64 = torch.float64
MAPS = {
    "raf": lambda n, d: ws.RAF(d=d, seed=1),
    "relu-raf": lambda n, d: ws.ReluRAF(d=d, seed=2),
    "rf": lambda n, d: ws.RF(n=n, d=d, k=50, seed=3),
    "drf": lambda n, d: ws.DRF(n=n, d=d, depth=3, k=40, seed=4),
}


def texts(count, n=5, d=6):
    return [ws.Sample.gaussian(n=n, d=d, seed=100 + number) for number in range(count)]


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


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize(
    "case", ["N < p", "duplicates", "a duplicate of the new text", "N = p", "N > p"]
)
def test_interpolators_equal_pseudo_inverses(name, case):
    phi = MAPS[name](5, 6)
    p = phi(texts(1)[0]).numel()
    count = {"N = p": p, "N > p": p + 9}.get(case, 8)
    train, X = texts(count), ws.Sample.gaussian(n=5, d=6, seed=7)
    labels = [1 if number % 3 else -1 for number in range(count)]
    if case == "duplicates":
        train[3], train[5] = train[1], train[1]
    if case == "a duplicate of the new text":
        train[2] = X
    stacked = DenseStack(phi, train, X)
    found = interpolate(stacked, torch.tensor(labels, dtype=F64), -1.0)
    for ours, theirs in zip(
        (found.start, found.fine_tuned, found.retrained),
        naive(phi, train, labels, X, -1),
        strict=True,
    ):
        assert float((ours - theirs).norm() / theirs.norm()) < 1e-8
    if case in ("duplicates", "N > p"):
        assert found.rank < count


@pytest.mark.parametrize("apart", [1e-3, 1e-5, 1e-6, 5e-7])
@pytest.mark.parametrize("name", ["raf", "rf"])
def test_near_duplicates_are_told_apart(name, apart, monkeypatch):
    """Two texts that differ by so little: K alone would lose the square of their distance,
    refinement does not.
    """
    phi, X = MAPS[name](5, 6), ws.Sample.gaussian(n=5, d=6, seed=7)
    train = texts(8)
    train[3] = ws.Sample(train[1].X + apart * ws.Sample.gaussian(n=5, d=6, seed=8).X)
    labels = [1, -1, 1, 1, -1, -1, 1, -1]
    stacked, y = DenseStack(phi, train, X), torch.tensor(labels, dtype=F64)
    found = interpolate(stacked, y, -1.0)
    assert found.rank == 8 and found.condition > 1e5
    assert float((stacked.features[:8] @ found.start - y).abs().max()) < 1e-8, "it interpolates"
    for ours, theirs in zip(
        (found.start, found.retrained), naive(phi, train, labels, X, -1)[::2], strict=True
    ):
        assert float((ours - theirs).norm() / theirs.norm()) < 1e-7
    if apart < 1e-5:
        monkeypatch.setattr(interpolation, "REFINE", math.inf)
        rough = interpolate(stacked, y, -1.0).start
        assert float((stacked.features[:8] @ rough - y).abs().max()) > 1e-7, (
            "which K alone does not"
        )


def test_joint_features_multiply_like_their_gram_matrix():
    phi, train, X = (
        ws.RF(n=5, d=6, seed=3, draw="on-demand"),
        texts(8),
        ws.Sample.gaussian(n=5, d=6, seed=7),
    )
    stacked = stack(phi, train, X, [2])
    c = torch.randn(1, 9, dtype=F64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(
        stacked.predict(stacked.combine(c)[0]), stacked.gram() @ c[0], rtol=1e-10, atol=1e-12
    )


def test_a_map_of_ones_own_learns_like_ours():
    """RAF as a plain callable: the same interpolator, and readouts by autograd instead of by
    formula.
    """
    phi, train, X = MAPS["raf"](5, 6), texts(8), ws.Sample.gaussian(n=5, d=6, seed=7)
    labels = [1, -1, 1, 1, -1, -1, 1, -1]
    own = ws.FeatureMap.of(lambda X: phi.features(X, F64))
    mine, theirs = (
        learn(one, train, labels, X, -1, update="retrain", loss="align", positions=[2])[0]
        for one in (own, phi)
    )
    assert mine.before_original == pytest.approx(theirs.before_original, abs=1e-10)
    assert mine.alignment == pytest.approx(theirs.alignment, abs=1e-3) and mine.bound is None
    changed = learn(ws.FeatureMap.of(lambda X: X[..., :1, :]), train, labels, X, -1, positions=[2])[
        0
    ]
    assert changed.error == pytest.approx(4.0), "word 2 is not looked at"


def test_a_text_of_one_word_learns():
    found = learn(
        MAPS["raf"](1, 6), texts(4, n=1), [1, -1, 1, -1], ws.Sample.gaussian(n=1, d=6, seed=7), -1
    )[0]
    after = (
        MAPS["raf"](1, 6)
        .exact(ws.Sample.gaussian(n=1, d=6, seed=7).replaced(0, found.delta))
        .flatten()
    )
    assert found.before_changed == pytest.approx(
        float(
            after @ naive(MAPS["raf"](1, 6), texts(4, n=1), [1, -1, 1, -1], texts(1, n=1)[0], 1)[0]
        ),
        abs=1e-8,
    )


def test_among_turned_labels_the_least_uncertain_is_the_easiest():
    """Errors of 1e-29 and 1e-19 are both 0: γ decides, and rounding does not."""
    result = teach(Lesson(Request("raf", n=8, d=64, positions="all"), 20))
    rows = result.trials[0]["rows"]
    assert [row["position"] for row in rows] == list(range(8)) and all(
        row["error"] < 1e-12 for row in rows
    )
    assert result.trials[0]["gamma"] == min(row["gamma"] for row in rows)
    assert sum(row["seconds"] for row in rows) <= result.trials[0]["seconds"]


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
    assert large["forecast_peak_mb"] - small["forecast_peak_mb"] == pytest.approx(
        (
            lesson_bytes(Request("raf", n=20, d=64), 20000)
            - lesson_bytes(Request("raf", n=20, d=64), 10)
        )
        / 1e6,
        rel=0.2,
    )


def test_features_of_zero_and_texts_that_do_not_fit(capsys):
    # A text of one row is silenced with probability 1/2.
    line = ["learn", "--map", "relu-raf", "--n", "1", "--d", "4", "--train", "6", "--trials", "20"]
    assert run(line) == 2
    assert "φ(X) ≠ 0" in capsys.readouterr().err
    assert run(["learn", "--map", "raf", "--n", "500", "--d", "768", "--train", "100000"]) == 1
    assert "take fewer texts" in capsys.readouterr().err


@pytest.mark.parametrize("name", [*MAPS, "own"])
def test_readouts_equal_the_definition(name):
    phi = (
        MAPS[name](5, 6)
        if name in MAPS
        else ws.FeatureMap.of(lambda X: torch.tanh(X).flatten(-2).cumsum(-1))
    )
    X = ws.Sample.gaussian(n=5, d=6, seed=0)
    noise = torch.Generator().manual_seed(0)
    thetas = torch.randn(3, phi(X).numel(), dtype=F64, generator=noise)
    look = phi.view(X, F64).readout(thetas)
    words, delta = torch.tensor([0, 3, 4, 3]), 1.5 * torch.randn(4, 6, dtype=F64, generator=noise)
    value, gradient = look(words, delta)
    truth = torch.stack(
        [
            thetas @ phi.exact(X.replaced(int(i), row)).flatten()
            for i, row in zip(words, delta, strict=True)
        ]
    )
    torch.testing.assert_close(value, truth, rtol=1e-10, atol=1e-10)
    for axis in range(6):
        step = torch.zeros(6, dtype=F64)
        step[axis] = 1e-6
        slope = (look(words, delta + step)[0] - look(words, delta - step)[0]) / 2e-6
        torch.testing.assert_close(gradient[:, :, axis], slope, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("update", ["fine-tune", "retrain"])
@pytest.mark.parametrize("name", MAPS)
def test_what_is_reported_is_what_happens(name, update):
    """Every figure recomputed from the witness Δ with dense pseudo-inverses."""
    phi, train, X = MAPS[name](5, 6), texts(8), ws.Sample.gaussian(n=5, d=6, seed=7)
    labels = [1, -1, 1, 1, -1, -1, 1, -1]
    for loss in ("align", "direct"):
        found = learn(phi, train, labels, X, -1, update=update, loss=loss, positions=[2])[0]
        start, fine, again = naive(phi, train, labels, X, -1)
        theta = fine if update == "fine-tune" else again
        before, after = phi.exact(X).flatten(), phi.exact(X.replaced(2, found.delta)).flatten()
        assert found.before_original == pytest.approx(float(before @ start), abs=1e-8)
        assert found.before_changed == pytest.approx(float(after @ start), abs=1e-8)
        assert found.after_original == pytest.approx(-1.0, abs=1e-8)
        assert found.after_changed == pytest.approx(float(after @ theta), abs=1e-7)
        assert found.error == pytest.approx(float(after @ theta - 1) ** 2, abs=1e-6)
        assert found.gamma == pytest.approx(abs(float((after - before) @ start)), abs=1e-8)
        assert float(found.delta.norm()) <= math.sqrt(6)
        assert found.bound is None or found.error >= found.bound - 1e-9


@pytest.mark.slow
def test_the_search_reaches_what_a_grid_reaches():
    """n = 3, d = 2: the best loss on a fine grid of the disc is not better by more than 1 %."""
    train, X = texts(4, 3, 2), ws.Sample.gaussian(n=3, d=2, seed=7)
    labels = [1, -1, 1, -1]
    side = torch.linspace(-1.4143, 1.4143, 161, dtype=F64)
    grid = torch.cartesian_prod(side, side)
    grid = grid[grid.norm(dim=1) <= math.sqrt(2)]
    for phi in (ws.RAF(d=2, seed=1), ws.ReluRAF(d=2, seed=2), ws.RF(n=3, d=2, k=20, seed=3)):
        for loss in ("align", "direct", "penalised"):
            found = interpolate(DenseStack(phi, train, X), torch.tensor(labels, dtype=F64), 1.0)
            view = phi.view(X, F64)
            look = view.readout(torch.stack([found.start, found.own / found.norm2]))
            goal = Loss(
                loss, 1.0, found.residual, 1.0 - found.residual, 0.1 if loss == "penalised" else 0.0
            )
            readings = look(torch.ones(len(grid), dtype=torch.long), grid)[0]
            best = float(goal(readings[:, 0], readings[:, 1])[0].min())
            objective = NegativeLoss(look, view, goal, math.sqrt(2))
            reached = maximise(
                objective,
                torch.tensor([1]),
                CHEAP,
                seed=0,
                memory=2**30,
                starts=starts_at_zero,
                stream="descent",
            )
            ours = -float(reached.value)
            assert ours <= best * 1.01 + 1e-6, (phi.name, loss)


@pytest.mark.parametrize("words", [[1], [2, 0, 1], [1, 0]])
@pytest.mark.parametrize("count", [5, 16])
def test_answers_for_many_texts_have_the_law_of_one_matrix(words, count):
    """Covariances of (Z, V_iΔ …) against those of a dense V over 40,000 rows: within 5 standard
    errors (false alarm below 1e-3).

    One word and several ones after another, fewer texts than D = 12 and more.
    """
    k = 40_000
    X = torch.stack([one.X for one in texts(count, 3, 4)])
    X[3] = X[1]  # a duplicate text has the same answers
    joint = JointMatrix(k, X, rows=words, scale=0.5, seed=2).draw()
    assert torch.allclose(joint.answers[1], joint.answers[3], atol=1e-6)
    noise = torch.Generator().manual_seed(0)
    rows, queries, answers = [joint.answers], [X], joint.answers.clone()
    for i in words:
        delta = torch.randn(2, 4, dtype=F64, generator=noise)
        moved = delta @ joint.block(i).T
        torch.testing.assert_close(
            (answers[0] @ joint.block(i)) @ delta[0], answers[0] @ moved[0], rtol=1e-7, atol=1e-5
        )
        placed = torch.zeros(2, 3, 4, dtype=F64)
        placed[:, i] = delta
        rows.append(moved)
        queries.append(placed)
    if (
        len(words) == 3
    ):  # every column of V has been asked for: the words' parts of a text add up to its answer
        fresh = JointMatrix(k, X, rows=words, scale=0.5, seed=2).draw()
        parts = sum(X[0, i] @ fresh.block(i).T for i in words)
        torch.testing.assert_close(parts, fresh.answers[0], rtol=1e-6, atol=1e-5)
    asked = torch.cat(queries).flatten(1)
    expected = 0.25 * asked @ asked.T
    size = expected.diag().sqrt()
    found = torch.cat(rows)
    error = (found @ found.T / k - expected) / (size[:, None] * size[None]) * math.sqrt(k / 2)
    assert float(error.abs().max()) < 5
    torch.testing.assert_close(joint.answers, answers)
    with pytest.raises(InputError, match="one after another"):
        joint.block(words[0] if len(words) > 1 else 0)
    with pytest.raises(InputError, match="the text that"):
        joint.apply(X[-1] + 1)


@pytest.mark.slow
def test_random_features_drawn_jointly_learn_like_dense_ones():
    """RF on demand against dense RF, 40 draws each: median errors agree within their spread."""
    train, X = texts(6), ws.Sample.gaussian(n=5, d=6, seed=7)
    labels = [1, -1, 1, -1, 1, -1]
    errors = {
        draw: [
            learn(
                ws.RF(n=5, d=6, k=200, seed=seed, draw=draw),
                train,
                labels,
                X,
                1,
                certificate=False,
            )[0].error
            for seed in range(40)
        ]
        for draw in ("dense", "on-demand")
    }
    from scipy.stats import ks_2samp

    assert ks_2samp(*errors.values()).pvalue > 1e-3
    assert isinstance(stack(ws.RF(n=5, d=6, k=200, draw="on-demand"), train, X, [0]), JointStack)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rf", "raf", "relu-raf"])
def test_the_inequality_holds_for_every_change(name):
    """√Err ≥ 2 − γ − S‖φ(X)‖/‖v‖·|y − f(X,θ*)| with the certified S: for the Δ that the search
    finds and for fifty others of each problem, long and short. A violation raises, too.
    """
    noise = torch.Generator().manual_seed(1)
    checked = 0
    for trial in range(5):
        source = GaussianLessons(12, 8, seed=trial)
        train, new = [source.draw(number).sample for number in range(10)], source.draw(10).sample
        labels = [source.label(number) for number in range(10)]
        phi = Request(name, n=12, d=8).build(trial)
        for update in ("fine-tune", "retrain"):
            problem = update_interpolator(
                phi, train, labels, new, source.label(10), update=update, rows=[0]
            )
            for loss in ("align", "direct"):
                found = next(search_changes(problem, [0], loss=loss, seed=trial))
                assert found.bound is not None and found.error >= found.bound - 1e-6
                checked += found.bound > 0
            for delta in into_ball(
                torch.randn(50, 8, dtype=F64, generator=noise)
                * torch.logspace(-2, 1, 50, dtype=F64)[:, None],
                math.sqrt(8),
            ):
                other = evaluate_change(problem, 0, delta, found.sensitivity)
                assert other.bound is not None and other.error >= other.bound - 1e-6
                checked += other.bound > 0
    assert checked > 100, "the floor says something"


def test_learning_is_a_result():
    """One entry per searched row, as a list had them; JSON, a table, the seed and the versions."""
    train, X = texts(6), ws.Sample.gaussian(n=5, d=6, seed=7)
    labels = [1, -1, 1, -1, 1, -1]
    calls = []
    found = ws.learn(
        ws.RAF(d=6, seed=0),
        train,
        labels,
        X,
        1,
        positions=[3, 1],
        seed=5,
        progress=lambda *call: calls.append(call),
    )
    assert isinstance(found, ws.Learning) and isinstance(found, ws.Result)
    assert len(found) == 2 and [row.position for row in found] == [3, 1]
    assert found[0].position == 3 and found[-1] is found.rows[1]
    assert found.best is min(found, key=lambda row: row.difficulty)
    data = json.loads(found.to_json())
    assert data["seed"] == 5 and data["versions"]["wordsway"] == ws.__version__
    assert data["map"] == {"map": "raf", "d": 6, "seed": 0} and data["train"] == 6
    assert data["error"] == found.best.error and data["position"] == found.position
    assert data["delta"] == found.best.delta.tolist()
    assert [row["position"] for row in data["rows"]] == [3, 1]
    assert found.frame()["error"].tolist() == [row.error for row in found]
    done = [call[1] for call in calls]
    assert done == sorted(done) and done[-1] == calls[-1][2] == 3
    alone = ws.learn(ws.RAF(d=6, seed=0), train, labels, X, 1, positions=1, seed=5)
    assert torch.equal(alone[0].delta, found[1].delta), "rows do not depend on each other"
    with pytest.raises(InputError, match="a seed that is a whole number"):
        ws.learn(ws.RAF(d=6, seed=0), train, labels, X, 1, seed=1.5)  # type: ignore[arg-type]


@pytest.mark.slow
def test_lessons_on_gaussian_texts_and_reviews(capsys):
    lessons = GaussianLessons(6, 5, seed=0)
    labels = [lessons.draw(index).text["label"] for index in range(200)]
    assert (
        labels.count(1) == 100
        and lessons.draw(3).text == GaussianLessons(6, 5, seed=0).draw(3).text
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
    assert "training texts (imdb)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--train", "0"], "at least two training texts"),
        (["--train", "10", "--update", "forget"], "fine-tune, retrain"),
        (["--train", "10", "--loss", "hinge"], "align, direct, penalised"),
        (["--train", "10", "--loss", "penalised"], "a penalty > 0"),
        (["--train", "10", "--penalty", "1"], "only there"),
        pytest.param(
            ["--train", "60000", "--data", "imdb"], "different texts", marks=pytest.mark.slow
        ),
        (["--train", "10", "--data", "imdb", "--n", "300"], "n ≤ 256"),
    ],
)
def test_bad_lessons_are_one_line(options, said, capsys):
    line = ["learn", "--map", "raf", "--d", "16"] + ([] if "--n" in options else ["--n", "5"])
    assert run([*line, *options]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.strip().count("\n") == 0 and said in err


@pytest.mark.parametrize("radius", [-1.0, 0.0, math.nan, math.inf])
def test_a_radius_has_to_be_one(radius):
    with pytest.raises(InputError, match="a radius between"):
        learn(
            ws.RAF(d=6, seed=0),
            texts(4),
            [1, -1, 1, -1],
            ws.Sample.gaussian(n=5, d=6, seed=7),
            1,
            radius=radius,
        )


def test_bad_arguments_of_learn():
    train, X, phi = texts(4), ws.Sample.gaussian(n=5, d=6, seed=7), ws.RAF(d=6, seed=0)
    for arguments, said in [
        (([], [], X, 1), "at least one training text"),
        ((train, [1, 1, 1, 1], X, 1), "both labels"),
        ((train, [1, -1, 1], X, 1), "4 labels"),
        ((train, [1, 0, 1, -1], X, 1), "labels −1 or 1"),
        ((train, [1, -1, 1, -1], X, 2), "labels −1 or 1"),
        ((train, [1, -1, 1, -1], ws.Sample.gaussian(n=4, d=6), 1), "texts of one size"),
    ]:
        with pytest.raises(InputError, match=said):
            learn(phi, *arguments)
    with pytest.raises(InputError, match="not in the span"):
        learn(phi, texts(40), [1, -1] * 20, X, 1, update="retrain")


@pytest.mark.slow
def test_grids_may_learn(tmp_path):
    """Cells that learn go through the same store and table; other cells keep their names."""
    from wordsway.experiments.cells import Cell
    from wordsway.experiments.spec import parse_study
    from wordsway.experiments.store import Store
    from wordsway.experiments.sweep import sweep
    from wordsway.experiments.workers import LocalWorkers

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
    assert len(study.cells) == 18 and all(Cell.of(cell.content) == cell for cell in study.cells)
    assert "train" not in study.cells[-1].content
    store = Store(tmp_path)
    swept = sweep(study.cells, store, LocalWorkers(2, 2**33))
    assert swept.done == 18 and not swept.failed
    table = store.frame()
    lessons = table.dropna(subset=["train"])
    assert len(lessons) == 16 and (lessons["error"] >= lessons["bound"] - 1e-6).all()
    head = "[[grid]]\nmap = 'raf'\nn = 6\nd = 8\n"
    for wrong, said in (
        ("train = 4\nloss = 'hinge'", "align, direct, penalised"),
        ("train = 1", "a whole number ≥ 2"),
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
    lesson = Lesson(Request("raf", n=12, d=32, trials=1, data="imdb"), 6, real_words=True)
    result = teach(lesson)
    trial = result.trials[0]
    request = lesson.request
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
    monkeypatch.setattr(sources, "AT_ONCE", 4)
    many = CorpusTexts("imdb", 12, 32, 5, 40, TextOptions(padding="paper"))
    few = CorpusTexts("imdb", 8, 32, 5, 1, TextOptions(padding="paper"))
    assert few.drawn is many.drawn and len(few.drawn.texts) == 40
    drawn = few.draw(6)
    assert sorted(few.rows) == [4, 5, 6, 7] and not many.rows
    torch.testing.assert_close(drawn.sample.X, many.draw(6).sample.X[:8], rtol=0, atol=0)
    assert [many.draw(at).text["id"] for at in range(40)] == [
        few.draw(at).text["id"] for at in range(40)
    ]


@pytest.mark.slow
def test_candidates_are_the_rows_that_the_model_makes():
    embedder = ws.Embedder("minilm")
    text = "The film was good and the plot was fine."
    pieces, rows = embedder.candidates(text, 4, d=64)
    for piece in ("good", "bad", "dull"):
        changed = embedder.sample(text.replace("good", piece), n=6, d=64)
        torch.testing.assert_close(rows[pieces.index(piece)], changed.X[4], rtol=0, atol=1e-5)
    with pytest.raises(InputError, match="the input layer or bare word vectors"):
        ws.Embedder("minilm", 2).candidates(text, 4)
