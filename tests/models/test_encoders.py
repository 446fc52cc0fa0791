"""Fidelity: what wordsway measures is what the user's own library returns, for every adapter."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from wordsway.core.errors import InputError, WordswayError
from wordsway.models.encoders import BATCH, PairScorer, black_box, opened
from wordsway.models.files import locate

TEXTS = ["The drug is safe.", "The drug is not safe.", "I love her much", "a", "The drug is safe."]


def lengths(texts: list[str]) -> list[list[float]]:
    return [[len(text), text.count("e") + 1.0] for text in texts]


class LangChainLike:
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return lengths(texts)


class LlamaIndexLike:
    def __call__(self, nodes: Any) -> Any:
        raise AssertionError("transforms nodes, not texts")

    def get_text_embedding_batch(self, texts: list[str]) -> list[list[float]]:
        return lengths(texts)


def tf_idf() -> Any:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfVectorizer(), TruncatedSVD(2, random_state=0)).fit(TEXTS)


def sparse() -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer().fit(TEXTS)


def word_llama() -> Any:
    import wordllama

    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)


def sentence_transformer(name: str = "minilm") -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(locate(name).folder), device="cpu")


def with_prompt_and_dense() -> Any:
    """MPNet with a prompt, a Dense module and 64 dimensions."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize

    torch.manual_seed(0)
    modules = [*sentence_transformer("mpnet"), Dense(768, 128), Normalize()]
    prompts: dict[str, Any] = {"prompts": {"query": "query: "}, "default_prompt_name": "query"}
    return SentenceTransformer(modules=modules, **prompts, truncate_dim=64, device="cpu")


def in_memory(name: str = "minilm") -> Any:
    from transformers import AutoModel, AutoTokenizer

    folder = locate(name).folder
    return AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)


def means(given: Any) -> np.ndarray:
    """The mean of the last layer's rows, by transformers itself."""
    model, tokenizer = given
    rows = []
    with torch.no_grad():
        for text in TEXTS:
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
            rows.append(states.mean(0).numpy())
    return np.array(rows)


def with_lora() -> Any:
    peft = pytest.importorskip("peft")
    model, tokenizer = in_memory()
    torch.manual_seed(0)
    settings = peft.LoraConfig(target_modules=["query", "value"], init_lora_weights=False)
    return peft.get_peft_model(model, settings).eval(), tokenizer


