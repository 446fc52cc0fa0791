"""Which real words are likely in a place.

The first of these that is available decides:

1. the model's own head: a masked one by the probability of the word on the text with the word
   masked, a causal one by that of the whole text, both sides of the word, with each candidate;
2. another language model (`HELPERS`), in the same way: an installed one, or the last one, fetched.

Words are kept from the likeliest on until they hold `NUCLEUS` of the probability.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch

from wordsway import data
from wordsway.core.progress import Progress, silent
from wordsway.core.reading import Word
from wordsway.models.files import locate
from wordsway.models.heads import (
    logits_of,
    masked_model,
    next_token_model,
    predicts_next,
    saved_with,
)
from wordsway.models.load import Kind, Loading, MissingWeightsError, load
from wordsway.models.probe import EncodedText, Probe
from wordsway.models.tokens import Reader
from wordsway.probing.candidates import Candidates
from wordsway.probing.differences import common

#: The share of the probability that kept words hold, and the fewest words that are kept.
NUCLEUS, FEWEST = 0.95, 10
#: Models of the catalogue that score words for models without a head, the best first.
HELPERS: dict[str, Kind] = {"bert-base": "masked", "smollm2": "causal"}
#: The one that is fetched where none is installed.
FETCHED = "smollm2"
#: Characters around the word that are read at least; words whose whole text it reads;
#: how many of them at once; and the tokens of the text from the word on.
AROUND, SCREENED, AT_ONCE, BEHIND = 300, 128, 32, 16
#: The token between two documents of a language model's training texts; else its first or last one.
SEPARATOR = "<|endoftext|>"
#: Token ids of a part of a text.
Tokens = tuple[int, ...]


def plausible(
    probe: Probe,
    encoded: EncodedText,
    word: Word,
    found: Candidates,
    progress: Progress = silent,
) -> tuple[Candidates, dict[str, float], str]:
    """The likely candidates, their probabilities, and whose probabilities they are."""
    scorer = _own_head(probe)
    if scorer is not None:
        how = f"{'masked' if scorer.kind == 'masked' else 'next'}-token probability"
    else:
        helper = next((name for name in HELPERS if data.present(name) is not None), None)
        helper = helper or data.get(FETCHED, progress=progress).entry.name
        how = f"probability in {helper}"
        progress(f"scoring words with {helper}", 0, 0)
        scorer = _helper(helper)
    return _likely(found, scorer.chances(encoded.text, word, found.words), how)


def _own_head(probe: Probe) -> _Scorer | None:
    """The model with the language head that it was saved with, if it has one."""
    if saved_with(probe, "MaskedLM") and _mask(probe.reader) is not None:
        with suppress(MissingWeightsError):  # named by an encoder that was saved without it
            return _Scorer(probe.reader, masked_model(probe), "masked")
    if predicts_next(probe.files, probe.options):
        return _Scorer(probe.reader, next_token_model(probe), "causal")
    return None


def _mask(reader: Reader) -> int | None:
    named = (reader.tokenizer.token_to_id(name) for name in ("[MASK]", "<mask>"))
    return next((token for token in named if token is not None), None)


@dataclass(frozen=True)
class _Scorer:
    """A language model, with its own tokenizer, that scores words in the place of another."""

    reader: Reader
    model: Any
    kind: Kind

    def chances(self, text: str, word: Word, spellings: Sequence[str]) -> torch.Tensor:
        """Each spelling's probability in the place of ``word``; 0 if far below others."""
        start, end = near(text, word.start, word.end, AROUND)
        before, after = text[start : word.start], text[word.end : end]
        texts = self.reader.ids([f"{before}{name}{after}" for name in spellings])
        if self.kind == "masked":
            return self._masked(before, after, texts)
        return self._causal(self.reader.ids([before.rstrip()])[0], texts)

    def _masked(self, before: str, after: str, texts: list[list[int]]) -> torch.Tensor:
        """P(word | both sides), of words that are one token of this model."""
        mask = _mask(self.reader)
        assert mask is not None
        spelled = self.reader.tokenizer.id_to_token(mask)
        (ids,) = self.reader.ids([f"{before}{spelled}{after}"])
        row = ids.index(mask)
        logits = logits_of(self.model, input_ids=torch.tensor([ids], device=self.model.device))
        p = torch.softmax(logits[0, row].detach().double(), 0).cpu()
        whole = [
            len(one) == len(ids) and one[:row] == ids[:row] and one[row + 1 :] == ids[row + 1 :]
            for one in texts
        ]
        return torch.tensor(
            [float(p[one[row]]) if fits else 0.0 for one, fits in zip(texts, whole, strict=True)]
        )

    def _causal(self, before: list[int], texts: list[list[int]]) -> torch.Tensor:
        """P(text with the word), normalised over the `SCREENED` words that are the likeliest by
        their first two tokens; words are screened by their first token before.
        """
        config, separator = self.model.config, self.reader.tokenizer.token_to_id(SEPARATOR)
        known = (separator, config.bos_token_id, config.eos_token_id)
        start = next((token for token in known if isinstance(token, int)), 0)
        keep = min(common(before, ids) for ids in texts)
        with torch.no_grad():
            ids = torch.tensor([[start, *before[:keep]]], device=self.model.device)
            read = self.model(input_ids=ids, use_cache=True)
        first = torch.log_softmax(read.logits[0, -1].double(), 0)
        behind = [tuple(ids[keep : keep + BEHIND]) for ids in texts]
        one = {ids[:1]: float(first[ids[0]]) for ids in behind}
        tokens = sorted(one, key=lambda ids: -one[ids])[:SCREENED]
        pairs = list({ids[:2] for ids in behind if ids[:1] in set(tokens)})
        two = self._scores(read.past_key_values, one, pairs, start)
        order = sorted(range(len(texts)), key=lambda at: -two.get(behind[at][:2], -torch.inf))
        chosen = [at for at in order[:SCREENED] if behind[at][:2] in two]
        whole = self._scores(read.past_key_values, one, [behind[at] for at in chosen], start)
        chances = torch.zeros(len(texts), dtype=torch.float64)
        logs = torch.tensor([whole[behind[at]] for at in chosen], dtype=torch.float64)
        chances[chosen] = torch.softmax(logs, 0)
        return chances

    @torch.no_grad()
    def _scores(
        self, cache: Any, one: dict[Tokens, float], texts: list[Tokens], filler: int
    ) -> dict[Tokens, float]:
        """log P of continuations of the text in ``cache``, given their first tokens'."""
        inputs: dict[Tokens, list[Tokens]] = {}  # of continuations that differ in the last token
        for ids in texts:
            inputs.setdefault(ids[:-1], []).append(ids)
        starts = [ids for ids in inputs if ids]
        found = {ids: one[ids] for ids in inputs.get((), [])}
        for begin in range(0, len(starts), AT_ONCE):
            some = starts[begin : begin + AT_ONCE]
            length = max(map(len, some))
            rows = [[*ids, *[filler] * (length - len(ids))] for ids in some]
            given = torch.tensor(rows, device=self.model.device)
            own = copy.deepcopy(cache)
            own.batch_repeat_interleave(len(some))
            logits = self.model(input_ids=given, past_key_values=own, use_cache=True).logits
            logs = logits - logits.logsumexp(2, keepdim=True)
            for row, ids in enumerate(some):
                inner = sum(float(logs[row, at, token]) for at, token in enumerate(ids[1:]))
                for whole in inputs[ids]:
                    found[whole] = one[ids[:1]] + inner + float(logs[row, len(ids) - 1, whole[-1]])
        return found


