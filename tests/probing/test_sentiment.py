"""A sentiment head trained on frozen MiniLM features of IMDb, saved as anybody would save it: which
words flip its label, checked with transformers alone.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from wordsway import data
from wordsway.cli.app import run
from wordsway.models.probe import Probe
from wordsway.probing.candidates import vocabulary
from wordsway.probing.swap import swap
from wordsway.probing.words import words
from wordsway.text import corpus, draw

pytestmark = pytest.mark.slow

#: Reviews to learn from and to be judged by; their last words, and most tokens of those.
LEARNED, JUDGED, LAST, TOKENS = 600, 150, 20, 32
TEXT = "I loved this wonderful film"
LABELS = ("NEGATIVE", "POSITIVE")


def encoded(texts: list[str]) -> dict[str, torch.Tensor]:
    """Ids and mask by the tokenizers library alone."""
    from tokenizers import Tokenizer

    found = data.present("minilm")
    assert found is not None
    tokenizer = Tokenizer.from_file(str(found.folder / "tokenizer.json"))
    tokenizer.enable_truncation(TOKENS)
    tokenizer.enable_padding()
    rows = tokenizer.encode_batch(texts)
    return {
        "input_ids": torch.tensor([row.ids for row in rows]),
        "attention_mask": torch.tensor([row.attention_mask for row in rows]),
    }


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logistic regression on what MiniLM's frozen body hands to the head of a
    `BertForSequenceClassification`.
    """
    import transformers as tf

    source = data.present("minilm")
    assert source is not None
    model: Any = tf.BertForSequenceClassification.from_pretrained(
        source.folder, num_labels=2, id2label=dict(enumerate(LABELS))
    ).eval()
    reviews = corpus("imdb")
    some = draw(reviews, LEARNED + JUDGED, seed=5)
    y = torch.tensor([float(reviews.label(one) or 0) for one in some])
    with torch.no_grad():
        texts = [" ".join(one.text.split()[-LAST:]) for one in some]
        parts = [encoded(texts[at : at + 50]) for at in range(0, len(texts), 50)]
        features = torch.cat([model.bert(**part).pooler_output for part in parts])
    X, held = features[:LEARNED], features[LEARNED:]
    theta = torch.zeros(X.shape[1] + 1, requires_grad=True)
    search = torch.optim.LBFGS([theta], max_iter=60, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        search.zero_grad()
        margin = y[:LEARNED] * (X @ theta[:-1] + theta[-1])
        value = torch.nn.functional.softplus(-margin).mean() + 1e-3 * theta[:-1].square().sum()
        value.backward()
        return value

    search.step(loss)
    right = (held @ theta[:-1] + theta[-1]).sign() == y[LEARNED:]
    assert float(right.float().mean()) >= 0.6, "it has learned something"
    with torch.no_grad():
        model.classifier.weight.copy_(torch.stack([-theta[:-1], theta[:-1]]) / 2)
        model.classifier.bias.copy_(torch.stack([-theta[-1], theta[-1]]) / 2)
    folder = tmp_path_factory.mktemp("sentiment")
    model.save_pretrained(folder)
    shutil.copy(source.folder / "tokenizer.json", folder)
    return folder


@pytest.fixture(scope="module")
def alone(trained: Path) -> Any:
    """Logits of texts by transformers alone, in float64."""
    import transformers as tf

    model = tf.AutoModelForSequenceClassification.from_pretrained(trained).eval()

    @torch.no_grad()
    def logits(texts: list[str]) -> torch.Tensor:
        return model(**encoded(texts)).logits.double()

    return logits


@pytest.fixture(scope="module")
def some_words() -> list[str]:
    """Every hundredth whole word of the vocabulary, and a few that say what they think."""
    said = ["terrible", "awful", "boring", "hated", "worst", "great", "superb", "excellent", "dull"]
    return [*said, *(set(vocabulary(Probe("minilm"), "words")[::100]) - set(said))]


def test_a_trained_head_and_the_words_that_flip_it(
    trained: Path, alone: Any, some_words: list[str], tmp_path: Path, capsys: Any
) -> None:
    """`swap --target logits --flip --exhaustive`: all flips and no other, smallest change first."""
    base = alone([TEXT])[0]
    assert int(base.argmax()) == 1, "a positive sentence"
    listed = tmp_path / "among.txt"
    listed.write_text("\n".join(some_words))
    command = ["swap", TEXT, "--word", "wonderful", "--model", str(trained), "--target", "logits"]
    command += ["--among", str(listed), "--exhaustive", "--top", "9999", "--json"]
    assert run([*command, "--flip"]) == 0
    found = json.loads(capsys.readouterr().out)
    tried = [word for word in some_words if word != "wonderful"]
    after = alone([TEXT.replace("wonderful", word) for word in tried])
    flipped = {word for word, row in zip(tried, after, strict=True) if int(row.argmax()) == 0}
    assert found["label"] == "POSITIVE" and found["exhaustive"]
    assert 0 < len(flipped) < len(tried)
    assert {one["word"] for one in found["swaps"]} == flipped and found["flips"] == len(flipped)
    changes = [one["change"] for one in found["swaps"]]
    assert changes == sorted(changes)
    true = dict(zip(tried, after, strict=True))
    for one in found["swaps"]:
        row = true[one["word"]]
        change = float((row - base).norm() / base.norm())
        assert one["change"] == pytest.approx(change, rel=1e-3)
        assert one["label"] == "NEGATIVE"
        assert one["probability"] == pytest.approx(float(row.softmax(0)[1]), rel=1e-3)


def test_every_candidate_of_a_trained_head_by_its_margin(
    trained: Path, alone: Any, some_words: list[str]
) -> None:
    """Without --flip the order is that of the margin of the predicted label, smallest first."""
    few = some_words[:120]
    found = swap(
        TEXT, "loved", str(trained), target="logits", among=few, exhaustive=True, top=999,
        worst_case=False,
    )  # fmt: skip
    names = [one.word for one in found.swaps]
    assert len(names) == len(few) and found.candidates == len(few)
    rows = alone([TEXT.replace("loved", word) for word in names])
    margins = (rows[:, 1] - rows[:, 0]).tolist()
    assert margins == sorted(margins)
    for one, margin in zip(found.swaps, margins, strict=True):
        assert one.margin == pytest.approx(margin, abs=1e-4)
        assert one.label == LABELS[int(margin > 0)]


def test_words_of_a_trained_head_say_which_real_words_flip_it(trained: Path, alone: Any) -> None:
    found = words(TEXT, str(trained), target="logits", tiers=("real-words",), draws=16)
    base = alone([TEXT])[0]
    assert found.label == "POSITIVE"
    assert found.probability == pytest.approx(float(base.softmax(0)[1]), rel=1e-4)
    for word in found.words:
        real = word.real
        assert real is not None and real.flips is not None
        rows = alone([TEXT[: word.start] + name + TEXT[word.end :] for name in real.words])
        assert real.flips == int((rows.argmax(1) == 0).sum())
        changes = (rows - base).norm(dim=1) / base.norm()
        assert real.mean == pytest.approx(float(changes.mean()), rel=1e-3)
