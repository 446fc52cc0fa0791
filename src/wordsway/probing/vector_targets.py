"""Targets that are one vector per text: its embedding, a classifier's logits, the next token."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch
from torch.linalg import vector_norm

from wordsway.core.errors import InputError
from wordsway.core.reading import Word
from wordsway.core.vectors import unit
from wordsway.models.pooling import pool
from wordsway.models.prefix import Prefix
from wordsway.models.probe import Prepared, Probe
from wordsway.probing.heads import classifier_of, logits_of, next_token_model
from wordsway.probing.target import Target, wide


class PooledTarget(Target):
    """The text's embedding, pooled from the last layer; ``cosine`` divides it by its norm."""

    def __init__(self, probe: Probe, prepared: Prepared, cosine: bool = False) -> None:
        self.probe, self.at, self.ids = probe, prepared.at, prepared.ids
        self.cosine = cosine
        self.name = "cosine" if cosine else "pooled"
        self.layer = probe.layers.count
        self.prefix_model = probe.layers.model
        self.scale = 1.0
        with torch.no_grad():
            self.rows = wide(probe.layers.layer(self.layer, prepared.embeds[None], self.at))[0]
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

    def __init__(self, probe: Probe, prepared: Prepared) -> None:
        self.model: Any = classifier_of(probe)
        if prepared.at != "words":
            raise InputError("words that move", prepared.at, "leave --at at words for logits")
        self.layer = probe.layers.count
        #: Of the text itself, from its token ids.
        self.logits = self.logits_for(prepared.ids[None])[0]
        self.scale = 1.0 / float(self.logits.norm())
        with torch.no_grad():
            self.base = self.features(prepared.embeds[None])[0]
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

    def __init__(self, probe: Probe, prepared: Prepared) -> None:
        self.model: Any = next_token_model(probe)
        self.prefix_model = self.model
        if prepared.at != "words":
            raise InputError("words that move", prepared.at, "leave --at at words for next-token")
        self.layer = probe.layers.count
        self.ids = prepared.ids
        with torch.no_grad():
            self.base = self.features(prepared.embeds[None])[0]
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
