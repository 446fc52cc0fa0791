"""Targets: a vector g of the text; a change is ‖g(changed) − g(text)‖/‖g(text)‖.

| target | g |
|---|---|
| a layer | its hidden states H (n×d), by norm or row by row (`LayerTarget`) |
| "all" | those of layers 1 … L, each over its norm and √L: the root mean square over layers |
| "pooled" | the text's embedding: the last layer pooled as the model's own configuration says |
| "cosine" | the embedding over its norm; reported as cosine distance, 1 − cos = ‖g′ − g‖²/2 |
| "logits" | those of a classifier saved with its head |
| "next-token" | √p, p the next token's probabilities: ‖g′ − g‖ = √2 · Hellinger distance |

`words`, `swap`, `audit` and the page mean the same by the same name.

Dividing hidden states by ‖H‖_F lets rows count by their norm. In decoders one row (an attention
sink) may be a hundred times longer than all others and decide the ratio alone; there each row is
divided by its own norm and √n, so that the change is the root mean square over rows of the row's
relative change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch.linalg import vector_norm

from wordsway.core.errors import InputError
from wordsway.core.format import either
from wordsway.core.reading import Word
from wordsway.core.vectors import unit
from wordsway.models.heads import classifier_of, labels_of, logits_of, next_token_model
from wordsway.models.norms import largest_moves
from wordsway.models.prefix import Prefix
from wordsway.models.probe import EncodedText, Probe
from wordsway.probing.differences import common, common_end
from wordsway.probing.relative import (
    chosen_scaling,
    cosine_distance,
    relative,
    row_weights,
    same_width,
    squared_change,
    wide,
)

#: How rows count; "auto" takes "rows" where a few rows hold most of the norm.
SCALINGS = ("auto", "frobenius", "rows")


@dataclass(frozen=True)
class Outcome:
    """The change by a real word; for a classifier the logits then, and the text's ``own`` ones."""

    change: float
    logits: torch.Tensor | None = None
    own: torch.Tensor | None = None

    @property
    def margin(self) -> float | None:
        """The logit of the text's label minus the largest other one: negative where it flips."""
        return None if self.logits is None else self._margin(self.logits)

    @property
    def margin_change(self) -> float | None:
        """The margin minus that of the text."""
        if self.logits is None or self.own is None:
            return None
        return self._margin(self.logits) - self._margin(self.own)

    @property
    def label(self) -> int:
        """The text's own label."""
        return 0 if self.own is None else int(self.own.argmax())

    def _margin(self, logits: torch.Tensor) -> float:
        others = logits.clone()
        others[self.label] = -torch.inf
        return float(logits[self.label] - others.max())

    @property
    def flips(self) -> bool:
        return self.margin is not None and self.margin < 0

    @property
    def effect(self) -> float:
        """The quantity by which words are ranked; larger is worse."""
        return self.change if self.margin is None else -self.margin


