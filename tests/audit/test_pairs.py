"""Pairs of texts: places, backgrounds, numbers, tables and what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import tiny
import wordsway as ws
from wordsway.auditing.audit import AuditJob
from wordsway.auditing.background import (
    USES,
    Place,
    RandomWords,
    background,
    known_words,
    place_of,
)
from wordsway.auditing.changes import EditEffect, changes_of
from wordsway.auditing.encoder import Encoder
from wordsway.auditing.table import LONGEST, read_table
from wordsway.cli.app import run
from wordsway.core.errors import InputError
from wordsway.models.files import ModelFiles
from wordsway.models.probe import Probe
from wordsway.probing.corpus import TextJob
from wordsway.probing.relative import cosine_distance
from wordsway.probing.request import WordsRequest
from wordsway.probing.targets import target_of


def changes(
    encoder: Encoder, text: str, places: Sequence[Place], *, draws: int, seed: int
) -> list[EditEffect]:
    """The change by each edit of one text."""
    (found,) = changes_of(encoder, [(text, places, len(places))], draws=draws, seed=seed)
    assert not isinstance(found, InputError)
    return found


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    return Probe(tiny.save(tmp_path_factory.mktemp("bert")))


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    return Probe(tiny.save(tmp_path_factory.mktemp("llama"), "llama"))


PLACES = [
    ("It is good.", "It is not good.", "", "not "),
    ("It is not good.", "It is good.", "not ", ""),
    ("It is good.", "It is bad.", "good", "bad"),
    ("It is good.", "Was it good?", "It is good.", "Was it good?"),
    ("Good.", "Very Good.", "", "Very "),
    ("I like the old man here.", "I like the young woman here.", "old man", "young woman"),
    ("go", "go on", "", "on"),
    ("a b a b", "a b", "a b", ""),
]


@pytest.mark.parametrize(("a", "b", "before", "after"), PLACES)
def test_places(a: str, b: str, before: str, after: str) -> None:
    place = place_of(a, b)
    assert (place.before.strip(), place.after.strip()) == (before.strip(), after.strip())
    rebuilt = a[: place.start] + place.after + a[place.start + len(place.before) :]
    assert rebuilt.split() == b.split()


def random_texts(a: str, b: str, draws: int, seed: int, words: RandomWords) -> list[str]:
    return background(a, place_of(a, b), draws, seed, words)


def test_backgrounds_are_real_words_in_that_place() -> None:
    text, other = "It was an old film.", "It was a new film."
    one_each = RandomWords(lambda texts: [len(one.split()) for one in texts])
    drawn = random_texts(text, other, 50, 3, one_each)
    known = set(known_words(USES))
    for one in drawn:
        _, _, article, word, _ = one.replace(".", "").split()
        assert article == ("an" if word[0] in "aeio" else article) and article in ("a", "an")
        assert word in known and word not in ("old", "new")
    assert len(set(drawn)) > 40 and len(known) > 2000
    assert drawn == random_texts(text, other, 50, 3, one_each)
    assert drawn != random_texts(text, other, 50, 4, one_each)
    inserted = random_texts(text, "It was not an old film.", 5, 0, one_each)
    removed = random_texts(text, "It was an film.", 5, 0, one_each)
    assert all(len(one.split()) == 6 for one in inserted)
    assert all(len(one.split()) == 5 for one in removed)
    for one in random_texts("Good, old film.", "Awful, new film.", 5, 0, one_each):
        assert one[0].isupper() and one.endswith(" film.") and one.index(",") > 2


@pytest.mark.parametrize("model", ["minilm", "smollm2"])
@pytest.mark.slow
def test_random_words_have_as_many_tokens_as_what_they_stand_for(model: str) -> None:
    encoder = Encoder(Probe(model))
    for a, b in (
        ("It was a good film.", "It was an uninteresting film."),
        ("It was a good film.", "It was not a good film."),
        ("It was not an uninteresting film.", "It was a film."),
        ("Excellent actors.", "Unremarkable actors."),
        ("I did not like it.", "I liked it."),
        ("Please, don't go there.", "Do go there."),
    ):
        like = a if place_of(a, b).after.strip() == "" else b
        drawn = random_texts(a, b, 8, 0, encoder.words)
        counts = [len(ids) for ids in encoder.tokens([like, *drawn])]
        assert counts == counts[:1] * 9, (a, b)


@pytest.mark.parametrize("architecture", ["bert", "mpnet", "llama"])
def test_pooled_states_equal_the_naive_ones(architecture: str, tmp_path: Path) -> None:
    import transformers

    folder = tiny.save(tmp_path, architecture)
    probe = Probe(folder)
    texts = ["the film was good", "a dull plot", "the film was not very good and she was fine"]
    encoder = Encoder(probe)
    found = encoder.pooled(encoder.tokens(texts))
    model = transformers.AutoModel.from_pretrained(folder)
    for row, tokens in zip(found, probe.reader(texts), strict=True):
        ids = torch.tensor([tokens.ids])
        states = model(input_ids=ids, output_hidden_states=True).hidden_states
        naive = torch.stack([state[0].mean(0) for state in states]).double()
        assert torch.allclose(row, naive, atol=1e-5)


def test_changes_equal_the_naive_ones(bert: Probe) -> None:
    encoder = Encoder(Probe(bert.source, dtype="float64"))
    text, edited = "the film was good", "the film was not good"
    (found,) = changes(encoder, text, [place_of(text, edited)], draws=20, seed=1)
    u, v = (encoder.pooled(encoder.tokens([one]))[0] for one in (text, edited))
    naive = torch.nn.functional.cosine_similarity(u, v, dim=-1)
    assert found.value == pytest.approx(1 - float(naive[-1]), abs=1e-9)
    assert found.cosine == pytest.approx(float(naive[-1]), abs=1e-9)
    assert found.layers[-1] == pytest.approx(float((v - u)[-1].norm() / u[-1].norm()), rel=1e-6)
    others = random_texts(text, edited, 20, 1, encoder.words)
    apart = [encoder.pooled(encoder.tokens([one]))[0, -1] for one in others]
    beside = [float(cosine_distance(u[-1], one)) for one in apart]
    share = sum((one < found.value) + 0.5 * (abs(one - found.value) < 1e-12) for one in beside)
    assert found.percentile == pytest.approx(100 * share / 20, abs=2.6)


def test_targets(bert: Probe, llama: Probe) -> None:
    text, edited = "the film was good", "the film was bad"
    place = [place_of(text, edited)]
    by_layer = [
        changes(Encoder(bert, layer), text, place, draws=0, seed=0)[0] for layer in ("1", "last")
    ]
    encoded = bert.read(text)
    ids = torch.tensor(Encoder(bert).tokens([edited]))
    # As in `words` and `swap`.
    for found, layer in zip(by_layer, ("1", "last"), strict=True):
        (change,) = target_of(bert, encoded, layer).change(ids, encoded.word("good")).tolist()
        assert found.value == pytest.approx(change, rel=1e-6)
    assert by_layer[0].percentile is None
    with pytest.raises(InputError, match="a classifier"):
        Encoder(bert, "logits")
    with pytest.raises(InputError, match="head"):
        Encoder(llama, "next-token")
    with pytest.raises(InputError, match="a layer"):
        Encoder(bert, "99")


def test_next_token_of_a_decoder(tmp_path: Path) -> None:
    import transformers

    config = transformers.GPT2Config(
        vocab_size=40,
        n_embd=16,
        n_layer=2,
        n_head=2,
        n_positions=64,
        bos_token_id=1,
        eos_token_id=2,
    )
    torch.manual_seed(0)
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path)
    tiny.tokenizer().save(str(tmp_path / "tokenizer.json"))
    encoder = Encoder(Probe(tmp_path, dtype="float64"), "next-token")
    text = "the film was good"
    (found,) = changes(encoder, text, [place_of(text, "the film was bad")], draws=3, seed=0)
    ids = [torch.tensor([one]) for one in encoder.tokens([text, "the film was bad"])]
    model = transformers.GPT2LMHeadModel.from_pretrained(tmp_path).double().eval()
    with torch.no_grad():
        p, q = (torch.softmax(model(input_ids=one).logits[0, -1], 0) for one in ids)
    assert found.value == pytest.approx(float((p.sqrt() - q.sqrt()).norm()), rel=1e-6)
    assert found.value > 0


@pytest.mark.slow
@pytest.mark.parametrize("padding", [None, 0])
def test_logits_of_a_decoder_with_and_without_a_padding_token(
    tmp_path: Path, padding: int | None
) -> None:
    """Decoders without one classify no batch; the numbers are transformers' own, text by text."""
    import transformers

    config = transformers.GPT2Config(
        vocab_size=40, n_embd=16, n_layer=2, n_head=2, n_positions=64, num_labels=3
    )
    config.pad_token_id = padding
    torch.manual_seed(0)
    own = transformers.GPT2ForSequenceClassification(config).eval()
    own.save_pretrained(tmp_path)
    tiny.tokenizer().save(str(tmp_path / "tokenizer.json"))
    encoder = Encoder(Probe(tmp_path), "logits")
    texts = ["the film was good", "the film was bad", "a very dull plot and cast"]
    ids = encoder.tokens(texts)
    with torch.no_grad():
        alone = torch.cat([own(input_ids=torch.tensor([one])).logits for one in ids])
    vectors = torch.stack(list(encoder.vectors(ids, encoder.pooled(ids))))
    assert torch.allclose(vectors, alone.double(), atol=1e-6)
    (found,) = changes(encoder, texts[0], [place_of(*texts[:2])], draws=3, seed=0)
    assert found.value == pytest.approx(float((alone[1] - alone[0]).norm() / alone[0].norm()), 1e-4)
    labels = [f"LABEL_{one}" for one in alone.argmax(1).tolist()]
    assert encoder.labels(list(vectors)) == labels and found.flips == (labels[1] != labels[0])
    rows = "the film was good,the plot was fine,the film was bad,negation"
    path = table(tmp_path / "triples.csv", f"text,rewording,change,kind\n{rows}\n")
    audited = ws.audit(tmp_path, path, target="logits", draws=0, workers=1)
    flips = {one.kind: (one.should, one.flips) for one in audited[0].flips}
    assert flips["negation"] == ("flip", float(found.flips))
    assert flips["rewording"][0] == "stay"


