"""One interface for everything that turns texts into vectors.

| what the user has | recognised by |
|---|---|
| catalogue name, hub id, folder | a string or path: a `Probe`, with layers and gradients |
| a `SentenceTransformer` | its class: a `Probe` if a Transformer and a Pooling come first |
| (model, tokenizer) of transformers, PEFT included | a pair of them: a `Probe` |
| a `CrossEncoder` | its class: `PairScorer` |
| `Endpoint`, or any object with ``name``, ``describe`` and ``encode`` | itself |
| model2vec's `StaticModel`, other objects of sentence-transformers | a method ``encode`` |
| `WordLlama` | a method ``embed`` |
| LangChain's `Embeddings` | a method ``embed_documents`` |
| LlamaIndex's embeddings | a method ``get_text_embedding_batch`` |
| a fitted scikit-learn pipeline | a method ``transform`` |
| a function ``list[str] → array`` | being callable |
| ``python:module:name`` | that spelling: the object of that name, by this table |

No vector is changed: measurements use exactly what the user's own library returns.
"""

from __future__ import annotations

import importlib
import itertools
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch

from wordsway.core.errors import InputError, WordswayError, first_line
from wordsway.core.format import count
from wordsway.core.progress import Progress, silent
from wordsway.models.memory import (
    is_class_of_sentence_transformers,
    is_model_with_tokenizer,
    is_sentence_transformer,
)
from wordsway.models.probe import Probe, relative_difference

log = logging.getLogger("wordsway")

#: How an object of the user's own is named on the command line.
PYTHON = "python:"
#: What a function should return.
RETURN = "return one vector per text, or predict_proba of a classifier instead of predict"
#: Texts per call.
BATCH = 256
#: The text by which a pipeline computed here is compared with sentence-transformers' own.
TRIED = "The drug is not safe."


@runtime_checkable
class TextEncoder(Protocol):
    """An encoder of texts: `encode` returns one row (B, d) per text, in the order of the texts."""

    @property
    def name(self) -> str: ...

    def encode(self, texts: Sequence[str], progress: Progress = silent) -> np.ndarray: ...

    def describe(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class BlackBox:
    """An encoder known only by its vectors.

    >>> box = BlackBox("letters", "function", lambda texts: [[len(t), t.count("a")] for t in texts])
    >>> box.encode(["banana", "plum"]).tolist()
    [[6.0, 3.0], [4.0, 0.0]]
    """

    name: str
    kind: str
    function: Callable[[list[str]], Any]
    #: The first text with a vector of zeros, once the warning about it is printed.
    zero_text: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "type": self.kind}

    def encode(self, texts: Sequence[str], progress: Progress = silent) -> np.ndarray:
        """The vectors (B, d) in float64; each distinct text is encoded once."""
        vectors = _in_batches(self.name, self.function, texts, "texts", progress)
        # One number per text may be the score of a classifier, of which 0 is a valid value.
        nonzero = vectors.any(1) | (vectors.shape[1] == 1)
        if not nonzero.all() and not self.zero_text:
            self.zero_text.append(texts[int(nonzero.argmin())])
            log.warning(
                "%s returned a vector of zeros for %s: its cosine with other texts counts as 0, "
                "and two such texts count as equal; check what it returns for this text alone",
                self.name,
                _quoted(self.zero_text[0]),
            )
        return vectors


def _in_batches(
    name: str, function: Callable[[Any], Any], inputs: Sequence[Any], what: str, progress: Progress
) -> np.ndarray:
    """The rows (B, d) that a function returns for the inputs, each distinct one passed once."""
    distinct = list(dict.fromkeys(inputs))
    if not distinct:
        raise InputError("at least one text", "none", "pass a list of texts")
    parts: list[np.ndarray] = []
    for start in range(0, len(distinct), BATCH):
        parts.append(_answer(name, function, distinct[start : start + BATCH]))
        progress(f"{what} through {name}", min(start + BATCH, len(distinct)), len(distinct))
    widths = sorted({part.shape[1] for part in parts})
    if len(widths) != 1:
        raise WordswayError(f"{name} returned vectors of different lengths: {widths}")
    rows = dict(zip(distinct, np.concatenate(parts), strict=True))
    return np.stack([rows[one] for one in inputs])


