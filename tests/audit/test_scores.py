"""Cases and scores against their naive versions; sanity checks on models that are known."""

from __future__ import annotations

import random
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import tiny
from examples import audit
from wordsway.auditing.audit import places_of
from wordsway.auditing.background import background, place_of
from wordsway.auditing.blind_spots import blind_spots, closer_changes
from wordsway.auditing.cases import Case, Cases, collect
from wordsway.auditing.changes import EditEffect, changes_of
from wordsway.auditing.edits import TURNING
from wordsway.auditing.edits.edit import Edit
from wordsway.auditing.encoder import Encoder, encoder_for
from wordsway.auditing.gold import gold_triples
from wordsway.auditing.result import below, check_gate, parse_gate, passed
from wordsway.auditing.retrieval import (
    TOP,
    documents_of,
    embedded,
    rank_moves,
    retrieval,
    same_answers,
)
from wordsway.auditing.scores import Measured, heard_and_lost, intervals, kind_score, level_score
from wordsway.core.errors import InputError
from wordsway.models.files import ModelName
from wordsway.models.probe import Probe
from wordsway.probing.relative import relative


def edit(kind: str, after: str, role: str = "turning", text: str = "It is good.") -> Edit:
    return Edit(text, 6, "good", after, kind, role)  # type: ignore[arg-type]


def change(value: float, *, share: float | None = 50.0) -> EditEffect:
    return EditEffect(value, share, 0.1, 1 - value, (0.0, value), (0.0, value))


def texts(values: Sequence[tuple[float, Sequence[float]]]) -> list[Measured]:
    """A text per (turning, keepings)."""
    found = []
    for number, (turning, keepings) in enumerate(values):
        edits = [edit("negation", f"bad{number}")]
        edits += [edit("synonyms", f"fine{at}", "keeping") for at in range(len(keepings))]
        values_of = tuple(map(change, (turning, *keepings)))
        found.append(Measured(str(number), "It is good.", tuple(edits), values_of))
    return found


def test_auc_is_the_naive_one() -> None:
    draw = random.Random(0)
    values = [
        (draw.choice([0.1, 0.2, 0.3]), [draw.choice([0.1, 0.2, 0.3]) for _ in range(at % 3 + 1)])
        for at in range(50)
    ]
    score = kind_score(texts(values), "negation")
    assert score is not None and score.small is not None and score.texts == 50
    small = score.small
    naive = sum(
        sum((x > y) + 0.5 * (x == y) for y in keepings) / len(keepings) for x, keepings in values
    )
    assert small.score == pytest.approx(naive / 50)
    assert small.low < small.score < small.high
    every = [y for _, keepings in values for y in keepings]
    assert score.median_keeping == median(every)
    assert score.blind == pytest.approx(np.mean([x < median(every) for x, _ in values]))
    assert small.layers[0].auc == 0.5 and small.layers[1].auc == pytest.approx(small.score)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "least"), [(2, 0.82), (5, 0.89), (20, 0.92), (200, 0.93)])
def test_the_interval_covers_what_it_should(count: int, least: float) -> None:
    """Over 4,000 audits at each of 25 true scores, of texts that say yes or no and of texts with
    three harmless edits: 95 % in the mean, and at every score as many as docs/audit.md says.
    """
    draws = np.random.default_rng(0)
    for edits in (1, 3):
        inside = []
        for p in np.linspace(0.02, 0.98, 25):
            shares = draws.binomial(edits, p, (count, 4000)) / edits
            inside.append(np.mean([one.low <= p <= one.high for one in intervals(shares)]))
        assert min(inside) >= least and np.mean(inside) >= 0.945


@pytest.mark.parametrize("count", [1, 2, 3, 20, 1000])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_equal_texts_have_an_interval_of_some_width(count: int, share: float) -> None:
    """Version 0.2.0 gave 1 (1–1) for two texts."""
    (score,) = intervals(np.full((count, 1), share))
    assert score.auc == share and score.low <= share <= score.high
    assert score.high - score.low > 1 / (count + 4)
    found = level_score(texts([(0.3, [0.2])] * count), "small")
    assert found is not None and found.score == 1 and found.low < 1


