"""Pairs and audits of encoders that are only known by their vectors."""

from __future__ import annotations

import csv
import json
import math
import re
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordsway as ws
from jobs import Here
from wordsway.auditing.pairs import forecast_pairs
from wordsway.core.errors import InputError, WordswayError
from wordsway.models.encoders import PairScorer
from wordsway.models.files import locate
from wordsway.models.probe import Probe

A, B = "The drug is safe.", "The drug is not safe."


def letters(texts: list[str]) -> np.ndarray:
    """Counts of letters: a model without any understanding."""
    return np.array([[text.lower().count(one) + 0.1 for one in "abcdefghinost"] for text in texts])


def cosine(u: np.ndarray, v: np.ndarray) -> float:
    return float(u @ v / np.linalg.norm(u) / np.linalg.norm(v))


def test_pairs_of_a_function_are_the_cosines_of_its_vectors():
    found = ws.pairs([(A, B), (A, "The cat is safe.")], models=letters, draws=5)
    for pair in found.pairs:
        u, v = letters([pair.a, pair.b])
        assert pair.models[0].cosine == pytest.approx(cosine(u, v), abs=1e-12)
        change = np.linalg.norm(v - u) / np.linalg.norm(u)
        assert pair.models[0].change == pytest.approx(change, abs=1e-12)
        assert 0 <= pair.models[0].percentile <= 100
    assert found.names == ["letters"] and "characters" in found.models[0]["random_words"]
    shown = json.loads(found.to_json())["pairs"][0]["models"][0]
    assert shown["tokens"] is shown["unknown"] is shown["parts"] is None


def test_the_only_layer_of_a_function_has_the_score_of_its_target():
    """Distances that are equal but for rounding are ties in both."""
    found = ws.audit(letters, texts=40, draws=0, baselines=False)
    for level in found.models[0].levels.values():
        assert [level.score] == [layer.auc for layer in level.layers]


@pytest.mark.slow
def test_one_number_per_text_has_no_cosine(tmp_path):
    def margin(texts: list[str]) -> list[list[float]]:
        return [[len(text) + 0.5] for text in texts]

    table = tmp_path / "pairs.csv"
    table.write_text(f"a,b,kind\n{A},{B},negation\n{A},That drug is safe.,keeping\n")
    for verb in (
        lambda: ws.pairs(A, B, margin, draws=0),
        lambda: ws.words(A, margin, target="cosine"),
        lambda: ws.audit(margin, table, out=tmp_path / "cosine", workers=1),
    ):
        with pytest.raises(InputError, match="return all columns"):
            verb()
    assert ws.words(A, margin, target="pooled").words
    assert ws.audit(margin, table, target="pooled", out=tmp_path / "pooled", workers=1).models


@pytest.mark.slow
def test_a_model_and_a_function_that_calls_it_agree():
    probe = Probe("minilm")
    from sentence_transformers import SentenceTransformer

    other = SentenceTransformer(str(locate("minilm").folder), device="cpu")
    found = ws.pairs([(A, B), (A, "I love her much")], models=[probe, other], draws=0)
    for pair in found.pairs:
        ours, theirs = pair.models
        assert ours.cosine == pytest.approx(theirs.cosine, abs=1e-5)


@pytest.mark.slow
def test_many_pairs_are_those_of_one_after_the_other():
    rows = [(A, B), (B, A), (A, "The drug is unsafe."), ("I love her", "I love him")]
    together = ws.pairs(rows, models="minilm", draws=3)
    for row, pair in zip(rows, together.pairs, strict=True):
        (alone,) = ws.pairs([row], models="minilm", draws=3).pairs
        assert pair.models[0].cosine == pytest.approx(alone.models[0].cosine, abs=1e-6)
        assert pair.models[0].percentile == alone.models[0].percentile


def test_each_distinct_text_is_encoded_once():
    asked: list[str] = []

    def counted(texts: list[str]) -> np.ndarray:
        asked.extend(texts)
        return letters(texts)

    ws.pairs([(A, B), (B, A), (A, "other text")], models=counted, draws=0)
    assert sorted(asked) == sorted({A, B, "other text"})


@pytest.mark.slow
def test_an_audit_of_functions_and_a_model(tmp_path, monkeypatch):
    monkeypatch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here())

    def deaf(texts: list[str]) -> list[list[float]]:
        return [[1.0, 2.0] for _ in texts]

    found = ws.audit(
        [letters, deaf, "minilm"], "everyday", texts=6, kinds=["negation"], out=tmp_path
    )
    scores = {model.name: model.levels["rewording"].score for model in found.models}
    assert scores["deaf"] == 0.5 and set(scores) == {"letters", "deaf", "minilm"}
    assert (tmp_path / "index.html").is_file() and '"letters"' in found.to_json()


@pytest.mark.parametrize("target", ["next-token", "3"])
def test_a_target_that_needs_more_than_vectors_is_refused(target):
    with pytest.raises(InputError, match="only encodes texts"):
        ws.audit(letters, "everyday", texts=2, target=target)


def test_a_function_that_fails_is_named():
    def broken(texts: list[str]) -> None:
        raise RuntimeError("no connection")

    with pytest.raises(WordswayError, match=r"broken.*no connection"):
        ws.pairs(A, B, models=broken)