def _answer(name: str, function: Callable[[Any], Any], inputs: list[Any]) -> np.ndarray:
    """The checked vectors (B, d) that a function returns for B inputs."""
    try:
        answer = function(inputs)
    except WordswayError:
        raise
    except Exception as error:  # the user's code may raise anything
        raise WordswayError(
            f"{name} failed on {count(len(inputs), 'text')} "
            f"({type(error).__name__}: {first_line(error)})"
        ) from error
    try:
        vectors = _dense(answer)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"an array of one vector per text from {name}", first_line(error), RETURN
        ) from None
    if vectors.ndim != 2 or len(vectors) != len(inputs) or not vectors.shape[1]:
        raise InputError(
            f"an array of shape ({len(inputs)}, d) from {name}",
            f"shape {vectors.shape}",
            RETURN,
        )
    finite = np.isfinite(vectors).all(1)
    if not finite.all():
        raise InputError(
            f"finite numbers from {name}",
            f"NaN or Inf for {_quoted(inputs[int(finite.argmin())])}",
            "check what it returns for this text alone",
        )
    return vectors


def _quoted(given: Any) -> str:
    """A text or a pair of texts, cut to fit into a message."""
    return f"{given!r:.80}"


def _dense(answer: Any) -> np.ndarray:
    """Arrays, tensors, lists and sparse matrices as float64."""
    if hasattr(answer, "toarray"):
        answer = answer.toarray()
    elif isinstance(answer, torch.Tensor):
        answer = answer.detach().to_dense().cpu().float().numpy()
    return np.asarray(answer, dtype=np.float64)


@dataclass(frozen=True)
class PairScorer:
    """A model that scores pairs of texts and has no vectors: a cross-encoder or reranker.

    >>> same = PairScorer("same", lambda pairs: [float(a == b) for a, b in pairs])
    >>> same.scores([("a", "a"), ("a", "b")]).tolist()
    [1.0, 0.0]
    """

    name: str
    function: Callable[[list[tuple[str, str]]], Any]

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "type": "pair scores"}

    def scores(self, pairs: Sequence[tuple[str, str]], progress: Progress = silent) -> np.ndarray:
        """One score per pair (B,) in float64; each distinct pair is scored once."""
        return _in_batches(self.name, self._column, pairs, "pairs", progress)[:, 0]

    def _column(self, pairs: list[tuple[str, str]]) -> np.ndarray:
        scores = _dense(self.function(pairs))
        if scores.ndim == 2 and scores.shape[1] > 1:
            raise InputError(
                "one score per pair",
                f"{scores.shape[1]} labels from {self.name}",
                "take a cross-encoder with one label, or a function that returns one score",
            )
        return scores.reshape(len(scores), 1)


#: What a verb measures: with layers and gradients, with vectors alone, or with scores of pairs.
AnyModel = Probe | TextEncoder | PairScorer
#: Methods by which an object is recognised, in this order, and what such an object is called.
METHODS = {
    "encode": "object with encode",
    "embed_documents": "LangChain embeddings",
    "get_text_embedding_batch": "LlamaIndex embeddings",
    "embed": "object with embed",
    "transform": "scikit-learn pipeline",
}


def listed(models: Any) -> list[Any]:
    """One or several models as a list that is not empty.

    >>> listed("minilm"), listed(["minilm", "mpnet"])
    (['minilm'], ['minilm', 'mpnet'])
    """
    several = isinstance(models, list | tuple) and not is_model_with_tokenizer(models)
    found = list(models) if several else [models]
    if not found:
        raise InputError("a model", "none", "name one: minilm")
    return found


def distinct_names(names: Sequence[str]) -> list[str]:
    """Names, those that occurred before with a number behind them.

    >>> distinct_names(["function", "minilm", "function"])
    ['function', 'minilm', 'function 2']
    """
    found: list[str] = []
    for name in names:
        spelled = (f"{name} {number}" if number > 1 else name for number in itertools.count(1))
        found.append(next(one for one in spelled if one not in found))
    return found


def names_a_model(given: object) -> bool:
    """Whether it is a catalogue name, hub id or folder, and no function of the user's own."""
    return isinstance(given, Path) or (isinstance(given, str) and not given.startswith(PYTHON))


def opened(given: Any, *, device: str = "cpu", twin: int | None = None) -> AnyModel:
    """A model with as many capabilities as the given one has (see the table above)."""
    if isinstance(given, Probe | PairScorer):
        return given
    if names_a_model(given):
        return Probe(given, device=device, twin=twin)
    if isinstance(given, str):
        found = opened(_imported(given), device=device, twin=twin)
        return replace(found, name=given) if isinstance(found, BlackBox | PairScorer) else found
    if is_model_with_tokenizer(given):
        return Probe(given, twin=twin)
    if is_sentence_transformer(given):
        probe = Probe(given, twin=twin)
        return probe if twin is not None or _agrees(probe, given) else black_box(given)
    if is_class_of_sentence_transformers(given, "CrossEncoder"):
        return PairScorer(_name_of(given), lambda pairs: _quiet(given.predict)(pairs))
    if is_class_of_sentence_transformers(given, "MultiVectorEncoder"):
        raise InputError(
            "an encoder with one vector per text",
            "a MultiVectorEncoder, which has one per token",
            "pass a function that pools its vectors, or a cross-encoder for scores of pairs",
        )
    return black_box(given)


