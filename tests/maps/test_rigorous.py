"""Bounds that hold in exact arithmetic: linear algebra, forward passes, and what rests on them."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
import torch
from mpmath import mp, mpf

import wordsway as ws
from benchmarks.certified.attack import attempt, family
from benchmarks.certified.exact_maps import features, flat, matrix, relative_change
from benchmarks.certified.instances import draw
from wordsway.core.errors import WordswayError
from wordsway.maps.attention.certificates.heads import _steps
from wordsway.maps.attention.certificates.heads_table import PricedRow
from wordsway.maps.attention.certificates.problem import quartic_price
from wordsway.maps.attention.one_matrix.view import AttentionView
from wordsway.maps.attention.scores.relu import _others_score
from wordsway.maps.base import FeatureRangeError
from wordsway.maps.block import NormedText
from wordsway.maps.rigorous import (
    ELEMENTARY,
    Certificate,
    U,
    accurate_product,
    eigenvalue_upper_bound,
    opnorm_upper_bound,
    positive_definite,
)
from wordsway.maps.rows import RowView
from wordsway.maps.wrappers import Norm, read_out, residual


def gaussian(*shape: int, seed: int) -> torch.Tensor:
    noise = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=noise)


def exact(M: torch.Tensor) -> Any:
    return mp.matrix([[mpf(x) for x in row] for row in M.tolist()])


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (12, 4), (4, 40)])
@pytest.mark.parametrize("decay", [0.0, 4.0, 12.0])
def test_operator_norms_are_bounded_in_exact_arithmetic(
    shape: tuple[int, int], decay: float
) -> None:
    for seed in range(5):
        M = gaussian(*shape, seed=seed)
        M = M * 10.0 ** (-decay * torch.linspace(0, 1, shape[1], dtype=torch.float64))
        with mp.workdps(50):
            A = exact(M)
            top = mp.sqrt(max(mp.eigsy(A * A.T if shape[0] < shape[1] else A.T * A)[0]))
            found = opnorm_upper_bound(M)
            assert top <= found
            assert found <= top * (1 + mpf("1e-11"))


def test_the_norm_of_a_product_has_the_error_of_its_factors() -> None:
    # Xᵀ(QX̃) with X and Q orthogonal but for 1e-17: what floats say of the product is noise.
    X, Q = gaussian(40, 2, seed=0), gaussian(40, 2, seed=1)
    Q = Q - X @ torch.linalg.lstsq(X, Q).solution
    product = X.T @ Q
    with mp.workdps(50):
        true = exact(X).T * exact(Q)
        top = mp.sqrt(max(mp.eigsy(true.T * true)[0]))
        made = 2 * 48 * U * float(X.norm()) * float(Q.norm())
        assert top <= opnorm_upper_bound(product, made)


def test_eigenvalues_carry_the_inner_length_of_their_matrix() -> None:
    keys = gaussian(5000, 2, 1, seed=0)
    like = keys[..., 0]
    steps, error = _steps(PricedRow(like, like, like, keys, keys), torch.ones_like(like))
    assert error >= 10_000 * U * float(steps.trace())  # 32 d eps was a hundred times less
    true = math.fsum(float(x) ** 2 for x in keys.flatten())
    assert true * (1 - 1e-15) <= eigenvalue_upper_bound(steps, error) <= true * (1 + 1e-11)


def test_fourth_powers_are_bounded_where_rows_are_many_and_dimensions_few() -> None:
    A = gaussian(600, 1, seed=0)
    true = math.fsum(float(x) ** 4 for x in A.flatten())
    found = quartic_price(A)
    assert true <= found <= 1.02 * true
    assert quartic_price(A, 1e-3) >= (true**0.25 + 1e-3) ** 4 * (1 - 1e-12)


def test_a_singular_matrix_is_never_proved_positive_definite() -> None:
    for seed in range(20):
        A = gaussian(6, 5, seed=seed)
        singular = A @ A.T
        assert not positive_definite(singular)
        assert positive_definite(singular + 1e-9 * torch.eye(6, dtype=torch.float64))
        assert not positive_definite(singular + 1e-9 * torch.eye(6, dtype=torch.float64), 1e-9)


def test_accurate_products_are_rounded_once() -> None:
    A, x = gaussian(20, 9, seed=0), gaussian(9, seed=1)
    A[:, -1] = -(A[:, :-1] @ x[:-1]) / x[-1]  # cancels to the last bits
    found = accurate_product(A, x).tolist()
    with mp.workdps(50):
        true = [
            mp.fsum(mpf(a) * mpf(b) for a, b in zip(row, x.tolist(), strict=True))
            for row in A.tolist()
        ]
        assert all(abs(mpf(a) - b) <= U * abs(b) for a, b in zip(found, true, strict=True))


#: 4,000 points each; an error above `ELEMENTARY` at a share of 1e-3 of all points would show up
#: with probability 1 − e⁻⁴.
FUNCTIONS = {
    "exp": (torch.exp, mp.exp, (-700, 700)),
    "expm1": (torch.expm1, mp.expm1, (-40, 700)),
    "log": (torch.log, mp.log, (1e-300, 1e3)),
    "log1p": (torch.log1p, mp.log1p, (-0.999, 10)),
    "sigmoid": (torch.sigmoid, lambda x: 1 / (1 + mp.exp(-x)), (-700, 40)),
    "tanh": (torch.tanh, mp.tanh, (-20, 20)),
    "erf": (torch.erf, mp.erf, (-6, 6)),
    "erfc": (torch.erfc, mp.erfc, (-5, 26)),
    "sin": (torch.sin, mp.sin, (-20, 20)),
    "cos": (torch.cos, mp.cos, (-20, 20)),
    "asin": (torch.asin, mp.asin, (-1, 1)),
    "acos": (torch.acos, mp.acos, (-1, 1)),
    "atan2": (lambda x: torch.atan2(x, torch.ones_like(x)), mp.atan, (-700, 700)),
    "pow": (lambda x: 10_000.0**x, lambda x: mpf(10_000) ** x, (-1, 1)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_elementary_functions_are_as_accurate_as_certificates_assume(name: str) -> None:
    function, precise, (low, high) = FUNCTIONS[name]
    noise = torch.Generator().manual_seed(0)
    x = low + (high - low) * torch.rand(2000, dtype=torch.float64, generator=noise)
    small = torch.randn(2000, dtype=torch.float64, generator=noise).clamp(low, high)
    x = torch.cat([x, small.abs() if low >= 0 else small])
    x = x[(x > low) & (x < high)]
    found = function(x).tolist()
    with mp.workdps(40):
        worst = max(
            abs(mpf(y) - true) / abs(true)
            for a, y in zip(x.tolist(), found, strict=True)
            if (true := precise(mpf(a))) != 0
        )
    assert worst <= ELEMENTARY / 2


@pytest.mark.slow
def test_forward_passes_are_within_their_error_in_fifty_digits() -> None:
    chance, tight = random.Random(0), []
    for _ in range(150):
        instance = draw(chance)
        phi = instance.map()
        try:
            view = phi.view(instance.sample(), torch.float64)
        except FeatureRangeError:
            continue
        before = view.rows_before if isinstance(view, RowView) else phi.exact(instance.X)
        with mp.workdps(50):
            true = flat(features(phi, matrix(instance.X)))
            apart = [mpf(a) - b for a, b in zip(before.flatten().tolist(), true, strict=True)]
            off = float(mp.sqrt(mp.fsum(x * x for x in apart)))
        assert off <= view.rounding, instance.name
        tight.append(view.rounding / float(before.norm()))
    assert len(tight) > 120
    assert sorted(tight)[len(tight) // 2] < 1e-11  # and the bound says something


def test_a_norm_in_front_may_erase_a_row_as_long_as_the_radius() -> None:
    W = 10 * gaussian(2, 2, seed=1812)
    X = ws.Sample.gaussian(n=2, d=2, seed=1812)
    phi = NormedText(ws.Attention(weight=W), Norm("rms", 0.0))
    delta = torch.tensor([-0.5069304029261843, 1.3202354208962492], dtype=torch.float64)
    assert float(delta.norm()) <= math.sqrt(2)
    bound = phi.view(X).certify([0], math.sqrt(2))
    assert bound is not None
    change = relative_change(phi, X.X, 0, delta)
    assert change > 1.92
    assert change <= float(bound.upper[0])


def test_norms_that_cancel_are_bounded() -> None:
    V = torch.tensor([[0.1, 0.2, -0.3]], dtype=torch.float64)
    X = ws.Sample(torch.ones(1, 3, dtype=torch.float64), rescale=False)
    found = ws.sensitivity(ws.RF(weight=V, n=1), X, positions=0)
    assert found.upper is not None
    assert relative_change(ws.RF(weight=V, n=1), X.X, 0, found.delta) <= found.upper
    assert found.lower <= found.upper


def test_certificates_hold_where_products_cancel() -> None:
    for seed in range(200):
        v, x = gaussian(1, 8, seed=seed), gaussian(1, 8, seed=1000 + seed)
        x[0, -1] = -(v[0, :-1] @ x[0, :-1]) / v[0, -1] * (1 - 1e-6)
        if float(v[0] @ x[0]) <= 0:
            continue
        bound = ws.RF(weight=v, n=1).view(ws.Sample(x, rescale=False)).certify([0], 1.0)
        assert bound is not None
        with mp.workdps(50):
            z = mp.fsum(mpf(a) * mpf(b) for a, b in zip(v[0].tolist(), x[0].tolist(), strict=True))
            true = mp.sqrt(mp.fsum(mpf(a) ** 2 for a in v[0].tolist())) / z
        assert true <= float(bound.upper[0])


def test_there_is_no_certificate_where_float64_cannot_tell_the_features_from_zero() -> None:
    V = torch.tensor([[0.1, 0.2, -0.3]], dtype=torch.float64)
    X = ws.Sample(torch.ones(1, 3, dtype=torch.float64), rescale=False)
    phi = ws.DRF(weights=[V, torch.ones(1, 1, dtype=torch.float64)], n=1)
    found = ws.sensitivity(phi, X, positions=0)
    assert found.upper is None
    assert found.certificate is None


def test_an_excess_that_rounding_does_not_explain_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    phi, X = ws.RAF(d=4, seed=0), ws.Sample.gaussian(n=3, d=4, seed=0)
    lower = ws.sensitivity(phi, X, positions=0).lower

    def certify(self: AttentionView, *_: Any) -> Certificate:
        return Certificate.exact(torch.tensor([less * lower], dtype=torch.float64))

    monkeypatch.setattr(AttentionView, "certify", certify)
    less = 1 - 5e-10
    with pytest.raises(WordswayError, match="exceeds the certified"):
        ws.sensitivity(phi, X, positions=0)
    less = 1 - 2e-16  # one rounding of two forward passes
    found = ws.sensitivity(phi, X, positions=0)
    assert found.lower <= found.upper == less * lower


def test_the_score_of_other_keys_is_bounded_from_below() -> None:
    # Keys along x but for 3e-9 across it, which the difference of Gram matrices does not show.
    x = torch.tensor([1.0, 0.0], dtype=torch.float64)
    K = torch.tensor([[1.0, 3e-9]] * 3, dtype=torch.float64)
    cosine = torch.tensor([0.5], dtype=torch.float64)
    found = float(_others_score(K, x, cosine, torch.zeros(3, dtype=torch.float64)))
    with mp.workdps(50):
        heard = 3 * (mpf(1) / 2 - mp.sqrt(mpf(3)) / 2 * mpf(3e-9))
        assert found <= heard
        assert found >= heard * (1 - mpf("1e-6"))


@pytest.mark.parametrize("heads", [None, 2])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_row_not_attending_to_the_word_does_not_change(heads: int | None, wrapped: bool) -> None:
    phi: ws.FeatureMap = ws.Attention(4, 0, heads=heads, mask="causal")
    phi = read_out(residual(phi) if wrapped else phi, 0)
    found = ws.sensitivity(phi, ws.Sample.gaussian(n=4, d=4, seed=0), positions="all")
    assert [word.upper for word in found.words[1:]] == [0.0, 0.0, 0.0]
    assert [word.lower for word in found.words[1:]] == [0.0, 0.0, 0.0]
    assert found.words[0].lower > 0


def test_features_that_vanish_in_single_precision_alone_are_searched_in_double() -> None:
    X = ws.Sample(1e-25 * gaussian(3, 4, seed=0), rescale=False)
    found = ws.sensitivity(ws.RAF(d=4, seed=0), X, radius=1e-9)
    assert 0 < found.lower <= (found.upper or 0)
    V = torch.tensor([[-0.1, -0.2, 0.3]], dtype=torch.float32)
    text = torch.ones(1, 3, dtype=torch.float64)
    phi = ws.RF(weight=V, n=1, dtype=torch.float32)
    found = ws.sensitivity(phi, ws.Sample(text, rescale=False))
    assert 0 < found.lower <= (found.upper or 0)


@pytest.mark.parametrize("number", range(100_000, 100_008))
def test_adversarial_instances_stay_below_their_certificates(number: int) -> None:
    with torch.no_grad():
        found = family(number)
    assert len(found) == 10
    for one in found:
        ratio = one["ratio"] if one["precise"] is None else one["precise"]
        assert ratio <= 1, one
    assert max(one["ratio"] for one in found) > 0


def test_an_attack_finds_what_a_certificate_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack itself works: a certificate of half its size is broken at once."""
    true = AttentionView.certify

    def halved(self: AttentionView, *how: Any) -> Certificate:
        return Certificate.exact(true(self, *how).upper / 2)

    monkeypatch.setattr(AttentionView, "certify", halved)
    chance = random.Random(3)
    instance = draw(chance)
    while instance.name != "attention softmax, plain" or len(instance.X) < 2:
        instance = draw(chance)
    tried = attempt(instance, chance, None)
    assert tried is not None
    assert tried.ratio > 1
    assert tried.precise is not None
    assert tried.precise > 1
