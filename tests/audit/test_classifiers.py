"""Labels of classifiers: gates, verdicts, assertions, functions with a score for each class."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiny
import wordsway as ws
from wordsway import testing
from wordsway.auditing.result import Audit, passed
from wordsway.cli.app import run
from wordsway.core.errors import InputError
from wordsway.page import audit as page
from wordsway.render.blocks import Fold
from wordsway.render.views.audit import audit_view
from wordsway.render.views.words import ranks

ADJECTIVES = ("good", "funny", "kind", "great", "fine")
PAIRS = {
    kind: [(f"The {noun} was {one}.", f"The {noun} was {word} {one}.") for noun, one in (
        (noun, one) for noun in ("film", "food", "story", "plot") for one in ADJECTIVES
    )]
    for kind, word in (("negation", "not"), ("notonly", "not only"), ("rewording", "really"))
}  # fmt: skip


def negated(texts: list[str]) -> np.ndarray:
    """Class 1 for texts with "not", also for "not only"."""
    share = np.array([0.9 if " not " in text else 0.1 for text in texts])
    share += np.array([len(text) for text in texts]) * 1e-4
    return np.stack([1 - share, share], 1)


def negated_again(texts: list[str]) -> np.ndarray:
    return negated(texts)


def stuck(texts: list[str]) -> np.ndarray:
    """Class 0 for every text; its probability falls with "not"."""
    share = 0.1 * negated(texts)[:, 1]
    return np.stack([1 - share, share], 1)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [f"{a},{b},{kind}" for kind, some in PAIRS.items() for a, b in some]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["a,b,kind", *rows]), "utf-8")
    return path


def audited(model: Any, table: Path, **options: Any) -> Audit:
    how: dict[str, Any] = {"should_stay": ["notonly"], "baselines": False, "draws": 0} | options
    return ws.audit(model, table, target="logits", **how)


def test_a_gate_on_labels_fails_a_model_whose_label_never_changes(
    table: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gate = {"negation": 0.9, "flips.negation": 0.9, "stays.notonly": 0.9}
    found = audited(stuck, table, fail_under=gate)
    (line,) = found.gate
    assert "flips.negation 0.000" in line
    assert "small.negation" in caplog.text and "not labels" in caplog.text
    said = found.verdict(found[0])
    assert said.startswith("labels that change where expected: negation 0 of 20; where not")
    nothing = "All 80 texts and edits have label class 0: stays.* shows nothing."
    assert said.endswith(nothing)
    (kept,) = passed({"stays.notonly": 0.9}, found.models)
    assert kept.endswith("≥ 0.9 (20 texts); shows nothing: all texts and edits have label class 0")
    found = audited(negated, table, fail_under={"flips.all": 1, "stays.all": 0.9})
    assert "shows nothing" not in found.verdict(found[0])
    (line,) = found.gate
    assert "stays.notonly 0.000" in line
    assert "where not expected: notonly 20 of 20" in found.verdict(found[0])
    (wrong,) = passed({"flips.notonly": 0.5, "flips.negation": 2}, found.models)
    assert wrong.endswith("; notonly should not change the label: use stays.notonly")


def test_edits_whose_label_is_not_as_expected_are_listed(table: Path, capsys: Any) -> None:
    """Only edits that change the label were listed: for negation the successes."""
    for model, missed, label in ((stuck, "negation", "class 0 → class 0"),
                                 (negated, "notonly", "class 0 → class 1")):  # fmt: skip
        found = audited(model, table)
        found.show()
        said = capsys.readouterr().out.partition("not as expected: 20\n")[2]
        lines = said.splitlines()
        assert lines[1].split()[1] == missed and lines[1].endswith(label)
        assert lines[6] == "… and 15 more"
        counts = "20 texts; 20 edits that should change the label (1 kind), 40 that should not (2 "
        assert any(str(block).count(counts) for block in audit_view(found).blocks)
        folds = [one.title for one in audit_view(found).blocks if isinstance(one, Fold)]
        assert ("Other edits that change the label" in folds) == (model is negated)
    pairs = table.parent / "right.csv"
    pairs.write_text("a,b,kind\nIt is on.,It is not on.,negation\n", "utf-8")
    audited(negated, pairs, should_stay=None).show()
    assert "not as expected" not in capsys.readouterr().out


def test_labels_before_the_edit_are_counted(tmp_path: Path) -> None:
    """A text that is mislabelled from the start counted like one whose label is stuck."""
    table = tmp_path / "own" / "pairs.csv"
    table.parent.mkdir()
    rows = ["It was not off.,It was not quite off.", "It is on.,It is not on.", "A.,It is not on."]
    table.write_text("\n".join(["a,b,kind", *(f"{row},negation" for row in rows)]), "utf-8")
    found = audited(negated, table, should_stay=None, out=table.parent)
    negation = found[0].flip("negation")
    assert negation is not None and dict(negation.before) == {"class 0": 2, "class 1": 1}
    said = "class 0 in 2, class 1 in 1"
    assert said in (table.parent / "index.html").read_text("utf-8")
    flips = page.read(tmp_path, "own")["flips"]
    assert flips["heads"][-1]["title"] == "labels before" and flips["rows"][0][-1] == said


def test_kinds_that_should_stay_preserve_the_meaning_in_the_score(table: Path) -> None:
    """A model whose label changes for "not only" scored 1.00 for it."""
    found = audited(negated, table)
    assert found.kinds == ["negation"]
    (score,) = found[0].kinds
    assert score.levels["rewording"].score == pytest.approx(0.5), "beats “really”, not “not only”"
    assert audited(negated, table, should_stay=None).kinds == ["negation", "notonly"]


def test_a_pair_of_kind_rewording_counts_at_that_level(table: Path) -> None:
    found = ws.audit(negated, table, baselines=False, draws=0, kinds=["negation"])
    assert found.level == "rewording" and found[0].levels["rewording"].texts == 20
    assert "No text has a rewording" not in found.verdict(found[0])


def test_every_pair_counts_for_the_labels(tmp_path: Path) -> None:
    """Pairs without a counterpart of the same text were dropped from the shares of labels."""
    path = tmp_path / "own.csv"
    rows = ["The film was good,The film was not good,negation", "Ill soup,Well soup,antonyms"]
    rows += ["A nise film,A nice film,spelling", "Poor food,Rich food,antonyms"]
    rows += ["The dialogue was good,The dialogue was not good,negation"]
    path.write_text("\n".join(["a,b,kind", *rows]), "utf-8")
    found = audited(negated, path, should_stay=None, fail_under=["stays.spelling=0.9"])
    counts = {one.kind: (one.changed, one.texts) for one in found[0].flips}
    assert counts["negation"] == (2, 2) and counts["antonyms"] == (0, 2)
    assert counts["spelling"] == (0, 1), "a rule's dialogue → dialog is not of the user's kind"
    assert found.gate == () and found.refused == ()
    path.write_text("\n".join(["a,b,kind", *rows[1:-1]]), "utf-8")
    found = audited(negated, path, should_stay=None, out=tmp_path / "out")
    assert found[0].levels == {} and found[0].flip("antonyms") is not None
    with pytest.raises(InputError, match="changes its meaning"):
        audited(negated, path, kinds=["humour"])
    with pytest.raises(InputError, match="one that preserves it"):
        ws.audit(negated, path, target="cosine", baselines=False)


def test_only_kinds_of_the_user_are_expected_to_change_the_label(
    tmp_path: Path, capsys: Any
) -> None:
    """Gold triples such as buyer → seller were counted as labels that a model missed."""
    how: dict[str, Any] = {"target": "logits", "texts": 4, "baselines": False, "draws": 0}
    gold = ws.audit([negated, stuck], kinds=["antonyms", "negation"], **how)
    for model in gold:
        said = gold.verdict(model)
        assert said.startswith("labels that change: ") and "where expected" not in said
        assert "of 4 (many of these edits need not change a label); where not expected" in said
    assert {one.kind: (one.should, one.assumed) for one in gold[0].flips}["negation"] == (
        "flip", True
    )  # fmt: skip
    assert not any(" where expected" in str(one) for one in gold.flip_differences)
    named = ws.audit(negated, kinds=["negation"], should_flip=["negation"], **how)
    assert named.verdict(named[0]).startswith("labels that change where expected: negation ")
    ruled = ws.audit(negated, ["This film is not good.", "The film is bad."], **how)
    assert all(one.by_rule for one in ruled[0].flips) and ruled[0].flips[0].assumed
    path = tmp_path / "own.csv"
    path.write_text("a,b,kind\nThis film is good.,This film is not good.,negation\n", "utf-8")
    own = ws.audit(negated, path, **how)
    by_rule = {one.kind: one.by_rule for one in own[0].flips}
    assert not by_rule.pop("negation") and by_rule and all(by_rule.values())
    assert own.verdict(own[0]).startswith("labels that change where expected: negation 1 of 1")
    capsys.readouterr()
    own.show()
    shown = capsys.readouterr().out
    assert "1 by rule" in shown and "[film → movie]" in shown
    gold.show()
    shown = " ".join(capsys.readouterr().out.split())
    assert "may change" in shown and "cosine" not in shown
    assert shown.count("Scores compare distances of class scores, not labels") == 1


def test_classifiers_are_compared_by_their_labels(table: Path, capsys: Any) -> None:
    """Their difference was that of a score of distances, without its name."""

    def careful(texts: list[str]) -> np.ndarray:
        return negated([text.replace(" not only ", " ") for text in texts])

    found = audited([negated, careful], table, out=table.parent)
    shares = {one.score: one for one in found.flip_differences}
    assert [one.certain for one in shares.values()].count(True) == 1
    assert abs(shares["flips.notonly"].difference) == 1 and shares["flips.negation"].identical
    assert {one["score"]: one["should"] for one in found.to_dict()["flip_differences"]} == {
        "flips.negation": "flip", "flips.notonly": "stay", "flips.rewording": "stay",
    }  # fmt: skip
    said = "flips.notonly: negated changes more labels than careful where not expected: by 1.00 ("
    assert str(shares["flips.notonly"]).startswith(said)
    assert str(found.differences[0]).startswith("rewording: ")
    found.show()
    shown = capsys.readouterr().out
    assert "flips.notonly: " in shown and "rewording: " not in shown and "rank" not in shown
    audited([negated, negated_again], table).show()
    assert "cannot be told apart on any kind (20 texts per kind)" in capsys.readouterr().out
    on_page = page.read(table.parent.parent, table.parent.name)["flips"]
    assert [row[:2] for row in on_page["rows"]] == [
        (model.name, one.kind) for model in found for one in model.flips
    ]
    assert any(line.startswith(said) for line in on_page["said"])
    assert all(cell in shown for row in on_page["rows"] for cell in row[:-1])
    edits = found.edits_frame()
    changed = edits[(edits.label != edits.edited_label) & (edits.model == "negated")]
    assert set(changed.kind) == {"negation", "notonly"} and len(changed) == 40
    assert set(changed.edited_label) == {"class 1"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"should_flip": ["nonsense"]}, "negation, notonly, rewording, got 'nonsense'"),
        ({"should_stay": ["negation"], "target": "pooled"}, "add --target logits"),
        ({"fail_under": ["flips.negation=1"], "target": "pooled"}, "add --target logits"),
        ({"fail_under": ["stays.nonsense=1"]}, "among negation"),
        ({"fail_under": ["flips=1"]}, "flips.KIND"),
        ({"should_flip": ["negation"], "should_stay": ["negation"]}, "either flip or stay"),
    ],
)
def test_kinds_that_no_label_is_compared_for_are_refused(
    table: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        ws.audit(negated, table, baselines=False, **{"target": "logits"} | options)


def test_a_table_of_kinds_that_should_stay_is_written(tmp_path: Path) -> None:
    found = ws.audit(
        negated, kinds=["names"], texts=4, target="logits", baselines=False, out=tmp_path
    )
    assert found.kinds == [] and (tmp_path / "audit.csv").is_file()
    assert "names" in {one.kind for one in found[0].flips}
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "50 mg" not in page and "same meaning" not in page and "blind spots of" not in page


def test_a_function_of_scores_has_labels_in_words_and_swap() -> None:
    text = "The film was not good."
    found = ws.words(text, negated, target="logits", draws=8)
    assert found.label == "class 1" and found.probability == pytest.approx(0.9, abs=0.01)
    flips = {word.word: word.real and word.real.flips for word in found}
    assert flips["not"] == 8 and flips["film"] == 0
    swaps = ws.swap(text, "not", negated, target="logits", flip=True, among=["very", "not"])
    assert [(one.word, one.label) for one in swaps] == [("very", "class 0")]
    with pytest.raises(InputError, match="assert_flips"):
        ws.words(text, lambda texts: negated(texts)[:, 1:], target="logits")


def test_an_object_that_encodes_has_no_labels() -> None:
    class Encoder:
        def encode(self, texts: list[str]) -> np.ndarray:
            return negated(texts)

    for verb in (ws.audit, lambda box, **options: ws.words("It is good.", box, **options)):
        with pytest.raises(InputError, match=r"only encodes texts.*predict_proba"):
            verb(Encoder(), target="logits")


def test_a_fitted_classifier_is_told_what_to_pass() -> None:
    class Fitted:
        def predict_proba(self, texts: list[str]) -> np.ndarray:
            return negated(texts)

    with pytest.raises(InputError, match=r"pass pipeline\.predict_proba"):
        ws.words("It is good.", Fitted())


def test_assertions_compare_labels() -> None:
    def labels(texts: list[str]) -> list[str]:
        return ["NOT" if row[1] > 0.5 else "OTHER" for row in negated(texts)]

    for model in (negated, labels):
        testing.assert_flips(model, PAIRS["negation"])
        testing.assert_stays(model, PAIRS["rewording"])
        testing.assert_stays(model, PAIRS["rewording"] + PAIRS["notonly"], at_least=0.5)
    with pytest.raises(AssertionError) as error:
        testing.assert_stays(labels, PAIRS["notonly"], at_least=0.9)
    message = str(error.value)
    assert "stays in 0 of 20 pairs; at_least=0.9 is required" in message
    assert "'The film was good.': OTHER, 'The film was not only good.': NOT" in message
    with pytest.raises(AssertionError, match="flips in 0 of 20"):
        testing.assert_flips(stuck, PAIRS["negation"])
    for bad in (lambda texts: negated(texts)[:, 1], lambda texts: negated(texts)[:, :1]):
        with pytest.raises(InputError, match="two or more classes"):
            testing.assert_flips(bad, PAIRS["negation"])
    with pytest.raises(InputError, match="two texts each"):
        testing.assert_flips(negated, [("a", "b", "c")])


def test_assertions_read_the_head_of_a_folder(tmp_path: Path) -> None:
    import torch
    import transformers as tf

    config = tf.BertConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=24, max_position_embeddings=64, id2label={0: "NEGATIVE", 1: "POSITIVE"},
    )  # fmt: skip
    model: Any = tf.BertForSequenceClassification(config).eval()
    with torch.no_grad():
        model.classifier.bias += torch.tensor([50.0, -50.0])
    model.save_pretrained(tmp_path)
    tiny.tokenizer().save(str(tmp_path / "tokenizer.json"))
    pairs = [("the film was good", "the film was bad")]
    testing.assert_stays(tmp_path, pairs)
    (one,) = ws.pairs(*pairs[0], tmp_path, draws=0)[0].models
    assert [label for label, _ in one.labels] == ["NEGATIVE"] * 2 and one.labels[0][1] > 0.99
    with pytest.raises(AssertionError, match=r"'the film was good': NEGATIVE.*bad': NEGATIVE"):
        testing.assert_flips(tmp_path, pairs)
    with pytest.warns(UserWarning, match="assert_flips"):
        testing.assert_notices(tmp_path, [("the film", "a film", "the plot")], at_least=0)


def test_the_command_line_exits_with_1(table: Path, monkeypatch: Any, capfd: Any) -> None:
    (table.parent / "own.py").write_text(
        "def stuck(texts):\n    return [[0.9, 0.1] for _ in texts]\n", "utf-8"
    )
    monkeypatch.chdir(table.parent)
    base = ["audit", "--model", "python:own:stuck", "--data", table.name, "--target", "logits"]
    base += ["--no-baselines", "--out", "out", "--should-stay", "notonly", "--fail-under"]
    assert run([*base, "stays.notonly=0.9"]) == 0
    assert run([*base, "flips.negation=0.5"]) == 1
    assert "Which cosine" not in capfd.readouterr().out


def test_words_are_ranked_by_the_labels_that_real_words_flip(capsys: Any) -> None:
    """The headline was the response to small moves, which is tiny for saturated logits."""
    text = "The film was not good."

    def classes(texts: list[str]) -> np.ndarray:
        """ "not" decides the label, "film" the size of the scores."""
        scale = np.array([1.0 if "film" in text else 9.0 for text in texts])
        return negated(texts) * scale[:, None]

    found = ws.words(text, classes, target="logits", draws=8)
    assert found.by_flips and found.top.word == "not"
    moved = {word.word: word.real.mean for word in found if word.real is not None}
    assert moved["film"] > moved["not"]
    places = {word.word: rank for word, rank in zip(found, ranks(found), strict=True)}
    assert (places["not"], places["film"]) == ("1", "2"), "equally many flips are no tie"
    found.show()
    shown = capsys.readouterr().out
    headline = "“not” (word 3): 8 of 8 random words in its place change the label (class 1), more"
    assert headline in " ".join(shown.split())
    assert "flips" in next(line for line in shown.splitlines() if line.startswith("rank"))
    ws.words(text, stuck, target="logits", draws=4).show()
    assert "none of 24 random words (4 words per place) flips it" in capsys.readouterr().out


def test_words_have_the_direction_in_which_they_move_the_label(capsys: Any) -> None:
    """A word that speaks against the label was shown like one that supports it."""

    def positive(texts: list[str]) -> np.ndarray:
        words = [text.rstrip(".").split() for text in texts]
        score = np.array([0.6 + 0.2 * ("awesome" in one) - 0.1 * ("only" in one) for one in words])
        return np.stack([1 - score, score], 1)

    found = ws.words("An awesome film, only.", positive, target="logits", draws=8)
    change = {word.word: word.real.margin_change for word in found if word.real is not None}
    expected = {"An": 0, "awesome": -0.4, "film": 0, "only": 0.2}
    assert {name: change[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert found.to_dict()["words"][1]["real"]["margin_change"] == pytest.approx(-0.4)
    found.show()
    shown = capsys.readouterr().out
    assert "−0.4000" in shown and "+0.2000" in shown
    found = ws.words("An awesome film, only.", positive, target="cosine", draws=2)
    assert all(word.real and word.real.margin_change is None for word in found)


def test_a_function_of_probabilities_in_pairs_is_told_how_to_compare_labels(caplog: Any) -> None:
    """Only a cosine of two vectors of probabilities was shown."""

    def embedding(texts: list[str]) -> np.ndarray:
        return 3 * negated(texts)

    pair = PAIRS["negation"][0]
    assert ws.pairs(*pair, embedding, draws=0)[0].models[0].labels == ()
    assert "assert_flips" not in caplog.text
    one, _ = ws.pairs(*pair, [negated, "minilm"], draws=0)[0].models
    assert [label for label, _ in one.labels] == ["class 0", "class 1"] and one.labels[0][1] > 0.8
    assert caplog.text.count("assert_flips") == 1


def test_a_forecast_names_functions(tmp_path: Path, monkeypatch: Any, capfd: Any) -> None:
    """It said that an audit of a function takes no time."""
    (tmp_path / "own_scores.py").write_text("def scores(texts):\n    return [[0.9, 0.1]]\n")
    monkeypatch.chdir(tmp_path)
    line = ["audit", "--forecast", "--json", "--quick", "--model", "python:own_scores:scores"]
    assert run(line) == 0
    (said,) = json.loads(capfd.readouterr().out)["missing"]
    assert "python:own_scores:scores" in said and "texts" in said


def test_words_say_that_a_model_has_labels(tmp_path: Path, caplog: Any) -> None:
    import transformers as tf

    config = tf.BertConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=24,
    )  # fmt: skip
    tf.BertForSequenceClassification(config).eval().save_pretrained(tmp_path)
    tiny.tokenizer().save(str(tmp_path / "tokenizer.json"))
    ws.words("the film was good", tmp_path, target="logits", draws=2)
    assert "logits" not in caplog.text
    ws.words("the film was good", tmp_path, tiers="mean-local")
    assert "target logits" in caplog.text
