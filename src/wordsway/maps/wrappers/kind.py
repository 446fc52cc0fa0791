"""Wrappers as options of every map with rows, and the blocks as maps of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wordsway.maps.attention.layer import plan_for
from wordsway.maps.base import FeatureMap
from wordsway.maps.kind import MapKind, Option, SearchSize, TheoryCurve, falling
from wordsway.maps.wrappers.block import transformer_block
from wordsway.maps.wrappers.norm import NORMS, Norm, NormedMap
from wordsway.maps.wrappers.read_out import read_out as read
from wordsway.maps.wrappers.residual import Residual

RESIDUAL = Option("residual", bool, None, "Add the input: X + φ(X).")
NORM = Option("norm", str, None, "Normalise each row, after the residual.", choices=NORMS)
READ_OUT = Option("read_out", str, None, "Rows to return: all, mean, last, or a row's number.")


def wrapped(
    phi: FeatureMap,
    *,
    residual: bool | None = None,
    norm: str | None = None,
    read_out: str | int | None = None,
) -> FeatureMap:
    """φ with a residual stream, then a norm, then a read-out, each if requested.

    >>> import wordsway as ws
    >>> wrapped(ws.RAF(d=4, seed=0), residual=True, norm="layer").describe()["map"]
    'normed'
    """
    if residual:
        phi = Residual(phi)
    if norm is not None:
        phi = NormedMap(phi, Norm(norm))
    return phi if read_out is None else read(phi, read_out)


def with_wrappers(kind: MapKind, *options: Option) -> MapKind:
    """The kind of map with wrappers among its options: by default all of them."""
    own = {option.name for option in options or (RESIDUAL, NORM, READ_OUT)}

    def make(n: int, d: int, seed: int, **given: Any) -> FeatureMap:
        around = {name: given.pop(name) for name in own}
        return wrapped(kind.make(n, d, seed, **given), **around)

    def count(n: int, d: int, **given: Any) -> int:
        around = {name: given.pop(name) for name in own}
        features = kind.count(n, d, **given)
        return features if around["read_out"] in (None, "all") else features // n

    def search_bytes(size: SearchSize, **given: Any) -> float:
        around = {name: given.pop(name) for name in own}
        # Autograd keeps what the products took.
        return kind.search_bytes(size, **given) * (2 if any(around.values()) else 1)

    def references(d: int, **given: Any) -> list[TheoryCurve]:
        around = {name: given.pop(name, None) for name in own}
        return [falling()] if around.get("residual") else kind.references(d, **given)

    return replace(
        kind,
        make=make,
        count=count,
        search_bytes=search_bytes,
        references=references,
        options=(*kind.options, *(options or (RESIDUAL, NORM, READ_OUT))),
    )


HIDDEN = Option("hidden", int, None, "Width of the MLP; 4d by default.", least=1)


def block_kind(name: str, attention: MapKind, *, title: str, about: str, order: str) -> MapKind:
    """A block around a kind of attention, with the options of both."""

    def make(n: int, d: int, seed: int, hidden: int | None, **options: Any) -> FeatureMap:
        inner = attention.build(n, d, seed, **options)
        return transformer_block(inner, d, order=order, hidden=hidden, seed=seed)

    def search_bytes(size: SearchSize, *, hidden: int | None, **options: Any) -> float:
        n, d = size.n, size.d
        width = 4 * d if hidden is None else hidden
        # As `BlockView.bytes_per_point` in single precision, in which blocks are searched.
        points = size.points_at_once(plan_for(n, d)) * 16 * n * (3 * d + width)
        inner = attention.search_bytes(replace(size, certificate=False), **options)
        return inner + min(size.memory, points) + 16 * d * width

    kind = MapKind(
        name=name,
        title=title,
        about=about,
        make=make,
        count=lambda n, d, **options: n * d,
        search_bytes=search_bytes,
        references=lambda d, **options: [falling()],
        options=(HIDDEN, *attention.options),
        validate=attention.validate,
    )
    return with_wrappers(kind, READ_OUT)