class Target(ABC):
    """g in one model; bound to a text it is scaled so that ‖g(text)‖ = 1.

    ``name`` is what a request calls it; in words, ``title`` is what moves, ``unit`` how its change
    is counted and ``distance`` how an audit compares two texts. ``layer`` is how many layers a pass
    goes through, ``own_layer`` the layer whose states g is. ``base`` is g(text), any shape.
    """

    name: str
    title: str
    unit: str = "relative to its size"
    distance: str
    layer: int
    own_layer: int | None = None
    scaling: str = "frobenius"
    #: The model that computes g from a kept prefix; None: the whole text is run each time.
    prefix_model: Any = None
    #: The text's label and its probability, for a classifier of several labels.
    prediction: tuple[str | None, float | None] = (None, None)
    encoded: EncodedText
    base: torch.Tensor

    def __init__(self, probe: Probe, scaling: str = "auto") -> None:
        self.probe, self.layer = probe, probe.layers.count

    @abstractmethod
    def bind(self, encoded: EncodedText) -> None:
        """Compute g of the text that changes are measured from."""

    @abstractmethod
    def features(self, embeds: torch.Tensor) -> torch.Tensor:
        """g (B, …) of texts given as embeddings (B, n, ·), differentiable."""

    @abstractmethod
    def vectors(self, ids: torch.Tensor) -> torch.Tensor:
        """g (B, …) in float64, not scaled, of texts given as token ids (B, n)."""

    @abstractmethod
    def change(self, ids: torch.Tensor, word: Word, prefix: Prefix | None = None) -> torch.Tensor:
        """‖g(changed) − g(text)‖ (B,) in float64 for texts (B, n′) with another word in that place.

        ``prefix`` holds the rows before the word, where they cannot change.
        """

    def change2(self, embeds: torch.Tensor) -> torch.Tensor:
        """‖g − g(text)‖² (B,) of texts given as embeddings, differentiable."""
        difference = self.features(embeds) - self.base
        return (difference**2).flatten(1).sum(1)

    def reported(self, change: float) -> float:
        """A change ‖g(changed) − g(text)‖ as it is shown."""
        return change

    def outcomes(
        self, ids: torch.Tensor, word: Word, prefix: Prefix | None = None
    ) -> list[Outcome]:
        """What texts (B, n′) with another word in that place do."""
        changes = self.change(ids, word, prefix).tolist()
        return [Outcome(self.reported(change)) for change in changes]

    def distances(
        self, ids: Sequence[Sequence[int]], vectors: Sequence[torch.Tensor]
    ) -> torch.Tensor:
        """The reported change from the first of B texts to each other, (B − 1,)."""
        return relative(vectors[0], torch.stack(list(vectors[1:])))

    def largest_squares(self) -> torch.Tensor | None:
        """Upper bounds of ‖g(changed) − g(text)‖² for any Δ: one per row, or a single one.

        A subclass that changes g overrides it, with None where nothing is proved.
        """
        return None


class LayerTarget(Target):
    """Hidden states of one layer.

    A swapped word may have fewer or more tokens than the word it replaces. Rows before and behind
    it are compared one to one, and of the word itself the first row; where both have as many
    tokens, the common case, all rows, those of the word itself counting together as one.
    """

    def __init__(self, probe: Probe, scaling: str = "auto", layer: int = 0) -> None:
        super().__init__(probe)
        self._use(scaling, (layer,))
        self.name, self.own_layer = f"layer {layer}", layer

    def _use(self, scaling: str, layers: tuple[int, ...]) -> None:
        self.layers, self.layer, self.scaling = layers, max(layers), scaling
        self.prefix_model = self.probe.layers.model

    def bind(self, encoded: EncodedText) -> None:
        if encoded.at == "input" and 0 in self.layers:
            raise InputError(
                "a layer behind the one that moves",
                "layer 0",
                "take layer 1 or later, or move the words",
            )
        self.encoded = encoded
        with torch.no_grad():
            self.states = [wide(state[0]) for state in self._states(encoded.embeds[None])]
        self.scaling = chosen_scaling(self.states, self.scaling)
        root = len(self.layers) ** 0.5
        self.weights = [row_weights(state, self.scaling) / root for state in self.states]
        self.base = self._stacked([state[None] for state in self.states])[0]

    def _states(self, embeds: torch.Tensor) -> list[torch.Tensor]:
        if len(self.layers) == 1:
            return [self.probe.layers.layer(self.layer, embeds, self.encoded.at)]
        every = self.probe.layers.every(embeds, self.encoded.at)
        return [every[layer] for layer in self.layers]

    def _stacked(self, states: list[torch.Tensor]) -> torch.Tensor:
        scaled = [
            wide(state) * weight.to(wide(state))[:, None]
            for state, weight in zip(states, self.weights, strict=True)
        ]
        return scaled[0] if len(scaled) == 1 else torch.stack(same_width(scaled), 1)

    def features(self, embeds: torch.Tensor) -> torch.Tensor:
        return self._stacked(self._states(embeds))

    @torch.no_grad()
    def _hidden(self, ids: torch.Tensor) -> list[torch.Tensor]:
        if len(self.layers) == 1:
            return [self.probe.layers.hidden(self.layer, ids)]
        every = self.probe.layers.every_hidden(ids)
        return [every[layer] for layer in self.layers]

    def vectors(self, ids: torch.Tensor) -> torch.Tensor:
        return torch.stack(same_width([state.double() for state in self._hidden(ids)]), 1)

    @cached_property
    def _from_ids(self) -> list[torch.Tensor]:
        """The text's own states, from its token ids: a model may number positions by them."""
        return [state[0].double() for state in self._hidden(self.encoded.ids[None])]

    @torch.no_grad()
    def change(self, ids: torch.Tensor, word: Word, prefix: Prefix | None = None) -> torch.Tensor:
        start = 0 if prefix is None else prefix.length
        found = self._hidden(ids) if prefix is None else prefix.states(ids[:, start:], self.layers)
        total = torch.zeros(len(ids), dtype=torch.float64, device=self.base.device)
        for state, base, weight in zip(found, self._from_ids, self.weights, strict=True):
            total += squared_change(state.double(), base, weight, word.rows, start) / len(
                self.layers
            )
        return total.sqrt()

    def distances(
        self, ids: Sequence[Sequence[int]], vectors: Sequence[torch.Tensor]
    ) -> torch.Tensor:
        scaling = chosen_scaling(list(vectors[0]), self.scaling)
        weights = [row_weights(state, scaling) for state in vectors[0]]
        found = []
        for tokens, other in zip(ids[1:], vectors[1:], strict=True):
            first, last = common(ids[0], tokens), len(ids[0]) - common_end(ids[0], tokens)
            squares = [
                squared_change(state[None], base, weight, range(first, last))
                for state, base, weight in zip(other, vectors[0], weights, strict=True)
            ]
            found.append(torch.cat(squares).mean().sqrt())
        return torch.stack(found)

    def largest_squares(self) -> torch.Tensor | None:
        total = torch.zeros(self.encoded.n, dtype=torch.float64)
        for layer, states, weights in zip(self.layers, self.states, self.weights, strict=True):
            norm = self.probe.layers.norm_after(layer)
            if norm is None:
                return None
            total += weights.double().cpu() ** 2 * largest_moves(norm, states)
        return total


