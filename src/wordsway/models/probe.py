"""A pretrained model, ready to be asked about texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from wordsway.data.hub import Progress
from wordsway.errors import InputError
from wordsway.models.files import locate
from wordsway.models.layers import Layers
from wordsway.models.load import Loading
from wordsway.models.pooling import pooling_of
from wordsway.models.tokens import Reader
from wordsway.reading import Reading, Word, word_spans
from wordsway.text.clean import STRAY, checked

#: Which embedding of a word moves: its row of the embedding matrix (`inputs_embeds`), or its row of
#: hidden_states[0].
EMBEDDING_STAGES = ("words", "input")


@dataclass(frozen=True)
class Prepared:
    """A text as the model takes it: token ids (n,), embeddings (n, ·) of the stage that will move
    (``at``), and the reading.
    """

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
    """A model by catalogue name, hub id or folder, with its tokenizer.

    Parameters
    ----------
    model : "minilm", "mpnet", "smollm2", "bert-base", a hub id, or a folder that `save_pretrained`
        wrote
    device, dtype : where and in what precision it runs; float32 on the CPU by default
    eager : compute attention step by step, so that it can be read
    twin : a seed; the same architecture with random weights
    trust_remote_code : run Python that comes with the model
    """

    def __init__(
        self,
        model: str | Path = "minilm",
        *,
        device: str = "cpu",
        dtype: str = "float32",
        eager: bool = False,
        twin: int | None = None,
        trust_remote_code: bool = False,
        progress: Progress | None = None,
    ) -> None:
        #: What it was named by: a catalogue name, hub id or folder.
        self.source = model
        self.options = Loading("base", device, dtype, eager, trust_remote_code, twin)
        self.files = locate(model, progress)
        #: How the model makes one vector of a text: "mean", "cls", "last" or "max".
        self.pooling = pooling_of(self.files.folder)
        self.reader = Reader(self.files, None)
        self.layers = Layers(self.files, self.options)

    def with_eager_attention(self) -> Probe:
        """The same model with attention that can be read: this one, or another copy of it."""
        if self.options.eager:
            return self
        options = self.options
        return Probe(
            self.source,
            device=options.device,
            dtype=options.dtype,
            eager=True,
            twin=options.twin,
            trust_remote_code=options.remote_code,
        )

    def __repr__(self) -> str:
        return (
            f"Probe({str(self.source)!r}, layers={self.layers.count}, "
            f"dtype={self.options.dtype!r}, device={self.options.device!r})"
        )

    def describe(self) -> dict[str, Any]:
        """What a result records of the model."""
        config = self.layers.model.config
        about = {
            "name": self.files.name,
            "sha256": self.files.digest,
            "type": getattr(config, "model_type", None),
        }
        return about | {
            "layers": self.layers.count,
            "dtype": self.options.dtype,
            "device": self.options.device,
            "twin": self.options.twin,
        }

    @cached_property
    def limit(self) -> int | None:
        """Tokens that the model has positions for, where it says so.

        RoBERTa and its kin count positions from behind their padding token on: a table of 514 takes
        512 tokens.
        """
        model = self.layers.model
        limit = getattr(model.config, "max_position_embeddings", None)
        words = model.get_input_embeddings()
        tables = [part for part in model.modules() if isinstance(part, torch.nn.Embedding)]
        for table in tables:
            if table.num_embeddings == limit and table is not words:
                return int(limit) - (0 if table.padding_idx is None else table.padding_idx + 1)
        return limit

    def cut(self, text: str, tokens: int | None = None) -> str:
        """The beginning of a text, up to the last whole word that fits into so many tokens, special
        ones counted; as many as the model takes where none are named.
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

    def read(self, text: str, at: str = "words") -> Prepared:
        """Tokens and embeddings of a text, special tokens included."""
        if at not in EMBEDDING_STAGES:
            raise InputError(
                f"a place among {', '.join(EMBEDDING_STAGES)}",
                repr(at),
                "words moves rows of the embedding matrix",
            )
        tokens = self.reader([checked(text)])[0]
        reading = tokens.reading(tokens.count)
        if not reading.words:
            raise InputError("a text with at least one word", repr(text[:40]), "write a sentence")
        if self.limit is not None and tokens.count > self.limit:
            raise InputError(
                f"a text of at most {self.limit} tokens, the positions of {self.files.name}",
                f"{tokens.count:,}",
                "shorten it; words and swap keep its beginning with --cut",
            )
        ids = torch.tensor(tokens.ids[: tokens.count], device=self.layers.device)
        try:
            with torch.no_grad():
                words = self.layers.model.get_input_embeddings()(ids[None])
                embeds = words if at == "words" else self.layers.layer(0, words)
                self.layers.layer(self.layers.count, embeds, at)
        except IndexError:  # some models count positions from their padding token on
            raise InputError(
                f"fewer tokens ({self.files.name} has {self.limit} positions)",
                tokens.count,
                "cut the text",
            ) from None
        return Prepared(reading, ids, embeds[0], at)
