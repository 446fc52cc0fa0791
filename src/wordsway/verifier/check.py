"""Verify a proof from its bytes alone."""

from __future__ import annotations

import math
from typing import Any

from wordsway.proof_format import Document, RefusedError, digest, read
from wordsway.verifier import attention, closed, heads
from wordsway.verifier.balls import PRECISION, ctx, require
from wordsway.verifier.layer import BallLayer

KINDS: dict[str, Any] = {
    "attention": (BallLayer, attention.prove),
    "ceiling": (closed.CeilingRows, closed.prove_rows),
    "dense": (closed.Network, closed.prove_network),
    "heads": (heads.Heads, heads.prove),
}


def check(data: bytes) -> Document:
    """The proof in ``data``, all claims of which are verified: for the row of each claim and all
    ‖Δ‖ ≤ radius, the relative change of the map is at most its ``upper``. `RefusedError` names the
    first inequality that fails. The field ``about`` is not verified.
    """
    ctx.prec, document = PRECISION, read(data)
    fields = document.fields
    try:
        claims, r, kind = fields["claims"], fields["radius"], fields["map"]["kind"]
        require(bool(claims) and kind in KINDS, "the proof has a claim about a known kind of map")
        require(type(r) is float and 0 < r < math.inf, "the radius is positive")
        for name, hashed in fields["inputs"].items():
            if digest(document.arrays[name]) != hashed:
                raise RefusedError(f"{name} does not have the stated SHA-256")
        text_of, prove = KINDS[kind]
        text = text_of(document)
        for claim in claims:
            row, upper = claim["row"], claim["upper"]
            require(type(row) is int and 0 <= row < text.n, "the row is one of the text's")
            require(type(upper) is float and 0 <= upper < math.inf, "the bound is a number")
            named = ((name.partition("/"), values) for name, values in document.arrays.items())
            prove(text, claim, {name: part for (at, _, name), part in named if at == str(row)}, r)
        return document
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise RefusedError(f"the proof is incomplete: {type(error).__name__}: {error}") from error
