"""Tokens of a text, with their places in it, from the model's own tokenizer."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wordsway.core.errors import InputError, WordswayError, first_line
from wordsway.core.reading import Kind, Reading
from wordsway.core.runtime import panics_are_hidden, run_with_timeout
from wordsway.models.files import ModelFiles
from wordsway.models.load import import_transformers
from wordsway.models.memory import ModelInMemory
from wordsway.models.pipeline import TextSettings

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True)
class Tokens:
    """Token ids, padded to the context; ``count`` are the text's own, special ones included."""

    text: str
    ids: tuple[int, ...]
    count: int
    pieces: tuple[tuple[str, int, int, Kind], ...]
    #: The id of the token that stands for what the vocabulary lacks.
    unknown: int | None = None

    def reading(self, n: int) -> Reading:
        """How the first n tokens spell the text."""
        unknown = [row for row, token in enumerate(self.ids[:n]) if token == self.unknown]
        return Reading.of(self.text, self.pieces[:n], unknown)


class Reader:
    """The model's tokenizer, truncating and padding to ``context`` tokens as transformers would;
    neither without a context.

    A prompt (``settings``) is read before every text: its tokens are special ones.
    """

    def __init__(
        self,
        files: ModelFiles | ModelInMemory,
        context: int | None,
        settings: TextSettings | None = None,
    ) -> None:
        self.tokenizer = _tokenizer_of(files)
        settings = settings or TextSettings()
        self.prompt = settings.prompt
        if settings.lower:
            _lower(self.tokenizer)
        self.name = files.name
        self._has_expressions = any(
            part is not None and b"Regex" in part.__getstate__()
            for part in (self.tokenizer.normalizer, self.tokenizer.pre_tokenizer)
        )
        #: The id of the token that stands for what the vocabulary lacks, if there is one.
        self.unknown = _unknown(self.tokenizer)
        pad = _padding(self.tokenizer, files.config())
        if context is None:
            self.tokenizer.no_truncation()
            self.tokenizer.no_padding()
        else:
            self.tokenizer.enable_truncation(context)
            self.tokenizer.enable_padding(length=context, pad_id=pad[0], pad_token=pad[1])
        self.context = context

    def __call__(self, texts: Sequence[str]) -> list[Tokens]:
        encodings = self._encoded(list(texts))
        return [
            _tokens(text, encoding, self.unknown, len(self.prompt))
            for text, encoding in zip(texts, encodings, strict=True)
        ]

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt as sentence-transformers counts them, opening ones included."""
        if not self.prompt:
            return 0
        (alone,) = self._encoded([""])
        return len(alone.ids) - (alone.special_tokens_mask[-1] if alone.ids else 0)

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids alone, special tokens included."""
        return [encoding.ids for encoding in self._encoded(list(texts))]

    def _encoded(self, texts: list[str]) -> list[Any]:
        """The library's own encodings; those of tokenizers with regular expressions in time."""
        texts = [self.prompt + text for text in texts] if self.prompt else texts
        if not self._has_expressions:
            return list(self.tokenizer.encode_batch(texts))
        return tokenize_in_time(
            lambda: list(self.tokenizer.encode_batch(texts)),
            characters=sum(map(len, texts)),
            name=self.name,
        )


def _tokenizer_of(files: ModelFiles | ModelInMemory) -> Tokenizer:
    """The tokenizer of a folder, or a copy of the one in memory."""
    if isinstance(files, ModelInMemory):
        from tokenizers import Tokenizer

        return Tokenizer.from_str(files.tokenizer.backend_tokenizer.to_str())
    path = files.folder / "tokenizer.json"
    try:
        return _from_file(path, files) if path.is_file() else _converted(files)
    except WordswayError:
        raise
    except Exception as error:  # the library raises bare exceptions
        raise InputError(
            f"a tokenizer.json in {files.folder}",
            first_line(error),
            "save the tokenizer beside the model with save_pretrained",
        ) from None


def _lower(tokenizer: Tokenizer) -> None:
    """Lower-case texts before the tokenizer's own normalisation."""
    from tokenizers.normalizers import Lowercase, Sequence

    own = tokenizer.normalizer
    tokenizer.normalizer = Sequence([Lowercase(), *([] if own is None else [own])])


