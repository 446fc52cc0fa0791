"""wordsway: how far can one word sway a layer?

>>> import wordsway as ws
>>> X = ws.Sample.gaussian(n=12, d=16, seed=0)
>>> s = ws.sensitivity(ws.RAF(d=16, seed=1), X, positions=[0, 5], seed=2)
>>> s.lower <= s.upper, s.certificate
(True, 'exact')

Names are loaded when they are first used, so that what needs no numbers (``wordsway data``, ``--help``) starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wordsway.version import __version__

if TYPE_CHECKING:
    from wordsway.errors import InputError, MemoryBudgetError, WordswayError
    from wordsway.gaussian import GaussianMatrix, TokenMatrix
    from wordsway.learning.learn import Learned, learn
    from wordsway.maps import DRF, RAF, RF, Activation, FeatureMap, Plan, ReluRAF, View, activation
    from wordsway.pretrained import Embedder
    from wordsway.probe.attention import attention
    from wordsway.probe.attract import attract
    from wordsway.probe.compare import compare
    from wordsway.probe.model import Probe
    from wordsway.probe.results import Swaps, Words
    from wordsway.probe.swap import swap
    from wordsway.probe.words import words
    from wordsway.reading import Reading, Token, Word
    from wordsway.result import Sensitivity, WordSensitivity
    from wordsway.sample import Sample
    from wordsway.studies.texts import paper_samples
    from wordsway.sway import sensitivity
    from wordsway.text import Corpus, Text, corpus, draw

#: Where each name lives.
_ROOMS = {
    "errors": ("InputError", "MemoryBudgetError", "WordswayError"),
    "gaussian": ("GaussianMatrix", "TokenMatrix"),
    "learning.learn": ("Learned", "learn"),
    "maps": ("DRF", "RAF", "RF", "Activation", "FeatureMap", "Plan", "ReluRAF", "View", "activation"),
    "pretrained": ("Embedder",),
    "probe.attention": ("attention",),
    "probe.attract": ("attract",),
    "probe.compare": ("compare",),
    "probe.model": ("Probe",),
    "probe.results": ("Swaps", "Words"),
    "probe.swap": ("swap",),
    "probe.words": ("words",),
    "reading": ("Reading", "Token", "Word"),
    "result": ("Sensitivity", "WordSensitivity"),
    "sample": ("Sample",),
    "studies.texts": ("paper_samples",),
    "sway": ("sensitivity",),
    "text": ("Corpus", "Text", "corpus", "draw"),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "DRF",
    "RAF",
    "RF",
    "Activation",
    "Corpus",
    "Embedder",
    "FeatureMap",
    "GaussianMatrix",
    "InputError",
    "Learned",
    "MemoryBudgetError",
    "Plan",
    "Probe",
    "Reading",
    "ReluRAF",
    "Sample",
    "Sensitivity",
    "Swaps",
    "Text",
    "Token",
    "TokenMatrix",
    "View",
    "Word",
    "WordSensitivity",
    "Words",
    "WordswayError",
    "__version__",
    "activation",
    "attention",
    "attract",
    "compare",
    "corpus",
    "draw",
    "learn",
    "paper_samples",
    "sensitivity",
    "swap",
    "words",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'wordsway' has no attribute {name!r}")
    value = getattr(import_module(f"wordsway.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
