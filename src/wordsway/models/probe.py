"""A pretrained model, loaded and ready to be probed with texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from wordsway.core.checks import validated
from wordsway.core.errors import InputError, WordswayError, first_line
from wordsway.core.progress import Progress, silent
from wordsway.core.reading import Reading, Word, word_spans
from wordsway.models.files import ModelFiles, locate
from wordsway.models.layers import ModelLayers
from wordsway.models.load import DTYPES, Loading
from wordsway.models.memory import ModelInMemory, in_memory
from wordsway.models.pipeline import Pipeline
from wordsway.models.tokens import Reader, Tokens
from wordsway.text.clean import STRAY, checked

#: Which embedding of a word moves: its row of the embedding matrix (`inputs_embeds`), or its row of
#: hidden_states[0].
EMBEDDING_STAGES = ("words", "input")
#: Tokens of one batch.
BATCH_TOKENS = 2048
#: Largest relative difference between numbers from embeddings and from token ids that is
#: rounding, for dtypes of 32 bits or more, and for those of 16.
ROUNDING, ROUNDING_16_BITS = 1e-4, 2e-2
#: What a function of a batch returns for each text.
PerText = TypeVar("PerText")


@dataclass(frozen=True)
class EncodedText:
    """A text: token ids (n,), embeddings (n, ·) of the stage that moves, and the reading."""

    reading: Reading
    ids: torch.Tensor
    embeds: torch.Tensor
    at: str

    @property
    def n(self) -> int:
        return len(self.ids)

    @property
    def text(self) -> str:
        return self.reading.text

    @property
    def words(self) -> tuple[Word, ...]:
        return self.reading.words

    @property
    def last_word(self) -> Word:
        """The last word with a letter or digit; the last sign of a text that has none."""
        words = [word for word in self.words if any(char.isalnum() for char in word.text)]
        return (words or list(self.words))[-1]

    def radius(self, word: Word) -> float:
        """r_I = ‖x_I‖_F/√|I|: how long one of the word's rows is, as a root mean square.

        A word of several tokens moves as one block, by no more than a word of one token may: it
        does not win a comparison because it has more rows.
        """
        return float(self.embeds[list(word.rows)].double().norm()) / len(word.rows) ** 0.5

    def word(self, which: int | str) -> Word:
        """A word by its index, counted from 0, or its spelling; the only one of that spelling, or
        an error that lists the choice.

        A spelling that occurs in the text wins: "5" is the word 5 of "Take 5 mg", and the sixth
        word of a text that has no such word.
        """
        if isinstance(which, bool) or not (isinstance(which, str) or hasattr(which, "__index__")):
            raise InputError(
                "a word by its number or spelling", repr(which), "pass 0, 1, 2, … or the word"
            )
        if not isinstance(which, str):
            one = self.reading.word(int(which))
            found = [] if one is None else [one]
        else:
            found = [word for word in self.words if word.text == which] or [
                word for word in self.words if word.text.lower() == which.lower()
            ]
            if not found and re.fullmatch(r"[0-9]+", which):
                one = self.reading.word(int(which))
                found = [] if one is None else [one]
        if len(found) == 1:
            return found[0]
        listed = ", ".join(f"{word.index} {word.text}" for word in (found or self.words)[:12])
        got = f"{which!r} {len(found)} times" if found else repr(which)
        raise InputError(
            "one word of the text, by its number or spelling", got, f"choose among {listed}"
        )


class Probe:
    """A model by catalogue name, hub id or folder, or in memory, with its tokenizer.

    Parameters
    ----------
    model : "minilm", "mpnet", "smollm2", "bert-base", a hub id, a folder that `save_pretrained`
        wrote (``FOLDER:prompt=query`` chooses one of its prompts), a `SentenceTransformer`, or
        (model, tokenizer) of transformers
    device, dtype : where and in what precision it runs; float32 on the CPU by default; a model in
        memory stays where it is
    eager : compute attention step by step, so that it can be read
    twin : a seed; the same architecture with random weights
    trust_remote_code : run Python that comes with the model
    """

    @validated
    def __init__(
        self,
        model: Any = "minilm",
        *,
        device: str = "cpu",
        dtype: str = "float32",
        eager: bool = False,
        twin: int | None = None,
        trust_remote_code: bool = False,
        progress: Progress = silent,
    ) -> None:
        #: The name it was given by: a catalogue name, hub id or folder.
        self.source = model
        self.files: ModelFiles | ModelInMemory
        if isinstance(model, str | Path):
            self.files = locate(model, progress)
        else:
            self.files = held = in_memory(model)
            device = str(held.whole.device)
            dtype = {kind: name for name, kind in DTYPES.items()}[held.whole.dtype]
        self.options = Loading("base", device, dtype, eager, trust_remote_code, twin)
        self.settings = self.files.settings()
        self.reader = Reader(self.files, None, self.settings)
        self.layers = ModelLayers(self.files, self.options)

    def with_eager_attention(self) -> Probe:
        """The same model with attention that can be read: this one, or another copy of it."""
        return self if self.options.eager else self.again(eager=True)

    def again(self, **changes: Any) -> Probe:
        """The same model once more, with other options."""
        own = {name: getattr(self.options, name) for name in ("device", "dtype", "eager", "twin")}
        own |= {"trust_remote_code": self.options.remote_code}
        return Probe(self.source, **own | changes)

    def __repr__(self) -> str:
        named = isinstance(self.source, str | Path)
        return (
            f"Probe({str(self.source) if named else self.name!r}, layers={self.layers.count}, "
            f"dtype={self.options.dtype!r}, device={self.options.device!r})"
        )

    def describe(self) -> dict[str, Any]:
        """What a result records of the model."""
        config = self.layers.model.config
        return {
            "name": self.files.name,
            "sha256": self.files.digest,
            "type": getattr(config, "model_type", None),
            "layers": self.layers.count,
            "dtype": self.options.dtype,
            "device": self.options.device,
            "twin": self.options.twin,
        }

    @cached_property
    def pipeline(self) -> Pipeline:
        """How the model makes one vector of a text from the states of its last layer."""
        return self.files.pipeline(self.reader.prompt_tokens)

    @cached_property
    def is_causal(self) -> bool:
        """Whether rows never see the tokens behind them: of two texts that differ in the last of
        six tokens, only the last rows differ.
        """
        ids = torch.arange(5, 11, device=self.layers.device).repeat(2, 1)
        ids[1, -1] = 4
        one, two = self.layers.hidden(self.layers.count, ids).double()
        before = (one[:-1] - two[:-1]).norm() <= ROUNDING * one[:-1].norm()
        return bool(before and (one[-1] - two[-1]).norm() > ROUNDING * one[-1].norm())

    @property
    def pooling(self) -> str:
        """The same in words: "mean", "cls", "last", "max", with the modules behind the pooling."""
        return str(self.pipeline)

    @property
    def name(self) -> str:
        """The model's name in results."""
        return self.files.name

    @torch.no_grad()
    def encode(self, texts: Sequence[str], progress: Progress = silent) -> np.ndarray:
        """The embeddings (B, d) of texts by the model's own pipeline, in float64."""
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            raise InputError("at least one text", "none", "pass a list of texts")
        ids = self.ids_of(distinct)

        def embedding(batch: torch.Tensor) -> torch.Tensor:
            states = self.layers.hidden(self.layers.count, batch)
            return self.pipeline.embedding(states).double().cpu()

        found = dict(zip(distinct, self.by_length(ids, embedding, progress), strict=True))
        return torch.stack([found[text] for text in texts]).numpy()

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text; texts that are empty or too long are refused."""
        read = self.reader([checked(text) for text in texts]) if texts else []
        for one in read:
            if one.count == 0 or not one.text.strip():
                got = repr(one.text[:40])
                raise InputError("a text with at least one word", got, "write a sentence")
            if self.limit is not None and one.count > self.limit:
                raise InputError(
                    f"a text of at most {self.limit} tokens, the longest that {self.name} takes",
                    f"{one.count:,}",
                    "shorten it; words and swap keep its beginning with --cut",
                )
        return read

    def ids_of(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Token ids of each text, special tokens included."""
        return [one.ids[: one.count] for one in self.tokens(texts)]

    def by_length(
        self,
        ids: Sequence[tuple[int, ...]],
        run: Callable[[torch.Tensor], Iterable[PerText]],
        progress: Progress = silent,
    ) -> list[PerText]:
        """``run`` of each text, in batches of texts of equal length, none of them padded."""
        groups: dict[int, list[int]] = {}
        for number, one in enumerate(ids):
            groups.setdefault(len(one), []).append(number)
        found: dict[int, PerText] = {}
        for length, numbers in groups.items():
            size = max(1, BATCH_TOKENS // length)
            for start in range(0, len(numbers), size):
                some = numbers[start : start + size]
                batch = torch.tensor([ids[one] for one in some], device=self.layers.device)
                found |= dict(zip(some, run(batch), strict=True))
                progress(f"texts through {self.name}", len(found), len(ids))
        return [found[number] for number in range(len(ids))]

    @cached_property
    def limit(self) -> int | None:
        """The most tokens of a text, by positions and by sentence-transformers' settings."""
        limits = (self.layers.limit, self.settings.limit)
        return min((limit for limit in limits if limit is not None), default=None)

    def cut(self, text: str, tokens: int | None = None) -> str:
        """The beginning of a text, up to the last whole word that fits into this number of tokens,
        special ones included; by default the model's maximum.
        """
        tokens = self.limit if tokens is None else tokens
        if tokens is None:
            return text
        found = self.reader([STRAY.sub("�", text)])[0]
        if found.count <= tokens:
            return text
        starts = [start for _, start, _, kind in found.pieces if kind == "word"]
        room = tokens - (found.count - len(starts))
        ends = [end for _, end in word_spans(text) if end <= starts[room]] if room > 0 else []
        while (
            ends and self.reader([STRAY.sub("�", text[: ends[-1]])])[0].count > tokens
        ):  # pieces may differ at the new end
            ends.pop()
        if not ends:
            raise InputError(
                f"a word within the first {tokens} tokens", repr(text[:40]), "take more tokens"
            )
        return text[: ends[-1]]

    def read(self, text: str, at: str = "words") -> EncodedText:
        """Tokens and embeddings of a text, special tokens included."""
        if at not in EMBEDDING_STAGES:
            raise InputError(
                f"a place among {', '.join(EMBEDDING_STAGES)}",
                repr(at),
                "words moves rows of the embedding matrix",
            )
        (tokens,) = self.tokens([text])
        reading = tokens.reading(tokens.count)
        if not reading.words:
            raise InputError("a text with at least one word", repr(text[:40]), "write a sentence")
        ids = torch.tensor(tokens.ids[: tokens.count], device=self.layers.device)
        embeds = self._embeds(ids[None], at)
        return EncodedText(reading, ids, embeds[0], at)

    @torch.no_grad()
    def _embeds(self, ids: torch.Tensor, at: str) -> torch.Tensor:
        """Embeddings (1, n, ·) of token ids (1, n), once the model computes the same states from
        them as from the ids.

        Some models use more of the ids than their embeddings: ESM scales rows by the number of mask
        tokens, Gemma 3n adds a second embedding to every layer.
        """
        layers, mask = self.layers, torch.ones_like(ids)
        checked_layers = [n for n in (0, layers.count) if layers.rows_per_token(n)]
        from_ids = {layer: layers.hidden(layer, ids, mask) for layer in checked_layers}
        try:
            embeds = layers.words(ids) if at == "words" else layers.hidden(0, ids, mask)
            from_embeds = {layer: layers.layer(layer, embeds, at) for layer in checked_layers}
        except WordswayError:
            raise
        except Exception as error:  # as many kinds as models; from ids the same text ran
            raise WordswayError(
                f"{self.files.name} does not run from embeddings (inputs_embeds: "
                f"{first_line(error, 120)}), so its words cannot be moved: pairs, audit and "
                "attention read token ids"
            ) from None
        for layer, states in from_ids.items():
            self.check_same(from_embeds[layer], states, f"in layer {layer}")
        return embeds

    @property
    def rounding(self) -> float:
        """The largest relative difference that is rounding in the model's precision."""
        return ROUNDING_16_BITS if self.options.dtype.endswith("float16") else ROUNDING

    def check_same(self, found: torch.Tensor, expected: torch.Tensor, where: str) -> None:
        """Refuse the model if its numbers from embeddings (``found``) are not those from ids."""
        apart = relative_difference(found, expected)
        if bool(expected.isfinite().all()) and not apart <= self.rounding:
            raise WordswayError(
                f"{self.files.name} computes other numbers from embeddings (inputs_embeds) than "
                f"from token ids, {100 * apart:,.2f} % apart {where} on this text: it uses the ids "
                "themselves (or the text spells a padding or mask token), so its words cannot be "
                "moved; pairs, audit and attention read token ids"
            )


def relative_difference(found: torch.Tensor, expected: torch.Tensor) -> float:
    """‖found − expected‖/‖expected‖; infinite where the shapes differ.

    >>> relative_difference(torch.tensor([3.0, 5.0]), torch.tensor([3.0, 4.0]))
    0.2
    """
    if found.shape != expected.shape:
        return float("inf")
    expected = expected.double()
    return float((found.double() - expected).norm() / expected.norm().clamp_min(1e-300))
