"""What a swap is judged by: a layer's hidden states, the pooled embedding, or a classifier's
logits; as a relative change.
"""

from __future__ import annotations

from typing import Protocol

import torch

from wordsway.errors import InputError, WordswayError
from wordsway.models.load import Loading, load
from wordsway.models.probe import Prepared, Probe
from wordsway.models.startup import quiet
from wordsway.probing.search import Target
from wordsway.reading import Word


class Goal(Protocol):
    """A function g of a text; a changed text is judged by ‖g(changed) − g(text)‖/‖g(text)‖."""

    @property
    def name(self) -> str: ...

    def change(self, ids: torch.Tensor) -> torch.Tensor:
        """The relative change for each of B changed texts of equal length, (B, n′) token ids."""

    def change2(self, embeds: torch.Tensor) -> torch.Tensor:
        """Its square for texts given as embeddings (B, n, d), differentiable."""


class LayerGoal:
    """Hidden states of one layer.

    A swapped word may have fewer or more tokens than the word it replaces. Rows before and behind
    it are compared one to one, and of the word itself the first row; where both have as many
    tokens, the common case, all rows.
    """

    def __init__(self, probe: Probe, prepared: Prepared, word: Word, layer: int) -> None:
        self.probe, self.layer, self.n, self.first = probe, layer, prepared.n, min(word.rows)
        self.behind = prepared.n - 1 - max(word.rows)
        self.name = f"layer {layer}"
        self._target = Target(probe, prepared, layer)
        self._all = self._target.base.double()
        self._base = self._kept(self._target.base[None])[0].double()

    def _kept(self, states: torch.Tensor) -> torch.Tensor:
        front, back = states[:, : self.first + 1], states[:, states.shape[1] - self.behind :]
        return torch.cat([front, back], 1)

    def change(self, ids: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            states = self.probe.layers.hidden(self.layer, ids, torch.ones_like(ids))
        if states.shape[1] == self.n:
            return (states.double() - self._all).flatten(1).norm(dim=1) / self._all.norm()
        return (self._kept(states).double() - self._base).flatten(1).norm(dim=1) / self._base.norm()

    def change2(self, embeds: torch.Tensor) -> torch.Tensor:
        return self._target.change2(embeds)


class PooledGoal:
    """The mean of the last layer's rows: what sentence embeddings are made of."""

    name = "pooled"

    def __init__(self, probe: Probe, prepared: Prepared) -> None:
        self.probe, self.at = probe, prepared.at
        with torch.no_grad():
            self._base = probe.layers.layer(
                probe.layers.count, prepared.embeds[None], prepared.at
            ).mean(1)

    def change(self, ids: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            pooled = self.probe.layers.hidden(
                self.probe.layers.count, ids, torch.ones_like(ids)
            ).mean(1)
        return (pooled - self._base).double().norm(dim=1) / self._base.double().norm()

    def change2(self, embeds: torch.Tensor) -> torch.Tensor:
        pooled = self.probe.layers.layer(self.probe.layers.count, embeds, self.at).mean(1)
        return ((pooled - self._base) ** 2).sum(1) / (self._base**2).sum()


class LogitsGoal:
    """The logits of a classifier that was saved with its head."""

    name = "logits"

    def __init__(self, probe: Probe, prepared: Prepared) -> None:
        if not any(
            "SequenceClassification" in str(one)
            for one in probe.files.config().get("architectures") or ()
        ):
            raise InputError(
                "a model saved with a classifier",
                probe.files.name,
                "judge by a layer or by the pooled embedding",
            )
        if prepared.at != "words":
            raise WordswayError("logits are reached from word embeddings only; leave --at at words")
        how = probe.options
        self.model = load(
            probe.files,
            Loading("classifier", how.device, how.dtype, how.eager, how.remote_code, how.twin),
        )
        if (
            self.model.config.pad_token_id is None
        ):  # texts of a batch have one length: nothing is ever padded
            self.model.config.pad_token_id = -1
        self.device = prepared.embeds.device
        with torch.no_grad():
            self._base = self._logits(inputs_embeds=prepared.embeds[None])

    def _logits(self, **given: torch.Tensor) -> torch.Tensor:
        (one,) = given.values()
        mask = torch.ones(one.shape[:2], dtype=torch.long, device=one.device)
        try:
            with quiet():
                logits: torch.Tensor = self.model(**given, attention_mask=mask).logits
        except (NotImplementedError, ValueError) as error:
            raise WordswayError(
                f"this classifier cannot be asked that way ({str(error).splitlines()[0][:120]}): judge by a layer"
            ) from None
        return logits

    def change(self, ids: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return (self._logits(input_ids=ids.to(self.device)) - self._base).double().norm(
                dim=1
            ) / self._base.double().norm()

    def change2(self, embeds: torch.Tensor) -> torch.Tensor:
        return ((self._logits(inputs_embeds=embeds) - self._base) ** 2).sum(1) / (
            self._base**2
        ).sum()


def goal(probe: Probe, prepared: Prepared, word: Word, target: int | str) -> Goal:
    """A goal by name: a layer ("last", 3, "layer 3"), "pooled" or "logits"."""
    if target == "pooled":
        return PooledGoal(probe, prepared)
    if target == "logits":
        return LogitsGoal(probe, prepared)
    return LayerGoal(
        probe, prepared, word, probe.layers.number(str(target).removeprefix("layer ").strip())
    )
