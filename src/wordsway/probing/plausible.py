"""Which real words are likely in a place: by the model's own head, or by their part of speech, in
the same form.

A model with a masked-language head is asked with the word masked, a causal one with the text up to
the word. Words are kept from the likeliest on until they hold `NUCLEUS` of the candidates'
probability.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from wordsway.errors import InputError
from wordsway.models.probe import Prepared, Probe
from wordsway.probing.candidates import Candidates
from wordsway.probing.heads import logits_of, masked_model, next_token_model, saved_with
from wordsway.reading import Word
from wordsway.text.parts import parts_in_form

#: The share of the probability that kept words hold, and the fewest words that are kept.
NUCLEUS, FEWEST = 0.95, 20
#: Whether two words can be of one part of speech.
SamePart = Callable[[str, str], bool]


def plausible(
    probe: Probe, prepared: Prepared, word: Word, found: Candidates, same_part: SamePart | None
) -> tuple[Candidates, dict[str, float], str]:
    """The likely candidates, their probabilities where a head gave them, and how it was decided."""
    if saved_with(probe, "MaskedLM"):
        return _likely(found, *_masked(probe, prepared, word), "masked-token probability")
    if saved_with(probe, "CausalLM", "LMHeadModel"):
        return _likely(found, *_next(probe, prepared, word), "next-token probability")
    same_part = same_part or share_a_part
    kept = [place for place, name in enumerate(found.words) if same_part(word.text, name)]
    if not kept:
        raise InputError(
            f"candidates of the same part of speech as {word.text!r}",
            "none",
            "leave --plausible out, or choose another word",
        )
    return _only(found, kept), {}, "part of speech"


def share_a_part(word: str, other: str) -> bool:
    """Whether both words can be of one part of speech, in the forms in which they stand.

    >>> share_a_part("good", "dull"), share_a_part("good", "and"), share_a_part("does", "can")
    (True, False, True)
    >>> share_a_part("loved", "hated"), share_a_part("loved", "hates")
    (True, False)
    >>> share_a_part("good", "haydn")
    False
    """
    return bool(parts_in_form(word.lower()) & parts_in_form(other.lower()))


def _masked(probe: Probe, prepared: Prepared, word: Word) -> tuple[torch.Tensor, int]:
    model = masked_model(probe)
    mask = probe.reader.tokenizer.token_to_id("[MASK]") or probe.reader.tokenizer.token_to_id(
        "<mask>"
    )
    if mask is None:
        raise InputError("a tokenizer with a mask", probe.files.name, "leave --plausible out")
    row = min(word.rows)
    ids = [*prepared.ids[:row].tolist(), mask, *prepared.ids[max(word.rows) + 1 :].tolist()]
    return _probabilities(model, torch.tensor([ids], device=prepared.ids.device), row), row


def _next(probe: Probe, prepared: Prepared, word: Word) -> tuple[torch.Tensor, int]:
    row = min(word.rows)
    if row == 0:
        raise InputError(
            "a word with others before it", f"the first, {word.text!r}", "choose another word"
        )
    return _probabilities(next_token_model(probe), prepared.ids[None, :row], row - 1), row


@torch.no_grad()
def _probabilities(model: Any, ids: torch.Tensor, row: int) -> torch.Tensor:
    return torch.softmax(logits_of(model, input_ids=ids)[0, row].double(), 0).cpu()


def _likely(
    found: Candidates, probabilities: torch.Tensor, row: int, how: str
) -> tuple[Candidates, dict[str, float], str]:
    p = torch.stack([probabilities[ids[row]] for ids in found.ids])
    order = p.argsort(descending=True)
    held = p[order].cumsum(0) / p.sum()
    count = max(FEWEST, int((held < NUCLEUS).sum()) + 1)
    kept = sorted(order[:count].tolist())
    return _only(found, kept), {found.words[place]: float(p[place]) for place in kept}, how


def _only(found: Candidates, kept: list[int]) -> Candidates:
    return Candidates(
        [found.words[place] for place in kept], [found.ids[place] for place in kept], found.refused
    )