def _from_file(path: Path, files: ModelFiles) -> Tokenizer:
    """The tokenizer of a file; regular expressions are compiled in time, or not at all."""
    from tokenizers import Tokenizer

    document = path.read_bytes()
    if b"Regex" not in document:
        return Tokenizer.from_buffer(document)
    return tokenize_in_time(
        lambda: Tokenizer.from_buffer(document), characters=len(document), name=files.name
    )


def _tokens(text: str, encoding: Any, unknown: int | None, prompt: int) -> Tokens:
    """Tokens with places in the text, before which ``prompt`` characters were read."""
    kinds: list[Kind] = [
        "padding" if not real else "special" if special or (prompt and end <= prompt) else "word"
        for real, special, (_, end) in zip(
            encoding.attention_mask, encoding.special_tokens_mask, encoding.offsets, strict=True
        )
    ]
    pieces = tuple(
        (piece, max(0, start - prompt), end - prompt, kind)
        if kind == "word"
        else (piece, 0, 0, kind)
        for piece, (start, end), kind in zip(encoding.tokens, encoding.offsets, kinds, strict=True)
    )
    return Tokens(text, tuple(encoding.ids), sum(encoding.attention_mask), pieces, unknown)


def _unknown(tokenizer: Tokenizer) -> int | None:
    """The id of the token for what the vocabulary lacks ([UNK]); byte-level ones have none."""
    token = getattr(tokenizer.model, "unk_token", None)
    if token is None and type(tokenizer.model).__name__ == "Unigram":
        token = "<unk>"
    return None if token is None else tokenizer.token_to_id(token)


def _padding(tokenizer: Tokenizer, config: dict[str, Any]) -> tuple[int, str]:
    """The padding token of the tokenizer, else of the model, else the first token."""
    own = tokenizer.padding
    if own:
        return int(own["pad_id"]), str(own["pad_token"])
    for token in ("[PAD]", "<pad>", "<|endoftext|>"):
        if (known := tokenizer.token_to_id(token)) is not None:
            return known, token
    number = config.get("pad_token_id") or config.get("eos_token_id") or 0
    number = number[0] if isinstance(number, list) else number
    return int(number), tokenizer.id_to_token(int(number)) or "[PAD]"


def _converted(files: ModelFiles) -> Tokenizer:
    """The tokenizer of a folder that keeps only the older files of one."""
    if not any(
        path.suffix in (".txt", ".model") or path.name in ("vocab.json", "merges.txt")
        for path in files.folder.iterdir()
    ):
        raise FileNotFoundError(
            "no tokenizer.json and no vocabulary"
        )  # transformers would make an empty tokenizer of the configuration
    return (
        import_transformers()
        .AutoTokenizer.from_pretrained(files.folder, local_files_only=True, trust_remote_code=False)
        .backend_tokenizer
    )


T = TypeVar("T")
#: Seconds that any text gets, and characters that add one more. Tokenizers read a million
#: characters a second; ten thousand is far below that.
PATIENCE = 10.0
CHARACTERS_PER_SECOND = 10_000


def tokenize_in_time(work: Callable[[], T], *, characters: int, name: str) -> T:
    """Return the result of ``work``, a call into the tokenizers library, or raise an error after a
    time that depends on the number of characters.

    The library releases the interpreter while it runs. Its regular expressions may also panic,
    which raises no ordinary exception.
    """
    try:
        with _without_panic_report():
            return run_with_timeout(PATIENCE + characters / CHARACTERS_PER_SECOND, work)
    except BaseException as error:
        if not isinstance(error, TimeoutError) and type(error).__name__ != "PanicException":
            raise
        raise WordswayError(
            f"the tokenizer of {name} cannot read this text ({first_line(error)}): "
            "check the regular expressions in its tokenizer.json"
        ) from None


@contextlib.contextmanager
def _without_panic_report() -> Iterator[None]:
    """No report of a panic on standard error, after `runtime.hide_panics`."""
    if not panics_are_hidden():
        yield
        return
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
