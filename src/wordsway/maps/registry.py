"""All maps by name. A new map is one file or folder next to this one, and a line here.

Maps with rows have wrappers among their options, and blocks are maps of their own. Maps of other
packages are entry points of the group ``wordsway.maps``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata
from typing import Any

from wordsway.core.checks import OneOf, Within
from wordsway.core.errors import InputError, first_line
from wordsway.core.format import either
from wordsway.engine.function import ImportableFunction
from wordsway.maps.attention.kinds import (
    ATTENTION_KIND,
    PRESETS,
    RAF_KIND,
    RELU_RAF_KIND,
    SIGMOID_KIND,
)
from wordsway.maps.attention.layer import plan_for
from wordsway.maps.base import FeatureMap
from wordsway.maps.block import transformer_block
from wordsway.maps.dense.definition import DRF_KIND, RF_KIND
from wordsway.maps.kind import MapKind, Option, SearchSize, TheoryCurve, falling
from wordsway.maps.wrappers import NORMS, Norm, NormedMap, Residual
from wordsway.maps.wrappers import read_out as read

RESIDUAL = Option("residual", bool, None, "Add the input: X + φ(X).")
NORM = Option("norm", str, None, "Normalise each row, after residual: layer or rms.", OneOf(NORMS))
READ_OUT = Option("read_out", str, None, "Read-out: all (rows), mean, last, or a row's number.")


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
    options = options or (RESIDUAL, NORM, READ_OUT)

    def apart(given: dict[str, Any]) -> dict[str, Any]:
        return {option.name: given.pop(option.name, None) for option in options}

    def make(n: int, d: int, seed: int, **given: Any) -> FeatureMap:
        around = apart(given)
        return wrapped(kind.make(n, d, seed, **given), **around)

    def count(n: int, d: int, **given: Any) -> int:
        rows = 1 if apart(given)["read_out"] in (None, "all") else n
        return kind.count(n, d, **given) // rows

    def search_bytes(size: SearchSize, **given: Any) -> float:
        times = 2 if any(apart(given).values()) else 1  # autograd keeps what the products took
        return kind.search_bytes(size, **given) * times

    def references(d: int, **given: Any) -> list[TheoryCurve]:
        return [falling()] if apart(given).get("residual") else kind.references(d, **given)

    made: dict[str, Any] = {"make": make, "count": count, "search_bytes": search_bytes}
    return replace(kind, **made, references=references, options=(*kind.options, *options))


HIDDEN = Option("hidden", int, None, "Width of the MLP; 4d by default.", Within(1))


def block_kind(name: str, title: str, about: str, order: str) -> MapKind:
    """A block around attention, with the options of both."""

    def make(n: int, d: int, seed: int, hidden: int | None, **options: Any) -> FeatureMap:
        inner = ATTENTION_KIND.build(n, d, seed, **options)
        return transformer_block(inner, d, order=order, hidden=hidden, seed=seed)

    def search_bytes(size: SearchSize, *, hidden: int | None, **options: Any) -> float:
        n, d = size.n, size.d
        width = 4 * d if hidden is None else hidden
        # As `BlockView.bytes_per_point` in single precision, in which blocks are searched.
        points = size.points_at_once(plan_for(n, d)) * 16 * n * (3 * d + width)
        inner = ATTENTION_KIND.search_bytes(replace(size, certificate=False), **options)
        return inner + min(size.memory, points) + 16 * d * width

    kind = MapKind(
        name=name,
        title=title,
        about=about,
        make=make,
        search_bytes=search_bytes,
        references=lambda d, **options: [falling()],
        options=(HIDDEN, *ATTENTION_KIND.options),
        validate=ATTENTION_KIND.validate,
    )
    return with_wrappers(kind, READ_OUT)


log = logging.getLogger("wordsway")
GPT_BLOCK_KIND = block_kind(
    "gpt-block",
    "GPT block",
    "A pre-norm block, H = X + φ(N(X)), H + MLP(N(H)), with attention φ of your choice.",
    "pre",
)
BERT_BLOCK_KIND = block_kind(
    "bert-block",
    "BERT block",
    "A post-norm block, H = N(X + φ(X)), N(H + MLP(H)), with attention φ of your choice.",
    "post",
)

_OWN: dict[str, MapKind] = {
    kind.name: kind
    for kind in (
        RF_KIND,
        DRF_KIND,
        with_wrappers(RAF_KIND),
        with_wrappers(RELU_RAF_KIND),
        with_wrappers(SIGMOID_KIND),
        GPT_BLOCK_KIND,
        BERT_BLOCK_KIND,
        with_wrappers(ATTENTION_KIND),
        *(with_wrappers(preset) for preset in PRESETS),
    )
}


def _installed() -> dict[str, MapKind]:
    """The maps of other packages: each entry point is a `MapKind`, or a function for `MapKind.of`.
    One that cannot be used is left out with a warning.
    """
    found = {}
    for entry in metadata.entry_points(group="wordsway.maps"):
        package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else ""
        try:
            loaded = entry.load()
            if entry.name in _OWN:
                raise InputError("another name", repr(entry.name), "wordsway has such a map")
            if isinstance(loaded, MapKind):
                found[entry.name] = replace(loaded, name=entry.name, source=package)
            else:
                source = ImportableFunction.of(loaded).source
                found[entry.name] = MapKind.of(entry.name, loaded, source)
        except Exception as error:  # another package may raise anything
            log.warning("ignoring the map %s of %s (%s)", entry.name, package, first_line(error))
    return found


#: In the order in which they are listed and drawn.
MAPS: dict[str, MapKind] = _OWN | _installed()

__all__ = ["MAPS", "MapKind", "Option", "TheoryCurve", "all_options", "check_options", "kind_of"]


def kind_of(name: str) -> MapKind:
    """The kind of map with this name.

    >>> kind_of("raf").build(n=3, d=4, seed=0)
    RAF(d=4, seed=0)
    """
    if name not in MAPS:
        raise InputError(f"a map among {', '.join(MAPS)}", repr(name), "choose one of them")
    return MAPS[name]


def all_options() -> dict[str, Option]:
    """The options of all maps by name, for a command line that serves every one of them.

    >>> list(all_options())
    ['k', 'activation', 'weights', 'depth', 'residual', 'norm', 'read_out', 'hidden', 'scores', \
'heads', 'mask', 'pe', 'temperature', 'window', 'visible']
    """
    own = {option.name: option for kind in _OWN.values() for option in kind.options}
    return {option.name: option for kind in MAPS.values() for option in kind.options} | own


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Refuse options that this map does not have, naming those that do.

    >>> check_options("raf", {"k": 5})
    Traceback (most recent call last):
    wordsway.core.errors.InputError: expected k only with rf or drf, got k=5 with raf: leave k \
out, or use the map drf
    """
    kind = kind_of(name)
    own = {option.name for option in kind.options}
    for option, value in options.items():
        if value is None or option in own:
            continue
        others = [k.name for k in MAPS.values() if option in {o.name for o in k.options}]
        known, instead = "an option of a map", ""
        if others:
            known = f"{option} only with {either(others)}"
            instead = f", or use the map {others[-1]}"
        raise InputError(known, f"{option}={value} with {name}", f"leave {option} out{instead}")
    kind.filled(options)
