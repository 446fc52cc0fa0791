"""The rows before a changed word, computed once: in a causal model they cannot change.

Keys and values of the prefix are kept, and every text with another word in that place is run from
there on. Whether a model is causal is tested on the model itself: two texts that differ in their
last token must have the same rows before it; and the cached pass must agree with the full one on
the given text: a model with sliding-window attention drops keys only in longer texts.
"""

from __future__ import annotations

import copy
from typing import Any

import torch

from wordsway.core.reading import Word
from wordsway.models.probe import ROUNDING, EncodedText, Probe, relative_difference


class Prefix:
    """Keys and values of a text's first tokens, ids (n,), in a causal model.

    ``model`` gives hidden states, with or without a head on it. All keys are kept, those outside of
    a layer's window, too: its mask selects those that count, and positions are counted from the
    first.
    """

    @torch.no_grad()
    def __init__(self, model: Any, ids: torch.Tensor) -> None:
        from transformers import DynamicCache

        self.model, self.length = model, len(ids)
        self.device = next(model.parameters()).device
        self.cache = DynamicCache()  # without the model's configuration: windows would drop keys
        model(input_ids=ids[None].to(self.device), past_key_values=self.cache, use_cache=True)
        if self.cache.get_seq_length() != self.length:
            raise ValueError("a cache that does not hold all of its rows")

    def run(self, ids: torch.Tensor, **options: Any) -> Any:
        """What the model makes of texts that go on with ids (B, s)."""
        B, new = ids.shape
        cache = copy.deepcopy(self.cache)
        cache.batch_repeat_interleave(B)
        mask = torch.ones(B, self.length + new, dtype=torch.long, device=self.device)
        return self.model(
            input_ids=ids.to(self.device),
            attention_mask=mask,
            past_key_values=cache,
            use_cache=True,
            **options,
        )

    @torch.no_grad()
    def states(self, ids: torch.Tensor, layers: tuple[int, ...]) -> list[torch.Tensor]:
        """hidden_states of these layers (B, s, d) for texts that go on with ids (B, s)."""
        hidden = self.run(ids, output_hidden_states=True).hidden_states
        return [hidden[layer] for layer in layers]

    @torch.no_grad()
    def logits(self, ids: torch.Tensor) -> torch.Tensor:
        """Logits (B, s, vocabulary) of texts that go on with ids (B, s)."""
        logits: torch.Tensor = self.run(ids).logits
        return logits


def prefix_of(probe: Probe, encoded: EncodedText, word: Word, model: Any) -> Prefix | None:
    """The rows before a word in ``model``; None at the beginning, where they may change, and where
    the text itself has other states behind them than in a whole pass.
    """
    length, ids, last = min(word.rows), encoded.ids, probe.layers.count
    if length == 0 or encoded.at != "words" or not probe.is_causal:
        return None
    whole = probe.layers.hidden(last, ids[None])[:, length:]
    try:
        kept = Prefix(probe.layers.model, ids[:length])
        (cached,) = kept.states(ids[None, length:], (last,))
    except Exception:  # no such cache in this model: as many kinds of error as models
        return None
    if relative_difference(cached, whole) > ROUNDING:
        return None
    return kept if model is probe.layers.model else Prefix(model, ids[:length])
