"""Fields and arrays of proofs: exactly those of the format, and refusals that name the others."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import wordsway as ws
from wordsway.cli.app import run
from wordsway.maps.block import NormedText
from wordsway.maps.proof import prove, write_proof
from wordsway.maps.wrappers import Norm
from wordsway.proof_format import MAGIC, Document, RefusedError, write
from wordsway.verifier.check import check

pytest.importorskip("flint")


def ceiling() -> Document:
    """Rows of an RMS norm of two dimensions; a bound that is far from the best one."""
    X = torch.tensor([[1.0, 0.5], [0.0, -1.0]])
    inputs = {"X": X, "gain": torch.ones(2), "shift": torch.zeros(2), "weights": torch.ones(2)}
    about = {"kind": "ceiling", "centred": False, "causal": True}
    multipliers = {"rows/multipliers": np.array([[4.0, 0.0], [4.0, 0.0]])}
    claims: list[tuple[dict[str, Any], dict[str, Any]]] = [({"row": 1, "upper": 9.0}, {})]
    return write_proof({}, about, inputs, claims, 1.0, multipliers).document


def document(kind: str) -> Document:
    """A proof that is verified."""
    X = ws.Sample.gaussian(n=3, d=4, seed=0)
    maps: dict[str, Any] = {
        "attention": ws.RAF(d=4, seed=1),
        "norm": NormedText(ws.RAF(d=4, seed=1), Norm("rms")),
        "heads": ws.Attention(d=4, seed=1, heads=2),
        "rope": ws.Attention(d=4, seed=1, positions="rope"),
        "dense": ws.RF(n=3, d=4, k=5, seed=1),
    }
    return ceiling() if kind == "ceiling" else prove(maps[kind], X, [0], 1.0).document


KINDS = ("attention", "norm", "heads", "rope", "dense", "ceiling")


def refused(fields: dict[str, Any], arrays: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(RefusedError, match=message):
        check(write(Document(fields, arrays)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_proof_has_exactly_the_fields_of_its_kind(kind: str) -> None:
    found = document(kind)
    fields, arrays = found.fields, found.arrays
    assert check(write(found)).fields == fields
    about, claim = fields["map"], fields["claims"][0]
    refused(fields | {"map": about | {"quux": True}}, arrays, "unknown field of map: quux")
    refused(fields | {"quux": 1}, arrays, "unknown field of the proof: quux")
    refused(fields | {"claims": [claim | {"quux": 1}]}, arrays, "unknown field of a claim: quux")
    refused(fields, arrays | {"quux": np.ones(1)}, "unknown array: quux")
    refused(fields | {"claims": []}, arrays, "has a claim")
    for name in about.keys() - {"kind"}:
        less = {field: about[field] for field in about.keys() - {name}}
        refused(fields | {"map": less}, arrays, f"missing field of map: {name}")
        refused(fields | {"map": about | {name: ["no"]}}, arrays, f"malformed field of map: {name}")
    for name in fields:
        less = {field: fields[field] for field in fields.keys() - {name}}
        refused(less, arrays, f"missing field of the proof: {name}")
        refused(fields | {name: 1}, arrays, f"malformed field of the proof: {name}")


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, "X") for kind in KINDS]
    + [(kind, f"0/{name}") for kind in KINDS[:4] for name in ("cells", "weights")]
    + [("attention", "W"), ("attention", "0/axis"), ("heads", "Q"), ("heads", "0/prices")]
    + [("dense", "V1"), ("ceiling", "shift"), ("ceiling", "rows/multipliers")],
)
def test_missing_and_misshapen_arrays_are_named(kind: str, name: str) -> None:
    found = document(kind)
    others = {other: part for other, part in found.arrays.items() if other != name}
    refused(found.fields, others, f"missing array: {name}")
    fields = found.fields | {"inputs": {}}
    with pytest.raises(RefusedError) as caught:
        check(write(Document(fields, others | {name: np.ones((2, 7, 3))})))
    assert not re.search(r"[A-Z]\w+Error|object|indices", str(caught.value))


def test_flags_and_norms_that_are_something_else_are_refused() -> None:
    found = document("norm")
    about, claim = found.fields["map"], found.fields["claims"][0]
    for change, message in (
        ({"residual": "no"}, "malformed field of map: residual"),
        ({"log_n": 0}, "malformed field of map: log_n"),
        ({"size": "wide"}, "malformed field of map: size"),
        ({"size": 0}, "size"),
        ({"front": about["front"] | {"quux": 1}}, "unknown field of front: quux"),
        ({"outer": {"norm": "rms"}}, "missing field of outer: epsilon"),
        ({"front": None}, "unknown field of a claim: reach"),
        ({"kind": "quux"}, "kind of map"),
        ({"kind": {}}, "kind of map"),
    ):
        refused(found.fields | {"map": about | change}, found.arrays, message)
    refused(found.fields | {"claims": [claim["upper"]]}, found.arrays, "malformed field: a claim")
    refused(found.fields | {"claims": {"row": 0}}, found.arrays, "malformed field of the proof")
    dense = document("dense")
    deep = dense.fields | {"map": {"kind": "dense", "depth": 10**12}}
    refused(deep, dense.arrays, "missing array: V2")


def test_verify_says_in_json_why_a_proof_is_refused(tmp_path: Path, capsys: Any) -> None:
    found = document("attention")
    path, missing = tmp_path / "raf.proof", tmp_path / "none.proof"
    path.write_bytes(write(found))
    assert run(["verify", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verified"] is True
    about = found.fields["map"] | {"quux": True}
    path.write_bytes(write(Document(found.fields | {"map": about}, found.arrays)))
    assert run(["verify", str(path), "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out) == {"verified": False, "reason": "unknown field of map: quux"}
    assert said.err == "wordsway: not proved: unknown field of map: quux\n"
    assert run(["verify", str(missing), "--json"]) == 2
    said = capsys.readouterr()
    assert "No such file" in said.err and not said.out


def test_a_repeated_field_is_refused() -> None:
    """Another reader of JSON may take the other one of both."""
    size, _, rest = write(document("attention"))[len(MAGIC) + 65 :].partition(b"\n")
    text = rest[: int(size)].replace(b'"radius": 1.0', b'"radius": 9.0, "radius": 1.0', 1)
    assert len(text) > int(size)
    body = b"%d\n" % len(text) + text + rest[int(size) :]
    digest = hashlib.sha256(body).hexdigest().encode()
    with pytest.raises(RefusedError, match="cannot be read"):
        check(MAGIC + digest + b"\n" + body)
