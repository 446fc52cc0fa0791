"""The file format of a proof, version 1.

    wordsway proof 1\\n
    <SHA-256 of everything after this line, 64 hexadecimal digits>\\n
    <number of bytes of the JSON document>\\n
    <JSON document><arrays>

The document says what is claimed; ``arrays`` in it lists name and shape of the arrays that follow
it, float64 in little-endian order, one after the other: the inputs (``X`` and the weights), and
``ROW/NAME`` for what belongs to the claim about row ROW. docs/proofs.md describes all fields.
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

_LAYER = (
    "kind:str scores:str power:float log_n:bool temperature:float mask:str size:int|NoneType "
    "alibi:bool residual:bool read_out:str|int front:dict|NoneType outer:dict|NoneType"
)
#: By kind of map: the arrays that are its inputs, and the fields of ``map`` with their types.
MAPS = {
    "attention": ("X W positions", _LAYER),
    "ceiling": ("X gain shift weights", "kind:str centred:bool causal:bool"),
    "dense": ("X", "kind:str depth:int"),  # and V1, V2, …
    "heads": ("X Q K V O positions", f"{_LAYER} heads:int rope:bool"),
}


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
    """The proof in ``data``; `RefusedError` where a byte differs from what was written, or where
    the fields are not exactly those of the format.
    """
    head, body = data[: len(MAGIC) + 65], data[len(MAGIC) + 65 :]
    if not head.startswith(MAGIC):
        raise RefusedError("not a proof of format 1: the first line differs")
    if head != MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n":
        raise RefusedError("the file was changed or cut off: its SHA-256 differs")
    try:
        size, _, rest = body.partition(b"\n")
        length = int(size)
        fields = json.loads(rest[:length].decode(), object_pairs_hook=_unique)
        shapes = {entry["name"]: tuple(entry["shape"]) for entry in fields.pop("arrays")}
        if b"%d" % length != size or len(rest) < length:
            raise ValueError("length")
        document = Document(fields, _arrays(rest[length:], shapes))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as e:
        raise RefusedError("the document of the proof cannot be read") from e
    _check_fields(document)
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of an object; readers of JSON differ on repeated ones."""
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("repeated field")
    return found


def _check_fields(document: Document) -> None:
    """Refuse missing, unknown and malformed fields, and inputs that the kind of map lacks."""
    fields = document.fields
    _exactly("the proof", fields, "map:dict radius:float claims:list inputs:dict about:dict")
    about = fields["map"]
    if about.get("kind") not in list(MAPS):
        raise RefusedError("the kind of map is unknown")
    inputs, named = MAPS[about["kind"]]
    _exactly("map", about, named)
    for norm in ("front", "outer"):
        if about.get(norm) is not None:
            _exactly(norm, about[norm], "norm:str epsilon:float")
    for claim in fields["claims"]:
        moved = " reach:float" if about.get("front") else ""
        _exactly("a claim", claim, f"row:int upper:float{moved}")
    layers = range(min(about.get("depth", 0), len(document.arrays)))
    known = {*inputs.split(), *(f"V{layer + 1}" for layer in layers)}
    for name in document.arrays:
        if "/" not in name and name not in known:
            raise RefusedError(f"unknown array: {name}")


def _exactly(what: str, found: Any, fields: str) -> None:
    """Refuse unless ``found`` has exactly ``fields``, each of one of its types."""
    types = dict(field.split(":") for field in fields.split())
    if not isinstance(found, dict):
        raise RefusedError(f"malformed field: {what}")
    for name in sorted(found.keys() ^ types.keys()):
        raise RefusedError(f"{'unknown' if name in found else 'missing'} field of {what}: {name}")
    for name, known in types.items():
        if type(found[name]).__name__ not in known.split("|"):
            raise RefusedError(f"malformed field of {what}: {name}")


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