class AllLayersTarget(LayerTarget):
    """Hidden states of layers 1 … L."""

    name, title = "all", "the average layer"
    distance = "the relative change of all layers"

    def __init__(self, probe: Probe, scaling: str = "auto") -> None:
        Target.__init__(self, probe)
        self._use(scaling, tuple(range(1, probe.layers.count + 1)))


class VectorTarget(Target):
    """A target that is one vector of the text: ``_vector`` of what ``_states`` reads."""

    #: Whether g is a unit vector already.
    is_unit = False
    scale = 1.0

    @abstractmethod
    def _states(
        self, embeds: torch.Tensor | None, ids: torch.Tensor, prefix: Prefix | None = None
    ) -> torch.Tensor:
        """What the model computes from embeddings or ids, or from ids behind a prefix."""

    def _vector(self, states: torch.Tensor) -> torch.Tensor:
        """g (B, d), not scaled."""
        return states

    @torch.no_grad()
    def bind(self, encoded: EncodedText) -> None:
        self.encoded = encoded
        states = wide(self._states(encoded.embeds[None], encoded.ids[None]))
        self.rows, found = states[0], self._vector(states)[0]
        self.scale = 1.0 if self.is_unit else 1.0 / float(found.double().norm())
        self.base = found * self.scale

    def features(self, embeds: torch.Tensor) -> torch.Tensor:
        return self._vector(wide(self._states(embeds, self.encoded.ids[None]))) * self.scale

    @torch.no_grad()
    def vectors(self, ids: torch.Tensor, prefix: Prefix | None = None) -> torch.Tensor:
        return self._vector(self._states(None, ids, prefix).double())

    @cached_property
    def own(self) -> torch.Tensor:
        """The text's own vector, from its token ids: a model may number positions by them."""
        return self.vectors(self.encoded.ids[None])[0]

    def change(self, ids: torch.Tensor, word: Word, prefix: Prefix | None = None) -> torch.Tensor:
        return self._change(self.vectors(ids, prefix))

    def _change(self, vectors: torch.Tensor) -> torch.Tensor:
        change: torch.Tensor = vector_norm(vectors * self.scale - self.own * self.scale, dim=1)
        return change


