"""The score functions of `ws.Attention`. To add one, add a file to this folder and list it here."""

from __future__ import annotations

from wordsway.maps.attention.scores import per_length, relu, sigmoid, softmax, sparsemax
from wordsway.maps.attention.scores.function import ScoreFunction

#: By name, in the order in which they are listed.
SCORES: dict[str, ScoreFunction] = {
    "softmax": softmax.SOFTMAX,
    "softmax-1/d": softmax.SOFTMAX_OVER_D,
    "softmax-log-n": softmax.SOFTMAX_LOG_N,
    "sink": softmax.SINK,
    "sigmoid": sigmoid.SIGMOID,
    "sparsemax": sparsemax.SPARSEMAX,
    "relu": relu.RELU,
    "relu/n": per_length.RELU_PER_LENGTH,
    "linear/n": per_length.LINEAR_PER_LENGTH,
    "linear-attention": relu.LINEAR_ATTENTION,
    "l2": softmax.L2,
    "qk-norm": softmax.QK_NORM,
    "differential": softmax.DIFFERENTIAL,
}
