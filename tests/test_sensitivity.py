"""The verb: exact values where they are known, witnesses that anyone can check, and honest
results.
"""

from __future__ import annotations

import json
import math

import pytest
import torch

import wordsway as ws
from pages import HARMFUL, Page
from wordsway.optimize.ascent import Ascent
from wordsway.optimize.conjugate import Conjugate
from wordsway.optimize.lbfgs import LBFGS
from wordsway.render.numbers import at_least, at_most

MAPS = {
    "rf": lambda n, d, seed: ws.RF(n, d, seed=seed),
    "rf-drawn": lambda n, d, seed: ws.RF(n, d, seed=seed, draw="on-demand"),
    "drf": lambda n, d, seed: ws.DRF(n, d, 3, seed=seed),
    "drf-drawn": lambda n, d, seed: ws.DRF(n, d, 3, seed=seed, draw="on-demand"),
    "raf": lambda n, d, seed: ws.RAF(d, seed),
    "relu-raf": lambda n, d, seed: ws.ReluRAF(d, seed),
}


@pytest.mark.parametrize(("n", "d"), [(1, 1), (4, 3), (25, 8), (100, 30)])
def test_the_identity_map_has_sensitivity_one_over_root_n_exactly(n, d):
    s = ws.sensitivity(ws.FeatureMap.of(lambda X: X), ws.Sample.gaussian(n, d, 0), positions=0)
    assert s.lower == pytest.approx(1 / math.sqrt(n), rel=1e-12)
    assert s.upper is None


@pytest.mark.parametrize("draw", ["dense", "on-demand"])
def test_linear_maps_match_the_singular_value(draw):
    """ϕ = identity: S = max_i √d σ_max(V_i)/‖V vec X‖, and the certificate is the same number."""
    n, d, k = 5, 6, 20
    X, phi = ws.Sample.gaussian(n, d, 1), ws.RF(n, d, k, seed=2, activation="identity", draw=draw)
    s = ws.sensitivity(phi, X, seed=0)
    V = phi.first.dense()
    expected = (
        max(float(torch.linalg.svdvals(V[:, i * d : i * d + d])[0]) for i in range(n))
        * math.sqrt(d)
        / float((V @ X.X.flatten()).norm())
    )
    # Drawn on demand, six directions are all there are: the search sees the whole block.
    assert s.lower == pytest.approx(expected, rel=1e-4)
    assert s.lower <= expected * (1 + 1e-9) <= s.upper * (1 + 2e-9)
    if draw == "dense":
        assert s.upper == pytest.approx(expected, rel=1e-9)
        assert s.certificate == "float64"


@pytest.mark.parametrize("name", MAPS)
def test_lower_is_the_definition_at_the_witness_and_the_witness_is_in_the_ball(name):
    X, phi = ws.Sample.gaussian(9, 7, 3), MAPS[name](9, 7, 1)
    s = ws.sensitivity(phi, X, positions=[0, 4, 8], seed=5)
    before, after = phi(X), phi(X.replaced(s.position, s.delta))
    assert s.lower == pytest.approx(float((after - before).norm() / before.norm()), rel=1e-12)
    assert float(s.delta.norm()) <= s.radius == math.sqrt(7)
    assert [w.position for w in s.words] == [0, 4, 8]
    assert s.lower == max(w.lower for w in s.words)
    assert s.upper == max(w.upper for w in s.words)
    assert all(w.lower <= w.upper for w in s.words)
    assert s.position == max(s.words, key=lambda w: w.lower).position


@pytest.mark.parametrize("name", MAPS)
def test_same_seed_same_numbers_and_words_do_not_depend_on_each_other(name):
    X = ws.Sample.gaussian(6, 5, 3)
    runs = [ws.sensitivity(MAPS[name](6, 5, 1), X, positions=[1, 4], seed=7) for _ in range(2)]
    assert runs[0].lower == runs[1].lower
    assert torch.equal(runs[0].delta, runs[1].delta)
    assert runs[0].words == runs[1].words
    if "drawn" not in name:  # drawn on demand, what was asked first decides what is drawn
        alone = ws.sensitivity(MAPS[name](6, 5, 1), X, positions=4, seed=7)
        assert alone.words[0].lower == pytest.approx(runs[0].words[1].lower, rel=1e-6)
        assert alone.words[0].upper == pytest.approx(runs[0].words[1].upper, rel=0.02)


def test_an_interior_maximum_is_found():
    """φ(X) = (sin of the first coordinate, 3): the largest change is at a Δ strictly inside the
    ball.
    """
    phi = ws.FeatureMap.of(
        lambda X: torch.stack([torch.sin(3 * X[..., 0, 0]), torch.full_like(X[..., 0, 0], 3.0)], -1)
    )
    X = ws.Sample([[1.0, 1.0], [0.5, -1.0]])
    s = ws.sensitivity(phi, X, positions=0, radius=2.0)
    start = math.sin(3 * float(X.X[0, 0]))
    assert s.lower == pytest.approx((1 + abs(start)) / math.hypot(start, 3), rel=1e-6)