def static() -> Any:
    """A pipeline without a transformer."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    torch.manual_seed(0)
    table = StaticEmbedding(in_memory()[1].backend_tokenizer, embedding_dim=8)
    return SentenceTransformer(modules=[table], device="cpu")


LLAMA_INDEX = LlamaIndexLike()


def named_sentence_transformer() -> str:
    globals()["held"] = sentence_transformer()
    return f"python:{__name__}:held"


#: An object that people hold, and how they would ask it themselves.
ADAPTERS = {
    "function": (lambda: lengths, lambda box: lengths(TEXTS)),
    "tensor": (lambda: lambda texts: torch.tensor(lengths(texts)), lambda box: lengths(TEXTS)),
    "LangChain": (LangChainLike, lambda box: box.embed_documents(TEXTS)),
    "LlamaIndex": (LlamaIndexLike, lambda box: box.get_text_embedding_batch(TEXTS)),
    "scikit-learn": (tf_idf, lambda box: box.transform(TEXTS)),
    "sparse": (sparse, lambda box: box.transform(TEXTS).toarray()),
    "WordLlama": (word_llama, lambda box: box.embed(TEXTS)),
    "SentenceTransformer": (sentence_transformer, lambda box: box.encode(TEXTS)),
    "prompt, Dense, truncate_dim": (with_prompt_and_dense, lambda box: box.encode(TEXTS)),
    "StaticEmbedding": (static, lambda box: box.encode(TEXTS)),
    "name": (lambda: "minilm", lambda box: sentence_transformer().encode(TEXTS)),
    "folder": (lambda: locate("mpnet").folder, lambda box: means(in_memory("mpnet"))),
    "(model, tokenizer)": (in_memory, means),
    "PEFT": (with_lora, means),
    "python:": (lambda: f"python:{__name__}:lengths", lambda box: lengths(TEXTS)),
    "python: object": (lambda: f"python:{__name__}:LLAMA_INDEX", lambda box: lengths(TEXTS)),
    "python: SentenceTransformer": (
        named_sentence_transformer,
        lambda box: globals()["held"].encode(TEXTS),
    ),
}


#: Without a library that takes seconds to import.
QUICK = {"function", "tensor", "LangChain", "LlamaIndex", "python:", "python: object"}


@pytest.mark.parametrize(
    "adapter",
    [pytest.param(one, marks=[pytest.mark.slow] * (one not in QUICK)) for one in ADAPTERS],
)
def test_vectors_are_those_of_the_users_own_library(adapter, monkeypatch):
    monkeypatch.setitem(sys.modules, __name__, sys.modules[lengths.__module__])
    make, alone = ADAPTERS[adapter]
    given = make()
    encoder: Any = opened(given)
    found = encoder.encode(TEXTS)
    assert found.dtype == np.float64
    assert np.abs(found - np.asarray(alone(given))).max() <= 1e-5
    assert encoder.describe()["name"] == encoder.name


def test_each_distinct_text_is_encoded_once_and_in_batches():
    asked: list[list[str]] = []

    def function(texts: list[str]) -> Any:
        asked.append(texts)
        return lengths(texts)

    texts = [f"text {i % 300}" for i in range(900)]
    assert black_box(function).encode(texts).tolist() == lengths(texts)
    assert [len(some) for some in asked] == [BATCH, 300 - BATCH]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda texts: [[1.0]], r"shape \(2, d\)"),
        (lambda texts: [1.0, 2.0], r"shape \(2, d\)"),
        (lambda texts: [[1.0], [1.0, 2.0]], "one vector per text"),
        (lambda texts: ["a", "b"], "one vector per text"),
        (lambda texts: None, "one vector per text"),
        (lambda texts: [[float("nan")]] * 2, "NaN"),
        (lambda: [[1.0]], "TypeError"),
        (lambda texts: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_functions_that_return_no_vectors_are_refused(function, reason):
    with pytest.raises(WordswayError, match=reason):
        black_box(function).encode(["a", "b"])


@pytest.mark.parametrize(
    "given", [None, 3, int, torch.nn.Linear(2, 2), "python:os", "python:os:nothing", "python:no:no"]
)
def test_what_is_no_encoder_is_refused(given):
    with pytest.raises(InputError):
        opened(given)


def test_a_file_is_not_a_module():
    with pytest.raises(InputError, match=r"write python:my\.encoders:probabilities"):
        opened("python:my/encoders.py:probabilities")
    with pytest.raises(InputError, match=r": in /my/own, write python:encoders:probabilities$"):
        opened("python:/my/own/encoders.py:probabilities")


def test_spelling_is_doubted_only_where_a_name_is_missing(tmp_path, monkeypatch):
    """A missing file that a module reads was answered with "check the spelling"."""
    for name, line in (("reads", "open('none.joblib')"), ("imports", "import no_such")):
        (tmp_path / f"own_{name}.py").write_text(f"{line}\n", "utf-8")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    for module in ("own_reads", "own_imports"):
        with pytest.raises(InputError, match=f": fix {module}, whose import raised this error"):
            opened(f"python:{module}:pipe")
    for missing in ("own_none:pipe", "os:nothing", "os:path.nothing", "os.none:x"):
        with pytest.raises(InputError, match="check the spelling"):
            opened(f"python:{missing}")


def test_a_function_may_import_when_it_is_called(tmp_path, monkeypatch):
    (tmp_path / "own_model.py").write_text("WIDTH = 3\n", "utf-8")
    body = "def ones(texts):\n    import own_model\n    return [[1.0] * own_model.WIDTH] * 2\n"
    (tmp_path / "own_lazy.py").write_text(body, "utf-8")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    found = opened("python:own_lazy:ones")
    assert not isinstance(found, PairScorer) and found.encode(["a", "b"]).shape == (2, 3)


def test_labels_are_refused_with_the_remedy():
    with pytest.raises(InputError, match="predict_proba"):
        black_box(lambda texts: ["good"] * len(texts)).encode(["a", "b"])


@pytest.mark.slow
def test_scores_of_a_cross_encoder_are_its_own(tmp_path, monkeypatch):
    from sentence_transformers import CrossEncoder
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = locate("minilm").folder
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=1)
    model.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)
    cross = CrossEncoder(str(tmp_path), device="cpu")
    monkeypatch.setitem(sys.modules, __name__, sys.modules[lengths.__module__])
    monkeypatch.setitem(globals(), "held", cross)
    scorer = opened(f"python:{__name__}:held")
    assert isinstance(opened(cross), PairScorer) and isinstance(scorer, PairScorer)
    pairs = [(TEXTS[0], TEXTS[1]), (TEXTS[1], TEXTS[0]), (TEXTS[0], TEXTS[1])]
    assert np.abs(scorer.scores(pairs) - cross.predict(pairs)).max() <= 1e-5
    labels = PairScorer("nli", lambda pairs: [[0.1, 0.2, 0.7]] * len(pairs))
    with pytest.raises(InputError, match="3 labels"):
        labels.scores(pairs)