class PooledTarget(VectorTarget):
    """The text's embedding, pooled from the last layer."""

    name, title = "pooled", "the text's embedding"
    distance = "the relative change of the pooled embedding"

    def __init__(self, probe: Probe, scaling: str = "auto") -> None:
        super().__init__(probe)
        self.prefix_model = probe.layers.model

    def _states(
        self, embeds: torch.Tensor | None, ids: torch.Tensor, prefix: Prefix | None = None
    ) -> torch.Tensor:
        layers = self.probe.layers
        if embeds is not None:
            return layers.layer(self.layer, embeds, self.encoded.at)
        if prefix is None:
            return layers.hidden(self.layer, ids)
        (found,) = prefix.states(ids[:, prefix.length :], (self.layer,))
        return torch.cat([self._own_rows[:, : prefix.length].expand(len(ids), -1, -1), found], 1)

    @cached_property
    def _own_rows(self) -> torch.Tensor:
        return self._states(None, self.encoded.ids[None])

    def _vector(self, states: torch.Tensor) -> torch.Tensor:
        return self.probe.pipeline.embedding(states)

    def largest_squares(self) -> torch.Tensor | None:
        norm, pipeline = self.probe.layers.norm_after(self.layer), self.probe.pipeline
        if norm is None or not pipeline.plain or pipeline.pooling == "max":
            return None
        pooled = pipeline.embedding(self.rows.double())
        return largest_moves(norm, pooled[None]) * self.scale**2


class CosineTarget(PooledTarget):
    """The text's embedding over its norm."""

    name, title = "cosine", "the text's normalised embedding"
    unit = "as 1 − cosine (0: the same direction, 1: at a right angle)"
    distance = "the cosine distance of the pooled embedding"
    is_unit = True

    def _vector(self, states: torch.Tensor) -> torch.Tensor:
        return unit(super()._vector(states))

    def reported(self, change: float) -> float:
        return change**2 / 2

    def distances(
        self, ids: Sequence[Sequence[int]], vectors: Sequence[torch.Tensor]
    ) -> torch.Tensor:
        return cosine_distance(vectors[0], torch.stack(list(vectors[1:])))

    def largest_squares(self) -> torch.Tensor | None:
        return torch.tensor([4.0], dtype=torch.float64)  # two unit vectors


class HeadTarget(VectorTarget):
    """What a head on the last layer computes; it reads token embeddings alone."""

    model: Any

    def bind(self, encoded: EncodedText) -> None:
        if encoded.at != "words":
            raise InputError("words that move", encoded.at, f"leave at out for {self.name}")
        super().bind(encoded)
        self.probe.check_same(self.base, self.own * self.scale, f"in {self.title}")

    def _states(
        self, embeds: torch.Tensor | None, ids: torch.Tensor, prefix: Prefix | None = None
    ) -> torch.Tensor:
        if embeds is not None:
            return logits_of(self.model, inputs_embeds=embeds)
        if prefix is not None:
            return prefix.logits(ids[:, prefix.length :])
        return logits_of(self.model, input_ids=ids.to(self.probe.layers.device))


