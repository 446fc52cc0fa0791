"""How much every token of a text attends to every other, in one layer of a pretrained model (Figure
1, left).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from wordsway.core.checks import OneText, validated
from wordsway.core.errors import InputError, MemoryBudgetError
from wordsway.core.format import format_bytes
from wordsway.core.reading import Token
from wordsway.core.result import SequenceResult, fields_of, versions
from wordsway.core.runtime import peak_bytes
from wordsway.models.encoders import with_layers
from wordsway.models.layers import ModelLayers
from wordsway.models.tokens import Tokens
from wordsway.text.clean import checked

if TYPE_CHECKING:
    import pandas

_REMEDIES = {"layer": "layer 0 is the input", "head": "heads count from 0"}
#: Bytes that the attention of all layers may take.
BUDGET = 2 * 2**30


@dataclass(frozen=True)
class AttentionMap:
    """One text: its tokens and the n×n matrix, row j how token j spreads its attention over the
    columns.

    Sub-words stay tokens; ``tokens[j].word`` is the index of the word that they spell,
    ``labels[j]`` their letters in the text.
    """

    text: str
    tokens: tuple[Token, ...]
    labels: tuple[str, ...]
    matrix: np.ndarray

    @property
    def kept(self) -> float:
        """The mean row sum: 1 with special tokens; without them, the remaining attention."""
        return float(self.matrix.sum(axis=1).mean())

    def to_dict(self) -> dict[str, Any]:
        tokens = [
            fields_of(token) | {"label": label}
            for token, label in zip(self.tokens, self.labels, strict=True)
        ]
        return {
            "text": self.text,
            "tokens": tokens,
            "matrix": self.matrix.tolist(),
            "kept": self.kept,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> AttentionMap:
        """The map that `to_dict` described."""
        names = [field.name for field in fields(Token)]
        tokens = [Token(**{name: token[name] for name in names}) for token in plain["tokens"]]
        labels = tuple(token["label"] for token in plain["tokens"])
        return cls(plain["text"], tuple(tokens), labels, np.array(plain["matrix"]))


@dataclass(frozen=True)
class AttentionMaps(SequenceResult[AttentionMap], items="texts", brief="name model"):
    """The attention of one layer, of one head or the mean over heads, for one text or two.

    Cutting special tokens (``special=False``) leaves out their rows and columns and changes no
    number: rows are not divided by their sums again, so that a row sums to 1 minus what the token
    gives to special tokens.
    """

    texts: tuple[AttentionMap, ...]
    layer: int
    layers: int
    head: str
    heads: int
    special: bool
    model: dict[str, Any]
    seconds: float
    peak_mb: float
    versions: dict[str, str]

    @property
    def difference(self) -> np.ndarray | None:
        """Second minus first, where both texts have the same number of tokens."""
        if len(self.texts) < 2 or self.texts[0].matrix.shape != self.texts[1].matrix.shape:
            return None
        return np.asarray(self.texts[1].matrix - self.texts[0].matrix)

    @property
    def name(self) -> str:
        """Which attention this is, in words."""
        heads = (
            f"mean of {self.heads} heads"
            if self.head == "mean"
            else f"head {self.head} of {self.heads}"
        )
        return f"layer {self.layer} of {self.layers}, {heads}"

    def to_dict(self) -> dict[str, Any]:
        change = self.difference
        lists = {
            "texts": [one.to_dict() for one in self.texts],
            "difference": None if change is None else change.tolist(),
        }
        return fields_of(self) | lists

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per text and pair of tokens: ``row`` attends to ``column``."""
        import pandas

        rows = [
            {
                "text": "ab"[number],
                "row": j,
                "column": i,
                "row_token": one.tokens[j].piece,
                "column_token": one.tokens[i].piece,
                "row_word": one.tokens[j].word,
                "column_word": one.tokens[i].word,
                "attention": float(one.matrix[j, i]),
            }
            for number, one in enumerate(self.texts)
            for j in range(len(one.tokens))
            for i in range(len(one.tokens))
        ]
        return pandas.DataFrame(rows).astype({"row_word": "Int64", "column_word": "Int64"})


