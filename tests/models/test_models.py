"""Embeddings: equal to the Hugging Face model's own numbers, cached without ever being trusted
blindly.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

import tiny
import wordsway as ws
from wordsway import data
from wordsway.core.errors import InputError, WordswayError
from wordsway.data import home
from wordsway.models import Embedder
from wordsway.models.files import locate
from wordsway.models.layers import ModelLayers
from wordsway.models.load import quiet

TEXT = (
    "A fine film, not dull. The cast was fine and the plot was very good, "
    "and I, she said, was not bad."
)


@pytest.fixture
def fresh_cache(tmp_path, monkeypatch):
    """Embeddings of their own; data where it is."""
    monkeypatch.setenv("WORDSWAY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="module")
def reviews():
    return [text.text for text in ws.draw(ws.corpus("imdb"), 12, seed=5)]


def reference(folder):
    with quiet():
        from transformers import AutoModel

        return AutoModel.from_pretrained(folder, local_files_only=True).eval()


def states(model, **inputs):
    if model.config.is_encoder_decoder:
        model = model.get_encoder()
    with torch.no_grad():
        return model(**inputs, output_hidden_states=True).hidden_states


@pytest.mark.slow
def test_every_layer_of_minilm_equals_transformers(reviews):
    """With the tokenizer of transformers, one text at a time and padded, layer by layer."""
    from transformers import PreTrainedTokenizerFast

    folder = locate("minilm").verified()
    theirs = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), pad_token="[PAD]"
    )
    model = reference(folder)
    embedders = [Embedder("minilm", layer, cache=False) for layer in range(7)]
    for text in reviews[:3]:
        alone = theirs(text, truncation=True, max_length=256, return_tensors="pt")
        padded = theirs(
            text, truncation=True, max_length=256, padding="max_length", return_tensors="pt"
        )
        assert padded["input_ids"].shape == (1, 256)
        one, all_rows = states(model, **alone), states(model, **padded)
        assert len(one) == 7
        for layer, embedder in enumerate(embedders):
            count = alone["input_ids"].shape[1]
            np.testing.assert_allclose(
                embedder.rows([text], padded=False)[0][:count],
                one[layer][0].numpy(),
                rtol=0,
                atol=1e-6,
            )
            np.testing.assert_allclose(
                embedder.rows([text])[0], all_rows[layer][0].numpy(), rtol=0, atol=1e-6
            )


@pytest.mark.slow
@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_every_architecture_stops_at_the_right_layer(tmp_path, architecture):
    """Layers are found by what flows through them, not by a list of architectures; shared layers
    (ALBERT) included.
    """
    folder = tiny.save(tmp_path / architecture, architecture)
    model, layers = reference(folder), ModelLayers(locate(folder))
    ids = torch.randint(4, 24, (3, 11), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[1, 7:] = 0
    theirs = states(model, input_ids=ids, attention_mask=mask)
    assert layers.count == len(theirs) - 1 >= 2
    stopped = sum(entry is not None for entry in layers.entry_points)
    assert stopped >= layers.count - 1, (
        "all but the last layers are reached without running the rest"
    )
    for layer, expected in enumerate(theirs):
        torch.testing.assert_close(layers.hidden(layer, ids, mask), expected, rtol=0, atol=1e-6)
    with pytest.raises(AssertionError):
        torch.testing.assert_close(layers.hidden(0, ids, mask), theirs[1], rtol=0, atol=1e-6)


def test_bare_word_vectors_and_named_layers(tmp_path):
    folder = tiny.save(tmp_path / "bert")
    words = Embedder(folder, "words", context=32, cache=False)
    ids = words.tokens([TEXT])[0].ids
    table = reference(folder).get_input_embeddings().weight.detach().numpy()
    np.testing.assert_array_equal(words.rows([TEXT])[0], table[list(ids)])
    last, third = (
        Embedder(folder, "last", context=32, cache=False),
        Embedder(folder, 3, context=32, cache=False),
    )
    np.testing.assert_array_equal(last.rows([TEXT])[0], third.rows([TEXT])[0])
    for wrong in (4, "seventh", -1):
        with pytest.raises(InputError, match=r"a layer \(0 to 3, input or last\), or words"):
            Embedder(folder, wrong, cache=False)


def test_a_sample_of_a_text(tmp_path):
    embedder = Embedder(tiny.save(tmp_path / "bert"), context=64, cache=False)
    X = embedder.sample(TEXT)
    assert X.n == embedder.tokens([TEXT])[0].count and X.d == 16
    torch.testing.assert_close(X.X.norm(dim=1), torch.full((X.n,), 4.0, dtype=torch.float64))
    first = embedder.sample(TEXT, n=6, d=5)
    assert (first.n, first.d) == (6, 5)
    torch.testing.assert_close(first.X.norm(dim=1) ** 2, torch.full((6,), 5.0, dtype=torch.float64))
    raw = embedder.rows([TEXT])[0][:6, :5].astype(np.float64)
    np.testing.assert_allclose(
        first.X.numpy(), raw * np.sqrt(5) / np.linalg.norm(raw, axis=1, keepdims=True), rtol=1e-12
    )
    with pytest.raises(InputError, match=r"at least n = 60 tokens, got 30 tokens in “A fine film"):
        embedder.sample(TEXT, n=60)
    padded = embedder.sample(TEXT, n=60, padding="pad")
    assert padded.n == 60 and {token.kind for token in padded.reading.tokens[30:]} == {"padding"}
    with pytest.raises(InputError, match="d ≤ 16, the width of"):
        embedder.sample(TEXT, n=6, d=17)
    with pytest.raises(InputError, match="n ≤ 64, the context"):
        embedder.sample(TEXT, n=65)
    with pytest.raises(InputError, match="padding among none, pad"):
        embedder.sample(TEXT, padding="left")
    with pytest.raises(InputError, match="this model has 64 positions"):
        Embedder(tmp_path / "bert", context=80, cache=False).sample(TEXT, n=70, padding="pad")


@pytest.mark.slow
def test_words_know_their_rows_and_places(tmp_path):
    embedder = Embedder(tiny.save(tmp_path / "bert"), context=64, cache=False)
    X = embedder.sample("Films, films! I don't.")
    words = X.reading.words
    assert [word.text for word in words] == ["Films", ",", "films", "!", "I", "don't", "."]
    assert words[0].rows == (1, 2) and words[2].rows == (4, 5), "film + ##s, twice, and not merged"
    assert all(X.reading.text[word.start : word.end] == word.text for word in words)
    assert [X.reading.tokens[row].kind for row in (0, X.n - 1)] == ["special", "special"]
    assert X.words[:3] == ("[CLS]", "Film", "s")
    phi = ws.RAF(d=16, seed=0)
    s = ws.sensitivity(phi, X, positions="word:2", seed=0)
    assert [word.position for word in s.words] == [4, 5] and {word.index for word in s.words} == {2}
    everything = ws.sensitivity(phi, X, positions="words", seed=0)
    assert {word.position for word in everything.words} == set(range(1, X.n - 1))
    by_word = everything.by_word()
    assert [word.index for word in by_word] == list(range(7))
    assert by_word[0].lower == max(word.lower for word in everything.words if word.index == 0)
    assert by_word[0].upper == max(word.upper for word in everything.words if word.index == 0)
    mixed = ws.sensitivity(phi, X, positions=[0, "word:0"], seed=0)
    assert [word.position for word in mixed.words] == [0, 1, 2]
    moved = X.replaced(1, [0.0] * 16)
    assert moved.reading is X.reading
    for wrong, said in (("word:7", "words 0 to 6"), ("word:x", '"word:3"'), ("third", '"word:3"')):
        with pytest.raises(InputError, match=said):
            ws.sensitivity(phi, X, positions=wrong)
    with pytest.raises(InputError, match="a sample without a text"):
        ws.sensitivity(phi, ws.Sample.gaussian(n=3, d=16), positions="word:0")


def test_cached_once_and_equal(fresh_cache, tmp_path, monkeypatch):
    folder = tiny.save(tmp_path / "bert")
    texts = [f"{TEXT} {word}" for word in tiny.WORDS]
    first = Embedder(folder, context=64).rows(texts)
    calls = []
    monkeypatch.setattr(ModelLayers, "hidden", lambda *_: calls.append(1))
    again = Embedder(folder, context=64).rows(list(reversed(texts)))
    assert not calls
    for one, two in zip(first, reversed(again), strict=True):
        np.testing.assert_array_equal(one, two)
    other = tiny.save(tmp_path / "other", seed=1)
    monkeypatch.undo()
    monkeypatch.setenv("WORDSWAY_HOME", str(fresh_cache))
    assert not np.array_equal(Embedder(other, context=64).rows(texts[:1])[0], first[0]), (
        "another model has its own"
    )
    kinds = {path.suffix for path in (fresh_cache / "embeddings").rglob("*") if path.is_file()}
    assert kinds == {".npz"}


@pytest.mark.parametrize(
    "harm", ["flip a number", "flip the header", "truncate", "empty", "foreign"]
)
def test_a_broken_cache_file_is_refused_by_name_and_made_again(fresh_cache, tmp_path, caplog, harm):
    folder = tiny.save(tmp_path / "bert")
    truth = Embedder(folder, context=64).rows([TEXT])[0].copy()
    (path,) = (fresh_cache / "embeddings").rglob("*.npz")
    content = bytearray(path.read_bytes())
    if harm == "flip a number":
        content[len(content) // 2] ^= 1
    elif harm == "flip the header":
        content[content.index(b"NUMPY") + 20] ^= 1
    elif harm == "truncate":
        del content[-100:]
    else:
        content = bytearray(b"" if harm == "empty" else b"\0" * 500)
    path.write_bytes(content)
    np.testing.assert_array_equal(Embedder(folder, context=64).rows([TEXT])[0], truth)
    assert path.name in caplog.text and "refused" in caplog.text
    caplog.clear()
    np.testing.assert_array_equal(Embedder(folder, context=64).rows([TEXT])[0], truth)
    assert caplog.text == ""


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path, monkeypatch, caplog):
    folder = tiny.save(tmp_path / "bert")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WORDSWAY_HOME", str(tmp_path / "file" / "home"))
    assert Embedder(folder, context=64).rows([TEXT])[0].shape == (64, 16)
    assert "not kept" in caplog.text and "WORDSWAY_HOME" in caplog.text


def test_models_that_cannot_be_used_say_so(tmp_path):
    with pytest.raises(
        InputError, match=r"a model \(minilm, mpnet, smollm2, bert-base\), a hub id or a folder"
    ):
        Embedder("nothing")
    with pytest.raises(InputError, match="imdb, which is a corpus"):
        Embedder("imdb")
    (tmp_path / "pickled").mkdir()
    (tmp_path / "pickled" / "pytorch_model.bin").write_bytes(b"\x80\x04")
    with pytest.raises(InputError, match="other formats can run code"):
        Embedder(tmp_path / "pickled")
    folder = tiny.save(tmp_path / "bert")
    (folder / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"config\.json"):
        Embedder(folder)
    folder = tiny.save(tmp_path / "two")
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match=r"a tokenizer\.json in"):
        Embedder(folder)
    folder = tiny.save(tmp_path / "three")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-50])
    with pytest.raises(WordswayError, match="could not be loaded"):
        Embedder(folder, context=64, cache=False).rows([TEXT])


def test_a_tampered_model_is_fetched_again(fresh_cache, caplog, monkeypatch):
    """One flipped byte in MiniLM's weights is refused by name, and the model fetched again."""
    import shutil

    from wordsway import data

    monkeypatch.undo()
    whole = data.get("minilm").folder
    monkeypatch.setenv("WORDSWAY_HOME", str(fresh_cache))
    shutil.copytree(whole, fresh_cache / "data" / "minilm")
    path = fresh_cache / "data" / "minilm" / "model.safetensors"
    with path.open("r+b") as file:
        file.seek(1_000_000)
        byte = file.read(1)
        file.seek(1_000_000)
        file.write(bytes([byte[0] ^ 1]))
    monkeypatch.setattr(
        data.fetch,
        "_fetch",
        lambda wanted, progress, folder: pytest.fail("the flipped byte was seen"),
    )
    with pytest.raises(pytest.fail.Exception, match="the flipped byte was seen"):
        Embedder("minilm").rows([TEXT])
    assert str(path) in caplog.text and "refused" in caplog.text


