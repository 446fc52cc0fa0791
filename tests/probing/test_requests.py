"""Traps of asking about words: spellings and numbers, lists and strings, labels and flips."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
import torch

import tiny
from wordsway.cli.app import run
from wordsway.core.errors import InputError
from wordsway.models.probe import Probe
from wordsway.probing.swap import swap
from wordsway.probing.targets import NAMED
from wordsway.probing.words import with_swaps, words


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    return Probe(tiny.save(tmp_path_factory.mktemp("bert"), "bert"))


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny classifier whose head was pulled apart, so that single words flip its label."""
    import transformers as tf

    folder = tmp_path_factory.mktemp("classifier")
    torch.manual_seed(0)
    config = tf.BertConfig(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=64,
        id2label={0: "NEGATIVE", 1: "POSITIVE"},
    )
    model: Any = tf.BertForSequenceClassification(config).eval()
    encode = tiny.tokenizer().encode
    spelled = ["good", *(word for word in tiny.WORDS if word != "good" and len(word) > 1)]
    ids = torch.tensor([encode(f"the film was {word}").ids for word in spelled])
    with torch.no_grad():
        model.classifier.weight *= 100
        margins = model(ids).logits @ torch.tensor([-1.0, 1.0])
        if margins[0] < margins.median():  # half of the words and more are to be worse than "good"
            model.classifier.weight *= -1
            model.classifier.bias *= -1
            margins = -margins
        between = (margins[0] + margins.min()) / 2
        model.classifier.bias += torch.stack([between / 2, -between / 2])
    model.save_pretrained(folder)
    tiny.tokenizer().save(str(folder / "tokenizer.json"))
    return folder


NUMBERS = "the film 5 was good , a plot"


def test_a_spelling_that_occurs_wins_over_a_number(bert: Probe, capsys: Any) -> None:
    """ "5" is the word 5 of the text, not its sixth word; --index takes numbers."""
    encoded = bert.read(NUMBERS)
    assert encoded.word("5").text == "5" and encoded.word(5).text == ","
    assert encoded.word("3").text == "was", "no such spelling: a number"
    assert words(NUMBERS, bert, word=["5"], tiers=["mean-local"]).words[0].index == 2
    folder = str(bert.source)
    base = ["swap", NUMBERS, "--model", folder, "--json", "--kind", "all"]
    assert run([*base, "--word", "5"]) == 0
    assert json.loads(capsys.readouterr().out)["index"] == 2
    assert run([*base, "--index", "4"]) == 0
    assert json.loads(capsys.readouterr().out)["word"] == "good"
    assert run([*base, "--index", "4", "--word", "good"]) == 2


@pytest.mark.slow
def test_words_and_rows_count_from_0_in_every_verb(bert: Probe, capsys: Any) -> None:
    """The same number names the same word in words, swap, attention, attract and compare."""
    text, model = "the film was good", ["--model", str(bert.source)]
    assert run(["words", text, *model, "--index", "3"]) == 0
    assert "“good” (word 3)" in capsys.readouterr().out
    assert run(["swap", text, *model, "--index", "3"]) == 0
    named = capsys.readouterr().out
    assert "“good” (word 3)" in named and "last word" not in named
    assert run(["swap", text, *model]) == 0
    assert "No --word given: “good”, the last word, is replaced." in capsys.readouterr().out
    assert run(["attract", text, *model, "--index", "3"]) == 0
    assert "“good” (word 3)" in capsys.readouterr().out
    assert run(["compare", text, "the film was dull", *model]) == 0
    assert "“good” → “dull” (word 3)" in capsys.readouterr().out
    assert run(["attention", text, *model]) == 0
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines() if "0." in line]
    assert [row for row in rows if row[0].isdigit()] == [
        [str(place), name] for place, name in enumerate(text.split())
    ]


def test_a_string_of_candidates_is_refused(bert: Probe) -> None:
    with pytest.raises(InputError, match="among to be a list of strings, got 'never'"):
        swap("the film was good", "good", bert, among="never")


def test_candidates_that_cannot_stand_there_are_named(bert: Probe, tmp_path: Path) -> None:
    found = swap("the film was good", "good", bert, among=["bad", "does not", "dull"])
    assert {one.word for one in found.swaps} == {"bad", "dull"}
    assert found.refused == ("does not",)
    shown = tmp_path / "swap.html"
    found.save(shown)
    assert "does not" in shown.read_text("utf-8")


