"""The average beside the worst case, and functions of bits against brute force."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

import wordsway as ws

PLAN = ws.Plan(starts=6, rounds=0, scatter=False)


def test_the_identity_moves_by_the_length_of_delta_on_average_too() -> None:
    X = ws.Sample.gaussian(4, 3, 0)
    found = ws.sensitivity(ws.FeatureMap.of(lambda Y: Y), X, average=7, plan=PLAN)
    assert found.average is not None
    assert found.average.draws == 28
    assert found.average.mean == pytest.approx(0.5)
    assert found.average.error == pytest.approx(0, abs=1e-12)
    assert found.average.q90 == pytest.approx(0.5)
    assert found.real is None


def test_averages_are_those_of_the_definition() -> None:
    X, phi = ws.Sample.gaussian(6, 5, 0), ws.RAF(5, 1)
    vocabulary = torch.randn(9, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    found = ws.sensitivity(
        phi, X, positions=[1, 4], average=400, vocabulary=vocabulary, plan=PLAN, seed=2
    )
    before = phi.exact(X)
    for entry in found.words:
        words = [
            float((phi.exact(X.replaced(entry.position, v - X.X[entry.position])) - before).norm())
            for v in vocabulary
        ]
        assert entry.real is not None
        assert entry.real.mean == pytest.approx(sum(words) / 9 / float(before.norm()), rel=1e-5)
        assert entry.real.most == pytest.approx(max(words) / float(before.norm()), rel=1e-5)
        noise = torch.Generator().manual_seed(entry.position)
        drawn = torch.randn(4000, 5, generator=noise, dtype=torch.float64)
        texts = X.X.repeat(4000, 1, 1)
        texts[:, entry.position] += math.sqrt(5) * drawn / drawn.norm(dim=1, keepdim=True)
        mean = float((phi.exact(texts) - before).flatten(1).norm(dim=1).mean() / before.norm())
        assert entry.average is not None
        assert entry.average.error is not None
        assert abs(entry.average.mean - mean) <= 5 * entry.average.error
        assert entry.average.q50 <= entry.average.q90 <= entry.average.q99 <= entry.average.most
    assert {"mean", "mean_error", "mean_q90", "real"} <= set(found.frame().columns)
    assert found.to_dict()["words"][0]["mean"] == found.words[0].average.mean
    alone = ws.sensitivity(phi, X, positions=4, average=400, plan=PLAN, seed=2)
    assert alone.average == found.words[1].average


def test_without_averages_nothing_of_them_is_told() -> None:
    found = ws.sensitivity(ws.RAF(3, 0), ws.Sample.gaussian(3, 3, 0), plan=PLAN)
    assert found.average is None
    assert list(found.frame().columns) == ["position", "word", "lower", "upper", "index"]
    assert set(found.to_dict()["words"][0]) == {"position", "word", "lower", "upper", "index"}


def test_bad_averages_are_refused() -> None:
    X, phi = ws.Sample.gaussian(3, 3, 0), ws.RAF(3, 0)
    with pytest.raises(ws.InputError, match="average between 1 and"):
        ws.sensitivity(phi, X, average=0, plan=PLAN)
    with pytest.raises(ws.InputError, match="3 dimensions"):
        ws.sensitivity(phi, X, vocabulary=torch.ones(4, 2), plan=PLAN)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_functions_of_bits_against_brute_force(n: int) -> None:
    table = torch.randn(2**n, generator=torch.Generator().manual_seed(n), dtype=torch.float64)

    def number(x: torch.Tensor) -> torch.Tensor:
        return ((x > 0).long() << torch.arange(n)).sum(1)

    found = ws.boolean_sensitivity(lambda x: table[number(x)], n)
    total = 0.0
    for bits in itertools.product((-1.0, 1.0), repeat=n):
        at = sum((1 << i) for i, bit in enumerate(bits) if bit > 0)
        own = sum(((float(table[at]) - float(table[at ^ (1 << i)])) / 2) ** 2 for i in range(n))
        assert float(found.profile[at]) == pytest.approx(own)
        total += own
    assert found.average == pytest.approx(total / 2**n)
    assert float(found.influences.sum()) == pytest.approx(found.average)
    assert found.most == pytest.approx(float(found.profile.max()))


def test_known_functions_of_sixteen_bits() -> None:
    n = 16
    assert ws.boolean_sensitivity(lambda x: x.prod(1), n).average == n
    assert ws.boolean_sensitivity(lambda x: x[:, 3], n).influences.tolist() == [
        1.0 if bit == 3 else 0.0 for bit in range(n)
    ]
    either = ws.boolean_sensitivity(lambda x: x.amax(1), n)
    assert either.most == n
    assert either.average == pytest.approx(2 * n / 2**n)
    with pytest.raises(ws.InputError, match="between 1 and 16"):
        ws.boolean_sensitivity(lambda x: x[:, 0], 17)
    with pytest.raises(ws.InputError, match="a whole number"):
        ws.boolean_sensitivity(lambda x: x[:, 0], 1.5)  # type: ignore[arg-type]
    with pytest.raises(ws.InputError, match="one number per input"):
        ws.boolean_sensitivity(lambda x: x, 3)
