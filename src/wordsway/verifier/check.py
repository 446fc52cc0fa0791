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
    fields, where = document.fields, ""
    require(bool(fields["claims"]), "the proof has a claim")
    require(0 < fields["radius"] < math.inf, "the radius is positive")
    try:
        for name, hashed in fields["inputs"].items():
            if digest(document.arrays[name]) != hashed:
                raise RefusedError(f"{name} does not have the stated SHA-256")
        text_of, prove = KINDS[fields["map"]["kind"]]
        text = text_of(document)
        for claim in fields["claims"]:
            row, where = str(claim["row"]), f"{claim['row']}/"
            require(0 <= claim["row"] < text.n, "the row is one of the text's")
            require(0 <= claim["upper"] < math.inf, "the bound is a number")
            named = ((name.partition("/"), values) for name, values in document.arrays.items())
            own = {name: values for (at, _, name), values in named if at == row}
            prove(text, claim, own, fields["radius"])
        return document
    except KeyError as error:
        raise RefusedError(f"missing array: {where}{error.args[0]}") from error
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise RefusedError(f"the shapes of the arrays {where}… do not agree") from error