def test_unknown_tokens_are_told(bert: Probe, capsys: Any, monkeypatch: Any) -> None:
    """Two texts of unknown tokens are alike for the model, whatever they say."""
    found = ws.pairs(
        [("the film was good", "the film was bad"), ("安全 的 药", "危险 的 药")],
        models=bert,
        draws=0,
    )
    known, unknown = (pair.models[0] for pair in found)
    assert (known.tokens, known.unknown, known.doubt) == (8, 0, "")
    assert unknown.unknown == unknown.tokens > 5
    said = f"{unknown.unknown} of the {unknown.tokens} tokens of these texts are not in"
    assert said in unknown.doubt and found._repr_html_().count(said) == 1
    monkeypatch.setenv("COLUMNS", "200")
    found.show()
    assert capsys.readouterr().out.count(said) == 1
    told = json.loads(found.to_json())["pairs"][1]["models"][0]
    assert (told["tokens"], told["unknown"]) == (unknown.tokens, unknown.unknown)


def test_a_device_that_is_not_there_is_refused(bert: Probe, tmp_path: Path, capsys: Any) -> None:
    """The option reaches the model, in this process and in jobs."""
    assert isinstance(bert.files, ModelFiles)
    folder = str(bert.files.folder)
    texts = ["the film was good", "the film was not bad"]
    data = table(tmp_path / "t.csv", "text\n" + "\n".join(texts))
    audit = ["audit", "--data", str(data), "--out", str(tmp_path / "audit"), "--workers", "1"]
    words = ["words", "--data", str(data), "--out", str(tmp_path / "words"), "--workers", "1"]
    for command in (["pairs", *texts], audit, words):
        assert run([*command, "--model", folder, "--device", "nowhere"]) == 2
        assert "a device of this machine, got nowhere" in capsys.readouterr().err


