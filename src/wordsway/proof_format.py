"""The file format of a proof, version 1.

    wordsway proof 1\\n
    <SHA-256 of everything after this line, 64 hexadecimal digits>\\n
    <number of bytes of the JSON document>\\n
    <JSON document><arrays>

The document says what is claimed; ``arrays`` in it lists name and shape of the arrays that follow
it, float64 in little-endian order, one after the other: the inputs (``X`` and the weights), and
``ROW/NAME`` for what belongs to the claim about row ROW. docs/proofs.md lists all fields.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"wordsway proof 1\n"
Array = NDArray[np.float64]


class RefusedError(Exception):
    """The proof is damaged, or an inequality of it does not hold."""


@dataclass(frozen=True)
class Document:
    """A proof in memory: the JSON document without its list of arrays, and the arrays."""

    fields: dict[str, Any]
    arrays: dict[str, Array]


def write(document: Document) -> bytes:
    """The bytes of a proof."""
    arrays = {name: np.ascontiguousarray(a, dtype="<f8") for name, a in document.arrays.items()}
    shapes = [{"name": name, "shape": list(a.shape)} for name, a in arrays.items()]
    fields = document.fields | {"arrays": shapes}
    text = json.dumps(fields, sort_keys=True, ensure_ascii=False, allow_nan=False).encode()
    body = b"".join([b"%d\n" % len(text), text, *(a.tobytes() for a in arrays.values())])
    return MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def read(data: bytes) -> Document:
    """The proof in ``data``; `RefusedError` where a byte differs from what was written."""
    head, body = data[: len(MAGIC) + 65], data[len(MAGIC) + 65 :]
    if not head.startswith(MAGIC):
        raise RefusedError("not a proof of format 1: the first line differs")
    if head != MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n":
        raise RefusedError("the file was changed or cut off: its SHA-256 differs")
    try:
        size, _, rest = body.partition(b"\n")
        length = int(size)
        fields = json.loads(rest[:length].decode())
        shapes = {entry["name"]: tuple(entry["shape"]) for entry in fields.pop("arrays")}
        if b"%d" % length != size or len(rest) < length:
            raise ValueError("length")
        return Document(fields, _arrays(rest[length:], shapes))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as e:
        raise RefusedError("the document of the proof cannot be read") from e


def _arrays(data: bytes, shapes: dict[str, tuple[int, ...]]) -> dict[str, Array]:
    found, at = {}, 0
    for name, shape in shapes.items():
        if not all(isinstance(size, int) and 0 <= size < 2**31 for size in shape):
            raise ValueError("shape")
        count = math.prod(shape)
        if at + 8 * count > len(data):
            raise ValueError("cut off")
        values = np.frombuffer(data, "<f8", count, at).reshape(shape).astype(np.float64)
        if not np.isfinite(values).all():
            raise RefusedError(f"{name} has entries that are not numbers")
        found[name] = values
        at += 8 * count
    if at != len(data):
        raise ValueError("too long")
    return found


def digest(values: Array) -> str:
    """SHA-256 of an array: of its numbers, float64 in little-endian order."""
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<f8").tobytes()).hexdigest()
