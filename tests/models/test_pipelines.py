"""Folders of sentence-transformers: the pooling that their modules name, and one line for every
part that cannot be computed.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import tiny
import wordsway as ws
from wordsway.core.errors import InputError, WordswayError
from wordsway.data import hub
from wordsway.data.home import SourceError
from wordsway.models.files import locate
from wordsway.models.pipeline import pipeline_in
from wordsway.models.probe import Probe

A, B = "the film was good", "the film was bad"
PACKAGE = "sentence_transformers.models."


def pipeline(
    folder: Path, *modules: str, pooling: str = "cls", paths: dict[str, str] | None = None
) -> Path:
    """A tiny BERT with the modules of these names, in folders as sentence-transformers names them,
    or in those of ``paths``.
    """
    listed = []
    for number, name in enumerate(("Transformer", *modules)):
        path = (paths or {}).get(name, f"{number}_{name}" if number else "")
        listed.append({"idx": number, "name": str(number), "path": path, "type": PACKAGE + name})
        (folder / path).mkdir(parents=True, exist_ok=True)
        if name == "Transformer":
            tiny.save(folder / path)
        elif name == "Pooling":
            settings = {"embedding_dimension": 16, "pooling_mode": pooling}
            (folder / path / "config.json").write_text(json.dumps(settings))
    (folder / "modules.json").write_text(json.dumps(listed))
    return folder


def cosine(transformer: Path, pooling: str) -> float:
    """Of both texts, with transformers alone."""
    from transformers import AutoModel

    model = AutoModel.from_pretrained(transformer).eval()
    with torch.no_grad():
        rows = [
            model(torch.tensor([tiny.tokenizer().encode(text).ids])).last_hidden_state[0]
            for text in (A, B)
        ]
    a, b = (one[0] if pooling == "cls" else one.mean(0) for one in rows)
    return float(torch.cosine_similarity(a, b, dim=0))


def measured(model: Path | str) -> float:
    (found,) = ws.pairs(A, B, models=str(model)).pairs
    return found.models[0].cosine


def test_the_pooling_lies_where_the_modules_say(tmp_path: Path) -> None:
    """It was looked for in 1_Pooling alone, and the mean was taken."""
    folder = pipeline(tmp_path / "m", "Pooling", "Normalize", paths={"Pooling": "deep/pool"})
    assert Probe(folder).pooling == "cls, Normalize"
    assert measured(folder) == pytest.approx(cosine(folder, "cls"), abs=1e-6)
    assert abs(measured(folder) - cosine(folder, "mean")) > 1e-4
    before = locate(folder).digest
    (folder / "deep" / "pool" / "config.json").write_text('{"pooling_mode": "mean"}')
    assert locate(folder).digest != before, "another pooling is another model"
    assert Probe(folder).pooling == "mean, Normalize"


@pytest.mark.parametrize("inside", ["", "0_Transformer"])
def test_a_transformer_in_a_folder_of_its_own(tmp_path: Path, inside: str) -> None:
    """By the pipeline's folder, and by the transformer's: the pooling is the pipeline's."""
    folder = pipeline(tmp_path / "m", "Pooling", paths={"Transformer": "0_Transformer"})
    probe = Probe(folder / inside)
    assert probe.pooling == "cls"
    assert locate(folder / inside).folder == folder / "0_Transformer"
    assert measured(folder / inside) == pytest.approx(
        cosine(folder / "0_Transformer", "cls"), abs=1e-6
    )


@pytest.mark.parametrize(
    "modules",
    [
        ("WeightedLayerPooling", "Pooling"),
        ("Pooling", "Router", "Normalize"),
        ("SpladePooling",),
    ],
)
def test_modules_that_are_not_computed_are_named(tmp_path: Path, modules: tuple[str, ...]) -> None:
    """They need more than the states of the last layer, or give more than one vector."""
    folder = pipeline(tmp_path / "m", *modules)
    named = ", ".join(modules)
    for call in (
        lambda: ws.pairs(A, B, models=str(folder)),
        lambda: ws.words(A, str(folder), target="cosine"),
        lambda: ws.swap(A, "good", str(folder), target="pooled"),
    ):
        with pytest.raises(InputError, match=f"got Transformer, {named} in .*modules.json"):
            call()
    assert ws.words(A, str(folder), tiers="mean-local", passes=2).layer == 3, (
        "layers come before these modules"
    )


