"""The attention of one layer of a pretrained model, taken alone: a map on that layer's input rows.

    φ(X)_j = Σ_h O_hᵀ Σ_l P^h_jl v^h_l + b_O,     v = Vᵀx + b_V and so on

The rows X are those that the layer's queries are made of: after the norm in front for models that
have one there, hidden_states[layer − 1] for BERT and related models. φ is the output of the last
matrix, before the residual stream. Whether rows see only those before them, and whether queries and
keys are turned by RoPE, is found by what reproduces the model's own output.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, final

import torch

from wordsway.core.checks import validated
from wordsway.core.errors import InputError
from wordsway.core.sample import Sample
from wordsway.maps.attention.certificates.heads import HeadsCertificate
from wordsway.maps.attention.family import LARGE_SCORE, Attention, largest_score
from wordsway.maps.attention.heads import HeadsLayer, HeadsView, Setting
from wordsway.maps.attention.ingredients import Lift, Projections, Rotation, hidden_pairs
from wordsway.maps.attention.scores.softmax import SoftmaxScores
from wordsway.maps.base import FeatureMap
from wordsway.models.attention_layer import AttentionIO, LayerReader
from wordsway.models.probe import Probe

#: Largest difference to the model's own output, relative to it, that counts as the same.
SAME = 1e-4
#: Tokens that a layer is tried on.
TRIED = 7


@final
class TrainedAttention(FeatureMap):
    """The attention of layer 1 … L as a map on the rows that it reads (``phi.sample(text)``)."""

    name = "layer-alone"
    has_rows = True
    dtype = torch.float64
    device = torch.device("cpu")

    @validated
    def __init__(self, probe: Probe, layer: int) -> None:
        self.probe, self.layer = probe, layer
        self.reader = read = LayerReader(probe, layer)
        Q, K, V, O = read.query, read.key, read.value, read.out
        matrices = (Q.matrix.T, K.matrix.T, V.matrix.T, O.matrix.T)
        biases: dict[str, Any] = {"bias_q": Q.shift, "bias_k": K.shift}
        biases |= {"bias_v": V.shift, "bias_o": O.shift}
        self.projections = Projections(*matrices, read.heads, read.key_heads, **biases)
        width, self.d = read.query.weight.shape
        self.width = width // read.heads
        self._certify = HeadsCertificate(self.projections)
        self.causal, self.base = self._found(read.base)

    def _found(self, base: float | None) -> tuple[bool, float | None]:
        """Which mask and rotation give the model's own output."""
        passed = self.reader.passed(torch.arange(5, 5 + TRIED))
        errors = {}
        for turn in dict.fromkeys((base, None)):
            for self.causal in (False, True):
                self.base = turn
                errors[self.causal, turn] = self._apart(passed)
        best = min(errors, key=lambda key: errors[key])
        self._same(errors[best], TRIED)
        return best

    def sample(self, text: str) -> Sample:
        """The rows that the layer takes in for a text, as they are; refused where the map is not
        what the model does with them (windows, for one, show in long texts only).
        """
        encoded = self.probe.read(text)
        passed = self.reader.passed(encoded.ids)
        self._same(self._apart(passed), len(encoded.ids))
        return Sample(passed.inputs, reading=encoded.reading, rescale=False)

    def _apart(self, passed: AttentionIO) -> float:
        """How far φ is from the model's own output, relative to it."""
        found = self.features(passed.inputs, self.dtype)
        return float((found - passed.outputs).norm() / passed.outputs.norm())

    def _same(self, apart: float, n: int) -> None:
        if not apart <= SAME:
            raise InputError(
                "softmax attention of queries and keys, causal or not, with or without RoPE",
                f"{self.probe.files.name}, whose layer {self.layer} does something else with "
                f"{n} tokens (off by {apart:.2g})",
                "take another model or a shorter text",
            )

    def check(self, n: int, d: int) -> None:
        if d != self.d:
            raise InputError(
                f"rows with d={self.d}", f"d={d}", "take the layer's own rows: phi.sample(text)"
            )

    def setting(self, n: int, like: torch.Tensor) -> Setting:
        """The layer for texts of n rows."""
        hidden = hidden_pairs(n, "causal", None, None) if self.causal else None
        bias = None
        if hidden is not None:
            bias = torch.zeros(1, n, n, dtype=torch.float64).masked_fill(hidden, -math.inf)
        rotation = None if self.base is None else Rotation.of(n, self.width, self.base)
        factor = self.width**-0.5
        setting = Setting(
            SoftmaxScores(), Lift(), self.projections, factor, bias, rotation, self.name
        )
        return setting.to(like)

    def features(self, X: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return self.setting(X.shape[-2], X.to(dtype)).features(X.to(dtype))

    def view(self, sample: Sample, dtype: torch.dtype | None = None) -> HeadsView:
        self.check(sample.n, sample.d)
        X = sample.X.to(self.device, dtype or self.dtype)
        return HeadsView(HeadsLayer(self.setting(sample.n, X), X), self._certify, X)

    def search_view(self, sample: Sample) -> HeadsView:
        view = self.view(sample, torch.float32)
        return view if largest_score(view.layer.s) <= LARGE_SCORE else self.view(sample)

    def describe(self) -> dict[str, Any]:
        heads = self.projections.heads
        about: dict[str, Any] = {"map": self.name, "d": self.d, "layer": self.layer, "heads": heads}
        return about | {"causal": self.causal, "rope": self.base, "model": self.probe.describe()}


def _of(probe: Probe, layer: int) -> TrainedAttention:
    """`TrainedAttention` by its former name."""
    warnings.warn(
        "Attention.of(probe, layer) is now TrainedAttention(probe, layer)",
        DeprecationWarning,
        stacklevel=2,
    )
    return TrainedAttention(probe, layer)


Attention.of = staticmethod(_of)

__all__ = ["Attention", "TrainedAttention"]
