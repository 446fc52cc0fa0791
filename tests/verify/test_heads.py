"""Proofs about attention with heads and with rotations."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

import wordsway as ws
from violations import largest_change, rings
from wordsway.maps.proof import prove
from wordsway.proof_format import Document, RefusedError, write
from wordsway.verifier.balls import float_above
from wordsway.verifier.check import check
from wordsway.verifier.heads import Heads

pytest.importorskip("flint")

CASES: dict[str, dict[str, Any]] = {
    "one head": {"heads": 1},
    "two heads": {"heads": 2},
    "sink": {"heads": 2, "scores": "sink"},
    "over-d": {"heads": 2, "scores": "softmax-1/d"},
    "differential": {"heads": 2, "scores": "differential"},
    "sharp": {"heads": 2, "temperature": 0.05},
    "flat": {"heads": 2, "temperature": 8.0},
    "causal": {"heads": 2, "mask": "causal"},
    "alibi": {"heads": 2, "positions": "alibi"},
    "learned": {"heads": 2, "positions": "learned"},
    "rope": {"positions": "rope"},
    "rope with a sink": {"positions": "rope", "scores": "sink", "mask": "window", "window": 2},
    "rope with heads": {"heads": 2, "positions": "rope"},
}


@pytest.mark.parametrize("name", CASES)
def test_a_verified_bound_is_near_the_certificate_and_above_what_is_attained(name):
    X = ws.Sample.gaussian(n=6, d=4, seed=3)
    phi = ws.Attention(d=4, seed=1, **CASES[name])
    plain = ws.sensitivity(phi, X, positions=[0, 4], seed=0)
    s = ws.sensitivity(phi, X, positions=[0, 4], seed=0, proof=True)
    assert s.certificate == "verified" and s.proof is not None
    for row, before in zip(s.words, plain.words, strict=True):
        assert row.lower <= row.upper <= before.upper * 1.01


@pytest.mark.parametrize("name", [name for name in CASES if name != "rope with heads"])
def test_no_delta_of_a_grid_exceeds_a_verified_bound_and_no_lower_claim_is_verified(name):
    X, r = ws.Sample.gaussian(n=3, d=2, seed=5), 1.3
    phi = ws.Attention(d=2, seed=1, **CASES[name])
    for i in range(3):
        proof = prove(phi, X, [i], r)
        attained = largest_change(phi, X, i, rings(r))
        assert attained <= proof.verify().upper * (1 + 1e-12)
        fields, arrays = proof.document.fields, proof.document.arrays
        low = fields["claims"][0] | {"upper": attained * (1 - 1e-6)}
        with pytest.raises(RefusedError):
            check(write(Document(fields | {"claims": [low]}, arrays)))


@pytest.mark.parametrize(
    "choice", [{"heads": 2}, {"heads": 4}, {"heads": 8}, {"positions": "rope"}]
)
def test_heads_of_medium_size_are_proved_within_a_thousandth(choice):
    X, phi = ws.Sample.gaussian(n=16, d=64, seed=0), ws.Attention(d=64, seed=1, **choice)
    certificate = float(phi.view(X, torch.float64).certify([0], 8.0).upper[0])
    assert prove(phi, X, [0], 8.0).verify().upper <= certificate * 1.0011


def small() -> Document:
    X = ws.Sample.gaussian(n=4, d=6, seed=0)
    return prove(ws.Attention(d=6, seed=1, heads=3), X, [0], 2.0).document


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("0/prices", lambda a: a - 1e6, "μ"),
        ("0/joined", lambda a: -a, "μ"),
        ("0/weights", lambda a: -a, "weights are positive"),
        ("0/weights", lambda a: a[1:], "every row"),
        ("0/cells", lambda a: a[:-1], "cover"),
        ("0/cells", lambda a: a[1:], "cover"),
        ("0/cells", lambda a: a * [1, 1, -1, 1, 1], "λ"),
        ("0/cells", lambda a: a * [1, 1, 1e-3, 1, 1], "at most U"),
        ("heads/gain", lambda a: 0 * a, "at most U"),
        ("heads/gain", lambda a: a[1:], "shapes of the arrays"),
        ("heads/theta", lambda a: a + 9, "cover|at most U"),
        ("V", lambda a: a + 1e-9, "SHA-256"),
    ],
)
def test_numbers_that_prove_nothing_are_refused(name, change, message):
    document = small()
    assert check(write(document))
    arrays = document.arrays | {name: change(document.arrays[name])}
    with pytest.raises(RefusedError, match=message):
        check(write(Document(document.fields, arrays)))


@pytest.mark.parametrize("kappa2", [None, 0.0, -5.0, 1.0, 100.0])
@pytest.mark.parametrize("factor", [1.0, 0.1, 3.0])
def test_the_verified_gain_of_heads_is_above_every_corner(kappa2, factor):
    """Lemma 3 with numbers of the file that do not suffice: the verifier adds what is missing."""
    document = small()
    arrays = document.arrays | {"heads/gain": factor * document.arrays["heads/gain"]}
    if kappa2 is not None:
        arrays["heads/kappa"] = np.array([kappa2])
    V, O = np.split(arrays["V"], 3, 1), np.split(arrays["O"], 3, 0)
    corners = product((0, 1), repeat=3)
    sums = [sum(p * v @ o for p, v, o in zip(c, V, O, strict=True)) for c in corners]
    most = max(np.linalg.norm(one, 2) for one in sums) ** 2
    assert float_above(Heads(Document(document.fields, arrays)).gain2) >= most


def test_a_claim_about_one_matrix_takes_no_heads_and_no_rotations():
    X = ws.Sample.gaussian(n=4, d=4, seed=0)
    document = prove(ws.RAF(d=4, seed=1), X, [0], 1.0).document
    for more in ({"rope": True}, {"heads": 2}):
        fields = document.fields | {"map": document.fields["map"] | more}
        with pytest.raises(RefusedError, match=r"unknown field of map: (rope|heads)"):
            check(write(Document(fields, document.arrays)))
