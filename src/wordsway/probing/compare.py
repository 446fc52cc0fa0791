"""Two prompts that differ in a word: answers, layers and next tokens (Figure 1, right)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from wordsway.core.checks import Count, OneText, validated
from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, silent
from wordsway.core.result import SequenceResult, fields_of, versions
from wordsway.core.runtime import peak_bytes
from wordsway.models.causal import Causal, Prompt, States, predicts_next
from wordsway.models.files import locate
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
from wordsway.probing.targets import chosen_scaling, row_weights
from wordsway.text.clean import checked

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
    a: States, b: States, rows: Sequence[tuple[int, int]], prefix: int
) -> tuple[tuple[LayerChange, ...], str]:
    """Relative changes of all layers, in float64, and how rows are weighted: "rows", equally, if a
    few of them hold most of the norm of some layer, else "frobenius".
    """
    of_a, of_b = (torch.tensor(some) for some in zip(*rows, strict=True))
    start = min(prefix, len(rows) - 1)
    found, seen = [], []
    for layer, (mine, other) in enumerate(zip(a.hidden, b.hidden, strict=True)):
        before, after = mine[of_a].double(), other[of_b].double()
        seen.append(before)
        found.append(
            LayerChange(
                layer,
                _relative(before, after),
                _relative(before[start:], after[start:]),
                _relative(before[-1], after[-1]),
                _alike(before, after),
            )
        )
    return tuple(found), chosen_scaling(seen, "auto")


def _relative(before: torch.Tensor, after: torch.Tensor) -> float | None:
    size = float(before.norm())
    return float((after - before).norm()) / size if size else None


def _alike(before: torch.Tensor, after: torch.Tensor) -> float | None:
    if not bool(before.any(dim=1).all()):
        return None
    return float(((after - before) * row_weights(before, "rows")[:, None]).norm())


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
class Comparison(SequenceResult[LayerChange], items="layers", brief="kl_ab kl_ba model"):
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

    def to_dict(self) -> dict[str, Any]:
        sides = {
            name: fields_of(side) | {"next": [fields_of(one) for one in side.next]}
            for name, side in (("a", self.a), ("b", self.b))
        }
        lists = {
            "edits": [fields_of(one) for one in self.edits],
            "layers": [fields_of(one) for one in self.layers],
        }
        return fields_of(self) | sides | lists | {"same_tokens": self.same_tokens}

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per layer, 0 … L."""
        import pandas

        numbers = {"change": float, "behind": float, "last": float, "rows": float}
        return pandas.DataFrame(
            [fields_of(one) for one in self.layers], columns=["layer", *numbers]
        ).astype(numbers)


