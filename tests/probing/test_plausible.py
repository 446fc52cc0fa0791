"""Words that are likely in a place: by the model's own head, by another language model, by WordNet
and the word's neighbours, or not at all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import tiny
from wordsway import data
from wordsway.core.errors import InputError
from wordsway.models.probe import Probe
from wordsway.models.tokens import Reader
from wordsway.probing import plausible as module
from wordsway.probing.plausible import _Scorer
from wordsway.probing.swap import swap
from wordsway.text.parts import is_mainly, kinds, parts_in_form, parts_in_place

TEXT = "the film was good"
#: Nouns that were offered for "safe", which can be a noun elsewhere.
NONSENSE = {"breaststroke", "drummer", "streetcar", "clary", "condor", "rani", "sultanate"}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    return Probe(tiny.save(tmp_path_factory.mktemp("bert"), "bert"))


@pytest.fixture
def _no_language_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HELPERS", {})


@pytest.mark.parametrize(
    ("word", "like_it", "unlike_it"),
    [
        ("does", ["can", "did", "would"], ["godzilla", "dogs", "makes"]),
        ("loved", ["hated", "went", "stopped"], ["hates", "love", "film"]),
        ("her", ["his", "them", "the"], ["she", "film", "of"]),
        ("dogs", ["cats", "women"], ["cat", "seems", "gave"]),
        ("happier", ["bigger", "nicer"], ["big", "never"]),
        ("was", ["were", "seemed"], ["is", "the"]),
    ],
)
def test_words_of_one_part_have_the_same_form(
    word: str, like_it: list[str], unlike_it: list[str]
) -> None:
    """So that "does godzilla have" is not the answer."""
    parts = parts_in_form(word)
    assert all(is_mainly(other, parts) for other in like_it)
    assert not [other for other in unlike_it if is_mainly(other, parts)]


@pytest.mark.parametrize(
    ("sentence", "word", "kind"),
    [
        ("The drug is safe .", "safe", "adj"),
        ("The drug is not safe .", "safe", "adj"),
        ("They keep the safe in a wall", "safe", "noun"),
        ("The safe house was dark", "safe", "adj"),
        ("She will book a flight", "book", "verb"),
        ("The book was good", "book", "noun"),
        ("They plant trees", "plant", "verb"),
        ("The plant grows", "plant", "noun"),
        ("Doctors test the drug", "test", "verb"),
        ("The test results were bad", "test", "noun"),
        ("The film was very cold", "cold", "adj"),
        ("She is kind .", "kind", "adj"),
        ("He drinks water", "water", "noun"),
        ("He runs fast", "fast", "adv"),
        ("I love her dog", "her", "determiner"),
    ],
)
def test_the_place_decides_the_part_of_speech(sentence: str, word: str, kind: str) -> None:
    words = sentence.split()
    assert kinds(parts_in_place(words, words.index(word))) == {kind}


@pytest.mark.usefixtures("_no_language_model")
def test_without_a_language_model_the_part_of_speech_in_that_place_decides(bert: Probe) -> None:
    by_wordnet = swap(TEXT, "good", bert, plausible=True, top=99)
    assert {"bad", "dull"} <= {one.word for one in by_wordnet.swaps}
    assert {"the", "and", "they", "film"}.isdisjoint(one.word for one in by_wordnet.swaps)
    assert by_wordnet.plausible == "part of speech: adj"


@pytest.mark.usefixtures("_no_language_model")
def test_what_neither_decides_is_said(bert: Probe) -> None:
    with pytest.raises(InputError, match="'run', which can be noun or verb there") as told:
        swap("run", 0, bert, plausible=True)
    assert "data get smollm2" in str(told.value) and "--among" in str(told.value)
    with pytest.raises(InputError, match="nothing that WordNet has"):
        swap("the qzx was good", "qzx", bert, plausible=True)


def _with_head(architecture: str) -> Any:
    import transformers as tf

    torch.manual_seed(1)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    sizes |= {"vocab_size": 40, "intermediate_size": 24, "max_position_embeddings": 64}
    if architecture == "llama":
        config: Any = tf.LlamaConfig(**sizes, num_key_value_heads=1, bos_token_id=1)
        return tf.LlamaForCausalLM(config).eval()
    return tf.BertForMaskedLM(tf.BertConfig(**sizes)).eval()


@pytest.mark.parametrize("screened", [128, 4])
def test_a_causal_helper_reads_both_sides_of_the_word(
    bert: Probe, screened: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P(word | rest of the text), with transformers alone; of few, those that it is largest for."""
    model = _with_head("llama")
    helper = _Scorer(Reader(bert.files, None), model, "causal")
    words = ["bad", "dull", "films", "not", "casts", "they", "plot"]
    text = "the film was good and dull"
    word = bert.read(text).word("good")

    def naive(name: str) -> float:
        ids = torch.tensor([[1, *bert.reader.ids([text.replace("good", name)])[0]]])
        with torch.no_grad():
            logs = torch.log_softmax(model(ids).logits[0].double(), 1)
        return float(sum(logs[at, token] for at, token in enumerate(ids[0, 1:].tolist())))

    true = torch.softmax(torch.tensor([naive(name) for name in words]).double(), 0)
    assert len(set(map(len, bert.reader.ids([text.replace("good", name) for name in words])))) == 2
    monkeypatch.setattr(module, "SCREENED", screened)
    found = helper.chances(text, word, words)
    assert int((found > 0).sum()) == min(screened, len(words))
    kept = found > 0
    assert torch.allclose(found[kept], true[kept] / true[kept].sum(), rtol=1e-4)