def test_a_scorer_of_pairs_is_compared_by_its_scores():
    """The score of a text with itself minus that with another one."""

    def overlap(pairs: list[tuple[str, str]]) -> list[float]:
        words = [[set(text.lower().strip(".").split()) for text in pair] for pair in pairs]
        return [len(a & b) / len(a | b) for a, b in words]

    scorer = PairScorer("overlap", overlap)
    found = ws.pairs([(A, B), (A, "The cat was.")], models=[scorer, letters], draws=6)
    for pair in found.pairs:
        one = pair.models[0]
        assert one.cosine == overlap([(pair.a, pair.b)])[0]
        assert one.change == pytest.approx(1 - one.cosine)
        assert one.percentile is not None and one.layers == (one.change,)
    audited = ws.audit(scorer, texts=3, kinds=["negation"], draws=1)
    assert 0 <= audited.models[0].levels["rewording"].score <= 1


def test_a_forecast_counts_the_texts_that_are_then_encoded():
    rows = [(A, B), (B, A), (A, "The drug is unsafe.")]
    asked: list[str] = []

    def counted(texts: list[str]) -> np.ndarray:
        asked.extend(texts)
        return letters(texts)

    ours, theirs = forecast_pairs(rows, models=["minilm", counted], draws=3)
    assert not asked, "a forecast does not call the encoder"
    ws.pairs(rows, models=counted, draws=3)
    assert theirs.texts == len(asked) == len(set(asked)) and theirs.seconds is None
    assert ours.seconds is not None and ours.seconds > 0
    assert forecast_pairs(A, B, draws=0)[0].texts == 2


@pytest.mark.parametrize("make", ["word_llama", "tf_idf"])
def test_static_embeddings_and_pipelines_go_through_every_verb(make: str):
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    if make == "word_llama":
        import wordllama

        folder = Path(wordllama.__file__).parent
        model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
        alone = model.embed
    else:
        with resources.files("wordsway.auditing").joinpath("gold.csv").open() as file:
            texts = [row["text"] for row in csv.DictReader(file)]
        parts = TfidfVectorizer(), TruncatedSVD(50, random_state=0)
        model = make_pipeline(*parts).fit(texts)
        alone = model.transform
    (pair,) = ws.pairs(A, B, models=model, draws=0).pairs
    assert pair.models[0].cosine == pytest.approx(cosine(*alone([A, B])), abs=1e-6)
    found = ws.swap(A, "safe", model, target="cosine", among=["dangerous", "open", "paid"])
    for swap in found.swaps:
        u, v = alone([A, A.replace("safe", swap.word)])
        assert swap.change == pytest.approx(1 - cosine(u, v), abs=1e-5)
    audited = ws.audit(model, texts=4, kinds=["negation"], draws=1).models[0]
    level = audited.levels["rewording"]
    assert level.texts == 4 and 0 <= level.score <= 1


def test_encoders_of_one_name_are_told_apart():
    encoders = [lambda texts: letters(texts), lambda texts: letters(texts)[:, :5]]
    assert ws.pairs(A, B, encoders, draws=0).names == ["function", "function 2"]
    found = ws.audit(encoders, kinds=["negation"], texts=2, draws=0, baselines=False)
    assert {model.name for model in found} == {"function", "function 2"}


def test_a_third_text_is_not_a_kind():
    with pytest.raises(InputError, match="third text"):
        ws.pairs([(A, "The drug is harmless.", B)], models=letters)


def test_the_change_from_a_vector_of_zeros_is_infinite():
    found = ws.pairs(A, B, lambda texts: [[float("not" in text), 0.0] for text in texts], draws=0)
    assert found.pairs[0].models[0].change == float("inf")
    assert found.to_dict()["pairs"][0]["models"][0]["change"] is None


def test_what_is_infinite_is_null_in_json_and_in_pages(tmp_path):
    """RFC 8259 has no infinity and no NaN."""

    def strict(text: str) -> Any:
        return json.loads(text, parse_constant=pytest.fail)

    def first_is_zero(texts: list[str]) -> np.ndarray:
        return np.array([[float(text != A), len(text) * (text != A)] for text in texts])

    found = ws.pairs(A, B, first_is_zero, draws=2)
    assert strict(found.to_json())["pairs"][0]["models"][0]["change"] is None
    assert found.to_dict()["kinds"][0]["change"] is None
    ws.words(A, first_is_zero).save(tmp_path / "words.html")
    data = re.findall(r'json" id="\w+">(.*?)</script>', (tmp_path / "words.html").read_text())
    assert data and all(map(strict, data))


def test_vectors_of_zeros_are_reported_once_with_the_text(caplog):
    ws.pairs(A, B, lambda texts: np.zeros((len(texts), 4)), draws=2)
    (line,) = caplog.messages
    assert line.startswith(f"function returned a vector of zeros for {A!r}")


def test_nan_is_refused_with_the_first_text():
    def broken(texts):
        return [[math.nan if "not" in text else 1.0, 1.0] for text in texts]

    with pytest.raises(InputError, match=r"NaN or Inf for 'The drug is not safe\.': check"):
        ws.pairs("The drug is safe.", "The drug is not safe.", broken, draws=0)


def test_an_audit_in_memory_writes_no_table(monkeypatch):
    def refused(*_):
        raise AssertionError("pyarrow is not needed")

    monkeypatch.setattr("wordsway.auditing.running.needs", refused)
    assert ws.audit(letters, kinds=["negation"], texts=2, draws=0, baselines=False).texts == 2
