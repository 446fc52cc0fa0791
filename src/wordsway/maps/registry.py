"""All maps by name. A new map is one file or folder next to this one, and a line here.

Maps of other packages are entry points of the group ``wordsway.maps``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata
from typing import Any

from wordsway.core.errors import InputError, first_line
from wordsway.engine.function import ImportableFunction
from wordsway.maps.attention.kinds import (
    ATTENTION_KIND,
    PRESETS,
    RAF_KIND,
    RELU_RAF_KIND,
    SIGMOID_KIND,
)
from wordsway.maps.dense.kinds import DRF_KIND, RF_KIND
from wordsway.maps.kind import MapKind, Option, TheoryCurve
from wordsway.maps.wrappers.kind import block_kind, with_wrappers

log = logging.getLogger("wordsway")
GPT_BLOCK_KIND = block_kind(
    "gpt-block",
    ATTENTION_KIND,
    title="GPT block",
    about="A pre-norm block, H = X + φ(N(X)), H + MLP(N(H)), with attention φ of your choice.",
    order="pre",
)
BERT_BLOCK_KIND = block_kind(
    "bert-block",
    ATTENTION_KIND,
    title="BERT block",
    about="A post-norm block, H = N(X + φ(X)), N(H + MLP(H)), with attention φ of your choice.",
    order="post",
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

__all__ = [
    "MAPS",
    "MapKind",
    "Option",
    "TheoryCurve",
    "all_options",
    "check_options",
    "kind_of",
]


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
    wordsway.core.errors.InputError: expected k only with rf and drf, got k=5 with raf: leave k out
    """
    kind = kind_of(name)
    own = {option.name: option for option in kind.options}
    for option, value in options.items():
        if value is None:
            continue
        if option in own:
            own[option].check(value)
            continue
        others = [k.name for k in MAPS.values() if option in {o.name for o in k.options}]
        known = f"{option} only with {' and '.join(others)}" if others else "an option of a map"
        raise InputError(known, f"{option}={value} with {name}", f"leave {option} out")
