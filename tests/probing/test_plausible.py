"""Words that are likely in a place: by the model's own head, or by another language model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import tiny
from wordsway import data
from wordsway.models.probe import Probe
from wordsway.models.tokens import Reader
from wordsway.probing import plausible as module
from wordsway.probing.plausible import _Scorer
from wordsway.probing.swap import swap

TEXT = "the film was good"
#: Nouns that were offered for "safe", which can be a noun elsewhere.
NONSENSE = {"breaststroke", "drummer", "streetcar", "clary", "condor", "rani", "sultanate"}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    return Probe(tiny.save(tmp_path_factory.mktemp("bert"), "bert"))


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


def test_a_helper_is_fetched_where_none_is_installed(
    bert: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fetched(Exception):
        """Stands for a download."""

    def get(name: str, **options: Any) -> None:
        raise Fetched(name)

    monkeypatch.setattr(data, "present", lambda name: None)
    monkeypatch.setattr(data, "get", get)
    with pytest.raises(Fetched, match="smollm2"):
        swap(TEXT, "good", bert, plausible=True, worst_case=False)


@pytest.mark.slow
def test_what_can_be_said_of_a_drug() -> None:
    """For "safe" in "The drug is safe.", what a drug can be; no streetcars."""
    if not data.present("minilm") or not data.present("smollm2"):
        pytest.skip("minilm or smollm2 is not here")
    found = swap("The drug is safe.", "safe", "minilm", plausible=True, top=5000, worst_case=False)
    words = {one.word for one in found.swaps}
    assert NONSENSE.isdisjoint(words) and {"effective", "toxic", "illegal"} <= words
