"""Common random numbers: equal seeds where they are wanted, differences, shares of variance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import own_functions
import wordsway as ws
from jobs import Here
from wordsway.studies.cells import Cell, FlipJob
from wordsway.studies.spec import parse_study

SEEDS = ["sample_seed", "map_seed", "search_seed"]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs run in this process."""
    monkeypatch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here())


@pytest.mark.slow
def test_paired_settings_have_equal_seeds(tmp_path: Path) -> None:
    grid = {"n": [3, 4], "d": 4, "temperature": [0.5, 2.0]}
    result = ws.sweep(
        own_functions.uniform_attention, tmp_path, grid=grid, trials=3, pair_by=["temperature"]
    )
    frame: Any = result.frame()
    assert frame.groupby(["n", "trial"])[SEEDS].nunique().to_numpy().max() == 1
    assert frame.groupby("temperature")[SEEDS].nunique().to_numpy().min() == 6
    assert frame.set_index("temperature").loc[0.5, "lower"].nunique() == 6


@pytest.mark.slow
def test_differences_are_those_of_equal_draws(tmp_path: Path) -> None:
    grid = {"n": [3, 5], "d": 4, "radius": [0.5, 1.0, 2.0]}
    result = ws.sweep(own_functions.raf, tmp_path, grid=grid, trials=4, pair_by=["radius"])
    found = result.differences().set_index(["n", "radius"])
    assert len(found) == 4 and set(found["radius_first"]) == {0.5}
    frame = result.frame().set_index(["n", "radius", "trial"]).sort_index()
    for n, radius in found.index:
        first, other = frame.loc[(n, 0.5)], frame.loc[(n, radius)]
        change = (other["lower"] - first["lower"]).to_numpy()
        row = found.loc[(n, radius)]
        assert row["difference"] == pytest.approx(change.mean())
        assert row["error"] == pytest.approx(change.std(ddof=1) / 2)
        assert row["low"] < row["difference"] < row["high"]
        assert row["certified_low"] == pytest.approx((other["lower"] - first["upper"]).mean())
        assert row["certified_high"] == pytest.approx((other["upper"] - first["lower"]).mean())
        assert row["certified_low"] <= row["difference"] <= row["certified_high"]


def test_pairing_removes_what_settings_share(tmp_path: Path) -> None:
    """The values differ by the text's number alone: of weights nothing is left."""
    grid = {"scale": [1.0, 1.001]}
    result = ws.sweep(own_functions.additive, tmp_path, grid=grid, trials=20, pair_by=["scale"])
    row = result.differences().iloc[0]
    assert row["error"] < 1e-3 * row["error_unpaired"]
    with pytest.raises(ws.InputError, match="a sweep with pair_by"):
        ws.sweep(own_functions.additive, tmp_path, grid=grid).differences()


def test_variance_is_split_between_text_and_weights(tmp_path: Path) -> None:
    trials = {"text": 6, "weights": 5}
    grid = {"scale": [1.0, 0.001]}
    result = ws.sweep(own_functions.additive, tmp_path, grid=grid, trials=trials)
    frame: Any = result.frame()
    found: Any = result.variance().set_index("scale")
    assert len(frame) == 60
    for scale, cells in frame.groupby("scale"):
        texts = cells.groupby("trial")["sample_seed"].first() % 101 * scale
        weights = cells.groupby("weights_trial")["map_seed"].first() % 11
        row = found.loc[scale]
        assert row["text"] == pytest.approx(texts.var()) and row["texts"] == 6
        assert row["weights"] == pytest.approx(weights.var()) and row["draws"] == 5
        assert row["rest"] == pytest.approx(0, abs=1e-9)
    assert found.loc[1.0, "text_share"] > 0.9 and found.loc[0.001, "weights_share"] > 0.9
    with pytest.raises(ws.InputError, match=r'trials=\{"text": 5'):
        ws.sweep(own_functions.additive, tmp_path, grid=grid, trials=2).variance()


