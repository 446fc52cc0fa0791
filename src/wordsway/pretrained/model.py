"""A pretrained model's hidden states, up to the layer that is asked for and no further."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from wordsway.errors import InputError, WordswayError
from wordsway.pretrained.files import ModelFiles


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No bars and no chatter of transformers on standard error."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


class _Reached(Exception):
    """The layer is computed; the rest of the forward pass is not needed."""


class Entrance(NamedTuple):
    """The call, counted from 1, of a module: layers that share their weights are calls of the same one."""

    module: torch.nn.Module
    call: int


class Layers:
    """hidden_states[l] of a model, l = 0 … L, equal to what ``AutoModel(…, output_hidden_states=True)`` gives.

    Which module takes hidden_states[l] in is found by running the model once and comparing, so that any architecture
    whose layers hand their states on works; the pass then stops there. Layer 0 is word + position + type embeddings
    after LayerNorm for BERT, whatever its input layer is for others.
    """

    def __init__(self, files: ModelFiles, device: torch.device | str = "cpu") -> None:
        folder = files.verified()
        try:
            with quiet():
                from transformers import AutoModel

                model = AutoModel.from_pretrained(
                    folder, local_files_only=True, trust_remote_code=False, use_safetensors=True, dtype="float32"
                )
        except Exception as error:  # transformers and safetensors raise whatever they come across
            raise WordswayError(
                f"{files.name} could not be loaded ({(str(error).strip() or type(error).__name__).splitlines()[0][:200]}): "
                "it has to be a transformers model with config.json and safetensors weights"
            ) from None
        self.model: Any = model.eval().to(device)
        if self.model.config.is_encoder_decoder:
            self.model = self.model.get_encoder()
        self.device = torch.device(device)
        self.entrances = self._find_entrances()

    @property
    def count(self) -> int:
        """L: the layers behind the input."""
        return len(self.entrances) - 1

    def number(self, layer: int | str) -> int:
        """A layer as its number: 0 or "input" … L or "last"."""
        try:
            number = {"input": 0, "last": self.count}.get(str(layer))
            number = int(layer) if number is None else number
        except ValueError:
            number = -1
        if not 0 <= number <= self.count:
            raise InputError(f"a layer: input, last, words or 0 to {self.count}", repr(layer), "0 is the input layer")
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
                return self.model(input_ids=ids, attention_mask=mask, output_hidden_states=True, use_cache=False).hidden_states[layer]
            return self._until(entrance, ids, mask)
        except IndexError:
            raise InputError(f"fewer tokens (this model has {limit} positions)", ids.shape[1], "take a smaller n or context") from None

    def _until(self, entrance: Entrance, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        reached: list[torch.Tensor] = []

        def stop(module: torch.nn.Module, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
            reached.append(_states(positional, named))
            if len(reached) == entrance.call:
                raise _Reached

        handle = entrance.module.register_forward_pre_hook(stop, with_kwargs=True)
        try:
            self.model(input_ids=ids, attention_mask=mask, use_cache=False)
        except _Reached:
            return reached[-1]
        finally:
            handle.remove()
        raise WordswayError("this model's layers run in another order for this input; please report it")

    @torch.no_grad()
    def _find_entrances(self) -> list[Entrance | None]:
        """For every hidden state the first call that takes it in; None where only the whole pass yields it."""
        taken: list[tuple[Entrance, torch.Tensor | None]] = []
        calls: dict[torch.nn.Module, int] = {}

        def note(module: torch.nn.Module, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
            calls[module] = calls.get(module, 0) + 1
            taken.append((Entrance(module, calls[module]), _states(positional, named)))

        handles = [module.register_forward_pre_hook(note, with_kwargs=True) for module in self.model.modules() if module is not self.model]
        try:
            ids = torch.arange(5, 9, device=self.device)[None]
            out = self.model(input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True, use_cache=False)
        finally:
            for handle in handles:
                handle.remove()
        if not getattr(out, "hidden_states", None):
            raise WordswayError("this model gives no hidden states, so its layers cannot be reached")
        return [next((entrance for entrance, states in taken if states is state), None) for state in out.hidden_states]


def _states(positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The first tensor that a module was called with."""
    return next((value for value in (*positional, *named.values()) if isinstance(value, torch.Tensor)), None)