@validated
def compare(
    a: OneText,
    b: OneText,
    model: str | Path | Probe = "smollm2",
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
    model : a name of the catalogue, a hub id, a folder that `save_pretrained` wrote, or a probe;
        one without a head for the next token is compared layer by layer, and by its embeddings
    tokens : the most that an answer may have; decoding is greedy, so that it is the same on every
        run
    top : likeliest next tokens to list of each prompt
    chat : put prompts in the model's chat template, if it has one
    trust_remote_code : run Python that comes with the model
    """
    began = time.perf_counter()
    for name, text in (("first", a), ("second", b)):
        _check(name, text)
    if a == b:
        raise InputError(
            "two prompts that differ in a word", "the same prompt twice", "change a word of one"
        )
    if isinstance(model, Probe):
        how = replace(model.options, kind="causal")
        files = model.files
    else:
        how = Loading(kind="causal", device=device, dtype=dtype, remote_code=trust_remote_code)
        progress("checking the model's files", 0, 0)
        files = locate(model, lambda done, total: progress(f"fetching {model}", done, total))
    progress(f"loading {files.name}", 0, 0)
    if not predicts_next(files, how):
        probe = model if isinstance(model, Probe) else _probe(model, how)
        return _encoded(a, b, probe, began)
    causal = Causal(files, how, chat=chat)
    prompts = causal.read(a), causal.read(b)
    for prompt in prompts:
        if causal.limit is not None and len(prompt.ids) + tokens > causal.limit:
            expected = f"at most {causal.limit} tokens, prompt and answer together"
            raise InputError(
                expected,
                f"{len(prompt.ids)} + {tokens}",
                "shorten the prompt, or ask for fewer --tokens",
            )
    progress("reading both prompts", 0, 0)
    states = causal.states(prompts[0]), causal.states(prompts[1])
    said = [
        causal.answer(prompt, tokens, partial(progress, f"answer {which}, token"), one.kept)
        for which, prompt, one in zip("ab", prompts, states, strict=True)
    ]
    logs = [one.logs for one in states]
    sides = [
        Side(
            prompt.text,
            prompt.pieces,
            prompt.ids,
            one.text,
            one.tokens,
            one.cut,
            _likeliest(causal, mine, other, top),
        )
        for prompt, one, mine, other in zip(prompts, said, logs, reversed(logs), strict=True)
    ]
    rows, prefix = line_up(prompts[0].ids, prompts[1].ids), common(prompts[0].ids, prompts[1].ids)
    layers, scaling = layer_changes(*states, rows, prefix)
    return Comparison(
        a=sides[0],
        b=sides[1],
        edits=word_edits(a, b),
        layers=layers,
        aligned=len(rows),
        prefix=prefix,
        suffix=common_end(prompts[0].ids, prompts[1].ids),
        kl_ab=divergence(logs[0], logs[1]),
        kl_ba=divergence(logs[1], logs[0]),
        chat=causal.chat,
        model=_about(causal, prompts[0]),
        seconds=time.perf_counter() - began,
        peak_mb=peak_bytes() / 1e6,
        versions=versions() | {name: version(name) for name in ("transformers", "tokenizers")},
        scaling=scaling,
    )


def _probe(model: str | Path, how: Loading) -> Probe:
    return Probe(model, device=how.device, dtype=how.dtype, trust_remote_code=how.remote_code)


def _encoded(a: str, b: str, probe: Probe, began: float) -> Comparison:
    """Two texts in a model without a head: its layers, and its embeddings."""
    read = probe.read(a), probe.read(b)
    states = []
    for text in read:
        with torch.no_grad():
            every = probe.layers.every(text.embeds[None])
        states.append([state[0].double().cpu() for state in every])
    ids = [tuple(text.ids.tolist()) for text in read]
    sides = [
        Side(text.text, tuple(t.piece for t in text.reading.tokens), tokens, "", 0, False, ())
        for text, tokens in zip(read, ids, strict=True)
    ]
    rows, prefix = line_up(*ids), common(*ids)
    vectors = [probe.pipeline.embedding(hidden[-1]) for hidden in states]
    cosine = float(torch.nn.functional.cosine_similarity(vectors[0], vectors[1], dim=0))
    empty = torch.zeros(0, dtype=torch.float64)
    first, second = (States(some, empty) for some in states)
    layers, scaling = layer_changes(first, second, rows, prefix)
    return Comparison(
        a=sides[0],
        b=sides[1],
        edits=word_edits(a, b),
        layers=layers,
        aligned=len(rows),
        prefix=prefix,
        suffix=common_end(*ids),
        kl_ab=None,
        kl_ba=None,
        chat=False,
        model=probe.describe(),
        seconds=time.perf_counter() - began,
        peak_mb=peak_bytes() / 1e6,
        versions=versions() | {name: version(name) for name in ("transformers", "tokenizers")},
        cosine=1.0 - cosine,
        scaling=scaling,
    )


def _check(name: str, text: str) -> None:
    if not checked(text, f"a {name} prompt").strip():
        raise InputError(
            f"a {name} prompt with words in it",
            "an empty one",
            'write one, such as "I love her smile"',
        )


def _about(causal: Causal, prompt: Prompt) -> dict[str, Any]:
    facts = {
        "name": causal.files.name,
        "sha256": causal.files.digest,
        "dtype": causal.options.dtype,
        "device": causal.options.device,
    }
    return facts | {
        "template": prompt.spelled.replace(prompt.text, "{prompt}", 1) if causal.chat else None
    }


def _likeliest(
    causal: Causal, logs: torch.Tensor, other: torch.Tensor, top: int
) -> tuple[NextToken, ...]:
    best = logs.topk(min(top, len(logs))).indices.tolist()
    return tuple(
        NextToken(token, causal.spell(token), float(logs[token].exp()), float(other[token].exp()))
        for token in best
    )
