"""Other sets of Δ, several rows and other norms: against brute force at n = 3, d = 2.

`WORDSWAY_DRAWS=200` takes 200 draws of each.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from itertools import count, islice, product
from typing import Any

import pytest
import torch

import wordsway as ws
from wordsway import constraints as c
from wordsway.maps.objectives import ChangeNorm

N, D = 3, 2
DRAWS = int(os.environ.get("WORDSWAY_DRAWS", "3"))
MAPS: dict[str, Any] = {
    "raf": lambda seed: ws.RAF(d=D, seed=seed),
    "relu-raf": lambda seed: ws.ReluRAF(d=D, seed=seed),
    "rf": lambda seed: ws.RF(n=N, d=D, k=6, seed=seed),
}


#: Maps for texts of any length.
ROWS: dict[str, Any] = {
    "raf": MAPS["raf"],
    "relu-raf": MAPS["relu-raf"],
    "sigmoid": lambda seed: ws.Attention(d=D, scores="sigmoid", seed=seed),
    "sparsemax": lambda seed: ws.Attention(d=D, scores="sparsemax", seed=seed),
    "heads": lambda seed: ws.Attention(d=D, heads=2, seed=seed, positions="learned"),
    "residual": lambda seed: ws.residual(ws.Attention(d=D, heads=1, mask="causal", seed=seed)),
    "norm": lambda seed: ws.rms_norm(ws.residual(ws.Attention(d=D, scores="sigmoid", seed=seed))),
    "mean": lambda seed: ws.read_out(ws.RAF(d=D, seed=seed), "mean"),
    "last": lambda seed: ws.read_out(ws.Attention(d=D, scores="sigmoid", seed=seed), "last"),
}


def draws(name: str) -> Iterator[tuple[int, Any, ws.Sample]]:
    """Seed, map and text of each draw; those with φ(X) = 0, where S is undefined, are left out."""
    make = (MAPS | ROWS)[name]
    found = ((seed, make(seed), ws.Sample.gaussian(n=N, d=D, seed=seed)) for seed in count())
    return islice((draw for draw in found if float(draw[1].exact(draw[2]).norm()) > 0), DRAWS)


def disc(directions: int = 120) -> torch.Tensor:
    """A grid of the unit disc, its boundary included."""
    angle = 2 * math.pi * torch.arange(directions, dtype=torch.float64) / directions
    circle = torch.stack([angle.cos(), angle.sin()], 1)
    return torch.cat([share * circle for share in torch.linspace(0, 1, 25, dtype=torch.float64)])


def random_set(kind: str, seed: int) -> tuple[Any, torch.Tensor]:
    """A constraint and a grid of its points."""
    noise = torch.Generator().manual_seed(seed)
    r = float(torch.rand(1, generator=noise)) * 2 + 0.1
    grid = disc()
    if kind == "shell":
        return c.Shell(r), r * grid[-120:]
    if kind == "subspace":
        basis = torch.randn(1, D, generator=noise).double()
        line = torch.linspace(-r, r, 2001, dtype=torch.float64)[:, None]
        return c.Subspace(basis, r), line * basis / basis.norm()
    if kind == "ellipsoid":
        A = torch.randn(D, D, generator=noise).double()
        return c.Ellipsoid(A @ A.T, r), r * grid @ A.T
    if kind == "choices":
        return c.Choices(torch.randn(7, D, generator=noise).double()), torch.zeros(0, D).double()
    ball = {"l2": c.L2(r), "linf": c.Linf(r), "l1": c.Lp(1, r), "l3": c.Lp(3, r)}[kind]
    return ball, grid * (r / ball.gauge(grid[-120:]).repeat(25, 1))


KINDS = ("l2", "linf", "l1", "l3", "shell", "subspace", "ellipsoid", "choices")


def largest(phi: Any, X: Any, rows: Any, deltas: torch.Tensor, norm: Any = None) -> float:
    """The largest relative change over all moves, (B, m, d), of the rows."""
    texts = X.X.repeat(len(deltas), 1, 1)
    for place, row in enumerate(rows):
        texts[:, row] += deltas[:, place]
    before, after = phi.exact(X), phi.exact(texts)
    norm = ChangeNorm("frobenius", before) if norm is None else norm
    return float(norm(after - before).max()) / norm.size


@pytest.mark.slow
@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_constraint_agrees_with_brute_force(kind: str, name: str) -> None:
    for seed, phi, X in draws(name):
        constraint, grid = random_set(kind, seed)
        row = seed % N
        if kind == "choices":
            grid = constraint.vectors - X.X[row]
        s = ws.sensitivity(phi, X, positions=row, constraint=constraint)
        best = largest(phi, X, [row], grid[:, None])
        assert s.lower >= best * (1 - 1e-3), (kind, name, seed)
        assert s.upper is not None and s.lower <= s.upper and best <= s.upper * (1 + 1e-12)
        if kind == "choices":
            assert s.lower == pytest.approx(best, rel=1e-12)
            assert s.certificate == "enumeration"
            assert any(torch.equal(s.delta, delta) for delta in grid)
        else:
            assert float(constraint.gauge(s.delta)) <= constraint.size(D)
            assert constraint.project(s.delta).allclose(s.delta, rtol=1e-12)
            assert float(s.delta.norm()) <= s.radius * (1 + 1e-12)
        assert s.lower == pytest.approx(largest(phi, X, [row], s.delta[None, None]), rel=1e-9)


#: Every map in one set, and the other sets with three maps that differ.
TOGETHER = [("l2", name) for name in MAPS | ROWS]
TOGETHER += [(kind, name) for kind in ("linf", "choices") for name in ("raf", "rf", "norm")]
INSERTED = [("choices", name) for name in ROWS]
INSERTED += [(kind, name) for kind in ("l2", "linf") for name in ("relu-raf", "heads", "mean")]


@pytest.mark.parametrize(("kind", "name"), TOGETHER)
def test_rows_together_agree_with_brute_force(kind: str, name: str) -> None:
    rows = (2, 0)
    for seed, phi, X in draws(name):
        constraint, grid = random_set(kind, seed)
        if kind == "choices":
            pairs = list(product(constraint.vectors, repeat=2))
            moves = torch.stack([torch.stack(pair) for pair in pairs]) - X.X[list(rows)]
        else:
            few = torch.cat([grid[-120::4], grid[-480:-360:12], grid[-1200:-1080:12]])
            moves = torch.stack([torch.stack(pair) for pair in product(few, repeat=2)])
        s = ws.sensitivity(phi, X, together=rows, constraint=constraint)
        best = largest(phi, X, rows, moves)
        assert s.lower >= best * (1 - 1e-3), (kind, name, seed)
        assert s.upper is not None and best <= s.upper * (1 + 1e-12) and s.lower <= s.upper
        assert s.together == rows and s.delta.shape == (2, D)
        assert s.lower == pytest.approx(largest(phi, X, rows, s.delta[None]), rel=1e-9)


def naive_edit(phi: Any, X: ws.Sample, edit: str, row: int, vectors: torch.Tensor) -> float:
    """The largest relative change over the words (B, d), text by text and row by row."""
    before, found = phi.exact(X), 0.0
    for vector in vectors:
        words = [x.tolist() for x in X.X]
        if edit == "insert":
            words.insert(row, vector.tolist())
        else:
            del words[row]
        after = phi.exact(ws.Sample(words, rescale=False))
        pairs = [(before, after)]
        if before.ndim == 2:
            kept = [j for j in range(X.n) if edit == "insert" or j != row]
            places = [j for j in range(len(words)) if edit == "delete" or j != row]
            pairs = [(before[j], after[k]) for j, k in zip(kept, places, strict=True)]
        change = math.sqrt(sum(float((b - a).square().sum()) for b, a in pairs))
        found = max(found, change / float(before.norm()))
    return found


@pytest.mark.parametrize("name", ROWS)
def test_a_deleted_word_is_exact(name: str) -> None:
    for _, phi, X in draws(name):
        s = ws.sensitivity(phi, X, edit="delete")
        each = [naive_edit(phi, X, "delete", row, torch.zeros(1, D)) for row in range(N)]
        assert [entry.lower for entry in s.words] == pytest.approx(each, rel=1e-12)
        assert s.lower == s.upper == pytest.approx(max(each)) and s.certificate == "enumeration"
        assert s.delta.shape == (0,) and X.deleted(s.position).n == N - 1


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), INSERTED)
def test_an_inserted_word_agrees_with_brute_force(kind: str, name: str) -> None:
    for seed, phi, X in draws(name):
        constraint, grid = random_set(kind, seed)
        words = constraint.vectors if kind == "choices" else grid[::37]
        place = seed % (N + 1)
        s = ws.sensitivity(phi, X, edit="insert", positions=place, constraint=constraint)
        best = naive_edit(phi, X, "insert", place, words)
        assert s.lower >= best * (1 - 1e-3), (kind, name, seed)
        assert s.lower == pytest.approx(naive_edit(phi, X, "insert", place, s.delta[None]))
        assert s.upper is not None and max(best, s.lower) <= s.upper * (1 + 1e-12)
        if kind == "choices":
            assert s.lower == pytest.approx(best, rel=1e-12) and s.certificate == "enumeration"
        else:
            assert float(constraint.gauge(s.delta)) <= constraint.size(D)


def test_a_word_inserted_where_a_row_attends_to_none_is_certified() -> None:
    """The last row has negative scores, and 0 with a zero row: its sign is lost in rounding."""
    phi = ws.ReluRAF(weight=torch.tensor([[1.0, 0.0], [0.0, -1.0]]))
    X = ws.Sample([[1.0, 0.8], [1.0, 0.5], [-0.5, 2.0]], rescale=False)
    assert not phi.exact(X)[2].any()
    s = ws.sensitivity(phi, X, edit="insert", positions=1, constraint=c.L2(0.3))
    best = naive_edit(phi, X, "insert", 1, 0.3 * disc()[::37])
    assert s.upper is not None and max(best, s.lower) <= s.upper


@pytest.mark.slow
def test_edits_take_objectives_names_and_all_places() -> None:
    phi, X = ws.RAF(d=D, seed=0), ws.Sample.gaussian(n=N, d=D, seed=0)
    s = ws.sensitivity(phi, X, edit="insert", objective="row:1")
    assert [entry.position for entry in s.words] == [0, 1, 2, 3]
    row = phi.exact(X.inserted(s.position, s.delta))[1 + (s.position <= 1)] - phi.exact(X)[1]
    assert s.lower == pytest.approx(float(row.norm() / phi.exact(X)[1].norm()))
    assert s.upper is not None and s.lower <= s.upper
    assert ws.sensitivity(ws.FeatureMap.of(torch.tanh), X, edit="insert").lower == 0
    found = ws.measure("raf", n=N, d=D, edit="delete", positions="all").to_dict()
    assert (found["edit"], found["radius"], found["trials"][0]["delta"]) == ("delete", 0.0, [])
    assert ws.measure("raf", n=N, d=D, edit="insert", positions=N).trials[0].word is None
    for wrong in (
        {"edit": "swap"},
        {"edit": "delete", "radius": 1.0},
        {"edit": "insert", "average": 3},
    ):
        with pytest.raises(ws.InputError):
            ws.sensitivity(phi, X, **wrong)
        with pytest.raises(ws.InputError):
            ws.measure("raf", n=N, d=D, **wrong)
    with pytest.raises(ws.InputError, match="one size"):
        ws.sensitivity(MAPS["rf"](0), X, edit="delete")
    with pytest.raises(ws.InputError, match="fixed size"):
        ws.sensitivity(ws.FeatureMap.of(lambda X: X.flatten(1)), X, edit="delete")


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["largest-row", "operator", "row:1", "direction"])
@pytest.mark.parametrize("name", ["raf", "relu-raf", "rf"])
def test_an_objective_agrees_with_brute_force(objective: str, name: str) -> None:
    for seed, phi, X in draws(name):
        before = phi.exact(X)
        if before.ndim == 1 and objective != "direction":
            with pytest.raises(ws.InputError, match="rows"):
                ws.sensitivity(phi, X, objective=objective)
            continue
        if objective == "row:1" and not before[1].any():
            continue
        noise = torch.Generator().manual_seed(seed)
        asked: Any = objective
        if objective == "direction":
            asked = torch.randn(before.shape, generator=noise).double()
        s = ws.sensitivity(phi, X, positions=0, objective=asked)
        moves = math.sqrt(D) * disc()[:, None]
        best = largest(phi, X, [0], moves, ChangeNorm(asked, before))
        assert s.lower >= best * (1 - 1e-3)
        assert s.upper is not None and max(best, s.lower) <= s.upper * (1 + 1e-12)
        assert s.objective == objective


def test_the_paper_s_ball_is_the_default() -> None:
    phi, X = ws.RAF(d=4, seed=0), ws.Sample.gaussian(n=3, d=4, seed=0)
    usual = ws.sensitivity(phi, X, radius=1.5)
    same = ws.sensitivity(phi, X, constraint=c.L2(1.5))
    assert (usual.lower, usual.upper) == (same.lower, same.upper)
    assert torch.equal(usual.delta, same.delta)


def test_one_row_together_is_that_row() -> None:
    phi, X = ws.RAF(d=4, seed=0), ws.Sample.gaussian(n=3, d=4, seed=0)
    alone = ws.sensitivity(phi, X, positions=1)
    assert ws.sensitivity(phi, X, together=1).lower == pytest.approx(alone.lower, rel=1e-3)


def test_relu_rows_together_find_what_a_long_search_finds() -> None:
    phi, X = ws.ReluRAF(d=64, seed=1), ws.Sample.gaussian(n=32, d=64, seed=1)
    usual, long = (
        ws.sensitivity(phi, X, together=(0, 1, 2, 3), certificate=False, effort=effort).lower
        for effort in (1, 4)
    )
    assert usual >= 0.97 * long


def test_rows_together_of_a_deep_map_drawn_on_demand_are_certified() -> None:
    phi, X = ws.DRF(n=8, d=6, depth=2, seed=0, draw="on-demand"), ws.Sample.gaussian(8, 6, seed=0)
    s = ws.sensitivity(phi, X, together=(1, 4))
    alone = ws.sensitivity(phi, X, positions=1)
    assert s.upper is not None and alone.lower < s.lower <= s.upper
    assert s.certificate == "1 − 1e-9"


@pytest.mark.slow
@pytest.mark.parametrize("kind", [k for k in KINDS if k != "choices"])
def test_steps_stay_in_the_set_and_lead_to_the_largest_product(kind: str) -> None:
    for seed in range(10):
        constraint, grid = random_set(kind, seed)
        draws = torch.Generator().manual_seed(seed)
        x = constraint.project(torch.randn(D, generator=draws).double())
        g = torch.randn(D, generator=draws).double()
        for _ in range(300):
            x = constraint.step(x, g)
            assert float(constraint.gauge(x)) <= constraint.size(D) * (1 + 1e-9)
        assert float(x @ g) >= float((grid @ g).max()) * (1 - 1e-3)


def test_many_choices_at_many_rows_are_searched_without_a_claim() -> None:
    phi, X = ws.FeatureMap.of(torch.tanh), ws.Sample.gaussian(n=6, d=3, seed=0)
    choices = c.Choices(torch.randn(10, 3, generator=torch.Generator().manual_seed(0)))
    s = ws.sensitivity(phi, X, together="all", constraint=choices)
    assert s.upper is None and s.status != "converged"
    each = [
        ws.sensitivity(phi, X, positions=row, constraint=choices).lower ** 2 for row in range(6)
    ]
    assert s.lower == pytest.approx(math.sqrt(sum(each)), rel=1e-9)  # tanh acts on each row alone


def test_what_does_not_go_together_is_refused() -> None:
    phi, X = ws.RAF(d=3, seed=0), ws.Sample.gaussian(n=3, d=3, seed=0)
    for named in (
        {"constraint": c.L2(1.0), "radius": 1.0},
        {"together": (0, 1), "positions": 2},
        {"together": (0, 0)},
        {"constraint": c.Subspace([[1.0, 0.0]])},
        {"constraint": c.Choices([[1.0, 0.0]])},
        {"constraint": c.Linf(), "average": 5},
        {"objective": "row:3"},
        {"objective": "nuclear"},
        {"objective": [1.0, 2.0]},
    ):
        with pytest.raises(ws.InputError):
            ws.sensitivity(phi, X, **named)
    for make in (
        lambda: c.Ellipsoid([[1.0, 2.0], [0.0, 1.0]]),
        lambda: c.Ellipsoid([[1.0, 0.0], [0.0, -1.0]]),
        lambda: c.Subspace([[0.0, 0.0]]),
        lambda: c.Lp(0.5),
        lambda: c.Linf(-1.0),
    ):
        with pytest.raises(ws.InputError):
            make()


@pytest.mark.parametrize("kind", ["linf", "l3", "shell", "ellipsoid", "choices"])
def test_learning_minimises_the_loss_over_the_set(kind: str) -> None:
    for seed in range(DRAWS):
        texts = [ws.Sample.gaussian(n=N, d=D, seed=10 * seed + number) for number in range(4)]
        phi, labels = ws.RAF(d=D, seed=seed), [1, -1, 1]
        constraint, grid = random_set(kind, seed)
        if kind == "choices":
            grid = constraint.vectors - texts[3].X[0]
        how: dict[str, Any] = {"loss": "direct", "constraint": constraint}
        found = ws.learn(phi, texts[:3], labels, texts[3], -1, **how).best
        train = torch.stack([phi.exact(text).flatten() for text in texts])
        theta = torch.linalg.pinv(train[:3]) @ torch.tensor(labels).double()
        theta = theta + train[3] * (-1 - train[3] @ theta) / train[3].dot(train[3])
        changed = texts[3].X.repeat(len(grid), 1, 1)
        changed[:, 0] += grid
        errors = (phi.exact(changed).flatten(1) @ theta - 1) ** 2
        assert found.error <= float(errors.min()) * (1 + 1e-3) + 1e-3
        if kind == "choices":
            assert found.error == pytest.approx(float(errors.min()), rel=1e-6, abs=1e-9)
        else:
            assert float(constraint.gauge(found.delta)) <= constraint.size(D)


@pytest.mark.parametrize("name", ["raf", "rf", "residual"])
@pytest.mark.parametrize("kind", ["l2", "linf", "choices"])
def test_learning_moves_rows_together(kind: str, name: str) -> None:
    rows, labels = (2, 0), [1, -1, 1]
    for seed, phi, X in draws(name):
        texts = [*(ws.Sample.gaussian(n=N, d=D, seed=100 + seed + k) for k in range(3)), X]
        constraint, grid = random_set(kind, seed)
        few = constraint.vectors if kind == "choices" else grid[-1200::40]
        moves = torch.stack([torch.stack(pair) for pair in product(few, repeat=2)])
        if kind == "choices":
            moves = moves - X.X[list(rows)]
        how: dict[str, Any] = {"loss": "direct", "constraint": constraint, "together": rows}
        found = ws.learn(phi, texts[:3], labels, X, -1, **how)
        train = torch.stack([phi.exact(text).flatten() for text in texts])
        theta = torch.linalg.pinv(train[:3]) @ torch.tensor(labels).double()
        theta = theta + train[3] * (-1 - train[3] @ theta) / train[3].dot(train[3])
        changed = X.X.repeat(len(moves) + 1, 1, 1)
        changed[1:, list(rows)] += moves
        changed[0, list(rows)] += found.delta
        errors = (phi.exact(changed).flatten(1) @ theta - 1) ** 2
        assert found.best.error == pytest.approx(float(errors[0]), rel=1e-6, abs=1e-9)
        assert found.best.error <= float(errors[1:].min()) * (1 + 1e-3) + 1e-3
        assert found.best.bound is not None or name == "residual"
        assert found.together == rows and len(found) == 1


def test_measure_takes_names() -> None:
    found = ws.measure("raf", n=4, d=3, constraint="linf", radius=0.5, objective="row:1")
    plain = found.to_dict()
    assert (plain["constraint"], plain["objective"], plain["radius"]) == ("linf", "row:1", 0.5)
    assert max(map(abs, plain["trials"][0]["delta"])) <= 0.5
    pair = ws.measure("rf", n=4, d=3, together="0,2").to_dict()
    assert pair["together"] == "0,2" and len(pair["trials"][0]["delta"]) == 2
    learnt = ws.learning_trials("raf", n=4, d=3, train=4, constraint="linf", together="0,2")
    assert learnt.to_dict()["together"] == "0,2" and learnt.trials[0]["position"] == 0
    alone = ws.learning_trials("raf", n=4, d=3, train=4, constraint="linf")
    assert learnt.errors[0] <= alone.errors[0] + 1e-3
    wrong: list[dict[str, Any]] = [
        {"constraint": "l7"},
        {"objective": "nuclear"},
        {"together": "0,9"},
        {"together": "x"},
        {"together": "0,1", "positions": "all"},
    ]
    for named in wrong:
        with pytest.raises(ws.InputError):
            ws.measure("raf", n=4, d=3, **named)
