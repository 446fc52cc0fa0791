"""The maps: RF, DRF, RAF, ReLU-RAF, and any torch callable; each with its view from one word."""

from wordsway.maps.activation import Activation, activation
from wordsway.maps.attention.definition import Attention
from wordsway.maps.attention.relu import ReluRAF
from wordsway.maps.attention.softmax import RAF
from wordsway.maps.base import FeatureMap, View
from wordsway.maps.callable import CallableMap
from wordsway.maps.dense.definition import DRF, RF, FullyConnected
from wordsway.optimize.plan import Plan

__all__ = [
    "DRF",
    "RAF",
    "RF",
    "Activation",
    "Attention",
    "CallableMap",
    "FeatureMap",
    "FullyConnected",
    "Plan",
    "ReluRAF",
    "View",
    "activation",
]
