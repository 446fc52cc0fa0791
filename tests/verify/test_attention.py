"""Proofs about attention: verified where they hold, refused where they were changed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import wordsway as ws
from benchmarks.proofs import tamper
from wordsway.maps.proof import prove
from wordsway.verifier.check import check
from wordsway.verifier.format import Document, RefusedError, read, write

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
    "one key": lambda d: ws.Attention(d=d, seed=1, mask="padding", visible=1),
    "alibi": lambda d: ws.Attention(d=d, seed=1, positions="alibi"),
    "residual": lambda d: ws.residual(ws.RAF(d=d, seed=1)),
    "mean": lambda d: ws.read_out(ws.RAF(d=d, seed=1), "mean"),
    "residual mean": lambda d: ws.read_out(ws.residual(ws.RAF(d=d, seed=1)), "mean"),
    "last": lambda d: ws.read_out(ws.RAF(d=d, seed=1), "last"),
    "first": lambda d: ws.read_out(ws.RAF(d=d, seed=1), 0),
    "residual first": lambda d: ws.read_out(ws.residual(ws.RAF(d=d, seed=1)), 0),
}


@pytest.mark.parametrize("name", CASES)
def test_a_verified_bound_is_near_the_certificate_and_above_what_is_attained(name):
    X = ws.Sample.gaussian(n=6, d=5, seed=3)
    phi = CASES[name](5)
    plain = ws.sensitivity(phi, X, positions=[0, 4], seed=0)
    s = ws.sensitivity(phi, X, positions=[0, 4], seed=0, proof=True)
    assert s.certificate == "verified" and s.proof is not None
    for row, before in zip(s.words, plain.words, strict=True):
        assert row.lower <= row.upper <= before.upper * 1.01


def test_a_tampered_proof_proves_nothing_that_is_false():
    assert "; 0 of them" in tamper(300)


def test_every_changed_byte_is_refused():
    X = ws.Sample.gaussian(n=3, d=2, seed=0)
    data = write(prove(ws.RAF(d=2, seed=1), X, [0], math.sqrt(2)).document)
    assert check(data).rows == (0,)
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


def test_a_map_without_a_verifier_says_so():
    X = ws.Sample.gaussian(n=4, d=4, seed=0)
    s = ws.sensitivity(ws.Attention(d=4, positions="rope"), X, positions=0, seed=0, proof=True)
    assert s.proof is None and s.certificate == "float64"


def test_a_refused_proof_leaves_the_certificate(caplog):
    """The multipliers of this text, in which few rows attend to another, are not good enough."""
    X = ws.Sample.gaussian(n=6, d=5, seed=3)
    phi = ws.Attention(d=5, seed=1, mask="window", window=2)
    s = ws.sensitivity(phi, X, positions=[0, 4], seed=0, proof=True)
    assert s.certificate == "float64" and s.proof is None and s.lower <= s.upper
    assert "not proved" in caplog.text
