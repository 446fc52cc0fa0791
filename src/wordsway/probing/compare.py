"""Two prompts that differ in a word: answers, layers and next tokens (Figure 1, right)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from wordsway.core.checks import Count, OneText, validated
from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, silent
from wordsway.core.result import SequenceResult, table, versions
from wordsway.core.runtime import peak_bytes
from wordsway.models.causal import Causal
from wordsway.models.encoders import names_a_model, with_layers
from wordsway.models.files import locate
from wordsway.models.heads import predicts_next
from wordsway.models.load import Loading
from wordsway.models.probe import Probe
from wordsway.probing.differences import (
    WordEdit,
    common,
    common_end,
    divergence,
    line_up,
    word_edits,
)
from wordsway.probing.relative import chosen_scaling, row_weights
from wordsway.text.clean import text_with_words

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class LayerChange:
    """‖H(a) − H(b)‖/‖H(a)‖ of a layer (None where H(a) is 0).

    ``change`` is over all rows that line up, ``behind`` over those of them behind the common
    prefix, ``last`` on the last row. The first token's row is the largest by far in the middle
    layers of many models, and cannot change: it makes ``change`` small, not ``behind``. ``rows``
    gives all aligned rows equal weight: the root mean square of each row's relative change.
    """

    layer: int
    change: float | None
    behind: float | None
    last: float | None
    rows: float | None = None


def layer_changes(
    a: Sequence[torch.Tensor],
    b: Sequence[torch.Tensor],
    rows: Sequence[tuple[int, int]],
    prefix: int,
) -> tuple[tuple[LayerChange, ...], str]:
    """Relative changes of all layers, in float64, and the scaling that `targets` would choose."""
    of_a, of_b = (torch.tensor(some) for some in zip(*rows, strict=True))
    start = min(prefix, len(rows) - 1)
    found, seen = [], []
    for layer, (mine, other) in enumerate(zip(a, b, strict=True)):
        before, after = mine[of_a].double(), other[of_b].double()
        seen.append(before)
        whole = _relative(before, after)
        behind, last = _relative(before[start:], after[start:]), _relative(before[-1], after[-1])
        equal_rows = None
        if bool(before.any(dim=1).all()):
            equal_rows = float(((after - before) * row_weights(before, "rows")[:, None]).norm())
        found.append(LayerChange(layer, whole, behind, last, equal_rows))
    return tuple(found), chosen_scaling(seen, "auto")


def _relative(before: torch.Tensor, after: torch.Tensor) -> float | None:
    size = float(before.norm())
    return float((after - before).norm()) / size if size else None


@dataclass(frozen=True)
class NextToken:
    """A token that may come next: its probability after this prompt, and after the other one."""

    token: int
    text: str
    probability: float
    other: float


@dataclass(frozen=True)
class Side:
    """One prompt: its tokens (chat template included), the greedy answer, and the likeliest next
    tokens.

    ``cut``: the answer was stopped at the requested number of tokens, ``answer_tokens``.
    """

    prompt: str
    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    answer: str
    answer_tokens: int
    cut: bool
    next: tuple[NextToken, ...]


@dataclass(frozen=True)
class Comparison(
    SequenceResult[LayerChange],
    items="layers",
    brief="kl_ab kl_ba model",
    derived="same_tokens",
):
    """What a causal language model makes of two prompts.

    Rows line up one to one when both prompts have the same number of tokens. Otherwise the first
    ``prefix`` and the last ``suffix`` rows do, those whose tokens are the same in both; rows of the
    words that differ are then left out. The last row, which predicts the next token, always lines
    up with the last. ``aligned`` counts these pairs. ``scaling`` "rows" says that a few rows hold
    most of some layer's norm, so that ``rows`` of a layer is more informative than its ``change``.
    A causal model computes the common prefix without seeing the difference: its rows change by 0.

    ``kl_ab`` is KL(p_a‖p_b) = Σ p_a log(p_a/p_b) over the next token, in nats; ``kl_ba`` the other
    way round. An encoder generates no answer and predicts no next token: there both are None, and
    ``cosine`` is the cosine distance of the two texts' embeddings.
    """

    a: Side
    b: Side
    edits: tuple[WordEdit, ...]
    layers: tuple[LayerChange, ...]
    aligned: int
    prefix: int
    suffix: int
    kl_ab: float | None
    kl_ba: float | None
    chat: bool
    model: dict[str, Any]
    seconds: float
    peak_mb: float
    versions: dict[str, str]
    cosine: float | None = None
    scaling: str = "frobenius"

    @property
    def same_tokens(self) -> bool:
        """Whether the model reads both prompts as the same tokens, so that nothing can differ."""
        return self.a.ids == self.b.ids

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per layer, 0 … L."""
        return table(self.layers, LayerChange)