@validated
def attention(
    text_a: OneText,
    text_b: OneText | None = None,
    model: Any = "minilm",
    layer: int | str = 1,
    head: int | str = "mean",
    special: bool = False,
    *,
    device: str = "cpu",
    dtype: str = "float32",
    trust_remote_code: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> AttentionMaps:
    """The attention matrix of one layer for one text or two, equal to transformers' own
    ``output_attentions``.

    Parameters
    ----------
    model : a name of the catalogue, a hub id, a folder that `save_pretrained` wrote, a Probe, a
        `SentenceTransformer`, or (model, tokenizer) of transformers
    layer : 1 … L or "last", the numbers of `words`: layer 0 is the input and has no attention
    head : counted from 0, as words and rows are, or "mean" over all heads
    special : keep the rows and columns of special tokens; without them rows sum to less than 1
    trust_remote_code : run Python that comes with the model
    """
    began = time.perf_counter()
    say = progress or (lambda what, done, total: None)
    check_request(layer, head)
    texts = [text_a] if text_b is None else [text_a, text_b]
    for text in texts:
        if not checked(text).strip():
            raise InputError(
                "a text with words in it", "an empty one", 'write one, such as "I love her smile"'
            )
    say("loading the model", 0, 0)
    probe = with_layers(
        model,
        "attention",
        device=device,
        dtype=dtype,
        eager=True,
        trust_remote_code=trust_remote_code,
        progress=lambda done, total: say("fetching the model", done, total),
    ).with_eager_attention()
    found = []
    for tokens in probe.reader(texts):
        say("running the model", 0, 0)
        every = _run(probe.layers, tokens)
        number = layer_among(layer, every, probe.layers.count)
        one = every[number][0].double().cpu()
        which = None if str(head) == "mean" else _counted("head", head, 0, len(one) - 1)
        rows = one.mean(dim=0) if which is None else one[which]
        found.append(_map(tokens, rows.numpy(), special))
    return AttentionMaps(
        texts=tuple(found),
        layer=number,
        layers=probe.layers.count,
        head="mean" if which is None else str(which),
        heads=len(one),
        special=special,
        model=probe.describe(),
        seconds=time.perf_counter() - began,
        peak_mb=peak_bytes() / 1e6,
        versions=versions() | {name: version(name) for name in ("transformers", "tokenizers")},
    )


def check_request(layer: int | str, head: int | str) -> None:
    """What can be refused before a model is loaded: neither a number nor a name."""
    for what, value, name in (("layer", layer, "last"), ("head", head, "mean")):
        if value != name and not re.fullmatch("-?[0-9]{1,9}", str(value)):
            raise InputError(f"a {what}, its number or {name}", repr(value), _REMEDIES[what])


def layer_among(layer: int | str, every: Mapping[int, object], count: int) -> int:
    """The number of a layer with attention, among 1 … ``count``; "last" is the last one."""
    number = max(every) if layer == "last" else _counted("layer", layer, 1, count)
    if number not in every:
        listed = ", ".join(map(str, sorted(every)))
        raise InputError(
            f"a layer with attention, {listed} or last", number, "other layers have none"
        )
    return number


def _counted(what: str, value: int | str, first: int, last: int) -> int:
    """A layer or a head as its number, ``first`` to ``last``."""
    other = "last" if what == "layer" else "mean"
    try:
        number = last if value == "last" == other else int(value)
        whole = not isinstance(value, bool) and float(value if value != "last" else last) == number
    except (TypeError, ValueError):
        whole, number = False, 0
    if not whole or not first <= number <= last:
        raise InputError(f"a {what}, {first} to {last} or {other}", repr(value), _REMEDIES[what])
    return number


@torch.no_grad()
def _run(layers: ModelLayers, tokens: Tokens) -> dict[int, torch.Tensor]:
    """Attention (1, heads, n, n) by layer for one text, alone and without padding."""
    config = layers.model.config
    n, limit = len(tokens.ids), layers.limit
    if limit is not None and n > limit:
        raise InputError(
            f"a text of at most {limit} tokens, the positions of this model",
            f"{n} tokens",
            "shorten the text",
        )
    size = (
        layers.count
        * (getattr(config, "num_attention_heads", None) or 1)
        * n
        * n
        * next(layers.model.parameters()).element_size()
    )
    if size > BUDGET:
        raise MemoryBudgetError(
            f"attention over {n} tokens in all layers takes {format_bytes(size)}, "
            f"more than {format_bytes(BUDGET)}: shorten the text"
        )
    if not n:
        raise InputError(
            "a text that the model reads something of",
            "one without any tokens",
            "write a word of the model's language",
        )
    # Ids, not embeddings: RoBERTa and MPNet count positions by them, and a text may spell the
    # padding token.
    return layers.attentions_of(torch.tensor([tokens.ids]))


def _map(tokens: Tokens, matrix: np.ndarray, special: bool) -> AttentionMap:
    reading = tokens.reading(len(tokens.ids))
    kept = [row for row, token in enumerate(reading.tokens) if special or token.kind == "word"]
    if not kept:
        raise InputError(
            "a text that the model reads words of",
            "only special tokens",
            "write a word of its language, or keep --special",
        )
    labels = tuple(reading.surface(row) for row in kept)
    return AttentionMap(
        tokens.text, tuple(reading.tokens[row] for row in kept), labels, matrix[np.ix_(kept, kept)]
    )
