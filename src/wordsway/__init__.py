"""wordsway: how far can one word sway a layer?

>>> import wordsway as ws
>>> X = ws.Sample.gaussian(n=12, d=16, seed=0)
>>> s = ws.sensitivity(ws.RAF(d=16, seed=1), X, positions=[0, 5], seed=2)
>>> s.lower <= s.upper, s.certificate
(True, 'exact')
"""

from wordsway.errors import InputError, MemoryBudgetError, WordswayError
from wordsway.gaussian import GaussianMatrix, TokenMatrix
from wordsway.maps import DRF, RAF, RF, Activation, FeatureMap, Plan, ReluRAF, View, activation
from wordsway.result import Sensitivity, WordSensitivity
from wordsway.sample import Sample
from wordsway.sensitivity import sensitivity
from wordsway.version import __version__

__all__ = [
    "DRF",
    "RAF",
    "RF",
    "Activation",
    "FeatureMap",
    "GaussianMatrix",
    "InputError",
    "MemoryBudgetError",
    "Plan",
    "ReluRAF",
    "Sample",
    "Sensitivity",
    "TokenMatrix",
    "View",
    "WordSensitivity",
    "WordswayError",
    "__version__",
    "activation",
    "sensitivity",
]
