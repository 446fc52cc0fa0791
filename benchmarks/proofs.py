"""Proofs: certificate, proved bound, time and size by kind; and proofs that were tampered with."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
import torch

import wordsway as ws
from wordsway.core.errors import WordswayError
from wordsway.maps.base import FeatureRangeError
from wordsway.maps.block import NormedText
from wordsway.maps.proof import LARGER_SLACK, SLACK, Proof, Verification, prove
from wordsway.maps.wrappers import Norm
from wordsway.proof_format import Document, RefusedError, write
from wordsway.verifier.check import check

ABOUT = "one row, seconds of processor time. *Proof* is the file without text and weights."
#: Maps by name, with the sizes at which they are proved.
SIZES: dict[str, list[tuple[int, int]]] = {
    "softmax": [(16, 64), (60, 256), (120, 768), (250, 768)],
    "softmax, n > d": [(128, 64), (256, 32)],
    "softmax-1/d": [(60, 256)],
    "softmax-log-n": [(60, 256)],
    "sink": [(60, 256), (120, 768)],
    "relu": [(16, 64), (60, 256), (120, 768)],
    "sigmoid": [(16, 64), (60, 256), (120, 768)],
    "causal": [(60, 256)],
    "window": [(60, 256)],
    "padding": [(60, 256)],
    "alibi": [(60, 256)],
    "sinusoidal": [(60, 256)],
    "residual": [(60, 256), (120, 768)],
    "relu residual": [(60, 256)],
    "sigmoid residual": [(60, 256)],
    "layer norm": [(60, 256), (120, 768)],
    "residual, then layer norm": [(60, 256), (120, 768)],
    "norm in front": [(60, 256), (120, 768)],
    "pre-norm": [(60, 256), (120, 768)],
    "mean": [(60, 256), (120, 768)],
    "one row": [(60, 256), (120, 768)],
    "2 heads": [(16, 64)],
    "4 heads": [(16, 64), (60, 256)],
    "8 heads": [(16, 64)],
    "differential": [(16, 64)],
    "rope": [(16, 64), (60, 256), (120, 768)],
    "4 heads, rope": [(16, 64), (60, 256)],
    "rf": [(8, 16), (16, 32)],
    "drf": [(8, 16)],
}


def made(name: str, n: int, d: int, seed: int) -> ws.FeatureMap:
    """A map of `SIZES`."""
    plain, layer = ws.RAF(d, seed), Norm("layer")
    if name in ("rf", "drf"):
        rng = np.random.default_rng(seed)
        k, depth = n * d // 2, 1 if name == "rf" else 3
        shapes = [(k, n * d), (k, k), (k, k)][:depth]
        return ws.DRF(weights=[rng.normal(size=s) / math.sqrt(s[1]) for s in shapes], n=n)
    wrapped: dict[str, Callable[[], ws.FeatureMap]] = {
        "softmax, n > d": lambda: plain,
        "causal": lambda: ws.Attention(d, seed, mask="causal"),
        "window": lambda: ws.Attention(d, seed, mask="window", window=n // 2),
        "padding": lambda: ws.Attention(d, seed, mask="padding", visible=n // 2),
        "alibi": lambda: ws.Attention(d, seed, positions="alibi"),
        "sinusoidal": lambda: ws.Attention(d, seed, positions="sinusoidal"),
        "residual": lambda: ws.residual(plain),
        "relu residual": lambda: ws.residual(ws.ReluRAF(d, seed)),
        "sigmoid residual": lambda: ws.residual(ws.Attention(d, seed, scores="sigmoid")),
        "layer norm": lambda: ws.layer_norm(plain),
        "residual, then layer norm": lambda: ws.layer_norm(ws.residual(plain)),
        "norm in front": lambda: NormedText(plain, layer),
        "pre-norm": lambda: ws.residual(NormedText(plain, layer)),
        "mean": lambda: ws.read_out(plain, "mean"),
        "one row": lambda: ws.read_out(plain, "last"),
        "rope": lambda: ws.Attention(d, seed, positions="rope"),
        "4 heads, rope": lambda: ws.Attention(d, seed, heads=4, positions="rope"),
        **{f"{h} heads": partial(ws.Attention, d, seed, heads=h) for h in (2, 4, 8)},
    }
    return wrapped[name]() if name in wrapped else ws.Attention(d, seed, scores=name)


def verified_proof(phi: ws.FeatureMap, X: ws.Sample, r: float) -> tuple[Proof, Verification, float]:
    """A proof for row 0 that the verifier accepts, what it proved, and its processor time."""
    for slack in (SLACK, LARGER_SLACK):
        proof, started = prove(phi, X, [0], r, slack), time.process_time()
        assert proof is not None
        try:
            return proof, proof.verify(), time.process_time() - started
        except WordswayError as error:
            refused = error
    raise refused


def table() -> str:
    """Every kind at every size."""
    lines = [
        "| map | n | d | certificate | proved | proved ÷ certificate | seconds | proof |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, sizes in SIZES.items():
        for n, d in sizes:
            X, phi, r = ws.Sample.gaussian(n, d, 0), made(name, n, d, 1), math.sqrt(d)
            found = phi.view(X, torch.float64).certify([0], r)
            assert found is not None
            upper = float(found.upper[0])
            proof, verified, seconds = verified_proof(phi, X, r)
            arrays = proof.document.arrays
            inputs = sum(arrays[part].nbytes for part in proof.document.fields["inputs"])
            lines.append(
                f"| {name} | {n} | {d} | {upper:.4f} | {verified.upper:.4f} | "
                f"{verified.upper / upper:.4f} | {seconds:.1f} | "
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
            with np.errstate(invalid="ignore", over="ignore"):
                values.flat[rng.integers(values.size)] *= special
    return write(Document(fields, arrays))


def attained(phi: ws.FeatureMap, X: ws.Sample, row: int, delta: torch.Tensor, r: float) -> float:
    """S at Δ, lengthened or shortened to r."""
    moved = X.replaced(row, delta * (r / float(delta.norm())))
    before, after = phi.exact(X), phi.exact(moved)
    return float((after - before).norm() / before.norm())


def tamper(count: int = 10_000) -> str:
    """``count`` tampered proofs of small maps of every kind: how many are refused, and whether one
    is accepted with a bound below what is attained.
    """
    refused = accepted = false = without = 0
    rng = np.random.default_rng(0)
    each = max(1, min(50, count // len(SIZES)))
    for number, name in enumerate(cycle(SIZES)):
        if refused + accepted >= count:
            break
        d = 8 if "heads" in name or "rope" in name else 3
        X, phi = ws.Sample.gaussian(4, d, number), made(name, 4, d, number)
        try:
            s = ws.sensitivity(phi, X, positions=0, seed=number, effort=0.3, proof=True)
        except FeatureRangeError:  # no ReLU score is positive
            continue
        if s.proof is None:
            without += 1
            continue
        data = write(s.proof.document)
        for _ in range(each):
            try:
                verified = check(tampered(data, s.proof.document, rng))
            except RefusedError:
                refused += 1
                continue
            accepted += 1
            fields = verified.fields
            found = attained(phi, X, 0, s.delta, fields["radius"] * (1 - 1e-9))
            false += found > fields["claims"][0]["upper"] * (1 + 1e-12)
        print(f"{name}: {refused} refused, {accepted} proved, {false} false", file=sys.stderr)
    return (
        f"Of {refused + accepted:,} tampered proofs, {refused:,} were refused and {accepted:,} "
        f"prove what they claim; {false} of them claim less than the attained value. {without} of "
        f"{number} maps were left out, because the verifier refused their proofs as they were."
    )