def test_scores_are_the_same_again() -> None:
    some = texts([(0.1 * at, [0.2]) for at in range(9)])
    assert kind_score(some, "negation") == kind_score(some, "negation")
    assert kind_score(some, "units") is None
    assert heard_and_lost([]) == (None, None)


def test_blind_spots_are_the_worst_and_differ() -> None:
    given = texts([(0.01, [0.5]), (0.3, [0.2]), (0.1, [0.2, 0.4])])
    apart = [
        Measured(
            one.id,
            one.id,
            tuple(replace(e, text=f"{one.id} is good.") for e in one.edits),
            one.changes,
        )
        for one in given
    ]
    found = blind_spots(apart)
    assert len(blind_spots(given)) == 1  # of one text
    assert [(spot.after, spot.keeping_change) for spot in found] == [("bad0", 0.5), ("bad2", 0.4)]
    assert found[0].keeping_text == found[0].text[:6] + "fine0" + found[0].text[10:]
    assert found[0].ratio == pytest.approx(50) and found[0].after == "bad0"


def test_cases_are_drawn_by_the_seed() -> None:
    first = collect("gold", texts=10, seed=1)
    assert first == collect("gold", texts=10, seed=1)
    assert first != collect("gold", texts=10, seed=2)
    counts = Counter(one.kind for case in first.cases for one in case.edits)
    assert all(counts[kind] <= 10 for kind in TURNING)
    assert counts["negation"] == counts["antonyms"] == counts["numbers"] == 10
    for case in first.cases:
        assert {one.role for one in case.edits} == {"turning", "keeping"}
        assert len({one.kind for one in case.edits}) == len(case.edits)


@pytest.mark.slow
def test_cases_of_reviews_are_sentences() -> None:
    found = collect("imdb", kinds=["negation", "antonyms"], texts=5)
    assert found.source == "imdb" and len(found.cases) >= 5
    for case in found.cases:
        assert 8 <= len(case.text.split()) <= 31 and case.id.startswith("imdb:")


def test_own_texts_and_pairs(tmp_path: Path) -> None:
    own = tmp_path / "texts.csv"
    own.write_text("text\nThe film isn't good.\nDas ist nicht gut.\n\n,\n", "utf-8")
    found = collect(own)
    assert [case.text for case in found.cases] == ["The film isn't good."]
    assert found.unused == 1
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(
        "a,b,kind\nThe door is open.,The door is closed.,safety\n"
        "The door is open.,The door is not shut.,keeping\n"
        "It's safe.,It's unsafe.,safety\nNo comment at all,No remark at all,keeping\n"
        "Tür auf,Tür zu,safety\n",
        "utf-8",
    )
    found = collect(pairs)
    assert found.kinds == ("safety",)
    assert [[one.kind for one in case.edits] for case in found.cases] == [
        ["safety", "keeping"],
        ["safety", "contractions", "negated opposite"],
    ]
    assert [one.row for one in found.refused] == [4, 5]
    for text, message in (
        ("text\nGuten Tag!\n", "can be edited"),
        ("a,b\nx,y\n", "changes the meaning and one"),
    ):
        own.write_text(text, "utf-8")
        with pytest.raises(InputError, match=message):
            collect(own)
    with pytest.raises(InputError, match="kinds among"):
        collect("gold", kinds=["humour"])
    with pytest.raises(InputError, match="does not exist"):
        collect("nowhere.csv")


def audited(model: Any, cases: Cases, draws: int = 0) -> list[Measured]:
    found = changes_of(encoder_for(model), places_of(cases.cases), draws=draws, seed=0)
    return [
        Measured(case.id, case.text, case.edits, tuple(one))
        for case, one in zip(cases.cases, found, strict=True)
        if not isinstance(one, InputError)
    ]


def test_changes_that_move_a_model_less_are_counted() -> None:
    some = texts([(0.1, [0.2]), (0.3, [0.2, 0.4]), (0.3, [0.3, 0.2]), (0.1, [])])
    assert closer_changes(some) == (2, 3, 1)  # one text, so one different edit


