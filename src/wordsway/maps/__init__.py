"""The maps: RF, DRF, RAF, ReLU-RAF, and any torch callable; each with its view from one word."""

from wordsway.maps.activation import Activation, activation
from wordsway.maps.attention.family import RAF, Attention, ReluRAF
from wordsway.maps.average import boolean_sensitivity
from wordsway.maps.base import FeatureMap, View
from wordsway.maps.callable import CallableMap
from wordsway.maps.dense.definition import DRF, RF, FullyConnected
from wordsway.maps.wrappers.block import transformer_block
from wordsway.maps.wrappers.norm import layer_norm, rms_norm
from wordsway.maps.wrappers.read_out import read_out
from wordsway.maps.wrappers.residual import residual
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
