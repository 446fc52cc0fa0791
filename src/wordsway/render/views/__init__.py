"""Each result described once, as a `View` of blocks, by a function of this package.

A module is imported when a result of it is first shown. A result without a view is shown as a plain
table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from wordsway.core.result import Result
from wordsway.render.blocks import View
from wordsway.render.views.common import plain_view

#: The module and the function that describe a result, by the name of its class.
VIEWS = {
    "Attention": "attention.attention_view",
    "Attracted": "attention.attracted_view",
    "Audit": "audit.audit_view",
    "Catalogue": "catalogue.catalogue_view",
    "Chart": "common.chart_view",
    "Comparison": "comparison.comparison_view",
    "CorpusWords": "corpus_words.corpus_words_view",
    "Forecast": "measurement.forecast_view",
    "FlipResult": "learning.flip_result_view",
    "FlipTrials": "learning.flip_trials_view",
    "Measurement": "measurement.measurement_view",
    "Pairs": "pairs.pairs_view",
    "Reproduction": "reproduction.reproduction_view",
    "Sensitivity": "sensitivity.sensitivity_view",
    "Swaps": "swaps.swaps_view",
    "Sweep": "sweep.sweep_view",
    "SweepForecast": "sweep.sweep_forecast_view",
    "Words": "words.words_view",
}


@cache
def _view_of(kind: type) -> Callable[[Result], View]:
    for base in kind.__mro__:
        if base.__name__ in VIEWS and base.__module__.startswith("wordsway."):
            module, _, name = VIEWS[base.__name__].partition(".")
            view: Callable[[Result], View] = getattr(import_module(f"{__name__}.{module}"), name)
            return view
    return plain_view


def view_of(result: Result) -> View:
    """Return how a result looks."""
    return _view_of(type(result))(result)
