"""The maps: RF, DRF, RAF, ReLU-RAF, and any torch callable; each with its view from one word."""

from wordsway.maps.activation import Activation, activation
from wordsway.maps.attention import RAF, Attention, ReluRAF
from wordsway.maps.base import FeatureMap, Plan, View
from wordsway.maps.fully_connected import DRF, RF, FullyConnected
from wordsway.maps.function import CallableMap

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
