"""A pretrained model's hidden states, up to the layer that is asked for and no further."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from wordsway.errors import InputError, WordswayError
from wordsway.models.files import ModelFiles
from wordsway.models.load import Loading, load


class _Reached(Exception):
    """The layer is computed; the rest of the forward pass is not needed."""


class Entrance(NamedTuple):
    """The call, counted from 1, of a module: layers that share their weights are calls of the same
    one.
    """

    module: torch.nn.Module
    call: int


class Layers:
    """hidden_states[l] of a model, l = 0 … L, equal to what ``AutoModel(…,
    output_hidden_states=True)`` gives.

    Which module takes hidden_states[l] in is found by running the model once and comparing, so that
    any architecture whose layers hand their states on works; the pass then stops there. Layer 0 is
    word + position + type embeddings after LayerNorm for BERT, whatever its input layer is for
    others.
    """

    def __init__(self, files: ModelFiles, how: Loading | None = None) -> None:
        self.model: Any = load(files, how)
        self.device = next(self.model.parameters()).device
        self.entrances, self.doors = self._find_entrances()

    @property
    def count(self) -> int:
        """L: the layers behind the input."""
        return len(self.entrances) - 1

    def number(self, layer: int | str, others: str = "") -> int:
        """A layer as its number: 0 or "input" … L or "last"; ``others`` are names that the caller
        knows besides.
        """
        try:
            number = {"input": 0, "last": self.count}.get(str(layer))
            number = int(layer) if number is None else number
        except ValueError:
            number = -1
        if not 0 <= number <= self.count:
            raise InputError(
                f"a layer: input, last{others} or 0 to {self.count}",
                repr(layer),
                "0 is the input layer",
            )
        return number

    @torch.no_grad()
    def words(self, ids: torch.Tensor) -> torch.Tensor:
        """Bare word vectors: the rows of the input embedding matrix, no position, no normalisation."""
        return self.model.get_input_embeddings()(ids.to(self.device)).float()

    @torch.no_grad()
    def hidden(self, layer: int, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """hidden_states[layer] (B, n, d) for token ids (B, n) and attention mask (B, n)."""
        ids, mask = ids.to(self.device), mask.to(self.device)
        entrance = self.entrances[layer]
        limit = getattr(self.model.config, "max_position_embeddings", None)
        try:
            if limit is not None and ids.shape[1] > limit:
                raise IndexError
            if entrance is None:
                return self.model(
                    input_ids=ids, attention_mask=mask, output_hidden_states=True, use_cache=False
                ).hidden_states[layer]
            return self._until(entrance, {"input_ids": ids, "attention_mask": mask})
        except IndexError:
            raise InputError(
                f"fewer tokens (this model has {limit} positions)",
                ids.shape[1],
                "take a smaller n or context",
            ) from None

    def layer(self, layer: int, embeds: torch.Tensor, at: str = "words") -> torch.Tensor:
        """hidden_states[layer] (B, n, d) of texts given as input embeddings (B, n, ·),
        differentiable.

        ``at="words"`` takes rows of the embedding matrix (transformers' ``inputs_embeds``),
        ``at="input"`` hidden_states[0] itself.
        """
        if at == "input" and layer == 0:
            return embeds
        entrance = self.entrances[layer]
        if entrance is None:
            return self.every(embeds, at)[layer]
        with self._entering(embeds, at) as asked:
            return self._until(entrance, asked)

    def every(self, embeds: torch.Tensor, at: str = "words") -> list[torch.Tensor]:
        """All of hidden_states for texts given as input embeddings."""
        with self._entering(embeds, at) as asked:
            states = list(
                self.model(**asked, output_hidden_states=True, use_cache=False).hidden_states
            )
        return [embeds, *states[1:]] if at == "input" else states

    def attentions(self, embeds: torch.Tensor, at: str = "words") -> list[torch.Tensor]:
        """Every layer's attention (B, heads, n, n); the model has to be loaded with ``eager``."""
        with self._entering(embeds, at) as asked:
            found = self.model(**asked, output_attentions=True, use_cache=False).attentions
        if not found or any(one is None for one in found):
            raise WordswayError(
                "this model shows no attention; it has to be loaded with eager attention"
            )
        return list(found)

    @contextlib.contextmanager
    def _entering(self, embeds: torch.Tensor, at: str) -> Iterator[dict[str, Any]]:
        """What to call the model with so that it computes on these embeddings."""
        mask = torch.ones(embeds.shape[:2], dtype=torch.long, device=embeds.device)
        if at == "words":
            yield {"inputs_embeds": embeds, "attention_mask": mask}
            return
        if not self.doors:
            raise WordswayError(
                "this model's input layer cannot be reached; move its word embeddings instead"
            )
        calls: dict[torch.nn.Module, int] = {}

        def enter(
            module: torch.nn.Module, positional: tuple[Any, ...], named: dict[str, Any]
        ) -> Any:
            calls[module] = calls.get(module, 0) + 1
            return (
                _replaced(positional, named, embeds)
                if Entrance(module, calls[module]) in self.doors
                else None
            )

        handles = [
            module.register_forward_pre_hook(enter, with_kwargs=True)
            for module in {door.module for door in self.doors}
        ]
        try:
            yield {
                "input_ids": torch.full(embeds.shape[:2], 5, device=self.device),
                "attention_mask": mask,
            }  # any ids: they are replaced
        finally:
            for handle in handles:
                handle.remove()

    def _until(self, entrance: Entrance, asked: dict[str, Any]) -> torch.Tensor:
        reached: list[torch.Tensor] = []

        def stop(
            module: torch.nn.Module, positional: tuple[Any, ...], named: dict[str, Any]
        ) -> None:
            reached.append(_states(positional, named))
            if len(reached) == entrance.call:
                raise _Reached

        handle = entrance.module.register_forward_pre_hook(stop, with_kwargs=True)
        try:
            self.model(**asked, use_cache=False)
        except _Reached:
            return reached[-1]
        finally:
            handle.remove()
        raise WordswayError(
            "this model's layers run in another order for this input; please report it"
        )

    @torch.no_grad()
    def _find_entrances(self) -> tuple[list[Entrance | None], list[Entrance]]:
        """For every hidden state the first call that takes it in (None: only the whole pass yields
        it); every call that takes the input.
        """
        taken: list[tuple[Entrance, torch.Tensor | None]] = []
        calls: dict[torch.nn.Module, int] = {}

        def note(
            module: torch.nn.Module, positional: tuple[Any, ...], named: dict[str, Any]
        ) -> None:
            calls[module] = calls.get(module, 0) + 1
            taken.append((Entrance(module, calls[module]), _states(positional, named)))

        handles = [
            module.register_forward_pre_hook(note, with_kwargs=True)
            for module in self.model.modules()
            if module is not self.model
        ]
        try:
            ids = torch.arange(5, 9, device=self.device)[None]
            out = self.model(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                output_hidden_states=True,
                use_cache=False,
            )
        finally:
            for handle in handles:
                handle.remove()
        if not getattr(out, "hidden_states", None):
            raise WordswayError(
                "this model gives no hidden states, so its layers cannot be reached"
            )
        doors = [entrance for entrance, states in taken if states is out.hidden_states[0]]
        return [
            next((entrance for entrance, states in taken if states is state), None)
            for state in out.hidden_states
        ], doors


def _states(positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The first tensor that a module was called with."""
    return next(
        (value for value in (*positional, *named.values()) if isinstance(value, torch.Tensor)), None
    )


def _replaced(
    positional: tuple[Any, ...], named: dict[str, Any], states: torch.Tensor
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same call with other states."""
    for place, value in enumerate(positional):
        if isinstance(value, torch.Tensor):
            return (*positional[:place], states, *positional[place + 1 :]), named
    name = next(name for name, value in named.items() if isinstance(value, torch.Tensor))
    return positional, named | {name: states}
