"""Results name a model by its name: no saved file tells where it lies on this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import tiny
import wordsway as ws
from wordsway.core.result import Result
from wordsway.engine.run import Machines
from wordsway.models.files import labels_of, locate
from wordsway.models.probe import Probe
from wordsway.probing.corpus import corpus_jobs, corpus_texts, probe_corpus

TEXT, OTHER = "the film was good", "the film was bad"
#: A part of every path that no file may hold.
PRIVATE = "somebody-private"


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> list[str]:
    """Two models in folders of the same name, and one that predicts the next token."""
    root = tmp_path_factory.mktemp(PRIVATE)
    pair = [tiny.save(root / name / "model", "bert", seed) for seed, name in enumerate("ab")]
    return [*map(str, pair), str(tiny.save(root / "causal", "gpt2"))]


def corpus(models: list[str], folder: Path) -> Result:
    (folder / "texts.csv").write_text(f"text\n{TEXT}\n{OTHER}\n")
    texts = corpus_texts(str(folder / "texts.csv"))
    jobs = corpus_jobs(texts, models[0], tiers=["mean-local"], tokens=32)
    return probe_corpus(texts, jobs, folder / "out", machines=Machines(workers=1))


MAKERS: dict[str, Callable[[list[str], Path], Result]] = {
    "words": lambda models, folder: ws.words(TEXT, models[0]),
    "swap": lambda models, folder: ws.swap(TEXT, 3, models[0], top=2, worst_case=False),
    "attract": lambda models, folder: ws.attract(TEXT, 1, models[0]),
    "attention": lambda models, folder: ws.attention(TEXT, model=models[0]),
    "pairs": lambda models, folder: ws.pairs(TEXT, OTHER, models[:2], draws=4),
    "compare": lambda models, folder: ws.compare(TEXT, OTHER, models[2]),
    "audit": lambda models, folder: ws.audit(
        models[:2], "everyday", texts=4, kinds=["negation"], workers=1
    ),
    "corpus": corpus,
}


@pytest.mark.slow
@pytest.mark.parametrize("verb", MAKERS)
def test_no_saved_file_tells_where_a_model_lies(verb, models, tmp_path):
    result = MAKERS[verb](models, tmp_path)
    for ending in ("html", "json", "csv"):
        saved = result.save(tmp_path / f"{verb}.{ending}").read_text("utf-8")
        assert PRIVATE not in saved, ending
        assert ending == "csv" or "model" in saved


def test_a_folder_is_named_by_its_last_part(models):
    assert locate(models[0]).name == "model" == Probe(models[0]).describe()["name"]


def test_models_of_one_name_are_told_apart(models):
    assert list(labels_of(models[:2]).values()) == ["a/model", "b/model"]
    names = ws.pairs(TEXT, OTHER, models[:2], draws=0).names
    assert names == ["a/model", "b/model"]
    assert labels_of(["minilm", "org/model"]) == {"minilm": "minilm", "org/model": "org/model"}


def test_a_folder_named_like_a_model_of_the_catalogue_is_not_taken_for_it(tmp_path):
    found = locate(str(tiny.save(tmp_path / "minilm")))
    assert found.name == "minilm" and not found.catalogued
    assert found.verified() == tmp_path / "minilm"