@pytest.mark.slow
def test_the_components_of_known_variances_are_found() -> None:
    """Over many tables the estimates have the means that they were drawn with."""
    import pandas

    from wordsway.studies.pairing import variance_components

    random, rows = np.random.default_rng(0), []
    for table in range(400):
        text, weights = random.normal(0, 2, 6), random.normal(0, 1, 5)
        y = text[:, None] + weights + random.normal(0, 0.5, (6, 5))
        for (trial, draw), value in np.ndenumerate(y):
            row = {"table": table, "measured": "S", "seed": 0, "trial": trial}
            rows.append(row | {"weights_trial": draw, "value": value})
    found = variance_components(pandas.DataFrame(rows), ["table"])[["text", "weights", "rest"]]
    errors = found.std() / 20
    assert ((found.mean() - [4, 1, 0.25]).abs() < 4 * errors).all()


@pytest.mark.slow
def test_slopes_use_both_ends(tmp_path: Path) -> None:
    grid = {"n": [3, 6, 12], "d": 4, "radius": [0.5, 1.0]}
    result = ws.sweep(own_functions.raf, tmp_path, grid=grid, trials=4)
    found: Any = result.slopes().set_index("radius")
    assert list(found.index) == [0.5, 1.0]
    cells: Any = result.frame().query("radius == 0.5")
    expected = np.polyfit(np.log(cells["n"]), np.log(cells["lower"]), 1)[0]
    assert found.loc[0.5, "slope"] == pytest.approx(expected)
    assert (found["certified_low"] < found["low"]).all()
    assert (found["certified_high"] > found["high"]).all()
    with pytest.raises(ws.InputError, match="at least 3 lengths"):
        ws.sweep(own_functions.raf, tmp_path, grid={"n": 3, "d": 4}, trials=4).slopes()


def test_no_curve_between_the_ends_has_a_slope_outside() -> None:
    random = np.random.default_rng(1)
    n = np.repeat([5, 10, 20, 40], 3)
    low = n**-0.5 * random.uniform(0.9, 1.1, 12)
    high = low * random.uniform(1, 2, 12)
    sure = ws.slope(n, low, high)
    between = [np.exp(random.choice([np.log(low), np.log(high)], axis=0)) for _ in range(500)]
    slopes = [np.polyfit(np.log(n), np.log(one), 1)[0] for one in between]
    slopes += [
        np.polyfit(np.log(n), np.log(low + (high - low) * u), 1)[0]
        for u in random.random((500, 12))
    ]
    assert sure.low < min(slopes) and max(slopes) < sure.high
    table = ws.laws([5, 10, 20, 40], low.reshape(4, 3).T, high.reshape(4, 3).T)
    alone = ws.laws([5, 10, 20, 40], low.reshape(4, 3).T)
    assert table["power"].exponent.low < alone["power"].exponent.low
    assert table["power"].exponent.high > alone["power"].exponent.high
    assert table["power"].exponent.low < min(slopes) and max(slopes) < table["power"].exponent.high


