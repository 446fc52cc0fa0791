"""Theory on the same texts: random maps of a model's word vectors.

A text is the matrix X (n×d) of its tokens' input embeddings, each scaled to norm √d as in the
paper; special tokens are left out. An inserted word takes a row that was empty.

    mean of word vectors    the mean of the rows of X
    random features         ReLU(V X) of the whole text at infinite width: the arc-cosine kernel
    random attention        RAF, and RAF with a residual stream, and with a norm behind it
    random transformer      as many post-norm blocks as the model has layers, with heads and an MLP
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from wordsway.core.seeds import derive
from wordsway.lengths.responses import Response, TextStates, WindowText, response
from wordsway.lengths.windows import with_edit
from wordsway.maps.attention.kinds import RAF_KIND
from wordsway.maps.base import FeatureMap
from wordsway.maps.registry import kind_of
from wordsway.maps.wrappers.norm import layer_norm
from wordsway.maps.wrappers.residual import residual
from wordsway.models.probe import Probe
from wordsway.probing.differences import common, common_end
from wordsway.theory import relu_kernel

MEAN, FEATURES = "mean of word vectors", "random features"
#: Maps by name; each is read out by its rows and by their mean.
ATTENTION = ("random attention", "random attention, residual", "random attention, residual, norm")
TRANSFORMER = "random transformer"
THEORY = (MEAN, FEATURES, *ATTENTION, TRANSFORMER)
#: Heads of the random transformer, where they divide d.
HEADS = 12


@dataclass(frozen=True)
class RandomMaps:
    """Random maps of the word vectors of one model."""

    probe: Probe
    seed: int = 0

    @torch.no_grad()
    def vectors(self, text: str) -> tuple[tuple[int, ...], torch.Tensor]:
        """The tokens of a text and their vectors (n, d), rows of norm √d."""
        (read,) = self.probe.reader([text])
        tokens = read.reading(read.count).tokens
        ids = tuple(i for i, token in zip(read.ids, tokens, strict=False) if token.kind == "word")
        table = self.probe.layers.model.get_input_embeddings()
        X = table(torch.tensor(ids, device=self.probe.layers.device)).double().cpu()
        return ids, X * (math.sqrt(X.shape[1]) / X.norm(dim=1, keepdim=True).clamp_min(1e-12))

    def measures(self) -> dict[str, Callable[[WindowText], list[Response]]]:
        """Each theory as a function of a text with its edits."""
        d = int(self.probe.layers.model.get_input_embeddings().weight.shape[1])
        plain = RAF_KIND.build(n=2, d=d, seed=derive(self.seed, "length", "raf"))
        heads = HEADS if d % HEADS == 0 else 1
        blocks = [
            kind_of("bert-block").build(
                n=2, d=d, seed=derive(self.seed, "length", "block", number), heads=heads
            )
            for number in range(self.probe.layers.count)
        ]
        chains: dict[str, Sequence[FeatureMap]] = {
            MEAN: (),
            **dict(
                zip(
                    ATTENTION,
                    ([plain], [residual(plain)], [layer_norm(residual(plain))]),
                    strict=True,
                )
            ),
            TRANSFORMER: blocks,
        }
        found = {name: partial(self._through, chain) for name, chain in chains.items()}
        return {name: found.get(name, self._features) for name in THEORY}

    def _through(self, chain: Sequence[FeatureMap], text: WindowText) -> list[Response]:
        """Responses of maps behind one another; the output is the mean of the last rows."""
        first, *edited = [self._states(chain, one) for one in _versions(text)]
        return [response(first, one) for one in edited]

    def _states(self, chain: Sequence[FeatureMap], text: str) -> TextStates:
        ids, X = self.vectors(text)
        states = [X]
        for phi in chain:
            states.append(phi(states[-1]))
        return TextStates(ids, states, states[-1].mean(0))

    def _features(self, text: WindowText) -> list[Response]:
        """Random features of the whole text, with k → ∞."""
        (ids, X), *edited = [self.vectors(one) for one in _versions(text)]
        found = []
        for other, Y in edited:
            head, tail = common(ids, other), common_end(ids, other)
            a, b = (float(len(one)) for one in (X, Y))
            inside = zip(X[head : len(X) - tail], Y[head : len(Y) - tail], strict=False)
            c = head + tail + sum(float(x @ y) for x, y in inside) / X.shape[1]
            a2, b2, c2 = torch.tensor([[a, a, a], [b, b, b], [a, b, c]], dtype=torch.float64)
            kernels = [float(relu_kernel(*one)) for one in (a2, b2, c2)]
            square = max(0.0, kernels[0] + kernels[1] - 2 * kernels[2])
            cosine = kernels[2] / math.sqrt(kernels[0] * kernels[1])
            change = math.sqrt(square / kernels[0])
            found.append(Response(len(ids), tail, change, 1 - cosine, math.sqrt(square), {}))
        return found


def _versions(text: WindowText) -> list[str]:
    whole, places = text
    return [whole, *(with_edit(whole, place) for place in places)]
