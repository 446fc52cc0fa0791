"""(model, tokenizer) in memory: the same numbers as from the folder that it would be saved to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import tiny
import wordsway as ws
from wordsway.core.errors import InputError
from wordsway.models.encoders import opened
from wordsway.models.probe import Probe

TEXT = "the film was not good"


def held(folder: Path, kind: str, **options: Any) -> tuple[Any, Any]:
    """A small model with its head and tokenizer, and the same saved in ``folder``."""
    import transformers as tf

    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]"}
    tokenizer = tf.PreTrainedTokenizerFast(tokenizer_object=tiny.tokenizer(), **special)
    configuration: Any = tf.BertConfig(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=64,
    )
    if kind == "GPT2LMHeadModel":
        configuration = tf.GPT2Config(
            vocab_size=40, n_embd=16, n_layer=2, n_head=2, n_positions=64, eos_token_id=3
        )
    torch.manual_seed(0)
    model = getattr(tf, kind)(configuration)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        ("BertModel", "last"),
        ("BertModel", "cosine"),
        ("BertForSequenceClassification", "logits"),
        ("GPT2LMHeadModel", "next-token"),
    ],
)
def test_numbers_are_those_of_the_saved_folder(tmp_path: Path, kind: str, target: str) -> None:
    given = held(tmp_path / "saved", kind)
    how: dict[str, Any] = {"tiers": ["mean-local", "local", "real-words"], "draws": 4, "passes": 4}
    how |= {"layer": "last"} if target == "last" else {"target": target}
    mine, theirs = ws.words(TEXT, given, **how), ws.words(TEXT, str(tmp_path / "saved"), **how)
    for one, other in zip(mine.words, theirs.words, strict=True):
        assert one.mean_local == pytest.approx(other.mean_local, rel=1e-5)
        assert one.local == pytest.approx(other.local, rel=1e-4)
        assert one.real is not None and other.real is not None
        assert one.real.changes == pytest.approx(other.real.changes, rel=1e-4, abs=1e-7)
    assert given[0].training is False and all(one.requires_grad for one in given[0].parameters())


def test_attention_and_prompts_of_a_model_in_memory(tmp_path: Path) -> None:
    given = held(tmp_path / "saved", "GPT2LMHeadModel")
    before = given[0].generation_config
    mine = ws.compare(TEXT, "the film was very good", given, tokens=3)
    theirs = ws.compare(TEXT, "the film was very good", str(tmp_path / "saved"), tokens=3)
    assert mine.kl_ab == pytest.approx(theirs.kl_ab, rel=1e-5)
    assert mine.a.answer == theirs.a.answer
    assert given[0].generation_config is before
    found = ws.attention(TEXT, model=given).texts[0]
    assert found.matrix == pytest.approx(
        ws.attention(TEXT, model=str(tmp_path / "saved")).texts[0].matrix, abs=1e-6
    )


def test_a_twin_of_a_model_in_memory_has_other_weights(tmp_path: Path) -> None:
    given = held(tmp_path / "saved", "BertModel")
    probe, twin = Probe(given), Probe(given, twin=3)
    assert not torch.equal(*(one.layers.words(torch.tensor([[5]])) for one in (probe, twin)))
    assert torch.equal(*(Probe(given, twin=3).layers.words(torch.tensor([[5]])) for _ in range(2)))


@pytest.mark.slow
def test_adapters_inside_layers_count_and_prompt_learning_is_refused(tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    model, tokenizer = held(tmp_path / "saved", "BertModel")
    plain = Probe((model, tokenizer)).encode([TEXT])
    torch.manual_seed(1)
    lora = peft.LoraConfig(
        target_modules=["query", "value"], init_lora_weights=False, lora_alpha=400
    )
    adapted = peft.get_peft_model(model, lora).eval()
    found = Probe((adapted, tokenizer)).encode([TEXT])
    with torch.no_grad():
        states = adapted(**tokenizer([TEXT], return_tensors="pt")).last_hidden_state
    assert abs(found - states.mean(1).numpy()).max() <= 1e-5
    assert abs(found - plain).max() > 1e-4
    learned = peft.PromptTuningConfig(task_type="FEATURE_EXTRACTION", num_virtual_tokens=2)
    other = peft.get_peft_model(held(tmp_path / "other", "BertModel")[0], learned)
    with pytest.raises(InputError, match="prompt learning"):
        opened((other, tokenizer))


def test_tokenizers_without_places_are_refused(tmp_path: Path) -> None:
    model, _ = held(tmp_path / "saved", "BertModel")

    class Slow:
        def convert_ids_to_tokens(self, ids: Any) -> Any:
            raise NotImplementedError

    with pytest.raises(InputError, match="fast tokenizer"):
        opened((model, Slow()))
