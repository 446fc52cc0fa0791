"""How much every token of a text attends to every other, in one layer of a pretrained model (Figure
1, left).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import torch

from wordsway.core.checks import Condition, OneText, validated
from wordsway.core.errors import InputError, MemoryBudgetError
from wordsway.core.format import format_bytes
from wordsway.core.progress import Progress, silent
from wordsway.core.reading import Token
from wordsway.core.result import SequenceResult, json_fields, versions
from wordsway.core.runtime import peak_bytes
from wordsway.models.encoders import with_layers
from wordsway.models.probe import Probe
from wordsway.models.tokens import Tokens
from wordsway.text.clean import text_with_words

if TYPE_CHECKING:
    import pandas

#: Bytes that the attention of all layers may take.
BUDGET = 2 * 2**30


def _number_or(*names: str) -> Condition:
    """A number, as an int or in digits, or one of these names, of which errors state the first."""
    return Condition(
        f"that is a number or {names[0]}",
        lambda value: value in names or (str(value).isdecimal() and str(value).isascii()),
    )


#: A layer with attention, 1 … L (layer 0 is the input), and one of its heads, from 0, or mean.
AttentionLayer = Annotated[int | str, _number_or("last")]
AttentionHead = Annotated[int | str, _number_or("mean", "all")]


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
            json_fields(token) | {"label": label}
            for token, label in zip(self.tokens, self.labels, strict=True)
        ]
        matrix = self.matrix.tolist()
        return {"text": self.text, "tokens": tokens, "matrix": matrix, "kept": self.kept}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> AttentionMap:
        """The map that `to_dict` described."""
        names = [field.name for field in fields(Token)]
        tokens = [Token(**{name: token[name] for name in names}) for token in plain["tokens"]]
        labels = tuple(token["label"] for token in plain["tokens"])
        return cls(plain["text"], tuple(tokens), labels, np.array(plain["matrix"]))


@dataclass(frozen=True)
class AttentionMaps(
    SequenceResult[AttentionMap], items="texts", brief="name model", derived="difference"
):
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
        mean, one = f"mean of {self.heads} heads", f"head {self.head} of {self.heads}"
        return f"layer {self.layer} of {self.layers}, {mean if self.head == 'mean' else one}"

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per text and pair of tokens: ``row`` attends to ``column``."""
        import pandas

        rows = [
            {
                "text": "ab"[number],
                "row": j,
                "column": i,
                "row_token": row.piece,
                "column_token": column.piece,
                "row_word": row.word,
                "column_word": column.word,
                "attention": float(one.matrix[j, i]),
            }
            for number, one in enumerate(self.texts)
            for j, row in enumerate(one.tokens)
            for i, column in enumerate(one.tokens)
        ]
        return pandas.DataFrame(rows).astype({"row_word": "Int64", "column_word": "Int64"})


@validated
def attention(
    text_a: OneText,
    text_b: OneText | None = None,
    model: Any = "minilm",
    layer: AttentionLayer = 1,
    head: AttentionHead = "mean",
    special: bool = False,
    *,
    device: str = "cpu",
    dtype: str = "float32",
    trust_remote_code: bool = False,
    progress: Progress = silent,
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
    texts = [text_with_words(text) for text in (text_a, text_b) if text is not None]
    how = {"device": device, "dtype": dtype, "trust_remote_code": trust_remote_code}
    probe = eager_probe(model, "attention", progress, **how)
    found = []
    for tokens in probe.tokens(texts):
        progress("running the model", 0, 0)
        every = _run(probe, tokens)
        number = layer_among(layer, every)
        one = every[number][0].double().cpu()
        heads = head_numbers(head, len(one))
        found.append(_map(tokens, one[heads].mean(dim=0).numpy(), special))
    return AttentionMaps(
        texts=tuple(found),
        layer=number,
        layers=probe.layers.count,
        head=str(named_head(head)),
        heads=len(one),
        special=special,
        model=probe.describe(),
        seconds=time.perf_counter() - began,
        peak_mb=peak_bytes() / 1e6,
        versions=versions(),
    )


def eager_probe(model: Any, verb: str, progress: Progress, **options: Any) -> Probe:
    """The model with attention that can be read, for a verb; ``options`` are those of `Probe`."""
    progress("loading the model", 0, 0)
    found = with_layers(model, verb, eager=True, progress=progress, **options)
    return found.with_eager_attention()


def layer_among(layer: int | str, every: Mapping[int, object]) -> int:
    """The number of a layer with attention; "last" is the last one of them."""
    number = max(every) if layer == "last" else int(layer)
    if number not in every:
        listed = ", ".join(map(str, sorted(every)))
        remedy = "layer 0 is the input; other layers have no attention"
        raise InputError(f"a layer with attention, {listed} or last", number, remedy)
    return number


def named_head(head: int | str) -> int | str:
    """A head's number, or "mean", which is also spelled "all"."""
    return "mean" if head in ("mean", "all") else int(head)


def head_numbers(head: int | str, count: int) -> list[int]:
    """One head by its number, from 0, or all of them ("mean")."""
    if named_head(head) == "mean":
        return list(range(count))
    if not 0 <= int(head) < count:
        raise InputError(f"a head, 0 to {count - 1}, or mean", repr(head), "heads count from 0")
    return [int(head)]


@torch.no_grad()
def _run(probe: Probe, tokens: Tokens) -> dict[int, torch.Tensor]:
    """Attention (1, heads, n, n) by layer for one text, alone and without padding."""
    layers = probe.layers
    n = len(tokens.ids)
    heads = getattr(layers.model.config, "num_attention_heads", None)
    size = layers.count * (heads or 1) * n * n * next(layers.model.parameters()).element_size()
    if size > BUDGET:
        raise MemoryBudgetError(
            f"attention over {n} tokens in all layers takes {format_bytes(size)}, "
            f"more than {format_bytes(BUDGET)}: shorten the text"
        )
    # Ids, not embeddings: RoBERTa and MPNet count positions by them, and a text may spell the
    # padding token.
    return layers.attentions_of(torch.tensor([tokens.ids]))


def _map(tokens: Tokens, matrix: np.ndarray, special: bool) -> AttentionMap:
    reading = tokens.reading(len(tokens.ids))
    kept = [row for row, token in enumerate(reading.tokens) if special or token.kind == "word"]
    if not kept:
        expected = "a text that the model reads words of"
        remedy = "write a word of its language, or keep --special"
        raise InputError(expected, "only special tokens", remedy)
    labels = tuple(reading.surface(row) for row in kept)
    shown = tuple(reading.tokens[row] for row in kept)
    return AttentionMap(tokens.text, shown, labels, matrix[np.ix_(kept, kept)])