def test_a_masked_helper_reads_both_sides_of_the_word(bert: Probe) -> None:
    tokenizer = tiny.tokenizer()
    tokenizer.add_special_tokens(["[MASK]"])
    reader = Reader(bert.files, None)
    reader.tokenizer = tokenizer
    model = _with_head("bert")
    model.resize_token_embeddings(41)
    helper = _Scorer(reader, model, "masked")
    word = bert.read(TEXT).word("film")
    found = helper.chances(TEXT, word, ["plot", "films", "cast"])
    ids = torch.tensor([tokenizer.encode("the [MASK] was good").ids])
    with torch.no_grad():
        p = torch.softmax(model(ids).logits[0, 2].double(), 0)
    known = tokenizer.token_to_id
    assert found.tolist() == pytest.approx(
        [float(p[known("plot")]), 0.0, float(p[known("cast")])], rel=1e-5
    ), "a word of two tokens has no probability of its own"


def test_a_model_without_its_head_uses_a_helper(tmp_path: Path, monkeypatch: Any) -> None:
    """all-mpnet-base-v2 names a masked-language head in its configuration, and has none."""
    import json

    folder = tiny.save(tmp_path, "bert")
    config = json.loads((folder / "config.json").read_text())
    config["architectures"] = ["BertForMaskedLM"]
    (folder / "config.json").write_text(json.dumps(config))
    probe = Probe(folder)
    helper = _Scorer(Reader(probe.files, None), _with_head("llama"), "causal")
    monkeypatch.setattr(module, "HELPERS", {"smollm2": "causal"})
    monkeypatch.setattr(data, "present", lambda name: name)
    monkeypatch.setattr(module, "_helper", lambda name: helper)
    found = swap(TEXT, "good", probe, plausible=True, worst_case=False)
    assert found.plausible == "probability in smollm2"
    assert all(one.plausibility for one in found.swaps)


@pytest.mark.slow
@pytest.mark.parametrize("with_model", [True, False])
def test_what_can_be_said_of_a_drug(with_model: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """For "safe" in "The drug is safe.", what a drug can be; no streetcars."""
    if not data.present("minilm") or (with_model and not data.present("smollm2")):
        pytest.skip("minilm or smollm2 is not here")
    if not with_model:
        monkeypatch.setattr(module, "HELPERS", {})
    found = swap("The drug is safe.", "safe", "minilm", plausible=True, top=5000, worst_case=False)
    words = {one.word for one in found.swaps}
    assert NONSENSE.isdisjoint(words)
    if with_model:
        assert {"effective", "toxic", "illegal"} <= words
    else:
        assert all("adj" in parts_in_form(word) for word in words) and len(words) > 500
