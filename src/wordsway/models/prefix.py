"""The rows before a changed word, computed once: in a causal model they cannot change.

Keys and values of the prefix are kept, and every text with another word in that place is run from
there on. Whether a model is causal is tested on the model itself: two texts that differ in their
last token must have the same rows before it; and the cached pass must agree with the full one on
the given text: a model with sliding-window attention drops keys only in longer texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch

from wordsway.core.reading import Word
from wordsway.models.probe import EncodedText, Probe

#: Keys and values of every layer, (1, heads, length, ·) each.
KeyValues = Sequence[tuple[torch.Tensor, torch.Tensor]]
#: Largest relative difference between the cached pass and the whole one.
TOLERANCE = 1e-4
_CAUSAL: WeakKeyDictionary[Probe, bool] = WeakKeyDictionary()
#: Number of tokens of a text → whether cached keys and values give the same.
_CACHED: WeakKeyDictionary[Probe, dict[int, bool]] = WeakKeyDictionary()


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
        self._repeated: tuple[int, Any] = 0, None

    @classmethod
    def of(cls, model: Any, ids: torch.Tensor) -> Prefix:
        """Of the tokens ids (n,), in one pass."""
        return cls.beside(model, ids)[0]

    @classmethod
    @torch.no_grad()
    def beside(cls, model: Any, ids: torch.Tensor, **options: Any) -> tuple[Prefix, Any]:
        """The same, and what else the model makes of these tokens."""
        from transformers import DynamicCache

        cache = DynamicCache()  # without the model's configuration, whose windows would drop keys
        device = next(model.parameters()).device
        out = model(
            input_ids=ids[None].to(device), past_key_values=cache, use_cache=True, **options
        )
        kept = [(layer.keys, layer.values) for layer in cache.layers]
        if {len(ids)} != {keys.shape[-2] for keys, _ in kept}:
            raise ValueError("a cache that does not hold all of its rows")
        return cls(model, kept), out

    def first(self, length: int) -> Prefix:
        """The first tokens of them."""
        return Prefix(self.model, [(k[..., :length, :], v[..., :length, :]) for k, v in self.kept])

    def cache(self) -> Any:
        """A cache of transformers' own that begins with them, to be filled further."""
        from transformers import DynamicCache

        cache = DynamicCache()
        for number, (keys, values) in enumerate(self.kept):
            cache.update(keys, values, number)
        return cache

    def run(self, ids: torch.Tensor, **options: Any) -> Any:
        """What the model makes of texts that go on with ids (B, s).

        The cache, repeated for B texts, is cropped afterwards and serves the next B texts.
        """
        B, new = ids.shape
        repeats, cache = self._repeated
        self._repeated = 0, None  # a pass that fails leaves a cache in an unknown state
        if repeats != B:
            cache = self.cache()
            cache.batch_repeat_interleave(B)
        mask = torch.ones(B, self.length + new, dtype=torch.long, device=self.device)
        out = self.model(
            input_ids=ids.to(self.device),
            attention_mask=mask,
            past_key_values=cache,
            use_cache=True,
            **options,
        )
        cache.crop(-new)
        self._repeated = B, cache
        return out

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
    """The rows before a word in ``model``; None at the beginning, and where they may change."""
    length = min(word.rows)
    if length == 0 or encoded.at != "words" or not can_reuse(probe, encoded.ids):
        return None
    return Prefix.of(model, encoded.ids[:length])


def is_causal(probe: Probe) -> bool:
    """Whether rows never see the tokens behind them."""
    if probe not in _CAUSAL:
        ids = _two_texts(probe)
        states = probe.layers.hidden(probe.layers.count, ids, torch.ones_like(ids)).double()
        before = (states[0, :-1] - states[1, :-1]).norm() <= TOLERANCE * states[0, :-1].norm()
        after = (states[0, -1] - states[1, -1]).norm() > TOLERANCE * states[0, -1].norm()
        _CAUSAL[probe] = bool(before and after)
    return _CAUSAL[probe]


def can_reuse(probe: Probe, ids: torch.Tensor) -> bool:
    """Whether the model is causal, and a pass from kept keys and values gives the same states as
    the whole one, in texts as long as this one.
    """
    known = _CACHED.setdefault(probe, {})
    if len(ids) not in known:
        known[len(ids)] = len(ids) > 1 and is_causal(probe) and _gives_the_same(probe, ids)
    return known[len(ids)]


def _gives_the_same(probe: Probe, ids: torch.Tensor) -> bool:
    last, n = probe.layers.count, len(ids)
    whole = probe.layers.hidden(last, ids[None], torch.ones_like(ids)[None]).double()
    for length in {max(1, n // 2), n - 1}:
        try:
            kept = Prefix.of(probe.layers.model, ids[:length])
            (cached,) = kept.states(ids[None, length:], (last,))
        except Exception:  # no such cache in this model: as many kinds of error as models
            return False
        rest = whole[:, length:]
        if cached.shape != rest.shape:
            return False
        if (cached.double() - rest).norm() > TOLERANCE * rest.norm():
            return False
    return True


def _two_texts(probe: Probe) -> torch.Tensor:
    """Two texts of six tokens that differ in the last."""
    ids = torch.arange(5, 11, device=probe.layers.device).repeat(2, 1)
    ids[1, -1] = 4
    return ids