def test_a_pooling_that_is_missing_is_not_guessed(tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "m", "Pooling")
    (folder / "1_Pooling" / "config.json").unlink()
    with pytest.raises(
        InputError, match=r"the pooling that modules\.json names, got no .*1_Pooling"
    ):
        ws.pairs(A, B, models=str(folder))


@pytest.mark.parametrize("content", ["", "pickle"])
def test_modules_that_cannot_be_read_are_named(tmp_path: Path, content: str) -> None:
    """A Dense without weights, and one whose weights could run code."""
    folder = pipeline(tmp_path / "m", "Pooling", "Dense")
    settings = {"in_features": 16, "out_features": 4, "bias": True}
    (folder / "2_Dense" / "config.json").write_text(json.dumps(settings))
    if content:
        (folder / "2_Dense" / "pytorch_model.bin").write_bytes(b"\x80\x04")
    with pytest.raises(InputError, match="2_Dense"):
        ws.pairs(A, B, models=str(folder))


def test_modules_of_other_packages_are_not_run(tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "m", "Pooling", "Dense")
    listed = json.loads((folder / "modules.json").read_text())
    listed[2]["type"] = "somewhere.else.Dense"
    (folder / "modules.json").write_text(json.dumps(listed))
    with pytest.raises(InputError, match="other code is not run"):
        ws.pairs(A, B, models=str(folder))


def test_texts_are_no_longer_than_the_pipeline_takes(tmp_path: Path) -> None:
    """sentence-transformers cuts them there, and the embedding is another one."""
    folder = pipeline(tmp_path / "m", "Pooling")
    assert Probe(folder).limit == 64
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 20}')
    assert Probe(folder).limit == 20
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 8}')
    with pytest.raises(InputError, match="at most 8 tokens"):
        ws.pairs("good " * 7, B, models=str(folder))
    with pytest.raises(InputError, match="at most 8 tokens, the longest that"):
        ws.words("good " * 7, str(folder))
    (folder / "modules.json").unlink()
    assert Probe(folder).limit == 64, "transformers alone does not cut"


def test_capitals_are_lowered_as_the_pipeline_demands(tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "m", "Pooling")
    document = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps(document | {"normalizer": None}))
    ids = Probe(folder).reader.ids(["The FILM", "the film"])
    assert ids[0] != ids[1]
    (folder / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    ids = Probe(folder).reader.ids(["The FILM", "the film"])
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "{}",
        "[7]",
        '[{"path": ""}]',
        '[{"type": "a.Transformer", "path": "../other"}]',
        '[{"type": "a.Transformer", "path": "/etc"}]',
    ],
)
def test_modules_that_are_none(tmp_path: Path, content: str) -> None:
    folder = tiny.save(tmp_path / "bert")
    (folder / "modules.json").write_text(content)
    with pytest.raises(InputError, match=r"modules\.json"):
        pipeline_in(folder)
    with pytest.raises(InputError, match=r"modules\.json"):
        Probe(folder)


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hub that is out of reach, and a cache with the model some/model as transformers leaves it:
    no modules.json.
    """
    pytest.importorskip("huggingface_hub")

    def unreachable(repository: str, kind: str | None) -> None:
        raise SourceError("no connection")

    monkeypatch.setattr(hub, "_files", unreachable)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hf"))
    repository = tmp_path / "hf" / "models--some--model"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("abc")
    tiny.save(repository / "snapshots" / "abc")
    return repository


def test_the_pooling_of_a_partial_hub_cache_is_not_guessed(cached: Path) -> None:
    """A cache of config.json and weights became mean pooling."""
    with pytest.raises(WordswayError, match=r"incomplete cache .* pooling is not guessed"):
        ws.pairs(A, B, models="some/model")
    assert ws.words(A, "some/model", tiers="mean-local", passes=2).layer == 3
    (cached / ".no_exist" / "abc").mkdir(parents=True)
    (cached / ".no_exist" / "abc" / "modules.json").touch()
    assert Probe("some/model").pooling == "mean", "the cache has recorded that the hub has none"


def test_a_complete_hub_cache_says_how_it_pools(
    cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = cached / "snapshots" / "abc"
    monkeypatch.setattr(hub, "_cached_snapshot", lambda name: (snapshot, True))
    assert Probe("some/model").pooling == "mean"
    monkeypatch.setattr(hub, "_cached_snapshot", lambda name: (snapshot, False))
    (snapshot / "1_Pooling").mkdir()
    (snapshot / "1_Pooling" / "config.json").write_text('{"pooling_mode": "max"}')
    assert Probe("some/model").pooling == "max"
