"""Hidden states of one or all layers as a target, and how their rows count.

Dividing by ‖H‖_F lets rows count by their norm. In decoders one row (an attention sink) may be a
hundred times longer than all others and decide the ratio alone; there each row is divided by its
own norm and √n, so that the change is the root mean square over rows of the row's relative change.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import torch
from torch.linalg import vector_norm

from wordsway.core.reading import Word
from wordsway.models.prefix import Prefix
from wordsway.models.probe import Prepared, Probe
from wordsway.probing.target import Target, wide

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
        prepared: Prepared,
        layers: tuple[int, ...],
        scaling: str = "auto",
    ) -> None:
        self.probe, self.at, self.n, self.ids = probe, prepared.at, prepared.n, prepared.ids
        self.layers, self.layer = layers, max(layers)
        self.prefix_model = probe.layers.model
        self.name = f"layer {layers[0]}" if len(layers) == 1 else "all"
        with torch.no_grad():
            states = [wide(state[0]) for state in self._states(prepared.embeds[None])]
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