def test_the_gate() -> None:
    score = kind_score(texts([(0.1, [0.2]), (0.3, [0.2])]), "negation")
    assert score is not None
    model = replace(audit("a text").models[0], name="m", kinds=(score,))
    assert list(below(parse_gate(["negation=0.5"]), [model])) == []
    (line,) = below(parse_gate({"all": 0.6}), [model])
    assert line == "gate failed: m: small.negation 0.500 (0.095 to 0.905) < 0.6 (2 texts)"
    assert list(below(parse_gate(["all=0.6", "negation=0.1"]), [model])) == []
    (line,) = below(parse_gate(["rewording.negation=0.5"]), [model])
    assert line.startswith(
        "gate failed: m: rewording.negation has no texts, needs 0.5: use a level and a kind"
    )
    (line,) = passed(parse_gate(["negation=0.5"]), [model])
    assert line == "m: small.negation 0.500 (0.095 to 0.905) ≥ 0.5 (2 texts)"
    assert list(passed(parse_gate(["negation=0.6", "rewording.negation=0"]), [model])) == []
    for wrong in (["negation"], ["negation=high"], ["=0.5"], ["negation=1.5"]):
        with pytest.raises(InputError, match="KIND=X"):
            parse_gate(wrong)
    with pytest.raises(InputError, match="that is measured"):
        check_gate(parse_gate(["humour=0.5"]), ["negation"])
    with pytest.raises(InputError, match=r"of kind own: use rewording=0\.5, or add a column kind"):
        check_gate(parse_gate(["rewording.negation=0.5"]), ["own"])


def test_names_of_models() -> None:
    assert ModelName.of("a/b:random=7") == ModelName("a/b", 7)
    assert str(ModelName.of("minilm:random")) == "minilm:random"


def deaf(folder: Path, words: Sequence[str], out: Path) -> Path:
    """A copy of a BERT that cannot tell these words from [MASK] (or from the first of them)."""
    shutil.copytree(folder, out, dirs_exist_ok=True)
    (out / "manifest.json").unlink(missing_ok=True)
    weights = load_file(folder / "model.safetensors")
    name = next(name for name in weights if name.endswith("word_embeddings.weight"))
    tokenizer = Probe(folder).reader.tokenizer
    mask = tokenizer.token_to_id("[MASK]") or tokenizer.token_to_id(words[0])
    for word in words:
        weights[name][tokenizer.token_to_id(word)] = weights[name][mask]
    save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    return out


def test_a_model_that_cannot_tell_two_words_apart_is_blind(tmp_path: Path) -> None:
    folder = tiny.save(tmp_path / "tiny")
    model = Probe(deaf(folder, ["good", "bad"], tmp_path / "deaf"))
    given = ["the cast was fine but the film isn't good", "it isn't a bad plot and she was good"]
    measured = audited(model, collect(given, kinds=["antonyms"]))
    score = kind_score(measured, "antonyms")
    assert score is not None and score.small is not None
    assert (score.small.score, score.blind, score.median_turning) == (0.0, 1.0, 0.0)
    assert score.small.heard is None
    assert all(level.score == 0.0 for level in score.levels.values())
    assert blind_spots(measured)[0].change == 0.0


@pytest.mark.slow
def test_a_model_that_is_deaf_to_not_is_found_out() -> None:
    """MiniLM that does not read "not": a text and its negation by "not" are one, so that every
    rewording is further away, at every level.
    """
    probe = Probe("minilm")

    def deaf(texts: list[str]) -> np.ndarray:
        return probe.encode([re.sub(r"\bnot ", "", text) for text in texts])

    chosen = collect("gold", kinds=["negation"], texts=60)
    by_not = replace(
        chosen, cases=tuple(case for case in chosen.cases if case.edits[0].after == "not ")
    )
    assert len(by_not.cases) >= 10
    for level in ("light", "heavy", "rewording"):
        hears = level_score(audited(probe, by_not), level)
        misses = level_score(audited(deaf, by_not), level)
        assert hears is not None and misses is not None
        assert misses.score == 0 and (level == "heavy" or misses.high < hears.low)


class BagOfWords(Encoder):
    """The mean of word vectors, without place and context: one layer."""

    def __init__(self, probe: Probe) -> None:
        super().__init__(probe)
        self.layer = 1

    def pooled(self, ids: Sequence[tuple[int, ...]]) -> torch.Tensor:
        rows = []
        for one in ids:
            vectors = self.probe.layers.words(torch.tensor([one[1:-1]]))[0].double()
            rows.append(vectors.mean(0).expand(2, -1))
        return torch.stack(rows)


