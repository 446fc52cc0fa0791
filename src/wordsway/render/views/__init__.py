"""Each result described once, as a `ResultView` of blocks, by a function of this package.

``FlipTrials`` is shown by ``flip_trials_view`` of the module ``flip_trials``, or of the module that
`SHARED` names. A module is imported when a result of it is first shown. A result without a view is
shown as a plain table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from wordsway.core.result import Result
from wordsway.render.blocks import ResultView
from wordsway.render.views.common import plain_view

#: Modules with the views of several results.
SHARED = {
    "attention_maps": "attention",
    "attracted": "attention",
    "chart": "common",
    "flip_result": "random_maps",
    "flip_trials": "random_maps",
    "forecast": "random_maps",
    "measurement": "random_maps",
    "sensitivity": "random_maps",
    "sweep_forecast": "sweep",
    "verification": "random_maps",
}


@cache
def _view_of(kind: type) -> Callable[[Result], ResultView]:
    for base in kind.__mro__:
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", base.__name__).lower()
        module = f"{__name__}.{SHARED.get(name, name)}"
        if base.__module__.startswith("wordsway.") and find_spec(module):
            return getattr(import_module(module), f"{name}_view")
    return plain_view


def view_of(result: Result) -> ResultView:
    """Return how a result looks."""
    kind: type = type(result)
    return _view_of(kind)(result)
