"""The rows before a changed word, computed once: in a causal model they cannot change.

Keys and values of the prefix are kept, and every text with another word in that place is run from
there on. Whether a model is causal is tested on the model itself: two texts that differ in their
last token must have the same rows before it; and the cached pass must agree with the full one on
the given text: a model with sliding-window attention drops keys only in longer texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from wordsway.core.reading import Word
from wordsway.models.probe import ROUNDING, EncodedText, Probe, relative_difference

#: Keys and values of every layer, (1, heads, length, ·) each.
KeyValues = Sequence[tuple[torch.Tensor, torch.Tensor]]


class Prefix:
    """Keys and values of a text's first ``length`` tokens in a causal model.

    ``model`` gives hidden states, with or without a head on it. All keys are kept, those outside of
    a layer's window, too: its mask selects those that count, and positions are counted from the
    first.
    """

    def __init__(self, model: Any, kept: KeyValues) -> None:
        self.model, self.kept = model, kept
        self.length = kept[0][0].shape[-2]
        self.device = next(model.parameters()).device

    @classmethod
    @torch.no_grad()
    def of(cls, model: Any, ids: torch.Tensor) -> Prefix:
        """Of the tokens ids (n,), in one pass."""
        from transformers import DynamicCache

        cache = DynamicCache()  # without the model's configuration, whose windows would drop keys
        device = next(model.parameters()).device
        model(input_ids=ids[None].to(device), past_key_values=cache, use_cache=True)
        kept = [(layer.keys, layer.values) for layer in cache.layers]
        if {len(ids)} != {keys.shape[-2] for keys, _ in kept}:
            raise ValueError("a cache that does not hold all of its rows")
        return cls(model, kept)

    def run(self, ids: torch.Tensor, **options: Any) -> Any:
        """What the model makes of texts that go on with ids (B, s)."""
        from transformers import DynamicCache

        B, new = ids.shape
        cache = DynamicCache()
        for number, (keys, values) in enumerate(self.kept):
            cache.update(keys.expand(B, -1, -1, -1), values.expand(B, -1, -1, -1), number)
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
        kept = Prefix.of(probe.layers.model, ids[:length])
        (cached,) = kept.states(ids[None, length:], (last,))
    except Exception:  # no such cache in this model: as many kinds of error as models
        return None
    if relative_difference(cached, whole) > ROUNDING:
        return None
    return kept if model is probe.layers.model else Prefix.of(model, ids[:length])
