"""The maps: RF, DRF, RAF, ReLU-RAF, and any torch callable; each with its view from one word."""

from wordsway.maps.activation import Activation, activation
from wordsway.maps.attention.family import RAF, Attention, ReluRAF
from wordsway.maps.average import boolean_sensitivity
from wordsway.maps.base import FeatureMap, View
from wordsway.maps.block import transformer_block
from wordsway.maps.callable import CallableMap
from wordsway.maps.dense.definition import DRF, RF, FullyConnected
from wordsway.maps.wrappers import layer_norm, read_out, residual, rms_norm
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
    "boolean_sensitivity",
    "layer_norm",
    "read_out",
    "residual",
    "rms_norm",
    "transformer_block",
]
