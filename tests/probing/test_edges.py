"""Texts, models and requests at the edges of what words and swaps can answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import tiny
from wordsway.core.errors import InputError
from wordsway.models.probe import Probe
from wordsway.probing.swap import swap
from wordsway.probing.words import words

TEXT = "the film was good and the plot was bad"


def classifier(folder: Path, **settings: Any) -> Path:
    """A small BERT with a head of random weights."""
    import transformers as tf

    torch.manual_seed(0)
    sizes = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "intermediate_size": 24}
    config = tf.BertConfig(**sizes | {"num_attention_heads": 2} | settings)
    tf.BertForSequenceClassification(config).eval().save_pretrained(folder)
    tiny.tokenizer().save(str(folder / "tokenizer.json"))
    return folder


@pytest.mark.parametrize("architecture", ["roberta", "mpnet", "bert"])
def test_a_text_is_cut_to_what_the_model_can_read(tmp_path: Path, architecture: str) -> None:
    """Where positions are counted from behind the padding token, a table of 514 takes 512 tokens:
    a text that was cut to 514 was refused, and the remedy was to cut it.
    """
    probe = Probe(tiny.save(tmp_path / architecture, architecture))
    assert probe.limit == {"roberta": 79, "mpnet": 78, "bert": 64}[architecture]
    assert probe.read(probe.cut("good " * 200)).n == probe.limit
    with pytest.raises(InputError, match=rf"at most {probe.limit} tokens"):
        probe.read("good " * (probe.limit - 1))


def test_a_model_with_one_output_has_no_label_to_flip(tmp_path: Path) -> None:
    """The margin to no other label was infinite, and no JSON."""
    probe = Probe(classifier(tmp_path / "score", num_labels=1))
    result = words(TEXT, probe, target="logits", tiers=("real-words",))
    assert result.label is None and all(word.real and word.real.flips is None for word in result)
    found = swap(TEXT, "good", probe, target="logits", worst_case=False)
    assert '"margin": null' in found.to_json()
    changes = [one.change for one in found]
    assert changes == sorted(changes, reverse=True), "by the change"
    with pytest.raises(InputError, match="two or more labels"):
        swap(TEXT, "good", probe, target="logits", flip=True)


def test_token_ids_beyond_the_vocabulary_are_refused(tmp_path: Path) -> None:
    """The message was about the length of the text."""
    probe = Probe(classifier(tmp_path / "small", vocab_size=16))
    with pytest.raises(InputError, match="below 16"):
        words("the film was very dull and the cast", probe, target="logits")


def test_labels_that_may_be_true_together_are_no_single_label(tmp_path: Path) -> None:
    """The largest of three separate probabilities, 0.499, was shown as the predicted label."""
    several = {"num_labels": 3, "problem_type": "multi_label_classification"}
    probe = Probe(classifier(tmp_path / "several", **several))
    found = words(TEXT, probe, target="logits", tiers=("mean-local",))
    assert found.label is None and found.probability is None
    with pytest.raises(InputError, match="two or more labels"):
        swap(TEXT, "good", probe, target="logits", flip=True)


def test_one_pass_ranks_no_words(tmp_path: Path) -> None:
    """It knows no spread: ± 0 would make an order of it."""
    result = words(TEXT, Probe(tiny.save(tmp_path)), tiers=("mean-local",), passes=1)
    assert all(word.mean_local_error == word.mean_local for word in result)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"word": []}, "a word of the text, got none"),
        ({"word": 1.5}, "word to be .*, got 1.5"),
        ({"word": True}, "word to be .*, got True"),
        ({"effort": "high"}, "effort > 0, .*, got 'high'"),
        ({"reach": "far"}, "reach between 1e-6 and 1e6, .*, got 'far'"),
    ],
)
def test_what_words_cannot_be_asked(tmp_path: Path, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        words(TEXT, Probe(tiny.save(tmp_path)), **wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"top": 1.5}, "top ≥ 1"), ({"among": ["bad", 3]}, "a list of strings")],
)
def test_what_swap_cannot_be_asked(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        swap(TEXT, "good", "no such model", **wrong)
