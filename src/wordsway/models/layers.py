"""A pretrained model's hidden states, up to the requested layer and no further."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import torch

from wordsway.core.errors import InputError, WordswayError, first_line
from wordsway.models.files import ModelFiles
from wordsway.models.load import Loading, load
from wordsway.models.memory import ModelInMemory
from wordsway.models.norms import NormLayer, norms_of
from wordsway.models.tracing import (
    Arguments,
    Call,
    EntryPoint,
    first_tensor,
    hooked,
    trace,
    with_states,
)

#: Tokens of the text by which layers are found; Funnel takes no fewer than five.
TRACED = 6
#: torch's message for an index out of range, where it is not an IndexError.
OUTSIDE = re.compile("out of (range|bounds)")


class _Reached(Exception):
    """The layer is computed; the rest of the forward pass is not needed."""


class ModelLayers:
    """hidden_states[l] of a model, l = 0 … L, equal to what ``AutoModel(…,
    output_hidden_states=True)`` gives.

    Which module takes hidden_states[l] in is found by running the model once and comparing, so that
    any architecture whose layers hand their states on works; the pass then stops there. Layer 0 is
    word + position + type embeddings after LayerNorm for BERT, whatever its input layer is for
    others.
    """

    def __init__(self, files: ModelFiles | ModelInMemory, options: Loading | None = None) -> None:
        self.model: Any = load(files, options)
        self.device = next(self.model.parameters()).device
        try:
            states, calls = trace(self.model, TRACED)
        except WordswayError:
            raise
        except Exception as error:  # as many kinds as models
            raise WordswayError(
                f"{files.name} does not run on token ids alone ({first_line(error)} for the ids 5 "
                f"to {4 + TRACED}): take a model of texts whose vocabulary has these ids"
            ) from None
        #: For every hidden state the first call that takes it in; None: only the whole pass has it.
        self.entry_points: list[EntryPoint | None] = [
            next((call.entry for call in calls if call.taken is state), None) for state in states
        ]
        #: Every call that takes the input layer's states.
        self.input_calls = [call.entry for call in calls if call.taken is states[0]]
        #: Layers whose states are not one row per token, with the states of the trace.
        self._without_rows = {
            number: state for number, state in enumerate(states) if state.shape[:-1] != (1, TRACED)
        }
        #: The layer in which each call of a module runs; empty if it cannot be determined.
        self._layers_of = self._numbered(calls)
        self._norms = norms_of(states, calls)

    @property
    def count(self) -> int:
        """L: the layers behind the input."""
        return len(self.entry_points) - 1

    def number(self, layer: int | str, others: str = "") -> int:
        """A layer's number: 0 or "input" … L or "last"; ``others`` are further targets."""
        try:
            number = {"input": 0, "last": self.count}.get(str(layer))
            number = int(layer) if number is None else number
        except ValueError:
            number = -1
        if not 0 <= number <= self.count:
            expected = f"a layer (0 to {self.count}, input or last){others}"
            raise InputError(expected, repr(layer), "0 is the input layer")
        return number

    @cached_property
    def limit(self) -> int | None:
        """The most tokens that the model has positions for; None where its configuration names no
        limit.

        RoBERTa and related models count positions from after their padding token: a table of 514
        takes 512 tokens.
        """
        limit = positions_of(self.model.config)
        tables = [part for part in self.model.modules() if isinstance(part, torch.nn.Embedding)]
        for table in tables:
            if table.num_embeddings == limit and table is not self._table():
                return limit - (0 if table.padding_idx is None else table.padding_idx + 1)
        return limit

    def rows_per_token(self, layer: int) -> bool:
        """Whether a layer's hidden states are one row per token of the text."""
        return layer not in self._without_rows

    def layers_of(self, module: torch.nn.Module) -> list[int]:
        """The layers, 1 … L, in which a module's calls run; none if that is not known."""
        return self._layers_of.get(module, [])

    @torch.no_grad()
    def words(self, ids: torch.Tensor) -> torch.Tensor:
        """Bare word vectors: rows of the input embedding matrix, no position, no normalisation."""
        table = self._table()
        if table is None:
            raise WordswayError(
                "this model has no input embedding matrix, so its words cannot be moved: "
                "pairs, audit and attention read token ids"
            )
        found = table(ids.to(self.device))
        if isinstance(found, tuple) and all(part is None for part in found[1:]):  # I-BERT
            found = found[0]
        if not isinstance(found, torch.Tensor):
            raise WordswayError(
                "this model's input embedding gives more than one row per token (it is quantised), "
                "so its words cannot be moved"
            )
        return found

    def _table(self) -> Any:
        """The input embedding matrix; None where the model has none (CANINE)."""
        try:
            return self.model.get_input_embeddings()
        except NotImplementedError:
            return None

    @torch.no_grad()
    def hidden(
        self, layer: int, ids: torch.Tensor, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        """hidden_states[layer] (B, n, d) for token ids (B, n); padding has 0 in the mask (B, n)."""
        with self._reading(ids, mask) as inputs:
            return self._layer(layer, inputs)

    @torch.no_grad()
    def every_hidden(self, ids: torch.Tensor) -> list[torch.Tensor]:
        """All of hidden_states, (B, n, d) each, for token ids (B, n) without padding."""
        with self._reading(ids) as inputs:
            return self._every(inputs)

    def _layer(self, layer: int, inputs: dict[str, Any]) -> torch.Tensor:
        self._check_rows(layer)
        entry = self.entry_points[layer]
        return self._all_states(inputs)[layer] if entry is None else self._until(entry, inputs)

    def _every(self, inputs: dict[str, Any]) -> list[torch.Tensor]:
        self._check_rows(*range(self.count + 1))
        return self._all_states(inputs)

    def _all_states(self, inputs: dict[str, Any]) -> list[torch.Tensor]:
        return list(self.model(**inputs, output_hidden_states=True, use_cache=False).hidden_states)

    @contextlib.contextmanager
    def _reading(
        self, ids: torch.Tensor, mask: torch.Tensor | None = None
    ) -> Iterator[dict[str, Any]]:
        """The inputs of token ids; texts that are longer than the model's positions are refused."""
        limit, n = positions_of(self.model.config), ids.shape[1]
        mask = torch.ones_like(ids) if mask is None else mask
        try:
            if limit is not None and n > limit:
                raise IndexError
            yield {"input_ids": ids.to(self.device), "attention_mask": mask.to(self.device)}
        except (IndexError, RuntimeError) as error:
            if not (isinstance(error, IndexError) or OUTSIDE.search(str(error))):
                raise
            size = getattr(self._table(), "num_embeddings", None)
            if size is not None and (largest := int(ids.max())) >= size:
                raise InputError(
                    f"token ids below {size:,}, the size of the model's vocabulary",
                    f"{largest:,} from its tokenizer",
                    "save the model with the tokenizer that it was trained with",
                ) from None
            if self.limit is None or n <= self.limit:
                raise WordswayError(
                    f"this model cannot run this text of {n} tokens ({first_line(error)}): check "
                    "that its tokenizer.json belongs to it, or shorten the text"
                ) from None
            raise InputError(
                f"fewer tokens (this model has {self.limit} positions)",
                n,
                "shorten the text, or take a smaller n or context",
            ) from None

    def _check_rows(self, *layers: int) -> None:
        for layer in layers:
            if layer in self._without_rows:
                check_rows(layer, self._without_rows[layer], TRACED)

    def layer(self, layer: int, embeds: torch.Tensor, at: str = "words") -> torch.Tensor:
        """hidden_states[layer] (B, n, d) of texts given as input embeddings (B, n, ·),
        differentiable.

        ``at="words"`` takes rows of the embedding matrix (transformers' ``inputs_embeds``),
        ``at="input"`` hidden_states[0] itself.
        """
        if at == "input" and layer == 0:
            return embeds
        with self._entering(embeds, at) as inputs:
            return self._layer(layer, inputs)

    def every(self, embeds: torch.Tensor, at: str = "words") -> list[torch.Tensor]:
        """All of hidden_states for texts given as input embeddings."""
        with self._entering(embeds, at) as inputs:
            states = self._every(inputs)
        return [embeds, *states[1:]] if at == "input" else states

    def attentions(self, embeds: torch.Tensor, at: str = "words") -> dict[int, torch.Tensor]:
        """Attention (B, heads, n, n) by layer of embeddings; the model must be ``eager``."""
        with self._entering(embeds, at) as inputs:
            return self._attentions(inputs)

    def attentions_of(self, ids: torch.Tensor) -> dict[int, torch.Tensor]:
        """The same for token ids (B, n): some models count positions by them."""
        with self._reading(ids) as inputs:
            return self._attentions(inputs)

    def _attentions(self, inputs: dict[str, Any]) -> dict[int, torch.Tensor]:
        """Attention by the model's own layer numbers, 1 … L; layers without any are left out."""
        given: list[tuple[EntryPoint, Any]] = []

        def after(entry: EntryPoint, output: Any) -> None:
            if isinstance(output, tuple):
                given.append((entry, output))

        with hooked(self.model.modules(), lambda *_: None, after):
            out = self.model(**inputs, output_attentions=True, use_cache=False)
        every = list(getattr(out, "attentions", None) or ())
        found = [one for one in every if one is not None]
        n = inputs["attention_mask"].shape[1]
        if not found:
            raise WordswayError(
                "this model gives no attention weights, even with eager attention "
                "(models without attention, such as Mamba, have none): take another one, "
                "such as minilm"
            )
        if any(not isinstance(one, torch.Tensor) or one.shape[-2:] != (n, n) for one in found):
            raise WordswayError(
                "this model's attention is not a matrix from every token to every other, "
                "so it cannot be shown"
            )
        if len(every) == self.count:
            return {number: one for number, one in enumerate(every, 1) if one is not None}
        layer_of = {
            id(part): number
            for (module, call), parts in given
            for number in self.layers_of(module)[call - 1 : call]
            for part in parts
        }
        by_layer = {layer_of.get(id(one), 0): one for one in found}
        if 0 in by_layer or len(by_layer) < len(found):
            raise WordswayError(
                f"this model gives {len(found)} attention matrices for {self.count} layers, and "
                "their layers cannot be identified"
            )
        return by_layer

    @contextlib.contextmanager
    def _entering(self, embeds: torch.Tensor, at: str) -> Iterator[dict[str, Any]]:
        """The inputs with which the model computes on these embeddings; on a copy of them, since a
        model may change its inputs in place (CTRL).
        """
        embeds = embeds.clone()
        mask = torch.ones(embeds.shape[:2], dtype=torch.long, device=embeds.device)
        if at == "words":
            yield {"inputs_embeds": embeds, "attention_mask": mask}
            return
        if not self.input_calls:
            raise WordswayError(
                "this model's input layer cannot be reached; move its word embeddings instead"
            )

        def before(entry: EntryPoint, arguments: Arguments) -> Arguments | None:
            return with_states(arguments, embeds) if entry in self.input_calls else None

        ids = torch.full(embeds.shape[:2], 5, device=self.device)  # any ids: they are replaced
        with hooked((entry.module for entry in self.input_calls), before):
            yield {"input_ids": ids, "attention_mask": mask}

    def _until(self, entry: EntryPoint, inputs: dict[str, Any]) -> torch.Tensor:
        reached: list[torch.Tensor] = []

        def before(found: EntryPoint, arguments: Arguments) -> None:
            if found == entry:
                reached.append(first_tensor(arguments))
                raise _Reached

        try:
            with hooked([entry.module], before):
                self.model(**inputs, use_cache=False)
        except _Reached:
            return reached[-1]
        raise WordswayError(
            "this model's layers run in another order for this input; please report it"
        )

    def norm_after(self, layer: int) -> NormLayer | None:
        """The normalisation that hidden_states[layer] comes straight out of, if it does.

        For encoders that normalise after each block (BERT and related models) every layer has one;
        for those that normalise before (GPT-2, Llama, T5, ModernBERT) the last state alone, which
        transformers gives after the final norm. ModernBERT's input layer has one, too.
        """
        return self._norms[layer]

    def _numbered(self, calls: list[Call]) -> dict[torch.nn.Module, list[int]]:
        """The layer in which each call of each module runs: l, if it begins after the first call
        that takes hidden_states[l − 1] in and before the one that takes hidden_states[l].
        """
        starts = {entry: number for number, entry in enumerate(self.entry_points) if entry}
        if any(entry is None for entry in self.entry_points[:-1]):
            return {}
        layer = 0
        found: dict[torch.nn.Module, list[int]] = {}
        for call in calls:
            layer = min(starts.get(call.entry, layer - 1) + 1, self.count)
            found.setdefault(call.module, []).append(layer)
        return found


def check_rows(layer: int, states: torch.Tensor, tokens: int) -> None:
    """Refuse hidden states of one text that are not one row per token (Gemma 3n has four streams,
    Funnel fewer rows in later layers).
    """
    if states.shape[:-1] != (1, tokens):
        raise WordswayError(
            f"hidden_states[{layer}] of this model have the shape {tuple(states.shape)} for a text "
            f"of {tokens} tokens, not one row per token: this layer cannot be measured"
        )


def positions_of(config: Any) -> int | None:
    """The length of a model's table of positions; None if it names no limit (XLNet: −1)."""
    limit = getattr(config.get_text_config(), "max_position_embeddings", None)
    return limit if isinstance(limit, int) and limit > 0 else None