TWICE = """
import sys
import wordsway as ws
from wordsway import data
rows = ws.Embedder("minilm").rows(["A fine film.", "Two hours that I will not get back."])
print("transformers" in sys.modules, sum(float(row.sum()) for row in rows))
"""


@pytest.mark.slow
def test_reading_back_needs_no_transformers(tmp_path):
    """The second process has the same rows without running, or importing, any model."""
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    cache = home() / "data"
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "data").symlink_to(cache.resolve(), target_is_directory=True)
    environment["WORDSWAY_HOME"] = str(tmp_path / "home")
    runs = [
        subprocess.run(
            [sys.executable, "-c", TWICE],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        for _ in range(2)
    ]
    (loaded, made), (again, read) = (run.stdout.split() for run in runs)
    assert (loaded, again) == ("True", "False")
    assert made == read


@pytest.mark.slow
def test_the_papers_recipe():
    drawn = ws.paper_samples(n=250, d=64, count=6, seed=3)
    assert [label for _, label in drawn] == [-1, 1, -1, 1, -1, 1]
    for X, _ in drawn:
        kinds = [token.kind for token in X.reading.tokens]
        assert (X.n, X.d) == (250, 64) and kinds.count("padding") > 10, (
            "fewer than 240 tokens, padded to 256"
        )
        torch.testing.assert_close(X.X.norm(dim=1), torch.full((250,), 8.0, dtype=torch.float64))
    assert len({X.reading.text for X, _ in drawn}) == 6
    again = ws.paper_samples(n=20, d=64, count=2, seed=3)
    assert again[1][0].reading.text == drawn[1][0].reading.text
    with pytest.raises(InputError, match="n ≤ 256"):
        ws.paper_samples(n=257, d=64, count=1)


@pytest.mark.slow
def test_the_papers_effect_on_reviews():
    """RF falls like n^(−1/2) and RAF stays, on padded reviews through MiniLM; seeds fixed, three
    trials per point.
    """
    from wordsway.core.laws import fit_slope
    from wordsway.studies.measure import measure
    from wordsway.studies.texts import TextOptions

    grid = (30, 60, 120, 240)
    means = {}
    for name in ("rf", "raf", "relu-raf"):
        how: dict[str, Any] = {"trials": 3, "data": "imdb", "texts": TextOptions(padding="paper")}
        means[name] = [measure(name, n, 96, **how, certificate=False).mean for n in grid]
    assert -0.65 < fit_slope(grid, means["rf"]).value < -0.5
    assert max(means["raf"]) < 1.5 * min(means["raf"])
    assert (
        means["relu-raf"][0] > 1.5 * means["relu-raf"][-1]
        and means["relu-raf"][-1] < means["raf"][-1] / 2
    )


def test_edges_of_the_embedder(tmp_path):
    folder = tiny.save(tmp_path / "bert")
    embedder = Embedder(folder, context=64, cache=False)
    assert embedder.samples([], 4, 8) == []
    assert embedder.rows([TEXT], padded=False)[0].shape == (30, 16)
    for wrong in ("a string", [None], ["\ud800"]):
        with pytest.raises(InputError, match=r"a list of texts|a text of whole characters"):
            embedder.samples(wrong)
    before = locate(folder).digest
    (folder / "vocab.txt").write_text("other words")
    assert locate(folder).digest != before, "whatever can change tokens is part of the model's hash"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["minilm", "smollm2"])
def test_the_same_files_have_one_hash_by_name_and_by_folder(name):
    """A folder that was dequantised has the catalogue's hash, too."""
    if not data.present(name):
        pytest.skip(f"{name} is not here")
    by_name = locate(name)
    assert locate(by_name.folder).digest == by_name.digest