def test_jobs_on_the_processor_keep_their_names(bert: Probe) -> None:
    """Stores of earlier versions stay valid; another device is another job with the same seed."""
    cell = TextJob("the film", "1", "m", bert.files.digest, WordsRequest(layer=1))
    job = AuditJob((("the film", (), 0),), "m", bert.files.digest, "cosine", 0, 0)
    for one in (cell, job):
        assert "device" not in one.content
        assert replace(one, device="cuda").content == one.content | {"device": "cuda"}
    assert replace(cell, device="cuda").own_seed == cell.own_seed


@pytest.mark.slow
def test_pairs_side_by_side(bert: Probe, llama: Probe) -> None:
    given = [
        ("the film was good", "the film was not good", "negation"),
        ("the film was good", "the film was fine", "synonym"),
        ("a dull plot", "a dull plot", "same"),
    ]
    found = ws.pairs(given, models=[bert, llama], draws=10)
    assert [pair.kind for pair in found.pairs] == ["negation", "synonym"]
    assert [str(one) for one in found.refused] == ["row 3: the two texts are the same"]
    document = json.loads(found.to_json())
    first = document["pairs"][0]
    assert {"a", "b", "kind", "models"} <= set(first)
    assert {"name", "cosine", "change", "percentile", "layers"} <= set(first["models"][0])
    assert len(first["models"]) == 2 and len(first["models"][0]["layers"]) == 4
    assert len(found.frame()) == 4 and len(found.kinds()) == 4
    for one in first["models"]:
        assert 0 <= one["percentile_low"] <= one["percentile"] <= one["percentile_high"] <= 100
        assert one["percentile_high"] - one["percentile_low"] > 20  # of ten words
    (without,) = ws.pairs(given[:1], models=[bert], draws=0).pairs[0].models
    assert without.percentile_low is without.percentile_high is None
    again = ws.pairs(given, models=[bert, llama], draws=10)
    assert again.to_dict() | {"seconds": 0} == found.to_dict() | {"seconds": 0}


