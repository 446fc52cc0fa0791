"""Proofs about attention: verified where they hold, refused where they were changed."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

import wordsway as ws
from benchmarks.proofs import tamper
from violations import largest_change, rings
from wordsway.core.errors import InputError
from wordsway.maps.block import NormedText
from wordsway.maps.proof import prove
from wordsway.maps.wrappers import Norm
from wordsway.proof_format import Document, RefusedError, digest, read, write
from wordsway.studies.measure import run_trials
from wordsway.studies.request import Request
from wordsway.verifier.check import check

pytest.importorskip("flint")

CASES = {
    "raf": lambda d: ws.RAF(d=d, seed=1),
    "sharp": lambda d: ws.Attention(d=d, seed=1, temperature=0.1),
    "flat": lambda d: ws.Attention(d=d, seed=1, temperature=5.0),
    "over-d": lambda d: ws.Attention(d=d, seed=1, scores="softmax-1/d"),
    "log-n": lambda d: ws.Attention(d=d, seed=1, scores="softmax-log-n"),
    "sink": lambda d: ws.Attention(d=d, seed=1, scores="sink"),
    "causal": lambda d: ws.Attention(d=d, seed=1, mask="causal"),
    "padding": lambda d: ws.Attention(d=d, seed=1, mask="padding", visible=3),
    "window": lambda d: ws.Attention(d=d, seed=1, mask="window", window=2),
    "learned": lambda d: ws.Attention(d=d, seed=1, positions="learned"),
    "sinusoidal": lambda d: ws.Attention(d=d, seed=1, positions="sinusoidal"),
    "alibi": lambda d: ws.Attention(d=d, seed=1, positions="alibi"),
    "relu": lambda d: ws.ReluRAF(d=d, seed=1),
    "relu causal": lambda d: ws.Attention(d=d, seed=1, scores="relu", mask="causal"),
    "relu mean": lambda d: ws.read_out(ws.ReluRAF(d=d, seed=1), "mean"),
    "relu last": lambda d: ws.read_out(ws.ReluRAF(d=d, seed=1), "last"),
    "relu residual": lambda d: ws.residual(ws.ReluRAF(d=d, seed=1)),
    "sigmoid": lambda d: ws.Attention(d=d, seed=1, scores="sigmoid"),
    "sigmoid causal": lambda d: ws.Attention(d=d, seed=1, scores="sigmoid", mask="causal"),
    "sigmoid residual": lambda d: ws.residual(ws.Attention(d=d, seed=1, scores="sigmoid")),
    "layer norm": lambda d: ws.layer_norm(ws.RAF(d=d, seed=1)),
    "residual norm": lambda d: ws.rms_norm(ws.residual(ws.RAF(d=d, seed=1))),
    "relu norm": lambda d: ws.rms_norm(ws.ReluRAF(d=d, seed=1)),
    "norm in front": lambda d: NormedText(ws.RAF(d=d, seed=1), Norm("layer")),
    "norm in front, positions": lambda d: NormedText(
        ws.Attention(d=d, seed=1, positions="sinusoidal"), Norm("rms")
    ),
    "pre-norm": lambda d: ws.residual(NormedText(ws.RAF(d=d, seed=1), Norm("rms"))),
    "two norms": lambda d: ws.layer_norm(NormedText(ws.RAF(d=d, seed=1), Norm("rms"))),
    "residual": lambda d: ws.residual(ws.RAF(d=d, seed=1)),
    "mean": lambda d: ws.read_out(ws.RAF(d=d, seed=1), "mean"),
    "residual mean": lambda d: ws.read_out(ws.residual(ws.RAF(d=d, seed=1)), "mean"),
    "last": lambda d: ws.read_out(ws.RAF(d=d, seed=1), "last"),
    "first": lambda d: ws.read_out(ws.RAF(d=d, seed=1), 0),
    "residual first": lambda d: ws.read_out(ws.residual(ws.RAF(d=d, seed=1)), 0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CASES.keys() - {"flat"}))
def test_a_verified_bound_is_near_the_certificate_and_above_what_is_attained(name):
    X = ws.Sample.gaussian(n=6, d=5, seed=3)
    phi = CASES[name](5)
    certified = phi.view(X).certify([0, 4], math.sqrt(5)).upper.tolist()
    s = ws.sensitivity(phi, X, positions=[0, 4], seed=0, proof=True, effort=0.3)
    assert s.certificate == "verified" and s.proof is not None
    for row, upper in zip(s.words, certified, strict=True):
        assert row.lower <= row.upper <= upper * 1.01


def test_a_certificate_smaller_than_the_bound_of_the_proof_is_reported(caplog):
    """At high temperatures Theorem 22, which the verifier lacks, is smaller than Theorem 4."""
    X, phi = ws.Sample.gaussian(n=6, d=5, seed=3), CASES["flat"](5)
    s = ws.sensitivity(phi, X, positions=0, seed=0, proof=True, effort=0.3)
    assert s.certificate == "float64" and s.proof is not None and s.upper is not None
    assert s.lower <= s.upper < s.proof.verify().upper / 1.01
    assert "the smaller one" in caplog.text


@pytest.mark.parametrize("name", CASES)
def test_no_delta_of_a_grid_exceeds_a_verified_bound_and_no_lower_claim_is_verified(name):
    X, r = ws.Sample.gaussian(n=3, d=2, seed=5), 1.3
    phi = CASES[name](2)
    for i in range(3):
        proof = prove(phi, X, [i], r, 0.01)
        assert proof is not None
        attained = largest_change(phi, X, i, rings(r))
        assert attained <= proof.verify().upper * (1 + 1e-12)
        fields, arrays = proof.document.fields, proof.document.arrays
        low = fields["claims"][0] | {"upper": attained * (1 - 1e-6)}
        if attained > 1e-9:  # a row that stays as it is has the bound 0
            with pytest.raises(RefusedError):
                check(write(Document(fields | {"claims": [low]}, arrays)))


def test_a_norm_in_front_of_a_layer_with_large_weights_is_verified():
    """A row that can just be erased can leave in any direction: ‖Δ‖ ≤ √2 moves N(x) by 2√2."""
    noise = torch.Generator().manual_seed(1812)
    weight = 10 * torch.randn(2, 2, dtype=torch.float64, generator=noise)
    X = ws.Sample.gaussian(n=2, d=2, seed=1812)
    phi = NormedText(ws.Attention(weight=weight), Norm("rms", 0.0))
    delta = torch.tensor([-0.5069304029261843, 1.3202354208962492], dtype=torch.float64)
    before, after = phi.exact(X), phi.exact(X.replaced(0, delta))
    attained = float((after - before).norm() / before.norm())
    proof = prove(phi, X, [0], math.sqrt(2))
    assert proof is not None and attained <= proof.verify().upper
    claim = proof.document.fields["claims"][0]
    shorter = proof.document.fields | {"claims": [claim | {"reach": claim["reach"] * 0.99}]}
    with pytest.raises(RefusedError, match="reach"):
        check(write(Document(shorter, proof.document.arrays)))


@pytest.mark.parametrize(
    ("name", "array", "value", "message"),
    [
        ("relu", "silence", 1.5, "0 ≤ λ ≤ 1"),
        ("relu", "weights", -1.0, "weights are positive"),
        ("sigmoid", "joined", -1.0, "finite"),
        ("norm in front", "cells", 0.0, "cover|κ"),
    ],
)
def test_numbers_that_prove_nothing_are_refused(name, array, value, message):
    X = ws.Sample.gaussian(n=4, d=3, seed=0)
    document = prove(CASES[name](3), X, [0], 1.0).document
    arrays = dict(document.arrays)
    arrays[f"0/{array}"] = np.full_like(arrays[f"0/{array}"], value)
    with pytest.raises(RefusedError, match=message):
        check(write(Document(document.fields, arrays)))


@pytest.mark.slow
def test_a_tampered_proof_proves_nothing_that_is_false():
    assert "; 0 of them" in tamper(230)


def test_every_changed_byte_is_refused():
    X = ws.Sample.gaussian(n=3, d=2, seed=0)
    data = write(prove(ws.RAF(d=2, seed=1), X, [0], math.sqrt(2)).document)
    assert [claim["row"] for claim in check(data).fields["claims"]] == [0]
    rng = np.random.default_rng(0)
    for at in [*range(100), *rng.integers(0, len(data), 100)]:
        changed = bytearray(data)
        changed[at] ^= 1 << int(rng.integers(8))
        with pytest.raises(RefusedError):
            read(bytes(changed))
    for end in rng.integers(0, len(data), 50):
        with pytest.raises(RefusedError):
            read(data[:end])
    with pytest.raises(RefusedError):
        read(data + b"\0")


def test_more_rows_than_dimensions_use_fourth_powers():
    X = ws.Sample.gaussian(n=40, d=6, seed=0)
    s = ws.sensitivity(ws.RAF(d=6, seed=1), X, positions=0, seed=0, proof=True)
    assert s.certificate == "verified" and "0/fourth" in s.proof.document.arrays
    assert s.lower <= s.upper


@pytest.mark.parametrize("depth", [1, 3])
def test_given_weights_of_random_features(depth):
    X = ws.Sample.gaussian(n=3, d=4, seed=0)
    drawn = ws.DRF(3, 4, depth, seed=1)
    given = [V.dense() for V in (drawn.first, *drawn.later)]
    phi = ws.RF(weight=given[0], n=3) if depth == 1 else ws.DRF(weights=given, n=3)
    before = ws.sensitivity(phi, X, positions=[0, 2], seed=0)
    s = ws.sensitivity(phi, X, positions=[0, 2], seed=0, proof=True)
    assert s.certificate == "verified"
    assert s.lower <= s.upper <= before.upper * 1.001


def test_a_sum_that_cancels_is_verified_in_exact_arithmetic():
    """φ(X) = 2⁻⁵⁵ for the given floats; in float64 the sum is twice that."""
    weight = np.array([[0.1, 0.2, -0.3]])
    exact = float(Fraction(0.1) + Fraction(0.2) + Fraction(-0.3))
    X = ws.Sample(np.ones((1, 3)), rescale=False)
    proof = prove(ws.RF(weight=weight, n=1), X, [0], 1.0)
    assert proof is not None
    true = float(np.linalg.norm(weight)) / exact
    assert true * (1 - 1e-12) <= proof.verify().upper <= true * 1.001
    low = proof.document.fields | {"claims": [{"row": 0, "upper": true * (1 - 1e-9)}]}
    with pytest.raises(RefusedError, match="φ"):
        check(write(Document(low, proof.document.arrays)))


@pytest.mark.parametrize(
    ("phi", "how", "kind", "reason"),
    [
        (ws.Attention(d=4, scores="qk-norm"), {}, "float64", "a verifier"),
        (ws.RF(4, 4, draw="on-demand"), {}, "1 − 1e-9", 'draw="dense"'),
        (ws.RAF(d=4), {"edit": "delete"}, "enumeration", "another question"),
        (ws.RAF(d=4), {"certificate": False}, None, "a certificate"),
    ],
)
def test_without_a_proof_the_reason_and_the_certificate_are_printed(
    phi: ws.FeatureMap,
    how: dict[str, Any],
    kind: str | None,
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    X = ws.Sample.gaussian(n=4, d=4, seed=0)
    s = ws.sensitivity(phi, X, positions=0, seed=0, proof=True, **how)
    assert s.proof is None and s.certificate == kind
    (warning,) = caplog.messages
    assert warning.endswith(f"(certificate: {kind or 'none'})") and reason in warning


def test_a_proof_names_the_seeds_of_its_inputs() -> None:
    found = run_trials(Request("raf", 4, 3), proof=True).trials[0]
    assert found.proof is not None
    verified = found.proof.verify()
    X = ws.Sample.gaussian(4, 3, verified.about["text"]["seed"]).X.numpy()
    W = ws.RAF(3, verified.about["map"]["seed"]).weight.numpy()
    assert verified.inputs == {"X": digest(X), "W": digest(W)}


def test_a_proof_of_more_weights_than_the_limit_is_refused() -> None:
    X, phi = ws.Sample.gaussian(n=4, d=4, seed=0), ws.RF(4, 4, k=65_537)
    with pytest.raises(InputError, match=r"at most 1,048,576 weights .* got 1,048,592"):
        prove(phi, X, [0], 1.0)


def test_a_proof_does_not_replace_a_much_smaller_bound(caplog: pytest.LogCaptureFixture) -> None:
    """The bound for small moves (Theorem 22) has no verifier."""
    X, phi = ws.Sample.gaussian(12, 64, 0), ws.Attention(64, 1, temperature=4.0)
    plain = ws.sensitivity(phi, X, positions=0, radius=0.2)
    s = ws.sensitivity(phi, X, positions=0, radius=0.2, proof=True)
    assert (s.upper, s.certificate) == (plain.upper, "float64")
    assert s.proof is not None and s.proof.verify().upper > 1.5 * s.upper
    assert "the bound of the proof is" in caplog.text
