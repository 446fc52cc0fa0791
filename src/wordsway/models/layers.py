"""A pretrained model's hidden states, up to the layer that is asked for and no further."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import torch

from wordsway.errors import InputError, WordswayError
from wordsway.models.files import ModelFiles
from wordsway.models.load import Loading, load
from wordsway.models.norms import Call, EntryPoint, Norm, norms_of
from wordsway.models.residual import Sublayer, Trace, sublayers


class _Reached(Exception):
    """The layer is computed; the rest of the forward pass is not needed."""


class Layers:
    """hidden_states[l] of a model, l = 0 … L, equal to what ``AutoModel(…,
    output_hidden_states=True)`` gives.

    Which module takes hidden_states[l] in is found by running the model once and comparing, so that
    any architecture whose layers hand their states on works; the pass then stops there. Layer 0 is
    word + position + type embeddings after LayerNorm for BERT, whatever its input layer is for
    others.
    """

    def __init__(self, files: ModelFiles, options: Loading | None = None) -> None:
        self.model: Any = load(files, options)
        self.device = next(self.model.parameters()).device
        states, calls = self._trace(4)
        #: For every hidden state the first call that takes it in; None: only the whole pass has it.
        self.entry_points: list[EntryPoint | None] = [
            next((_entry(call) for call in calls if call.taken is state), None) for state in states
        ]
        #: Every call that takes the input layer's states.
        self.input_calls = [_entry(call) for call in calls if call.taken is states[0]]
        self._norms = norms_of(states, calls)

    @property
    def count(self) -> int:
        """L: the layers behind the input."""
        return len(self.entry_points) - 1

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
        """Bare word vectors: rows of the input embedding matrix, no position, no normalisation."""
        return self.model.get_input_embeddings()(ids.to(self.device)).float()

    @torch.no_grad()
    def hidden(self, layer: int, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """hidden_states[layer] (B, n, d) for token ids (B, n) and attention mask (B, n)."""
        ids, mask = ids.to(self.device), mask.to(self.device)
        entry = self.entry_points[layer]
        limit = getattr(self.model.config, "max_position_embeddings", None)
        try:
            if limit is not None and ids.shape[1] > limit:
                raise IndexError
            if entry is None:
                return self.model(
                    input_ids=ids, attention_mask=mask, output_hidden_states=True, use_cache=False
                ).hidden_states[layer]
            return self._until(entry, {"input_ids": ids, "attention_mask": mask})
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
        entry = self.entry_points[layer]
        if entry is None:
            return self.every(embeds, at)[layer]
        with self._entering(embeds, at) as inputs:
            return self._until(entry, inputs)

    def every(self, embeds: torch.Tensor, at: str = "words") -> list[torch.Tensor]:
        """All of hidden_states for texts given as input embeddings."""
        with self._entering(embeds, at) as inputs:
            states = list(
                self.model(**inputs, output_hidden_states=True, use_cache=False).hidden_states
            )
        return [embeds, *states[1:]] if at == "input" else states

    def attentions(self, embeds: torch.Tensor, at: str = "words") -> list[torch.Tensor]:
        """Every layer's attention (B, heads, n, n); the model has to be loaded with ``eager``."""
        with self._entering(embeds, at) as inputs:
            found = self.model(**inputs, output_attentions=True, use_cache=False).attentions
        if not found or any(weights is None for weights in found):
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
        if not self.input_calls:
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
                if EntryPoint(module, calls[module]) in self.input_calls
                else None
            )

        handles = [
            module.register_forward_pre_hook(_in_this_thread(enter), with_kwargs=True)
            for module in {entry.module for entry in self.input_calls}
        ]
        try:
            yield {
                "input_ids": torch.full(embeds.shape[:2], 5, device=self.device),
                "attention_mask": mask,
            }  # any ids: they are replaced
        finally:
            for handle in handles:
                handle.remove()

    def _until(self, entry: EntryPoint, inputs: dict[str, Any]) -> torch.Tensor:
        reached: list[torch.Tensor] = []

        def stop(
            module: torch.nn.Module, positional: tuple[Any, ...], named: dict[str, Any]
        ) -> None:
            reached.append(_states(positional, named))
            if len(reached) == entry.call:
                raise _Reached

        handle = entry.module.register_forward_pre_hook(_in_this_thread(stop), with_kwargs=True)
        try:
            self.model(**inputs, use_cache=False)
        except _Reached:
            return reached[-1]
        finally:
            handle.remove()
        raise WordswayError(
            "this model's layers run in another order for this input; please report it"
        )

    def norm_after(self, layer: int) -> Norm | None:
        """The normalisation that hidden_states[layer] comes straight out of, if it does.

        For encoders that normalise after each block (BERT and its kin) every layer has one; for
        those that normalise before (GPT-2, Llama, T5, ModernBERT) the last state alone, which
        transformers gives after the final norm. ModernBERT's input layer has one, too.
        """
        return self._norms[layer]

    @cached_property
    def residual(self) -> list[list[Sublayer]] | None:
        """Sublayers between each hidden state and the next (the last state excepted), where they
        add up in a residual stream that is normalised before each of them; else None.
        """
        return sublayers(self.model, Trace(*self._trace(4)), Trace(*self._trace(1)))

    @torch.no_grad()
    def inputs_of(
        self, calls: list[EntryPoint], embeds: torch.Tensor, at: str = "words"
    ) -> list[torch.Tensor]:
        """What these calls take in when texts are given as input embeddings."""
        counts: dict[torch.nn.Module, int] = {}
        taken: dict[EntryPoint, torch.Tensor] = {}

        def take(
            module: torch.nn.Module, positional: tuple[Any, ...], named: dict[str, Any]
        ) -> None:
            counts[module] = counts.get(module, 0) + 1
            taken[EntryPoint(module, counts[module])] = _states(positional, named)

        modules = {call.module for call in calls}
        hook = _in_this_thread(take)
        handles = [one.register_forward_pre_hook(hook, with_kwargs=True) for one in modules]
        try:
            self.every(embeds, at)
        finally:
            for handle in handles:
                handle.remove()
        return [taken[call] for call in calls]

    @torch.no_grad()
    def _trace(self, tokens: int) -> tuple[tuple[torch.Tensor, ...], list[Call]]:
        """Run the model once: its hidden states, and every module's calls in the order in which
        they began.
        """
        calls: list[Call] = []
        running: list[int] = []
        counts: dict[torch.nn.Module, int] = {}

        def begin(
            module: torch.nn.Module, positional: tuple[Any, ...], named: dict[str, Any]
        ) -> None:
            counts[module] = counts.get(module, 0) + 1
            running.append(len(calls))
            calls.append(Call(module, counts[module], _states(positional, named), None))

        def end(module: torch.nn.Module, positional: tuple[Any, ...], given: Any) -> None:
            place = running.pop()
            if isinstance(given, torch.Tensor):
                calls[place] = replace(calls[place], given=given)

        modules = [module for module in self.model.modules() if module is not self.model]
        handles = [
            handle
            for module in modules
            for handle in (
                module.register_forward_pre_hook(_in_this_thread(begin), with_kwargs=True),
                module.register_forward_hook(_in_this_thread(end)),
            )
        ]
        try:
            ids = torch.arange(5, 5 + tokens, device=self.device)[None]
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
        return out.hidden_states, calls


def _entry(call: Call) -> EntryPoint:
    return EntryPoint(call.module, call.number)


def _in_this_thread(hook: Callable[..., Any]) -> Callable[..., Any]:
    """The hook, deaf to calls of other threads: they may run the same model meanwhile."""
    here = threading.get_ident()

    def own(*arguments: Any) -> Any:
        return hook(*arguments) if threading.get_ident() == here else None

    return own


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