def test_a_mean_of_word_vectors_notices_not_as_any_other_word() -> None:
    """Inserting w into n words moves the mean v by (w − v)/(n + 1), whatever w means."""
    model = BagOfWords(Probe("minilm"))
    shares = []
    medical = [one.text for one in gold_triples() if one.field == "medical" and len(one.text) > 35]
    for text in medical[:12]:
        at = text.index(" ", 12) + 1
        edited = f"{text[:at]}not {text[at:]}"
        (one,) = changes_of(model, [(text, [place_of(text, edited)], 1)], draws=40, seed=0)
        assert not isinstance(one, InputError)
        (found,) = one
        v, w = model.pooled(model.tokens([text, "not"]))[:, -1]
        n = len(model.tokens([text])[0]) - 2
        expected = float((w - v).norm() / ((n + 1) * v.norm()))
        assert found.layers[-1] == pytest.approx(expected, rel=1e-5)
        others = background(text, place_of(text, edited), 40, 0, model.words)
        beside = relative(v, model.pooled(model.tokens(others))[:, -1])
        shares.append(float((beside < found.layers[-1]).double().mean()))
        assert 0.5 < found.layers[-1] / float(beside.median()) < 1.5
    assert np.mean(shares) < 0.5  # a frequent word lies near the mean: even less than others


@pytest.mark.slow
def test_the_random_twin_hears_no_meaning() -> None:
    """With random weights what counts is how many tokens change: one for one, little is heard.
    Three draws of weights, since a pair that comes often (film, movie) has one random distance in
    each: their mean AUC is nearer to one half than to the trained model's, which none reaches.
    """
    drawn = collect("imdb", kinds=["antonyms"], texts=100)
    single = tuple(
        Case(case.id, case.text, tuple(one for one in case.edits if _one_for_one(one)))
        for case in drawn.cases
    )
    cases = Cases(tuple(case for case in single if len(case.edits) == 2), ("antonyms",), "imdb")
    assert len(cases.cases) > 40
    *twins, trained = (
        score.score
        for seed in (0, 1, 2, None)
        if (score := level_score(audited(Probe("minilm", twin=seed), cases), "small"))
    )
    assert len(twins) == 3
    assert abs(sum(twins) / 3 - 0.5) < (trained - 0.5) / 2
    assert max(twins) < trained


def _one_for_one(one: Edit) -> bool:
    return one.kind in ("antonyms", "synonyms") and one.before.isalpha() and one.after.isalpha()


def test_ranks_of_documents(tmp_path: Path) -> None:
    model = Encoder(Probe(tiny.save(tmp_path / "tiny")))
    words = ("film", "plot", "cast", "good", "bad", "dull", "fine", "very", "not", "she", "he")
    lines = [f"the {one} was {two}" for one in words for two in words if one != two]
    path = tmp_path / "documents.txt"
    path.write_text("\n".join(lines), "utf-8")
    documents = documents_of(str(path))
    assert documents == lines
    same, other = "the film was good", "they not very dull"
    edits = (
        Edit(same, 0, same, same, "none", "keeping"),
        Edit(same, 0, same, other, "all", "turning"),
    )
    texts = [Measured("1", same, edits, (change(0), change(1)))]
    moves = rank_moves(model, texts, documents)
    found = {row.kind: row for row in retrieval(moves)}
    assert list(found) == ["all", "none"]
    assert found["all"].stays_low <= found["all"].stays < found["all"].stays_high
    (shown,) = same_answers(moves)
    assert shown.edit.edited == other and shown.first in documents
    assert same_answers([moves[0]]) == ()
    assert (found["none"].stays, found["none"].first_stays, found["none"].first_rank) == (1, 1, 1)
    vectors = embedded(model, [*documents, same, other])
    scores = vectors[-2:] @ vectors[:-2].T
    tops = [set(scores[row].topk(TOP).indices.tolist()) for row in (0, 1)]
    assert found["all"].stays == pytest.approx(len(tops[0] & tops[1]) / TOP)
    path.write_text("only one", "utf-8")
    with pytest.raises(InputError, match="more than 10 documents"):
        documents_of(str(path))
