"""Proofs of the ceilings of real models: verified where they hold, refused where changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tiny
import wordsway as ws
from wordsway.models.probe import Probe
from wordsway.probing.ceiling import ceilings, prove_ceilings, slack_of
from wordsway.probing.targets import target_of
from wordsway.proof_format import Document, RefusedError, write
from wordsway.verifier.check import check

pytest.importorskip("flint")

TEXT = "the film was good , films and the plot"


@pytest.fixture(scope="module")
def proofs(tmp_path_factory: pytest.TempPathFactory) -> dict:
    found = {}
    for name in tiny.ARCHITECTURES:
        probe = Probe(tiny.save(tmp_path_factory.mktemp(name), name))
        encoded = probe.read(TEXT)
        target = target_of(probe, encoded, probe.layers.count)
        words = list(encoded.words)
        found[name] = target, words, prove_ceilings(target, words)
    return found


@pytest.mark.parametrize("name", tiny.ARCHITECTURES)
def test_a_verified_ceiling_matches_words(proofs, name, tmp_path: Path):
    target, words, proof = proofs[name]
    shown = ceilings(target, words)
    if shown[0] is None:
        assert proof is None
        return
    verified = ws.verify(proof.save(tmp_path / "ceiling.proof"))
    uppers = dict(zip(verified.rows, verified.uppers, strict=True))
    for word, upper in zip(words, shown, strict=True):
        exact = upper / slack_of(target.encoded)
        assert exact <= uppers[min(word.rows)] <= exact * 1.00001


def attained(document: Document, row: int) -> float:
    """The change if all rows that can move end up opposite on the norm's ellipsoid."""
    X, gain, shift, weights = (document.arrays[n] for n in ("X", "gain", "shift", "weights"))
    s = (X - shift) / gain
    opposite = -s / np.linalg.norm(s, axis=1, keepdims=True) * np.sqrt(X.shape[1])
    changes = (opposite * gain + shift - X) * weights[:, None]
    return float(np.linalg.norm(changes[row if document.fields["map"]["causal"] else 0 :]))


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_a_tampered_ceiling_proves_nothing_false(proofs, name):
    document = proofs[name][2].document
    largest = max(document.fields["claims"], key=lambda claim: claim["upper"])
    moved = attained(document, largest["row"])
    assert moved <= largest["upper"] <= moved * 1.001
    rng = np.random.default_rng(0)
    accepted = 0
    for _ in range(100):
        upper = largest["upper"] * float(np.exp(rng.normal(0, 0.01)))
        fields = document.fields | {"claims": [largest | {"upper": upper}]}
        multipliers = document.arrays["rows/multipliers"].copy()
        place = rng.integers(multipliers.size)
        multipliers.flat[place] *= rng.choice([0.0, -1.0, 0.5, 0.9, 1.001, 2.0, 1e300])
        arrays = document.arrays | {"rows/multipliers": multipliers}
        try:
            check(write(Document(fields, arrays)))
        except RefusedError:
            continue
        accepted += 1
        assert upper >= moved * (1 - 1e-12)
    assert 0 < accepted < 100


def test_multipliers_that_prove_nothing_are_refused(proofs):
    document = proofs["bert"][2].document
    for column, value, message in ((0, 0.0, "λ"), (1, 1.0, "at most U")):
        multipliers = document.arrays["rows/multipliers"].copy()
        multipliers[:, column] = value
        arrays = document.arrays | {"rows/multipliers": multipliers}
        with pytest.raises(RefusedError, match=message):
            check(write(Document(document.fields, arrays)))
    rms = document.fields | {"map": document.fields["map"] | {"centred": False}}
    with pytest.raises(RefusedError, match="centre"):
        check(write(Document(rms, document.arrays)))
