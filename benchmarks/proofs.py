"""Proofs: certificate, proved bound, time and size by kind; and proofs that were tampered with."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import torch

import wordsway as ws
from wordsway.maps.proof import prove
from wordsway.verifier.check import check
from wordsway.verifier.format import Document, RefusedError, write

#: Maps by name, with the sizes at which they are proved.
SIZES: dict[str, list[tuple[int, int]]] = {
    "softmax": [(16, 64), (60, 256), (120, 768), (250, 768)],
    "sink": [(60, 256)],
    "causal": [(60, 256)],
    "residual": [(60, 256)],
    "mean": [(60, 256)],
    "one row": [(60, 256)],
}


def made(name: str, d: int, seed: int) -> ws.FeatureMap:
    """A map of `SIZES`."""
    if name == "causal":
        return ws.Attention(d, seed, mask="causal")
    if name == "residual":
        return ws.residual(ws.RAF(d, seed))
    if name in ("mean", "one row"):
        return ws.read_out(ws.RAF(d, seed), "mean" if name == "mean" else "last")
    return ws.Attention(d, seed, scores=name)


def table() -> str:
    """Every kind at every size."""
    lines = [
        "| map | n | d | certificate | proved | proved ÷ certificate | seconds | proof |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, sizes in SIZES.items():
        for n, d in sizes:
            X, phi, r = ws.Sample.gaussian(n, d, 0), made(name, d, 1), math.sqrt(d)
            found = phi.view(X, torch.float64).certify([0], r)
            proof = prove(phi, X, [0], r)
            assert found is not None and proof is not None
            upper, verified = float(found.upper[0]), proof.verify()
            arrays = proof.document.arrays
            inputs = sum(arrays[part].nbytes for part in proof.document.fields["inputs"])
            lines.append(
                f"| {name} | {n} | {d} | {upper:.4f} | {verified.upper:.4f} | "
                f"{verified.upper / upper:.4f} | {verified.seconds:.1f} | "
                f"{(verified.bytes - inputs) / 1000:.0f} kB |"
            )
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def tampered(data: bytes, document: Document, rng: np.random.Generator) -> bytes:
    """The proof with one thing changed: a byte of the file, or a number of the document, which is
    then sealed with its new SHA-256.
    """
    kind = rng.integers(8)
    if kind == 0:
        changed = bytearray(data)
        changed[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        return bytes(changed)
    if kind == 1:
        return data[: rng.integers(len(data))]
    fields: dict[str, Any] = dict(document.fields)
    fields["claims"] = [dict(claim) for claim in fields["claims"]]
    arrays = {name: values.copy() for name, values in document.arrays.items()}
    factor = float(np.exp(rng.normal(0, 1)))
    own = [name for name in arrays if "/" in name]
    if kind <= 3:  # a smaller bound, and perhaps other numbers
        fields["claims"][0]["upper"] *= min(factor, 1 / factor)
    if kind == 4 and own:  # cells that do not cover
        cells = next((name for name in own if name.endswith("cells")), own[0])
        arrays[cells] = np.delete(arrays[cells], rng.integers(len(arrays[cells])), 0)
    elif kind == 5:
        fields["radius"] *= factor
    elif kind == 6:
        fields["inputs"] = fields["inputs"] | {"X": "0" * 64}
    if own and kind in (3, 7):
        values = arrays[own[rng.integers(len(own))]]
        if values.size:
            special = rng.choice([factor, -factor, 0.0, 1e300, 1e-300, math.nan, math.inf])
            values.flat[rng.integers(values.size)] *= special
    return write(Document(fields, arrays))


def attained(phi: ws.FeatureMap, X: ws.Sample, row: int, delta: torch.Tensor, r: float) -> float:
    """S at Δ, lengthened or shortened to r."""
    moved = X.replaced(row, delta * (r / float(delta.norm())))
    before, after = phi.exact(X), phi.exact(moved)
    return float((after - before).norm() / before.norm())


def tamper(count: int = 10_000) -> str:
    """So many tampered proofs of small maps: how many are refused, and whether one is accepted with
    a bound below what is attained.
    """
    refused = accepted = false = 0
    rng = np.random.default_rng(0)
    for number in range(max(1, count // 100)):
        name = list(SIZES)[number % len(SIZES)]
        X, phi = ws.Sample.gaussian(5, 4, number), made(name, 4, number)
        s = ws.sensitivity(phi, X, positions=0, seed=number, effort=0.3, proof=True)
        assert s.proof is not None
        data = write(s.proof.document)
        for _ in range(min(count, 100)):
            try:
                verified = check(tampered(data, s.proof.document, rng))
            except RefusedError:
                refused += 1
                continue
            accepted += 1
            found = attained(phi, X, 0, s.delta, verified.radius * (1 - 1e-9))
            false += found > verified.uppers[0] * (1 + 1e-12)
    return (
        f"Of {refused + accepted:,} tampered proofs {refused:,} were refused and {accepted:,} "
        f"proved what they claim; {false} of them claimed less than is attained."
    )
