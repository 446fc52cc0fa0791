"""Targets: a vector g of the text; a change is ‖g(changed) − g(text)‖/‖g(text)‖.

| target | g |
|---|---|
| a layer | its hidden states H (n×d), by norm or row by row (`LayerTarget`) |
| "all" | those of layers 1 … L, each over its norm and √L: the root mean square over layers |
| "pooled" | the text's embedding: the last layer pooled as the model's own configuration says |
| "cosine" | the embedding over its norm; reported as cosine distance, 1 − cos = ‖g′ − g‖²/2 |
| "logits" | those of a classifier saved with its head |
| "next-token" | √p, p the next token's probabilities: ‖g′ − g‖ = √2 · Hellinger distance |

Dividing hidden states by ‖H‖_F lets rows count by their norm. In decoders one row (an attention
sink) may be a hundred times longer than all others and decide the ratio alone; there each row is
divided by its own norm and √n, so that the change is the root mean square over rows of the row's
relative change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from torch.linalg import vector_norm

from wordsway.core.errors import InputError, WordswayError
from wordsway.core.reading import Word
from wordsway.core.seeds import generator
from wordsway.core.vectors import unit
from wordsway.models.heads import classifier_of, logits_of, next_token_model
from wordsway.models.pooling import pool
from wordsway.models.prefix import Prefix
from wordsway.models.probe import EncodedText, Probe

#: Targets besides layers.
NAMED = ("all", "pooled", "cosine", "logits", "next-token")


def check_target(target: int | str, scaling: str = "auto") -> None:
    """What can be refused before a model is loaded: how many layers it has is not known yet."""
    if scaling not in SCALINGS:
        raise InputError(
            f"a scaling among {', '.join(SCALINGS)}", repr(scaling), "leave it at auto"
        )
    name = str(target).removeprefix("layer ").strip()
    if name not in (*NAMED, "layer", "last", "input") and not name.isdigit():
        raise InputError(
            f"a layer: input, last or its number; or {', '.join(NAMED)}",
            repr(target),
            "last is the last layer",
        )


def target_of(
    probe: Probe, encoded: EncodedText, target: int | str, scaling: str = "auto"
) -> Target:
    """A target by name: a layer ("last", 3, "layer 3"), or one of `NAMED`."""
    check_target(target, scaling)
    if target in ("pooled", "cosine"):
        return PooledTarget(probe, encoded, cosine=target == "cosine")
    if target == "logits":
        return LogitsTarget(probe, encoded)
    if target == "next-token":
        return NextTokenTarget(probe, encoded)
    if target == "all":
        return LayerTarget(probe, encoded, tuple(range(1, probe.layers.count + 1)), scaling)
    number = probe.layers.number(
        str(target).removeprefix("layer ").strip(), f", {', '.join(NAMED)}"
    )
    if number == 0 and encoded.at == "input":
        raise InputError(
            "a layer behind the one that moves",
            "layer 0",
            "take layer 1 or later, or move the words",
        )
    return LayerTarget(probe, encoded, (number,), scaling)


#: A model's own backward pass is checked by `MOVES` moves of relative length `STEP`, and may differ
#: by `DERIVATIVE`.
STEP, DERIVATIVE, MOVES = 1e-2, 0.01, 7


class Target(ABC):
    """g of one text, scaled so that ‖g(text)‖ = 1; a relative change is then ‖g(changed) − base‖.

    ``base`` is g(text), any shape; ``layer`` how many layers a pass goes through.
    """

    name: str
    layer: int
    base: torch.Tensor
    scaling: str = "frobenius"
    #: The model that computes g from a kept prefix; None: the whole text is run each time.
    prefix_model: Any = None

    @abstractmethod
    def features(self, embeds: torch.Tensor) -> torch.Tensor:
        """g (B, …) of texts given as embeddings (B, n, ·), differentiable."""

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


def wide(states: torch.Tensor) -> torch.Tensor:
    """At least single precision."""
    return states.to(torch.promote_types(states.dtype, torch.float32))


def check_gradient(target: Target, embeds: torch.Tensor, features: torch.Tensor) -> None:
    """Refuse a model whose backward pass is not the derivative of its forward pass.

    ``features`` are those of ``embeds`` (1, n, d), with their graph. torch's own derivatives are
    trusted. Where the model brings a backward pass of its own (YOSO's is an approximation), a small
    move εv of one row must change g by ε·Jv: with c = (g(x + εv) − g(x − εv))/2ε,

        ⟨Jᵀc, v⟩ = ⟨c, Jv⟩ = ‖c‖²

    within `DERIVATIVE`, in the median over `MOVES` random v, since a mixture of experts may jump
    between x ± εv. Numbers of 16 bits are too coarse for it, and are not checked.
    """
    check_differentiable(features)
    if embeds.element_size() < 4 or not _own_backward(features):
        return
    ratios = []
    draws = generator(0, "derivative")
    for row in torch.randint(embeds.shape[1], (MOVES,), generator=draws).tolist():
        v = torch.zeros_like(embeds)
        noise = torch.randn(embeds.shape[2], generator=draws).to(embeds)
        v[0, row] = noise * (embeds[0, row].norm() / noise.norm())
        with torch.enable_grad():
            x = embeds.detach().clone().requires_grad_(True)
            g = target.features(x)
        with torch.no_grad():
            ends = [target.features(embeds + sign * STEP * v).double() for sign in (1, -1)]
        change = (ends[0] - ends[1]) / (2 * STEP)
        (pulled,) = torch.autograd.grad((g * change.to(g)).sum(), x)
        ratios.append(float((pulled * v).sum() / change.square().sum().clamp_min(1e-300)))
    wrong = sorted(abs(ratio - 1) for ratio in ratios)[MOVES // 2]
    if not wrong <= DERIVATIVE:
        raise WordswayError(
            "this model defines its own backward pass, which is not the derivative of its states "
            f"(wrong by {100 * wrong:.2g} % for a small move), so small moves cannot be measured: "
            "take real words (--tier real-words)"
        )


def check_differentiable(features: torch.Tensor) -> None:
    """Refuse a model whose output carries no gradient (Reformer's reversible layers)."""
    if not features.requires_grad:
        raise WordswayError(
            "this model's output carries no gradient, so small moves and the worst move cannot be "
            "searched: take real words (--tier real-words), or swap without the worst case"
        )


def _own_backward(features: torch.Tensor) -> bool:
    """Whether a graph has nodes whose derivative is written in Python by the model."""
    seen: set[Any] = set()
    left: list[Any] = [features.grad_fn]
    while left:
        node = left.pop()
        if node is None or node in seen:
            continue
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            return True
        seen.add(node)
        left += [one for one, _ in node.next_functions]
    return False


#: How rows count; "auto" takes "rows" where a few rows hold most of the norm.
SCALINGS = ("auto", "frobenius", "rows")
#: A row so many times longer than the median row is a sink.
SINK = 3.0


class LayerTarget(Target):
    """Hidden states of some layers.

    A swapped word may have fewer or more tokens than the word it replaces. Rows before and behind
    it are compared one to one, and of the word itself the first row; where both have as many
    tokens, the common case, all rows, those of the word itself counting together as one.
    """

    def __init__(
        self,
        probe: Probe,
        encoded: EncodedText,
        layers: tuple[int, ...],
        scaling: str = "auto",
    ) -> None:
        self.probe, self.at, self.n, self.ids = probe, encoded.at, encoded.n, encoded.ids
        self.layers, self.layer = layers, max(layers)
        self.prefix_model = probe.layers.model
        self.name = f"layer {layers[0]}" if len(layers) == 1 else "all"
        with torch.no_grad():
            states = [wide(state[0]) for state in self._states(encoded.embeds[None])]
        self.states = states
        self.scaling = chosen_scaling(states, scaling)
        self.weights = [row_weights(state, self.scaling) / len(layers) ** 0.5 for state in states]
        self.base = self._stacked([state[None] for state in states])[0]

    def _states(self, embeds: torch.Tensor) -> list[torch.Tensor]:
        if len(self.layers) == 1:
            return [self.probe.layers.layer(self.layer, embeds, self.at)]
        every = self.probe.layers.every(embeds, self.at)
        return [every[layer] for layer in self.layers]

    def _stacked(self, states: list[torch.Tensor]) -> torch.Tensor:
        scaled = [
            wide(state) * weight.to(wide(state))[:, None]
            for state, weight in zip(states, self.weights, strict=True)
        ]
        return scaled[0] if len(scaled) == 1 else torch.stack(same_width(scaled), 1)

    def features(self, embeds: torch.Tensor) -> torch.Tensor:
        return self._stacked(self._states(embeds))

    @cached_property
    def _from_ids(self) -> list[torch.Tensor]:
        """The text's own states, from its token ids: a model may number positions by them."""
        return [state[0].double() for state in self._hidden(self.ids[None])]

    @torch.no_grad()
    def _hidden(self, ids: torch.Tensor) -> list[torch.Tensor]:
        if len(self.layers) == 1:
            return [self.probe.layers.hidden(self.layer, ids, torch.ones_like(ids))]
        every = self.probe.layers.every_hidden(ids)
        return [every[layer] for layer in self.layers]

    @torch.no_grad()
    def change(self, ids: torch.Tensor, word: Word, prefix: Prefix | None = None) -> torch.Tensor:
        start = 0 if prefix is None else prefix.length
        found = self._hidden(ids) if prefix is None else prefix.states(ids[:, start:], self.layers)
        total = torch.zeros(len(ids), dtype=torch.float64, device=self.base.device)
        for state, base, weight in zip(found, self._from_ids, self.weights, strict=True):
            total += self._squared(state.double(), base, weight, word, start)
        return total.sqrt()

    def _squared(
        self,
        states: torch.Tensor,
        base: torch.Tensor,
        weight: torch.Tensor,
        word: Word,
        start: int,
    ) -> torch.Tensor:
        """Σ_j w_j²‖h′_j − h_j‖² over the rows that both have, relative to those rows alone; of the
        word's own rows the mean.

        ``states`` are the changed text's rows from ``start`` on; rows before it do not change.
        """
        old, new = (
            rows.to(base.device) for rows in shared_rows(self.n, states.shape[1] + start, word)
        )
        own = torch.isin(old, torch.tensor(word.rows, device=base.device))
        w2 = weight.double()[old].square() / torch.where(own, own.sum(), 1)
        share = float((w2 * base[old].square().sum(1)).sum()) * len(self.layers)
        moved = new >= start
        difference = states[:, new[moved] - start] - base[old[moved]]
        return (w2[moved] * difference.square().sum(2)).sum(1) / share


def same_width(states: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """States (…, d) of several layers, filled up with zeros to the widest: no norm changes.

    OPT with projected embeddings has a narrower last layer.
    """
    width = max(state.shape[-1] for state in states)
    return [torch.nn.functional.pad(state, (0, width - state.shape[-1])) for state in states]


def shared_rows(n: int, changed: int, word: Word) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of a text of n tokens and of a changed one that stand for each other.

    >>> [rows.tolist() for rows in shared_rows(5, 4, Word(1, "unfair", 2, 8, (1, 2)))]
    [[0, 1, 3, 4], [0, 1, 2, 3]]
    """
    if n == changed:
        return torch.arange(n), torch.arange(n)
    front = torch.arange(min(word.rows) + 1)
    behind = n - 1 - max(word.rows)
    back = torch.arange(behind)
    return torch.cat([front, back + n - behind]), torch.cat([front, back + changed - behind])


def row_weights(states: torch.Tensor, scaling: str) -> torch.Tensor:
    """w (n,) with Σ_j w_j²‖h_j‖² = 1: all equal, or one over each row's norm.

    >>> row_weights(torch.tensor([[3.0, 4.0], [0.0, 5.0]]), "rows").square().tolist()
    [0.02, 0.02]
    """
    norms: torch.Tensor = vector_norm(states.double(), dim=1)
    if scaling == "frobenius":
        return torch.full_like(norms, 1.0 / float(vector_norm(norms)))
    root = float(len(norms) ** 0.5)
    return (norms.clamp_min(torch.finfo(torch.float64).tiny) * root).reciprocal()


def chosen_scaling(states: list[torch.Tensor], scaling: str) -> str:
    """ "rows" where rows longer than `SINK` median rows hold over half of ‖H‖_F² in some layer.

    >>> even, sink = torch.ones(4, 2), torch.tensor([[100.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> chosen_scaling([even], "auto"), chosen_scaling([sink], "auto")
    ('frobenius', 'rows')
    """
    if scaling != "auto":
        return scaling
    for state in states:
        norms = state.double().norm(dim=1)
        long = norms > SINK * norms.median()
        if float(norms[long].square().sum()) > 0.5 * float(norms.square().sum()):
            return "rows"
    return "frobenius"


class PooledTarget(Target):
    """The text's embedding, pooled from the last layer; ``cosine`` divides it by its norm."""

    def __init__(self, probe: Probe, encoded: EncodedText, cosine: bool = False) -> None:
        self.probe, self.at, self.ids = probe, encoded.at, encoded.ids
        self.cosine = cosine
        self.name = "cosine" if cosine else "pooled"
        self.layer = probe.layers.count
        self.prefix_model = probe.layers.model
        self.scale = 1.0
        with torch.no_grad():
            self.rows = wide(probe.layers.layer(self.layer, encoded.embeds[None], self.at))[0]
            self.scale = 1.0 / float(pool(self.rows, probe.pooling).double().norm())
            self.base = self._vector(self.rows[None])[0]

    def _vector(self, states: torch.Tensor) -> torch.Tensor:
        pooled = pool(wide(states), self.probe.pooling)
        if self.cosine:
            return unit(pooled)
        return pooled * self.scale

    def features(self, embeds: torch.Tensor) -> torch.Tensor:
        return self._vector(self.probe.layers.layer(self.layer, embeds, self.at))

    @cached_property
    def _from_ids(self) -> torch.Tensor:
        """The text's own rows, from its token ids."""
        return self._hidden(self.ids[None])[0].double()

    def _hidden(self, ids: torch.Tensor) -> torch.Tensor:
        return self.probe.layers.hidden(self.layer, ids, torch.ones_like(ids))

    @torch.no_grad()
    def change(self, ids: torch.Tensor, word: Word, prefix: Prefix | None = None) -> torch.Tensor:
        rows = self._from_ids
        if prefix is None:
            states = self._hidden(ids).double()
        else:
            (found,) = prefix.states(ids[:, prefix.length :], (self.layer,))
            front = rows[: prefix.length].expand(len(ids), -1, -1)
            states = torch.cat([front, found.double()], 1)
        change: torch.Tensor = vector_norm(self._vector(states) - self._vector(rows[None]), dim=1)
        return change

    def reported(self, change: float) -> float:
        return change**2 / 2 if self.cosine else change


class LogitsTarget(Target):
    """The logits of a classifier that was saved with its head."""

    name = "logits"

    def __init__(self, probe: Probe, encoded: EncodedText) -> None:
        self.model: Any = classifier_of(probe)
        if encoded.at != "words":
            raise InputError("words that move", encoded.at, "leave --at at words for logits")
        self.layer = probe.layers.count
        #: Of the text itself, from its token ids.
        self.logits = self.logits_for(encoded.ids[None])[0]
        self.scale = 1.0 / float(self.logits.norm())
        with torch.no_grad():
            self.base = self.features(encoded.embeds[None])[0]
        probe.check_same(self.base, self.logits * self.scale, "in its logits")

    @property
    def label(self) -> int | None:
        """The predicted class; a model with one output gives a score, and has none to flip."""
        return int(self.logits.argmax()) if len(self.logits) > 1 else None

    def probability(self, logits: torch.Tensor) -> float:
        """What logits (classes,) give to the label of the text itself: a share of all labels, or,
        where several may be true at a time, its own.
        """
        several = self.model.config.problem_type == "multi_label_classification"
        shares = torch.sigmoid(logits) if several else torch.softmax(logits, 0)
        return float(shares[self.label or 0])

    def features(self, embeds: torch.Tensor) -> torch.Tensor:
        return wide(logits_of(self.model, inputs_embeds=embeds)) * self.scale

    def logits_for(self, ids: torch.Tensor) -> torch.Tensor:
        """Logits (B, classes) in float64 of texts given as token ids."""
        with torch.no_grad():
            device = next(self.model.parameters()).device
            return logits_of(self.model, input_ids=ids.to(device)).double()

    def change(self, ids: torch.Tensor, word: Word, prefix: Prefix | None = None) -> torch.Tensor:
        change: torch.Tensor = vector_norm(self.logits_for(ids) - self.logits, dim=1)
        return change * self.scale


class NextTokenTarget(Target):
    """√p of the next token's probabilities p after the text."""

    name = "next-token"

    def __init__(self, probe: Probe, encoded: EncodedText) -> None:
        self.model: Any = next_token_model(probe)
        self.prefix_model = self.model
        if encoded.at != "words":
            raise InputError("words that move", encoded.at, "leave --at at words for next-token")
        self.layer = probe.layers.count
        self.ids = encoded.ids
        with torch.no_grad():
            self.base = self.features(encoded.embeds[None])[0]
            probe.check_same(self.base, self._from_ids[0], "for the next token")

    @cached_property
    def _from_ids(self) -> torch.Tensor:
        return self._roots(logits_of(self.model, input_ids=self.ids[None])[:, -1].double())

    @staticmethod
    def _roots(logits: torch.Tensor) -> torch.Tensor:
        return (torch.log_softmax(logits, dim=-1) / 2).exp()

    def features(self, embeds: torch.Tensor) -> torch.Tensor:
        return self._roots(wide(logits_of(self.model, inputs_embeds=embeds)[:, -1]))

    @torch.no_grad()
    def change(self, ids: torch.Tensor, word: Word, prefix: Prefix | None = None) -> torch.Tensor:
        if prefix is None:
            logits = logits_of(self.model, input_ids=ids.to(self.base.device))
        else:
            logits = prefix.logits(ids[:, prefix.length :])
        roots = self._roots(logits[:, -1].double())
        change: torch.Tensor = vector_norm(roots - self._from_ids, dim=1)
        return change