def test_a_text_that_is_too_long_for_a_swap_is_cut(bert: Probe, capsys: Any) -> None:
    """The remedy of the refusal works."""
    text = "the film was good " * 30
    command = ["swap", text, "--model", str(bert.source), "--index", "1", "--json"]
    assert run(command) == 2
    assert "words and swap keep its beginning with --cut" in capsys.readouterr().err
    assert run([*command, "--cut"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["word"] == "film" and found["text"] == bert.cut(text, bert.limit or 0)


def test_swaps_of_words_are_printed(bert: Probe, capsys: Any) -> None:
    text = "the film was good"
    assert run(["words", text, "--model", str(bert.source), "--swaps", "1"]) == 0
    assert "Real words for" in capsys.readouterr().out
    found = words(text, bert, tiers=["mean-local"])
    longer = with_swaps(found, bert, 1, 2**30)
    assert longer.seconds == pytest.approx(found.seconds + longer.swaps[0].seconds)


@pytest.mark.parametrize(
    "arguments",
    [
        ["words", "film", "--tier", "best"],
        ["words", "film", "--reach", "0"],
        ["words", "film", "--target", "mood"],
        ["words", "film", "--draws", "0"],
        ["swap", "film", "--top", "0"],
        ["swap", "film", "--kind", "verbs"],
        ["swap", "film", "--flip"],
        ["swap", "film", "--target", "mood"],
        ["attention", "film", "--layer", "first"],
        ["attention", "film", "--head", "last"],
        ["attract", "film", "--word", "film", "--head", "first"],
        ["attract", "film", "--word", "film", "--reach", "0"],
        ["attract", "film"],
        ["attract", "film", "--word", "film", "--draws", "0"],
        ["compare", "film", "plot", "--tokens", "0"],
    ],
)
def test_bad_options_are_refused_before_the_model_is_loaded(
    arguments: list[str], monkeypatch: Any, capsys: Any
) -> None:
    def load(*_: object, **__: object) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr("wordsway.models.probe.Probe.__init__", load)
    monkeypatch.setattr("wordsway.probing.compare.locate", load)
    assert run(arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_which_words_flip_a_label(classifier: Path) -> None:
    """All candidates, checked with transformers alone: labels, probabilities, margins, order."""
    import transformers as tf

    model: Any = tf.AutoModelForSequenceClassification.from_pretrained(classifier).eval()
    encode = tiny.tokenizer().encode
    text = "the film was good"

    def logits(sentence: str) -> torch.Tensor:
        with torch.no_grad():
            found: torch.Tensor = model(torch.tensor([encode(sentence).ids])).logits[0].double()
        return found

    base = logits(text)
    assert int(base.argmax()) == 1
    probe = Probe(classifier)
    every = swap(text, "good", probe, target="logits", exhaustive=True, top=99, worst_case=False)
    assert every.label == "POSITIVE" and every.exhaustive
    assert every.probability == pytest.approx(float(torch.softmax(base, 0)[1]), rel=1e-4)
    flips = 0
    for one in every.swaps:
        after = logits(f"the film was {one.word}")
        assert one.label == ("NEGATIVE", "POSITIVE")[int(after.argmax())]
        assert one.probability == pytest.approx(float(torch.softmax(after, 0)[1]), rel=1e-3)
        assert one.margin == pytest.approx(float(after[1] - after[0]), rel=1e-3, abs=1e-4)
        flips += one.label == "NEGATIVE"
    assert 0 < flips < len(every.swaps) and every.flips == flips
    margins = [one.margin for one in every.swaps]
    assert margins == sorted(margins, key=lambda margin: margin or 0.0)
    only = swap(text, "good", probe, target="logits", flip=True, top=99, worst_case=False)
    assert len(only.swaps) == flips and {one.label for one in only.swaps} == {"NEGATIVE"}
    changes = [one.change for one in only.swaps]
    assert changes == sorted(changes), "the smallest change first"
    result = words(text, probe, target="logits", tiers=("real-words", "local"), draws=8)
    assert result.label == "POSITIVE"
    for word in result.words:
        assert word.real is not None and word.real.flips is not None
        before, after_word = text[: word.start], text[word.end :]
        others = [logits(before + name + after_word) for name in word.real.words]
        assert word.real.flips == sum(int(one.argmax()) == 0 for one in others)
        margins = [float(one[1] - one[0] - base[1] + base[0]) for one in others]
        assert word.real.margin_change == pytest.approx(sum(margins) / len(margins), abs=1e-5)


def test_the_next_token_of_a_causal_model(tmp_path: Path) -> None:
    """√2 · Hellinger distance of the two distributions, with transformers alone; likely words."""
    import transformers as tf

    torch.manual_seed(0)
    config = tf.LlamaConfig(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        intermediate_size=24,
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    model: Any = tf.LlamaForCausalLM(config).eval()
    model.save_pretrained(tmp_path)
    tiny.tokenizer().save(str(tmp_path / "tokenizer.json"))
    encode = tiny.tokenizer().encode

    def roots(sentence: str) -> torch.Tensor:
        with torch.no_grad():
            out = model(torch.tensor([encode(sentence).ids])).logits[0, -1].double()
        return torch.softmax(out, 0).sqrt()

    probe = Probe(tmp_path)
    found = swap("the film was good", "was", probe, target="next-token", top=5)
    base = roots("the film was good")
    for one in found.swaps:
        true = float((roots(f"the film {one.word} good") - base).norm())
        assert one.change == pytest.approx(true, rel=1e-3)
    result = words("the film was good", probe, target="next-token")
    assert result.target == "next-token" and result.words[0].upper == pytest.approx(
        2**0.5, rel=1e-3
    )
    likely = swap("the film was good", "was", probe, plausible=True, top=99, worst_case=False)
    assert likely.plausible == "next-token probability"
    chances = [one.plausibility or 0.0 for one in likely.swaps]
    assert all(chance > 0 for chance in chances) and len(chances) >= 15


def test_the_page_offers_every_target():
    from wordsway.page import requests

    offered = requests.TargetRequest.model_fields["target"].annotation
    script = Path(requests.__file__).parent / "assets" / "words.js"
    listed = script.read_text("utf-8").partition("const TARGETS = {")[2].partition("};")[0]
    assert {"layer", *NAMED} == set(get_args(offered))
    names = re.findall(r'(?:(\w+)|"([\w-]+)"): "', listed)
    assert {"layer", *NAMED} == {bare or quoted for bare, quoted in names}
