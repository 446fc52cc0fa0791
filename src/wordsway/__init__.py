"""wordsway: how far can one word sway a layer?

Two halves, one question. *Random maps*, where the answer is an interval with a certificate:

>>> import wordsway as ws
>>> X = ws.Sample.gaussian(n=12, d=16, seed=0)
>>> s = ws.sensitivity(ws.RAF(d=16, seed=1), X, positions=[0, 5], seed=2)
>>> s.lower <= s.upper, s.certificate
(True, 'exact')

*Real models*, where each number is determined or comes with its error::

    ws.words("I love her much").show()                  # how far each word moves MiniLM
    ws.swap("I love her much", "much").show()           # which real word would do it
    ws.audit(["minilm", "mpnet"], quick=True).show()    # does it notice the word that matters?

| to | random maps | real models |
|---|---|---|
| measure | `sensitivity`, `measure`, `learn` | `words`, `swap`, `attention`, `attract` |
| compare | `sweep`, `reproduce`, `forecast` | `compare`, `pairs`, `audit` |

Every verb returns a result: `show()`, `frame()`, `to_json()`, `save("x.html")`, and it is a
sequence of its words, trials or rows.

Names are loaded when they are first used, so that what needs no numbers (``wordsway data``,
``--help``) starts at once.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from wordsway.result import use_renderer
from wordsway.version import __version__

if TYPE_CHECKING:
    from wordsway.audit.audit import audit
    from wordsway.audit.pairs import pairs
    from wordsway.audit.pairs_result import Pair, Pairs
    from wordsway.audit.result import Audit, ModelAudit
    from wordsway.chart import Chart
    from wordsway.data.listing import Catalogue
    from wordsway.errors import InputError, MemoryBudgetError, MissingExtraError, WordswayError
    from wordsway.experiments.corpus_texts import paper_samples
    from wordsway.experiments.corpus_words import CorpusWords
    from wordsway.experiments.forecast import Forecast, SweepForecast, forecast
    from wordsway.experiments.lessons import Lessons, learning_trials
    from wordsway.experiments.measure import Measurement, Trial, measure
    from wordsway.experiments.request import LearningOptions, Request
    from wordsway.experiments.spec import Study
    from wordsway.experiments.sweep import Sweep, sweep
    from wordsway.experiments.texts import TextOptions
    from wordsway.gaussian import GaussianMatrix, TokenMatrix
    from wordsway.learning.learn import Learned, Learning, learn
    from wordsway.maps import (
        DRF,
        RAF,
        RF,
        Attention,
        FeatureMap,
        ReluRAF,
        View,
        boolean_sensitivity,
        layer_norm,
        read_out,
        residual,
        rms_norm,
        transformer_block,
    )
    from wordsway.maps.activation import Activation, activation
    from wordsway.models import Embedder
    from wordsway.models.probe import Probe
    from wordsway.optimize.plan import Plan
    from wordsway.page.playground.build import Playground, playground
    from wordsway.paper.reproduce import Reproduction, reproduce
    from wordsway.probing.attention import AttentionMap, AttentionMaps, attention
    from wordsway.probing.attract import Attracted, attract
    from wordsway.probing.compare import Comparison, compare
    from wordsway.probing.layer_changes import LayerChange
    from wordsway.probing.results import Swap, Swaps, Words, WordSway
    from wordsway.probing.swap import swap
    from wordsway.probing.words import words
    from wordsway.reading import Reading, Token, Word
    from wordsway.render.widget import clickable
    from wordsway.result import Result
    from wordsway.sample import Sample
    from wordsway.sensitivity import Sensitivity, WordSensitivity, sensitivity
    from wordsway.text import Corpus, Text, corpus, draw

#: Where each name lives.
_MODULES = {
    "render.widget": ("clickable",),
    "experiments.spec": ("Study",),
    "chart": ("Chart",),
    "data.listing": ("Catalogue",),
    "experiments.corpus_words": ("CorpusWords",),
    "audit.audit": ("audit",),
    "audit.pairs": ("pairs",),
    "audit.result": ("Audit", "ModelAudit"),
    "audit.pairs_result": ("Pair", "Pairs"),
    "errors": ("InputError", "MemoryBudgetError", "MissingExtraError", "WordswayError"),
    "gaussian": ("GaussianMatrix", "TokenMatrix"),
    "learning.learn": ("Learned", "Learning", "learn"),
    "maps": (
        "DRF",
        "RAF",
        "RF",
        "Attention",
        "FeatureMap",
        "ReluRAF",
        "View",
        "boolean_sensitivity",
        "layer_norm",
        "read_out",
        "residual",
        "rms_norm",
        "transformer_block",
    ),
    "maps.activation": ("Activation", "activation"),
    "models": ("Embedder",),
    "optimize.plan": ("Plan",),
    "probing.attention": ("AttentionMap", "AttentionMaps", "attention"),
    "probing.attract": ("Attracted", "attract"),
    "probing.compare": ("Comparison", "compare"),
    "probing.layer_changes": ("LayerChange",),
    "models.probe": ("Probe",),
    "probing.results": ("Swap", "Swaps", "WordSway", "Words"),
    "probing.swap": ("swap",),
    "probing.words": ("words",),
    "reading": ("Reading", "Token", "Word"),
    "result": ("Result",),
    "sample": ("Sample",),
    "experiments.corpus_texts": ("paper_samples",),
    "experiments.forecast": ("Forecast", "SweepForecast", "forecast"),
    "experiments.lessons": ("Lessons", "learning_trials"),
    "experiments.measure": ("Measurement", "Trial", "measure"),
    "experiments.request": ("LearningOptions", "Request"),
    "experiments.sweep": ("Sweep", "sweep"),
    "experiments.texts": ("TextOptions",),
    "page.playground.build": ("Playground", "playground"),
    "paper.reproduce": ("Reproduction", "reproduce"),
    "sensitivity": ("Sensitivity", "WordSensitivity", "sensitivity"),
    "text": ("Corpus", "Text", "corpus", "draw"),
}
_HOME = {name: room for room, names in _MODULES.items() for name in names}

__all__ = [
    "DRF",
    "RAF",
    "RF",
    "Activation",
    "Attention",
    "AttentionMap",
    "AttentionMaps",
    "Attracted",
    "Audit",
    "Catalogue",
    "Chart",
    "Comparison",
    "Corpus",
    "CorpusWords",
    "Embedder",
    "FeatureMap",
    "Forecast",
    "GaussianMatrix",
    "InputError",
    "LayerChange",
    "Learned",
    "Learning",
    "LearningOptions",
    "Lessons",
    "Measurement",
    "MemoryBudgetError",
    "MissingExtraError",
    "ModelAudit",
    "Pair",
    "Pairs",
    "Plan",
    "Playground",
    "Probe",
    "Reading",
    "ReluRAF",
    "Reproduction",
    "Request",
    "Result",
    "Sample",
    "Sensitivity",
    "Study",
    "Swap",
    "Swaps",
    "Sweep",
    "SweepForecast",
    "Text",
    "TextOptions",
    "Token",
    "TokenMatrix",
    "Trial",
    "View",
    "Word",
    "WordSensitivity",
    "WordSway",
    "Words",
    "WordswayError",
    "__version__",
    "activation",
    "attention",
    "attract",
    "audit",
    "boolean_sensitivity",
    "clickable",
    "compare",
    "corpus",
    "draw",
    "forecast",
    "layer_norm",
    "learn",
    "learning_trials",
    "measure",
    "pairs",
    "paper_samples",
    "playground",
    "read_out",
    "reproduce",
    "residual",
    "rms_norm",
    "sensitivity",
    "swap",
    "sweep",
    "transformer_block",
    "words",
]


class _Package(ModuleType):
    """Importing a submodule binds its name on the package; where a verb has the same name, the verb
    wins.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in _HOME):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'wordsway' has no attribute {name!r}")
    value = getattr(import_module(f"wordsway.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


use_renderer(lambda: import_module("wordsway.render.renderer").Renderer())
