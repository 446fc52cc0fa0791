"""Theory on the same texts: random maps of a model's word vectors.

A text is the matrix X (n×d) of its tokens' input embeddings, each scaled to norm √d as in the
paper; special tokens are left out. In random features, an inserted word takes a row that was empty.

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
from wordsway.lengths.responses import (
    Response,
    TextStates,
    WindowText,
    all_responses,
    response,
    versions_of,
)
from wordsway.maps.attention.kinds import RAF_KIND
from wordsway.maps.base import FeatureMap
from wordsway.maps.registry import kind_of
from wordsway.maps.wrappers import layer_norm, residual
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

    def measure(self, name: str) -> Callable[[WindowText], list[Response]]:
        """A theory as a function of a text with its edits."""
        compare = features_response if name == FEATURES else response
        return partial(self._through, self._chain(name), compare)

    def _chain(self, name: str) -> Sequence[FeatureMap]:
        """The maps of a theory, one behind the other."""
        if name in (MEAN, FEATURES):
            return ()
        d = int(self.probe.layers.model.get_input_embeddings().weight.shape[1])
        if name == TRANSFORMER:
            heads = HEADS if d % HEADS == 0 else 1
            seeds = [
                derive(self.seed, "length", "block", number)
                for number in range(self.probe.layers.count)
            ]
            block = kind_of("bert-block").build
            return [block(n=2, d=d, seed=seed, heads=heads) for seed in seeds]
        plain = RAF_KIND.build(n=2, d=d, seed=derive(self.seed, "length", "raf"))
        added = residual(plain)
        return [dict(zip(ATTENTION, (plain, added, layer_norm(added)), strict=True))[name]]

    def _through(
        self,
        chain: Sequence[FeatureMap],
        compare: Callable[[TextStates, TextStates], Response],
        text: WindowText,
    ) -> list[Response]:
        """Responses of maps behind one another; the output is the mean of the last rows."""
        states = [self._states(chain, one) for one in versions_of(text)]
        return all_responses(text[1], states, compare)

    def _states(self, chain: Sequence[FeatureMap], text: str) -> TextStates:
        ids, X = self.vectors(text)
        states = [X]
        for phi in chain:
            states.append(phi(states[-1]))
        return TextStates(ids, states, states[-1].mean(0))


def features_response(text: TextStates, edited: TextStates) -> Response:
    """The change of infinitely many random features of the whole text; rows of norm √d."""
    X, Y = text.layers[0], edited.layers[0]
    head, tail = common(text.ids, edited.ids), common_end(text.ids, edited.ids)
    a, b = float(len(X)), float(len(Y))
    inside = zip(X[head : len(X) - tail], Y[head : len(Y) - tail], strict=False)
    c = head + tail + sum(float(x @ y) for x, y in inside) / X.shape[1]
    sizes = torch.tensor([[a, a, a], [b, b, b], [a, b, c]], dtype=torch.float64)
    own, other, both = (float(relu_kernel(*one)) for one in sizes)
    square = max(0.0, own + other - 2 * both)
    cosine = both / math.sqrt(own * other)
    change = math.sqrt(square / own)
    return Response(len(X), tail, change, 1 - cosine, math.sqrt(square), {})