@pytest.mark.slow
@pytest.mark.parametrize("trials", [3, {"text": 2, "weights": 2}], ids=["together", "split"])
@pytest.mark.parametrize("kind", ["file", "function"])
def test_laws_of_the_weights_are_settings(kind: str, trials: Any, tmp_path: Path) -> None:
    """The numbers of each law are those of a sweep over this law alone."""
    laws, n, draws = ["gaussian", "low-rank"], [3, 5, 8], 3 if trials == 3 else 4

    def swept(name: str, weights: list[str]) -> ws.Sweep:
        if kind == "function":
            grid = {"n": n, "d": 4, "effort": 0.1, "certificate": False, "weights": weights}
            function = own_functions.raf_by_law
            return ws.sweep(
                function, tmp_path / name, grid=grid, trials=trials, pair_by=["weights"]
            )
        path = tmp_path / f"{name}.toml"
        path.write_text(
            f"trials = {3 if trials == 3 else '{text = 2, weights = 2}'}\npair_by = ['weights']\n"
            f"[[grid]]\nmap = 'raf'\nn = {n}\nd = 4\neffort = 0.1\ncertificate = false\n"
            f"weights = {weights}\n"
        )
        return ws.sweep(path, tmp_path / name)

    both, alone = swept("both", laws), [swept(law, [law]) for law in laws]
    frame = both.frame()
    means: Any = both.means().set_index(["weights", "n"])["mean"]
    assert both.tally.total == len(frame) == len(laws) * len(n) * draws
    assert set(frame["weights"]) == set(laws) and set(both.means()["trials"]) == {draws}
    slopes: Any = both.slopes().set_index("weights")
    differences = both.differences()
    assert len(slopes) == 2 and len(differences) == len(n)
    for law, one in zip(laws, alone, strict=True):
        assert means[law].tolist() == one.means()["mean"].tolist()
        assert slopes.loc[law, "slope"] == one.slopes()["slope"][0]
        assert slopes.loc[law, "error"] == one.slopes()["error"][0]
    change = (means["low-rank"] - means["gaussian"]).to_numpy()
    assert (np.abs(change) > 1e-3).all() and set(differences["weights"]) == {"low-rank"}
    assert differences["difference"].to_numpy() == pytest.approx(change)
    assert set(differences["trials"]) == {draws}
    if trials != 3:
        assert set(frame["weights_trial"]) == {0, 1}
        shares: Any = both.variance().set_index("weights_setting")
        assert set(shares.index) == set(laws) and len(shares) == 2 * len(n)
        for law, one in zip(laws, alone, strict=True):
            assert shares.loc[law, "weights"].tolist() == one.variance()["weights"].tolist()


GRID = """
trials = {text = 2, weights = 3}
pair_by = ["temperature", "heads"]
[[grid]]
map = "attention"
n = [4, 5]
d = 8
heads = [1, 2]
temperature = [0.5, 1.0]
"""


def test_files_pair_and_cross_too() -> None:
    study = parse_study(GRID)
    cells = [cell for cell in study.cells if isinstance(cell, Cell)]
    assert len(cells) == 8 * 6 and study.pair_by == ("heads", "temperature")
    assert len({cell.key for cell in cells}) == 48
    assert len({cell.seed for cell in cells}) == 2 * 2, "n and the text"
    assert len({cell.seeded.seed for cell in cells}) == 2 * 3, "n and the weights"
    same = [cell for cell in cells if (cell.request.n, cell.trial, cell.weights) == (4, 1, 2)]
    assert len({(cell.seed, cell.seeded.seed) for cell in same}) == 1 and len(same) == 4
    ran = {name: value for name, value in same[0].run().items() if name in SEEDS}
    assert ran == {name: value for name, value in same[1].run().items() if name in SEEDS}
    learns = parse_study(GRID.replace("d = 8", "d = 8\ntrain = 4"))
    assert all(isinstance(job, FlipJob) and len(job.pair_by) == 2 for job in learns.cells)
    assert learns.cells[0].content["weights_trial"] == 0
    laws = parse_study(GRID.replace("d = 8", 'd = 8\nweights = ["gaussian", "low-rank"]'))
    assert len({cell.key for cell in laws.cells}) == 96


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('pair_by = ["speed"]', "pair_by as a list of parameters among map, n, d.*on line 1"),
        ('pair_by = "n"', "pair_by as a list"),
        ("trials = {text = 0}", "trials ≥ 1.*on line 1"),
        ("trials = {texts = 2}", "trials ≥ 1.*on line 1"),
    ],
)
def test_what_cannot_be_paired(text: str, said: str) -> None:
    with pytest.raises(ws.InputError, match=said):
        parse_study(f"{text}\n[[grid]]\nmap = 'raf'\nn = 3\nd = 2")