def near(text: str, start: int, end: int, around: int) -> tuple[int, int]:
    """Where a window around text[start:end] begins and ends: at white space, at least ``around``
    characters away.

    >>> text = "a " * 40 + "word" + " b" * 40
    >>> near(text, 80, 84, 35), near("a short text", 2, 7, 35)
    ((44, 120), (0, 12))
    """
    first = max(text.rfind(space, 0, max(0, start - around)) for space in " \n\t")
    spaces = [text.find(space, end + around) for space in " \n\t"]
    last = min((at for at in spaces if at >= 0), default=len(text))
    return first + 1, last


@lru_cache(maxsize=1)
def _helper(name: str) -> _Scorer:
    files = locate(name)
    return _Scorer(Reader(files, None), load(files, Loading(HELPERS[name])), HELPERS[name])


def _likely(
    found: Candidates, p: torch.Tensor, how: str
) -> tuple[Candidates, dict[str, float], str]:
    order = p.argsort(descending=True)
    held = p[order].cumsum(0) / p.sum()
    count = min(max(FEWEST, int((held < NUCLEUS).sum()) + 1), int((p > 0).sum()))
    places = sorted(order[:count].tolist())
    chances = {found.words[place]: float(p[place]) for place in places}
    ids = [found.ids[place] for place in places]
    return Candidates(list(chances), ids, found.refused), chances, how