@pytest.mark.parametrize(
    "solver", [Ascent(), Conjugate(), LBFGS()], ids=lambda solver: type(solver).__name__
)
def test_the_search_never_goes_down(solver):
    X = ws.Sample.gaussian(8, 6, 0)
    change = ws.RAF(6, 1).view(X)
    delta = torch.randn(5, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    delta *= math.sqrt(6) / delta.norm(dim=1, keepdim=True)
    which = torch.tensor([0, 0, 0, 3, 3])
    first = state = solver.init(change, which, delta)
    for _ in range(40):
        after = solver.step(change, state)
        assert (after.value >= state.value).all()
        assert (after.x.norm(dim=1) <= math.sqrt(6) * (1 + 1e-12)).all()
        assert torch.allclose(change.value(which, after.x), after.value, rtol=1e-12)
        state = after
    assert (state.value > first.value * 1.05).any()


@pytest.mark.slow
def test_all_positions_within_a_small_memory_budget_give_the_same_result():
    X, phi = ws.Sample.gaussian(10, 8, 0), ws.RAF(8, 1)
    large = ws.sensitivity(phi, X, seed=1)
    small = ws.sensitivity(phi, X, seed=1, memory=200_000)
    assert small.position == large.position
    assert small.lower == pytest.approx(large.lower, rel=1e-5)


def test_a_budget_too_small_for_drawn_weights_says_so():
    with pytest.raises(ws.MemoryBudgetError, match="name fewer positions"):
        ws.sensitivity(
            ws.RF(6, 50, seed=0, draw="on-demand"), ws.Sample.gaussian(6, 50, 0), memory=10_000
        )


@pytest.mark.slow
def test_a_larger_radius_and_more_positions_never_lower_the_result():
    X, phi = ws.Sample.gaussian(6, 5, 0), ws.RAF(5, 1)
    one = ws.sensitivity(phi, X, positions=2, seed=0)
    every = ws.sensitivity(phi, X, positions="all", seed=0)
    wide = ws.sensitivity(phi, X, positions=2, radius=2 * math.sqrt(5), seed=0)
    assert every.lower >= one.lower * (1 - 1e-6)
    assert wide.lower >= one.lower


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rf-drawn", "drf-drawn", "raf", "relu-raf"])
def test_many_positions_are_never_below_the_first_alone(name):
    """To the last bit, with and without certificate, also where weights are drawn on demand and a
    light search ranks the rows.
    """
    for seed in range(3):
        X = ws.Sample.gaussian(n=14, d=9, seed=seed)
        alone = ws.sensitivity(MAPS[name](14, 9, 3), X, positions=5, seed=seed)
        rows = [5, *(row for row in range(14) if row != 5)]
        every = ws.sensitivity(
            MAPS[name](14, 9, 3), X, positions=rows, seed=seed, certificate=False
        )
        assert every.words[0].lower == alone.lower
        assert every.lower == max(word.lower for word in every.words) >= alone.lower


@pytest.mark.parametrize("n", [3, 12])
def test_progress_moves_forward_to_the_end(n):
    calls = []
    s = ws.sensitivity(
        ws.RAF(6, 0), ws.Sample.gaussian(n, 6, 0), progress=lambda *call: calls.append(call)
    )
    done = [call[1] for call in calls]
    assert done == sorted(done) and done[0] > 0
    assert {total for _, _, total, *_ in calls} == {calls[-1][1]}, "one total, reached at the end"
    assert list(dict.fromkeys(stage for stage, *_ in calls)) == ["searching", "certifying"]
    assert sum(stage == "certifying" for stage, *_ in calls) >= n
    notes = [call[3] for call in calls if call[0] == "searching"]
    assert all(note.startswith("best S ") for note in notes)
    best = [float(note.removeprefix("best S ")) for note in notes]
    assert best[-1] == pytest.approx(s.lower, rel=1e-2)


def test_results_carry_what_it_takes_to_make_them_again():
    X = ws.Sample(
        torch.randn(3, 4, generator=torch.Generator().manual_seed(0)), words=["a", "<b>", "a"]
    )
    s = ws.sensitivity(ws.RAF(4, 3), X, seed=11)
    data = json.loads(s.to_json())
    for key in (
        "lower",
        "upper",
        "certificate",
        "position",
        "delta",
        "words",
        "status",
        "seed",
        "seconds",
        "map",
        "versions",
        "radius",
    ):
        assert key in data
    assert data["seed"] == 11
    assert data["map"] == {"map": "raf", "d": 4, "seed": 3}
    assert data["versions"]["wordsway"] == ws.__version__
    libraries = {"torch", "numpy", "transformers", "tokenizers", "sentence-transformers"}
    assert libraries < set(data["versions"])
    assert len(data["delta"]) == 4
    assert data["words"][1]["word"] == "<b>"
    frame = s.frame()
    assert list(frame.columns) == ["position", "word", "lower", "upper", "index"]
    assert len(frame) == 3
    assert frame["word"].tolist() == ["a", "<b>", "a"]


@pytest.mark.slow
def test_show_prints_the_interval_and_no_control_characters(capsys):
    X = ws.Sample(
        torch.randn(30, 4, generator=torch.Generator().manual_seed(0)), words=["\x1b[31mred"] * 30
    )
    s = ws.sensitivity(ws.RAF(4, 3), X, seed=0)
    s.show()
    printed = capsys.readouterr().out
    assert at_least(s.lower) in printed
    assert at_most(s.upper) in printed
    assert "float64" in printed
    assert "\x1b[31mred" not in printed
    assert "10 more" in printed


@pytest.mark.slow
def test_a_notebook_shows_the_same_numbers_and_runs_nothing():
    X = ws.Sample(
        torch.randn(30, 4, generator=torch.Generator().manual_seed(0)),
        words=["<script>\x1b[31mred"] * 30,
    )
    s = ws.sensitivity(ws.RAF(4, 3), X, seed=0)
    page = Page(s._repr_html_())
    assert (
        page.open == []
        and "script" not in {tag for tag, _ in page.tags}
        and not HARMFUL.search(s._repr_html_())
    )
    read = "".join(page.read)
    for word in sorted(s.words, key=lambda word: -word.lower)[:20]:
        assert at_least(word.lower) in read and at_most(word.upper) in read
    assert (
        at_least(s.lower) in read
        and at_most(s.upper) in read
        and "10 more" in read
        and "seed 0" in read
    )
    alone = ws.sensitivity(
        ws.FeatureMap.of(lambda X: X), ws.Sample(torch.ones(2, 4)), positions=0, seed=0
    )
    assert "no certificate" in alone._repr_html_()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"positions": 5}, "between 0 and 4"),
        ({"positions": [0, 0]}, "distinct"),
        ({"positions": []}, "at least one"),
        ({"positions": "some"}, '"all"'),
        ({"positions": [1.5]}, "whole number"),
        ({"radius": 0.0}, "between 1e-9 and 1e9"),
        ({"radius": float("nan")}, "between 1e-9 and 1e9"),
        ({"seed": 1.5}, "seed to be a whole number"),
        ({"seed": "7"}, "seed to be a whole number"),
        ({"effort": 0.0}, "effort between"),
        ({"effort": "much"}, "effort between"),
        ({"positions": None}, "whole number"),
        ({"positions": 1.0}, "whole number"),
        ({"positions": slice(2)}, "whole number"),
        ({"positions": torch.tensor(0.5)}, "whole number"),
        ({"memory": 0}, "memory between 1 and"),
        ({"memory": float("nan")}, "memory between 1 and"),
        ({"average": 0}, "average between 1 and"),
        ({"average": 1.5}, "average between 1 and"),
        ({"average": 10**12}, "average between 1 and 1e6"),
        ({"radius": [1.0]}, "radius between 1e-9 and 1e9, a finite number"),
        ({"radius": "wide"}, "radius between 1e-9 and 1e9, a finite number"),
    ],
)
def test_bad_requests_are_refused(options, message):
    """Before anything is searched."""
    with pytest.raises(ws.InputError, match=message):
        ws.sensitivity(ws.RAF(4, 0), ws.Sample.gaussian(5, 4, 0), **options)