class LogitsTarget(HeadTarget):
    """The logits of a classifier that was saved with its head."""

    name, title = "logits", "the classifier's answer (its class scores)"
    distance = "the relative change of the class scores"

    def __init__(self, probe: Probe, scaling: str = "auto") -> None:
        super().__init__(probe)
        self.model = classifier_of(probe)

    def bind(self, encoded: EncodedText) -> None:
        super().bind(encoded)
        if self.label is not None:
            self.prediction = self.names[self.label], self.probability(self.own)

    @property
    def names(self) -> list[str]:
        return labels_of(self.model)

    @property
    def label(self) -> int | None:
        """The predicted class; None for one output, or labels that may hold together."""
        return int(self.own.argmax()) if self.exclusive else None

    @property
    def exclusive(self) -> bool:
        """Whether exactly one of several labels holds."""
        several = self.model.config.problem_type == "multi_label_classification"
        return len(self.names) > 1 and not several

    def probability(self, logits: torch.Tensor) -> float:
        """The probability of the text's own label, given logits (classes,)."""
        return float(logits.softmax(0)[self.label or 0])

    def predictions(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        """The label of each text and its probability; none for a model without a single one."""
        if not self.exclusive:
            return []
        found = self.probe.by_length(self.probe.ids_of(texts), lambda ids: self.vectors(ids).cpu())
        return [(self.names[int(row.argmax())], float(row.softmax(0).max())) for row in found]

    def outcomes(
        self, ids: torch.Tensor, word: Word, prefix: Prefix | None = None
    ) -> list[Outcome]:
        logits = self.vectors(ids)
        changes = self._change(logits).tolist()
        if self.label is None:
            return [Outcome(one) for one in changes]
        own = self.own.cpu()
        return [Outcome(one, row, own) for one, row in zip(changes, logits.cpu(), strict=True)]


class NextTokenTarget(HeadTarget):
    """√p of the next token's probabilities p after the text."""

    name, title = "next-token", "the next token's distribution"
    unit = "as a distance of distributions (0: the same, 1.41: nothing in common)"
    distance = "the distance ‖√p − √q‖ of next-token distributions"
    is_unit = True

    def __init__(self, probe: Probe, scaling: str = "auto") -> None:
        super().__init__(probe)
        self.model = self.prefix_model = next_token_model(probe)

    def _vector(self, states: torch.Tensor) -> torch.Tensor:
        return (torch.log_softmax(states[:, -1], dim=-1) / 2).exp()

    def largest_squares(self) -> torch.Tensor | None:
        return torch.tensor([2.0], dtype=torch.float64)  # √p and √p′ are unit vectors ≥ 0


_KINDS = (AllLayersTarget, PooledTarget, CosineTarget, LogitsTarget, NextTokenTarget)
#: Targets besides layers, by name.
NAMED: dict[str, type[Target]] = {kind.name: kind for kind in _KINDS}
_OTHERS = f", {either([*NAMED])}"


def check_target(target: int | str, scaling: str = "auto") -> None:
    """Reject targets that no model has, before one is loaded: the number of layers is unknown."""
    if scaling not in SCALINGS:
        raise InputError(
            f"a scaling among {', '.join(SCALINGS)}", repr(scaling), "leave it at auto"
        )
    name = _without_prefix(target)
    if name not in (*NAMED, "layer", "last", "input") and not name.isdigit():
        raise InputError(
            f"a layer (its number, input or last){_OTHERS}",
            repr(target),
            "last is the last layer",
        )


def target_in(probe: Probe, target: int | str, scaling: str = "auto") -> Target:
    """A target of a model by name: a layer ("last", 3, "layer 3"), or one of `NAMED`."""
    check_target(target, scaling)
    if str(target) in NAMED:
        return NAMED[str(target)](probe, scaling)
    name = "last" if target == "layer" else _without_prefix(target)
    return LayerTarget(probe, scaling, probe.layers.number(name, _OTHERS))


def target_of(
    probe: Probe, encoded: EncodedText, target: int | str, scaling: str = "auto"
) -> Target:
    found = target_in(probe, target, scaling)
    found.bind(encoded)
    return found


def _without_prefix(target: int | str) -> str:
    return str(target).removeprefix("layer ").strip()


def named(target: str, layers: int | None = None) -> str:
    """What moves; a layer with the number of layers, where that is known.

    >>> named("layer 6", 6), named("pooled")
    ('layer 6 of 6', "the text's embedding")
    """
    if target in NAMED:
        return NAMED[target].title
    return target if layers is None else f"{target} of {layers}"


def sized(target: str) -> str:
    """The unit in which its change is counted.

    >>> sized("layer 6")
    'relative to its size'
    """
    return NAMED.get(target, Target).unit