@validated
def compare(
    a: OneText,
    b: OneText,
    model: Any = "smollm2",
    *,
    tokens: Count = 48,
    top: Count = 10,
    chat: bool = True,
    device: str = "cpu",
    dtype: str = "float32",
    trust_remote_code: bool = False,
    progress: Progress = silent,
) -> Comparison:
    """Answers, layers and next token of a causal language model on two prompts that differ in a
    word.

    Parameters
    ----------
    model : a name of the catalogue, a hub id, a folder that `save_pretrained` wrote, a probe, or
        (model, tokenizer) of transformers; one without a head for the next token is compared layer
        by layer, and by its embeddings
    tokens : the most that an answer may have; decoding is greedy, so that it is the same on every
        run
    top : likeliest next tokens to list of each prompt
    chat : put prompts in the model's chat template, if it has one
    trust_remote_code : run Python that comes with the model
    """
    began = time.perf_counter()
    text_with_words(a, "a first prompt")
    text_with_words(b, "a second prompt")
    if a == b:
        raise InputError(
            "two prompts that differ in a word", "the same prompt twice", "change a word of one"
        )
    if not names_a_model(model):
        model = with_layers(model, "compare")
    if isinstance(model, Probe):
        how = replace(model.options, kind="causal")
        files = model.files
    else:
        how = Loading(kind="causal", device=device, dtype=dtype, remote_code=trust_remote_code)
        progress("checking the model's files", 0, 0)
        files = locate(model, progress)
    progress(f"loading {files.name}", 0, 0)
    if predicts_next(files, how):
        read = _by_decoder(Causal(files, how, chat=chat), a, b, tokens, top, progress)
    elif isinstance(model, Probe):
        read = _by_encoder(model, a, b)
    else:
        probe = Probe(model, device=device, dtype=dtype, trust_remote_code=trust_remote_code)
        read = _by_encoder(probe, a, b)
    sides, states, about = read
    ids = sides[0].ids, sides[1].ids
    rows, prefix = line_up(*ids), common(*ids)
    layers, scaling = layer_changes(states[0], states[1], rows, prefix)
    return Comparison(
        a=sides[0],
        b=sides[1],
        edits=word_edits(a, b),
        layers=layers,
        aligned=len(rows),
        prefix=prefix,
        suffix=common_end(*ids),
        seconds=time.perf_counter() - began,
        peak_mb=peak_bytes() / 1e6,
        versions=versions(),
        scaling=scaling,
        **about,
    )


#: Both prompts, their hidden states by layer, and what the model makes of them: fields of a
#: `Comparison`.
_Read = tuple[list[Side], list[list[torch.Tensor]], dict[str, Any]]


def _by_decoder(causal: Causal, a: str, b: str, tokens: int, top: int, progress: Progress) -> _Read:
    """Two prompts in a language model: its answers, and the next token."""
    prompts = causal.read(a), causal.read(b)
    longest = max(len(prompt.ids) for prompt in prompts)
    if causal.limit is not None and longest + tokens > causal.limit:
        expected = f"at most {causal.limit} tokens, prompt and answer together"
        remedy = "shorten the prompt, or ask for fewer --tokens"
        raise InputError(expected, f"{longest} + {tokens}", remedy)
    progress("reading both prompts", 0, 0)
    (first, p), (second, q) = map(causal.states, prompts)
    sides = []
    for which, prompt, own, other in zip("ab", prompts, (p, q), (q, p), strict=True):
        answer = causal.answer(prompt, tokens, partial(progress, f"answer {which}, token"))
        best = own.topk(min(top, len(own))).indices.tolist()
        chances = [(token, float(own[token].exp()), float(other[token].exp())) for token in best]
        likeliest = tuple(NextToken(token, causal.spell(token), *pq) for token, *pq in chances)
        sides.append(Side(prompt.text, prompt.pieces, prompt.ids, *answer, likeliest))
    facts = {
        "name": causal.files.name,
        "sha256": causal.files.digest,
        "dtype": causal.options.dtype,
        "device": causal.options.device,
        "template": prompts[0].spelled.replace(a, "{prompt}", 1) if causal.chat else None,
    }
    kl = {"kl_ab": divergence(p, q), "kl_ba": divergence(q, p)}
    return sides, [first, second], {"chat": causal.chat, "model": facts} | kl


def _by_encoder(probe: Probe, a: str, b: str) -> _Read:
    """Two texts in a model without a head: its layers, and its embeddings."""
    sides, states = [], []
    for text in (probe.read(a), probe.read(b)):
        with torch.no_grad():
            every = probe.layers.every(text.embeds[None])
        states.append([state[0].double().cpu() for state in every])
        pieces = tuple(token.piece for token in text.reading.tokens)
        sides.append(Side(text.text, pieces, tuple(text.ids.tolist()), "", 0, False, ()))
    u, v = (probe.pipeline.embedding(hidden[-1]) for hidden in states)
    cosine = 1.0 - float(torch.nn.functional.cosine_similarity(u, v, dim=0))
    about: dict[str, Any] = {"chat": False, "model": probe.describe(), "cosine": cosine}
    return sides, states, about | {"kl_ab": None, "kl_ba": None}