@pytest.mark.parametrize("phi", [None, "raf"])
def test_what_is_no_map_is_told_how_to_become_one(phi):
    with pytest.raises(ws.InputError, match=r"phi to be a wordsway FeatureMap or a function, got"):
        ws.sensitivity(phi, ws.Sample.gaussian(5, 4, 0))


def test_an_attained_value_above_its_certificate_fails_loudly(monkeypatch):
    from wordsway.maps.attention.one_matrix.view import AttentionView
    from wordsway.maps.rigorous import Certificate

    low = Certificate.exact(torch.tensor([0.01]))
    monkeypatch.setattr(AttentionView, "certify", lambda *_: low)
    with pytest.raises(ws.WordswayError, match="bug in wordsway"):
        ws.sensitivity(ws.RAF(4, 0), ws.Sample.gaussian(5, 4, 0), positions=0)


def test_a_module_is_measured_in_its_own_precision():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.Linear(8, 5))
    phi = ws.FeatureMap.of(module)
    assert phi.dtype == torch.float32
    X = ws.Sample.gaussian(5, 6, 0)
    s = ws.sensitivity(phi, X, positions=[1, 3])
    with torch.no_grad():
        before, after = module(X.X.float()), module(X.replaced(s.position, s.delta).X.float())
    assert s.lower == pytest.approx(float((after - before).norm() / before.norm()), rel=1e-4)
    assert s.upper is None


def test_devices_and_dtypes_are_arguments():
    X = ws.Sample.gaussian(6, 5, 0)
    for phi in (
        ws.RAF(5, 1, dtype=torch.float32),
        ws.RF(6, 5, seed=1, dtype=torch.float32),
        ws.DRF(6, 5, 2, seed=1, dtype=torch.float32, draw="on-demand"),
    ):
        assert phi(X).dtype == torch.float32
        s = ws.sensitivity(phi, X, positions=0)
        assert s.lower <= s.upper
    with pytest.raises(ws.InputError, match="a device of this machine"):
        ws.RAF(5, weight=torch.eye(5), device="meta")