def table(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_tables_lose_nothing(tmp_path: Path, bert: Probe) -> None:
    huge = "word " * 2_000_000
    path = table(
        tmp_path / "pairs.csv",
        "text,word,replacement,kind\n"
        "the film was good,good,bad,antonyms\n"
        "the film was good,ugly,bad,antonyms\n"
        f"{huge},good,bad,antonyms\n"
        "the film was good,good,good,antonyms\n"
        ",good,bad,antonyms\n"
        "the film\n"
        '"das ist gut, oder?",gut,schlecht,german\n',
    )
    found = ws.pairs(path, models=bert, draws=2)
    assert [(pair.row, pair.kind) for pair in found.pairs] == [(1, "antonyms"), (7, "german")]
    assert [one.row for one in found.refused] == [2, 3, 4, 5, 6]
    assert f"more than {LONGEST:,}" in found.refused[1].reason
    assert "no word 'ugly'" in found.refused[0].reason


def test_texts_that_a_model_cannot_read_are_told(bert: Probe) -> None:
    long = " ".join(["film"] * 80)
    found = ws.pairs(
        [(long, f"{long} good"), ("the film was good", "the film was bad")], models=bert, draws=0
    )
    assert [pair.row for pair in found.pairs] == [2]
    assert "at most 64 tokens" in found.refused[0].reason


def test_an_object_does_not_take_the_name_of_a_named_model(bert: Probe, tmp_path: Path) -> None:
    folder = tiny.save(tmp_path / "minilm")
    whole = transformers.AutoModel.from_pretrained(folder)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=tiny.tokenizer())

    def own(texts: list[str]) -> list[list[float]]:
        return [[1.0, len(text)] for text in texts]

    named = str(bert.source)
    own.__name__ = bert.name
    models = [(whole, tokenizer), own, named]
    found = ws.pairs("the film was good", "the film was bad", models, draws=0)
    assert found.names == ["BertModel (minilm)", f"{bert.name} 2", bert.name]
    assert found.models[1]["type"] == "function"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an empty file|which is empty|none"),
        ("a,b\n", "rows below the header"),
        ("x,y\n1,2\n", r"columns a,b\[,kind\] or text,word,replacement\[,kind\] in"),
        ("text\nonly texts\n", "texts only"),
        ("a,b\nsame,same\n", "the two texts are the same"),
        ("a,b,weight\nIt is.,It is not.,2\n", "also weight"),
        ("a,b,text\nIt is.,It is not.,x\n", "also text"),
        ("text,word,replacement,note\nIt is.,is,was,x\n", "also note"),
        ("text,rewording,change\nIt is.,So it is.,It is not.\n", "triples"),
    ],
)
def test_tables_that_cannot_be_used(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        ws.pairs(table(tmp_path / "pairs.csv", text), models="nothing")


def test_names_of_data_are_offered_where_they_are_accepted() -> None:
    from wordsway.auditing.retrieval import documents_of

    with pytest.raises(InputError, match="medical, legal, finance, support, imdb, got nope"):
        ws.length("minilm", "nope")
    with pytest.raises(InputError, match="a file of pairs, got nope"):
        ws.pairs("nope")
    with pytest.raises(InputError, match="a file of texts, got nope"):
        documents_of("nope")


def test_a_function_without_its_prefix_is_named() -> None:
    with pytest.raises(InputError, match="python:encoders:embed"):
        ws.pairs("It is.", "It was.", "encoders:embed")


def test_a_table_of_texts(tmp_path: Path) -> None:
    found = read_table(table(tmp_path / "t.csv", "id,text\n1,A text.\n2,\n3,Another one.\n"))
    assert found.texts == ((1, "A text."), (3, "Another one."))
    assert [one.row for one in found.refused] == [2]
    with pytest.raises(InputError, match="does not exist"):
        read_table(tmp_path / "missing.csv")


@pytest.mark.slow
def test_the_command(bert: Probe, tmp_path: Path, capsys: Any) -> None:
    assert isinstance(bert.files, ModelFiles)
    folder = str(bert.files.folder)
    texts = ["the film was good", "the film was bad"]
    page = tmp_path / "pairs.html"
    how = ["--model", folder, "--model", folder, "--draws", "3"]
    assert run(["pairs", *texts, *how, "--out", str(page), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["pairs"][0]["b"] == texts[1] and page.is_file()
    assert run(["pairs", *texts, *how]) == 0
    assert "good → bad" in capsys.readouterr().out
    assert run(["pairs", texts[0], texts[0], *how]) == 2
    assert run(["pairs", texts[0], *how]) == 2
    error = capsys.readouterr().err
    assert "the two texts are the same" in error and error.count("\n") == 2