def _agrees(probe: Probe, given: Any) -> bool:
    """Whether the embedding of a text is what the `SentenceTransformer` returns."""
    own = torch.from_numpy(_dense(_quiet(given.encode)([TRIED])))
    apart = relative_difference(torch.from_numpy(probe.encode([TRIED])), own)
    return apart <= probe.rounding


def with_layers(given: Any, verb: str, **options: Any) -> Probe:
    """A model whose layers can be reached, for a verb that needs them."""
    if isinstance(given, str) and not names_a_model(given):
        return with_layers(_imported(given), verb, **options)
    if isinstance(given, Probe):
        return given
    if names_a_model(given) or is_model_with_tokenizer(given) or is_sentence_transformer(given):
        return Probe(given, **options)
    found = opened(given)
    raise InputError(
        f"a model with layers for {verb}",
        f"{found.name} ({found.describe()['type']}), which has none",
        "pass a Hugging Face model, a SentenceTransformer or (model, tokenizer); pairs, audit, "
        "swap and words (tier real-words) work with any encoder",
    )


def with_vectors(found: AnyModel, verb: str) -> TextEncoder:
    """A black box with vectors, for a verb that needs them."""
    if not isinstance(found, PairScorer):
        return found
    raise InputError(
        f"an encoder with vectors for {verb}",
        f"{getattr(found, 'name', 'a model')}, which scores pairs of texts",
        "use pairs, audit or length",
    )


def black_box(given: Any) -> TextEncoder:
    """An encoder of whatever encodes texts (see the table above).

    >>> black_box(lambda texts: [[1.0] for text in texts]).describe()
    {'name': 'function', 'type': 'function'}
    """
    if isinstance(given, TextEncoder):
        return given
    for method, kind in METHODS.items():
        found = getattr(given, method, None)
        if callable(found) and not isinstance(given, type):
            return BlackBox(_name_of(given), kind, _method(given, method))
    if callable(given) and not isinstance(given, type | torch.nn.Module):
        return BlackBox(_name_of(given), "function", given)
    for method in ("predict_proba", "decision_function", "predict"):
        if callable(getattr(given, method, None)) and not isinstance(given, type):
            raise InputError(
                "an encoder or a function of texts",
                f"a classifier, {type(given).__name__}",
                f"pass pipeline.{method}",
            )
    raise InputError(
        "an encoder: a model's name or folder, an object with encode, or a function of texts",
        f"{given!r:.60}" if isinstance(given, type) else type(given).__name__,
        "pass a function that takes a list of texts and returns an array of one row per text",
    )


def _method(given: Any, method: str) -> Callable[[list[str]], Any]:
    function: Callable[[list[str]], Any] = getattr(given, method)
    ours = type(given).__module__.startswith("sentence_transformers")
    return _quiet(function) if ours else function


def _quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same without sentence-transformers' progress bar."""
    return lambda inputs: function(inputs, show_progress_bar=False)


def _name_of(given: Any) -> str:
    """A function's or class's own name."""
    name = getattr(given, "__name__", None) or type(given).__name__
    return "function" if name == "<lambda>" else str(name)


def _imported(spelling: str) -> Any:
    """The object that ``python:module:name`` names, found from the current folder on. The folder
    stays the last place for imports of the object itself.
    """
    module, _, name = spelling.removeprefix(PYTHON).partition(":")
    if not module or not name:
        raise InputError("python:module:name", repr(spelling), "name both, with colons")
    if module.endswith(".py"):
        file = Path(module).with_suffix("")
        where = f"in {file.parent}, " if file.is_absolute() else ""
        right = file.name if where else ".".join(file.parts)
        remedy = f"{where}write {PYTHON}{right}:{name}"
        raise InputError("a module, not a file", repr(spelling), remedy)
    added = str(Path.cwd())
    sys.path.insert(0, added)
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:  # the user's module may raise anything
        absent = isinstance(error, (ModuleNotFoundError, AttributeError)) and error.name
        spelled = absent in name.split(".") or f"{module}.".startswith(f"{absent}.")
        raise InputError(
            f"{name} in module {module}",
            f"{type(error).__name__}: {first_line(error)}",
            "check the spelling, and run from the module's folder"
            if spelled
            else f"fix {module}, whose import raised this error",
        ) from error
    finally:
        sys.path.remove(added)
        if added not in sys.path:
            sys.path.append(added)
    return found
