"""Texts through a model: the pooled vector of every layer, and what else may be compared.

Texts of equal length run together, and none is padded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import torch

from wordsway.auditing.background import RandomWords
from wordsway.core.errors import InputError
from wordsway.models.encoders import TextEncoder, black_box, names_a_model
from wordsway.models.folder import pool
from wordsway.models.load import Loading, load, quiet
from wordsway.models.probe import Probe
from wordsway.probing.differences import divergence
from wordsway.probing.targets import same_width
from wordsway.text.clean import checked

#: Tokens of one batch.
BATCH_TOKENS = 2048
TARGETS = ("cosine", "pooled", "layer", "logits", "next-token")


class Encoder:
    """A model, and the ``target`` by which two texts are compared.

    "cosine" is the cosine distance of the pooled embeddings, "pooled" their relative distance
    ‖v − u‖/‖u‖, a layer's number the cosine distance of its pooled states, "logits" the relative
    distance of a classifier's logits, "next-token" KL(p‖q) of what a decoder would say next, in
    nats.
    """

    def __init__(self, probe: Probe, target: int | str = "cosine") -> None:
        self.probe, self.pooling = probe, probe.pooling
        self.target = str(target)
        self.layer = probe.layers.count
        self.head: Any = None
        if self.target in ("logits", "next-token"):
            self.head = _head(probe, self.target)
        elif self.target not in ("cosine", "pooled"):
            self.layer = probe.layers.number(
                self.target.removeprefix("layer").strip(), ", cosine, pooled, logits, next-token"
            )

    @property
    def bytes_per_text(self) -> int:
        """What the vectors of one text take: L + 1 layers of d numbers."""
        width = int(self.probe.layers.model.get_input_embeddings().weight.shape[-1])
        return 8 * (self.probe.layers.count + 1) * width

    def describe(self) -> dict[str, Any]:
        """What a result records of the model."""
        return self.probe.describe() | {"pooling": self.pooling}

    def tokens(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Token ids, special tokens included."""
        read = self.probe.reader([checked(text) for text in texts]) if texts else []
        limit = self.probe.limit
        for text, one in zip(texts, read, strict=True):
            if one.count == 0 or not text.strip():
                raise InputError("a text with at least one word", repr(text[:40]), "leave it out")
            if limit is not None and one.count > limit:
                raise InputError(
                    f"at most {limit} tokens, the positions of {self.probe.files.name}",
                    f"{one.count:,}",
                    "cut the text",
                )
        return [one.ids[: one.count] for one in read]

    def known(self, texts: Sequence[str]) -> tuple[int, int]:
        """Tokens of texts without special ones, and how many of them are unknown."""
        read = [one.reading(one.count) for one in self.probe.reader(texts)]
        tokens = [token for one in read for token in one.tokens if token.kind == "word"]
        return len(tokens), sum(token.unknown for token in tokens)

    @cached_property
    def words(self) -> RandomWords:
        """Random real words, by the tokens that they have for this model."""
        return RandomWords(lambda texts: [len(ids) for ids in self.probe.reader.ids(texts)])

    @torch.no_grad()
    def pooled(self, ids: Sequence[tuple[int, ...]]) -> torch.Tensor:
        """The pooled states of layers 0 … L for each of B texts, (B, L + 1, d), in float64; those
        of narrower layers end in zeros.
        """
        return self._by_length(ids, self._layers)

    @torch.no_grad()
    def heads(self, ids: Sequence[tuple[int, ...]]) -> torch.Tensor | None:
        """The logits of a classifier, or log-probabilities of the next token, (B, ·), if the target
        is one of these.
        """
        if self.head is None:
            return None
        # Without a padding token, decoders classify one text at a time: no batch says where its
        # texts end.
        padded = self.target != "logits" or self.head.config.pad_token_id is not None
        return self._by_length(ids, self._logits, together=padded)

    def _layers(self, ids: torch.Tensor) -> torch.Tensor:
        states = self.probe.layers.every_hidden(ids)
        pooled = [pool(state, self.pooling).double() for state in states]
        return torch.stack(same_width(pooled), 1)

    def _logits(self, ids: torch.Tensor) -> torch.Tensor:
        with quiet():
            out = self.head(input_ids=ids, attention_mask=torch.ones_like(ids)).logits.double()
        return torch.log_softmax(out[:, -1], dim=-1) if self.target == "next-token" else out

    def _by_length(
        self,
        ids: Sequence[tuple[int, ...]],
        run: Callable[[torch.Tensor], torch.Tensor],
        together: bool = True,
    ) -> torch.Tensor:
        groups: dict[int, list[int]] = {}
        for number, one in enumerate(ids):
            groups.setdefault(len(one), []).append(number)
        found: dict[int, torch.Tensor] = {}
        for length, numbers in groups.items():
            size = max(1, BATCH_TOKENS // length) if together else 1
            for start in range(0, len(numbers), size):
                some = numbers[start : start + size]
                batch = torch.tensor([ids[one] for one in some], device=self.probe.layers.device)
                found |= dict(zip(some, run(batch).cpu(), strict=True))
        return torch.stack([found[number] for number in range(len(ids))])

    def changes(self, pooled: torch.Tensor, heads: torch.Tensor | None) -> torch.Tensor:
        """How far each of the texts 1 … B is from text 0 by the target, (B,)."""
        if heads is not None:
            if self.target == "next-token":
                apart = [divergence(heads[0], other) for other in heads[1:]]
                return torch.tensor(apart, dtype=torch.float64)
            return relative(heads[0], heads[1:])
        if self.target == "pooled":
            return relative(pooled[0, -1], pooled[1:, -1])
        return cosine_distance(pooled[0, self.layer], pooled[1:, self.layer])


class BlackBoxEncoder:
    """A black box with the interface of `Encoder`: its tokens are whole texts, its only layer is
    the vector that it returns, and random words are matched by their number of characters.
    """

    #: Vectors of a few thousand numbers; more is not known before the first call.
    bytes_per_text = 2**15

    def __init__(self, box: TextEncoder, target: int | str = "cosine") -> None:
        self.box, self.target = box, str(target)
        if self.target not in ("cosine", "pooled"):
            raise InputError(
                f"target cosine or pooled for {box.name}, which only encodes texts",
                self.target,
                "targets of layers, logits and next tokens need a Hugging Face model",
            )

    def describe(self) -> dict[str, Any]:
        """What a result records of the encoder."""
        return dict(self.box.describe()) | {"random_words": "of as many characters"}

    def tokens(self, texts: Sequence[str]) -> list[tuple[str]]:
        """The texts themselves."""
        return [(checked(text),) for text in texts]

    def known(self, texts: Sequence[str]) -> tuple[int, int]:
        """No tokens: a black box does not show them."""
        return 0, 0

    @cached_property
    def words(self) -> RandomWords:
        """Random real words, by their characters."""
        return RandomWords(lambda texts: [len(text) for text in texts])

    def pooled(self, tokens: Sequence[tuple[str]]) -> torch.Tensor:
        """The vectors (B, 1, d)."""
        return torch.from_numpy(self.box.encode([text for (text,) in tokens]))[:, None]

    def heads(self, tokens: Sequence[tuple[str]]) -> None:
        """None: there are only vectors."""

    def changes(self, pooled: torch.Tensor, heads: object = None) -> torch.Tensor:
        """How far each of the texts 1 … B is from text 0 by the target, (B,)."""
        apart = relative if self.target == "pooled" else cosine_distance
        return apart(pooled[0, 0], pooled[1:, 0])


AnyEncoder = Encoder | BlackBoxEncoder


def encoder_for(
    model: Any, target: int | str = "cosine", *, device: str = "cpu", twin: int | None = None
) -> AnyEncoder:
    """The encoder of a model that was named or handed over (`wordsway.models.encoders`)."""
    if names_a_model(model):
        model = Probe(model, device=device, twin=twin)
    if isinstance(model, Probe):
        return Encoder(model, target)
    return BlackBoxEncoder(black_box(model), target)


def cosine_distance(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """1 − cos(u, v) over the last dimension, without cancellation: half the squared distance of the
    unit vectors.

    >>> cosine_distance(torch.tensor([1.0, 0.0]), torch.tensor([[0.0, 2.0], [3.0, 0.0]])).tolist()
    [1.0, 0.0]
    """
    apart = _unit(u) - _unit(v)
    return 0.5 * (apart * apart).sum(-1)


def relative(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """‖v − u‖/‖u‖ over the last dimension."""
    return (v - u).norm(dim=-1) / u.norm(dim=-1).clamp_min(1e-300)


def _unit(x: torch.Tensor) -> torch.Tensor:
    return x / x.norm(dim=-1, keepdim=True).clamp_min(1e-300)


def _head(probe: Probe, target: str) -> Any:
    """The model with the head that it was saved with."""
    wanted = ("SequenceClassification",) if target == "logits" else ("CausalLM", "LMHead")
    saved = [str(name) for name in probe.files.config().get("architectures") or ()]
    if not any(one in name for name in saved for one in wanted):
        what = "a classifier" if target == "logits" else "a causal language model with its head"
        raise InputError(what, f"{probe.files.name} ({', '.join(saved)})", "leave --target out")
    how = probe.options
    kind = "classifier" if target == "logits" else "causal"
    return load(
        probe.files,
        Loading(kind, how.device, how.dtype, how.eager, how.remote_code, how.twin),  # type: ignore[arg-type]
    )
