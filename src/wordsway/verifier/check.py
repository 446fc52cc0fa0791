"""Verify a proof from its bytes alone."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

from wordsway.verifier import attention, dense
from wordsway.verifier.balls import PRECISION, ctx, require
from wordsway.verifier.format import RefusedError, digest, read


@dataclass(frozen=True)
class Verified:
    """What a proof proves: for each row of ``rows`` and all ‖Δ‖ ≤ ``radius``, the relative change
    of the map is at most the number in ``uppers``. ``inputs`` has the SHA-256 of text and weights;
    ``fields`` is the document, whose ``about`` is not verified.
    """

    rows: tuple[int, ...]
    uppers: tuple[float, ...]
    radius: float
    inputs: dict[str, str]
    fields: dict[str, Any]
    seconds: float


def check(data: bytes) -> Verified:
    """Verify every claim of the proof in ``data``; `RefusedError` names the first inequality that
    fails.
    """
    started = time.perf_counter()
    ctx.prec = PRECISION
    document = read(data)
    fields = document.fields
    try:
        claims, inputs = fields["claims"], fields["inputs"]
        require(bool(claims), "the proof has a claim")
        for name, hashed in inputs.items():
            require(digest(document.arrays[name]) == hashed, f"{name} has the stated SHA-256")
        kind = fields["map"]["kind"]
        require(kind in KINDS, "the kind of map is known")
        text_of, prove = KINDS[kind]
        text = text_of(document)
        r = fields["radius"]
        require(type(r) is float and 0 < r < math.inf, "the radius is positive")
        for claim in claims:
            row, upper = claim["row"], claim["upper"]
            require(type(row) is int and 0 <= row < text.n, "the row is one of the text's")
            require(type(upper) is float and 0 <= upper < math.inf, "the bound is a number")
            prove(document, text, claim, r)
        rows, uppers = zip(*((claim["row"], claim["upper"]) for claim in claims), strict=True)
        hashes = {name: digest(part) for name, part in document.arrays.items() if "/" not in name}
        return Verified(rows, uppers, r, hashes, fields, time.perf_counter() - started)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise RefusedError(f"the proof is incomplete: {type(error).__name__}: {error}") from error


KINDS: dict[str, Any] = {
    "attention": (attention.Softmax, attention.prove),
    "dense": (dense.Network, dense.prove),
}
