"""Levels, thresholds, overlap, classifiers, queries: against naive versions and known models."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordsway as ws
from wordsway.auditing.background import Place
from wordsway.auditing.cases import Case, collect, several
from wordsway.auditing.changes import EditEffect, changes_of
from wordsway.auditing.differences import difference
from wordsway.auditing.edits.edit import Edit, EnglishSentence
from wordsway.auditing.encoder import encoder_for, word_overlap
from wordsway.auditing.flips import flip_scores
from wordsway.auditing.retrieval import paired_accuracy
from wordsway.auditing.scores import (
    MATCHED,
    Measured,
    by_overlap,
    cosines,
    level_scores,
    matched_overlap,
    text_shares,
)
from wordsway.auditing.thresholds import (
    best_threshold,
    equal_error,
    rejected_shares,
    separates,
    strict_threshold,
    threshold_at,
)
from wordsway.core.errors import InputError
from wordsway.render import blocks as b
from wordsway.render.views.audit import SWAPPED, audit_view, threshold_sentences


def effect(value: float, flips: bool | None = None) -> EditEffect:
    labels = () if flips is None else ("A", "B" if flips else "A")
    return EditEffect(value, None, None, 1 - value, (value,), (value,), *labels)


def drawn(count: int, seed: int = 0) -> list[Measured]:
    """Gold texts in a model that gives every edit a random change, some of them equal."""
    draws = np.random.default_rng(seed)
    cases = collect("gold", texts=-(-count // 8), seed=seed).cases[:count]
    return [
        Measured(
            case.id,
            case.text,
            case.edits,
            tuple(effect(round(float(draws.random()), 1)) for _ in case.edits),
        )
        for case in cases
    ]


def naive(text: Measured, strengths: Sequence[str], near: float | None = None) -> float | None:
    pairs = list(zip(text.edits, text.changes, strict=True))
    shares = []
    for edit, change in pairs:
        if edit.role == "turning":
            kept = [
                other.value
                for one, other in pairs
                if one.role == "keeping"
                and one.strength in strengths
                and (near is None or abs(one.overlap - edit.overlap) < near)
            ]
            won = [1.0 if change.value > y else 0.5 if change.value == y else 0 for y in kept]
            if won:
                shares.append(np.mean(won))
    return float(np.mean(shares)) if shares else None


def test_levels_are_the_naive_ones() -> None:
    measured = drawn(120)
    found = level_scores(measured)
    for level, strengths in {
        "light": ["light"],
        "heavy": ["heavy"],
        "rewording": ["light", "heavy", "rewording"],
    }.items():
        expected = [one for text in measured if (one := naive(text, strengths)) is not None]
        assert found[level].texts == len(expected) == 120
        assert found[level].score == pytest.approx(np.mean(expected))
    every = ["light", "heavy", "rewording"]
    near = [one for text in measured if (one := naive(text, every, MATCHED)) is not None]
    matched = matched_overlap(measured)
    assert matched is not None and matched.texts == len(near) < 120
    assert matched.score == pytest.approx(np.mean(near))
    bins = by_overlap(measured)
    assert [one.least for one in bins] == sorted(one.least for one in bins)
    assert sum(one.texts for one in bins) >= 120  # a text has a light and a heavy rewording


def test_small_edits_are_of_a_rule_or_of_one_word() -> None:
    measured = drawn(120)
    small = {key[1] for key in text_shares(measured, "small")}
    for text in measured:
        kept = [edit for edit in text.edits if edit.role == "keeping"]
        one_word = any(
            edit.strength == "small" or (edit.strength == "light" and edit.words_changed == 1)
            for edit in kept
        )
        assert (text.text in small) == one_word


def test_several_harmless_edits_at_once() -> None:
    text = "I think that this film is not bad, and it is my favourite film."
    (made,) = several(EnglishSentence(text))
    assert made.edited == "I think that the movie isn't bad, and it's my favorite movie."
    assert made.strength == "several" and 0 < made.overlap < 1
    assert several(EnglishSentence("The film is over.")) == []


def test_overlap_of_edits() -> None:
    edit = Edit.between("The shop is open.", "The store is open.", "light", "keeping", "light")
    assert (edit.before, edit.after, edit.overlap, edit.words_changed) == ("shop", "store", 0.6, 1)
    assert edit.share_changed == 0.25
    moved = Edit.between("If it rains, stay.", "Stay if it rains.", "own", "keeping", "rewording")
    assert moved.overlap == 1.0 and moved.words_changed > 0


def test_thresholds_are_counted() -> None:
    measured = drawn(60)
    changed, kept = cosines(measured)
    assert len(changed) == len(kept) == 60 and all(len(two) == 2 for two in kept)
    for tau in (0.3, 0.7, 1.0):
        one = threshold_at(tau, changed, kept)
        assert one.accepted_changes == pytest.approx(sum(c >= tau for (c,) in changed) / 60)
        rejected = sum(c < tau for two in kept for c in two)
        assert one.rejected_rewordings == pytest.approx(rejected / 120)
        shares = rejected_shares(measured, tau)
        for level in ("light", "heavy"):
            some = [e.cosine < tau for text in measured for _, e in text.keeping(level)]
            assert shares[f"rejected_{level}"] == pytest.approx(np.mean(some))
    best = equal_error(changed, kept)
    assert best is not None
    gap = abs(best.accepted_changes - best.rejected_rewordings)
    for tau in {c for some in (*changed, *kept) for c in some}:
        one = threshold_at(tau, changed, kept)
        assert gap <= abs(one.accepted_changes - one.rejected_rewordings) + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("count", [20, 200])
def test_paired_differences_cover(count: int) -> None:
    """Over 400 draws at true differences 0, 0.1 and 0.4 the 95 % interval holds the truth in at
    least 92 % of them.
    """
    edits = (
        Edit("It is good.", 6, "good", "bad", "antonyms", "turning"),
        Edit("It is good.", 6, "good", "fine", "own", "keeping", "rewording"),
    )
    draws = np.random.default_rng(1)
    for one, two in ((0.5, 0.5), (0.9, 0.8), (0.7, 0.3)):
        inside = []
        for _ in range(400):
            both = [
                [
                    Measured(str(at), "It is good.", edits, (effect(float(hit)), effect(0.5)))
                    for at, hit in enumerate(draws.random(count) < share)
                ]
                for share in (one, two)
            ]
            found = difference(("a", both[0]), ("b", both[1]), "rewording")
            assert found is not None and found.texts == count
            inside.append(found.low <= one - two <= found.high)
        assert np.mean(inside) >= 0.92


def test_models_that_cannot_be_told_apart_share_a_rank() -> None:
    found = ws.audit([_words, _first_letters, _words_again], "everyday", draws=0, baselines=False)
    ranks = found.ranks
    assert ranks["_words"] == ranks["_words_again"]
    assert [one.name for one in found.models] == sorted(
        ranks,
        key=lambda name: (
            -found[[m.name for m in found].index(name)].levels["rewording"].score,
            name,
        ),
    )
    same = next(
        one for one in found.differences if {one.first, one.second} == {"_words", "_words_again"}
    )
    assert same.difference == 0 and same.low < 0 < same.high
    assert same.identical and "have the same score on every text (79 texts)" in str(same)
    assert not any(one.identical for one in found.differences if one is not same)


def _words(texts: Sequence[str]) -> list[list[float]]:
    """A bag of words, hashed."""
    rows = np.zeros((len(texts), 512))
    for row, text in zip(rows, texts, strict=True):
        for word in text.lower().rstrip(".").split():
            row[sum(ord(c) * 31**at for at, c in enumerate(word)) % 512] += 1
    return rows.tolist()


def _words_again(texts: Sequence[str]) -> list[list[float]]:
    return _words(texts)


def _first_letters(texts: Sequence[str]) -> list[list[float]]:
    return [[float(ord(text[at % len(text)])) for at in range(8)] for text in texts]


def _deaf(texts: Sequence[str]) -> list[list[float]]:
    return [[1.0, 2.0]] * len(texts)


@pytest.mark.slow
def test_models_without_understanding_behave_as_theory_says() -> None:
    """At every level: a deaf model does not separate anything; a counter of common words holds the
    text with more of them for closer, and so does a bag of words on average.
    """
    found = ws.audit([_deaf, _words], "gold", draws=0)
    deaf = next(one for one in found if one.name == "_deaf")
    assert all(score.score == 0.5 for score in deaf.levels.values())
    overlap = next(one for one in found.baselines if one.name == "word overlap")
    for text in overlap.measured:
        for (edit, change), (other, kept) in itertools.product(
            text.with_role("turning"), text.with_role("keeping")
        ):
            assert (change.value > kept.value) == (edit.overlap < other.overlap)
    bag = next(one for one in found if one.name == "_words")
    assert bag.levels["heavy"].high < 0.1 and overlap.levels["heavy"].high < 0.1
    assert abs(bag.levels["light"].score - overlap.levels["light"].score) < 0.1
    for model in (bag, overlap):  # the more common words the change has, the closer it is
        scores = [one.score for one in model.overlap]
        assert scores == sorted(scores, reverse=True)
    assert "does not track the meaning" in found.verdict(bag)
    document = found.to_dict()
    assert [one["verdict"] for one in document["models"]] == [found.verdict(m) for m in found]
    assert {"small", "light", "heavy", "rewording"} <= set(document["baselines"][0]["levels"])


def test_overlap_as_a_model() -> None:
    edit = Edit.between("The shop is open.", "The store is open.", "light", "keeping", "light")
    (found,) = changes_of(
        encoder_for(word_overlap()),
        [(edit.text, [Place(edit.start, edit.before, edit.after)], 0)],
        draws=0,
        seed=0,
    )
    assert not isinstance(found, InputError)
    (one,) = found
    assert one.value == pytest.approx(0.4) and one.cosine == pytest.approx(0.6)


def test_labels_that_should_flip_and_stay() -> None:
    text = "It is good."
    edits = (
        Edit(text, 6, "good", "bad", "antonyms", "turning"),
        Edit(text, 6, "good", "great", "names", "turning"),
        Edit(text, 6, "good", "so", "modals", "turning"),
        Edit(text, 6, "good", "fine", "synonyms", "keeping"),
    )
    flips = (True, False, True, False)
    measured = [
        Measured(str(at), text, edits, tuple(effect(0.1, one) for one in flips)) for at in range(30)
    ]
    found = {one.kind: one for one in flip_scores(measured, ("antonyms",), ("names",))}
    assert [(one.should, one.flips) for one in found.values()] == [
        ("flip", 1.0), ("", 1.0), ("stay", 0.0), ("stay", 0.0)
    ]  # fmt: skip
    assert 0.8 < found["antonyms"].low < 1 and found["antonyms"].texts == 30
    without = [replace(one, changes=tuple(map(effect, (0.1,) * 4))) for one in measured]
    assert flip_scores(without, (), ()) == ()
    with pytest.raises(InputError, match="either flip or stay"):
        ws.audit(_deaf, should_flip=["names"], should_stay=["names"])


def test_queries_in_pairs_are_counted_as_nevir_does(tmp_path: Path) -> None:
    path = tmp_path / "nevir.csv"
    rows = [
        ("drugs that are safe", "aaaa aaaa", "drugs that are unsafe", "bbbb bbbb"),
        ("open shops", "cccc cccc", "closed shops", "dddd dddd"),
    ]
    head = "query,document,query2,document2"
    path.write_text("\n".join([head, *(",".join(row) for row in rows)]), "utf-8")
    sides = {text: at for row in rows[:1] for at, text in enumerate(row)}

    def encode(texts: Sequence[str]) -> list[list[float]]:
        """The first pair is right for both queries; the second puts all queries at one document."""
        known = {"open shops": 0, "closed shops": 0, "cccc cccc": 0, "dddd dddd": 2}
        return [[1.0, float((sides | known)[one] // 2)] for one in texts]

    found = ws.audit(encode, path, draws=0)
    assert found.texts == 4 and found.kinds == ["retrieval"]
    model = found[0]
    assert model.paired is not None and model.paired.auc == 0.5
    assert model.levels["rewording"].score == 0.75
    found.save(tmp_path / "a.html")
    assert "both queries of a pair" in (tmp_path / "a.html").read_text("utf-8")
    assert paired_accuracy(model.measured) == model.paired


TRIPLE = "The shop is open.,The store is open.,The shop is closed."


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("text,rewording\nx,y\n", "no column change"),
        ("text,rewordings,change\nx,y,z\n", "no column rewording: rename or remove rewordings"),
        (
            "text,paraphrase,opposite,type\nx,y,z,k\n",
            "no column change: rename or remove opposite$",
        ),
        ("a,other,kind\nx,y,k\n", "columns a,b in .* no column b: rename or remove other$"),
        ("text;rewording;change\nx;y;z\n", "semicolons"),
        (f"text,rewording,change,mood\n{TRIPLE},good\n", "also mood"),
        ("text,rewording,change\n", "rows below the header"),
        ("", "an empty file"),
        ("text,rewording,change\n,,\n", "in .* that"),
        ("text,rewording,change\nsame.,same.,other.\n", "in .* that"),
    ],
    ids=[
        "missing",
        "misspelt",
        "other names",
        "pairs",
        "semicolons",
        "extra",
        "no row",
        "empty",
        "empty cells",
        "equal texts",
    ],
)
def test_tables_that_cannot_be_used(table: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(table, "utf-8")
    with pytest.raises(InputError, match=message):
        collect(path)


def test_a_gate_needs_every_row(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    rows = [TRIPLE, "The café is open.,The café is not closed.,The café is shut."]
    path.write_text("\n".join(["text,rewording,change", *rows]), "cp1252")
    how: dict[str, Any] = {"draws": 0, "baselines": False, "fail_under": {"rewording": 0.0}}
    (line,) = ws.audit(_words, path, **how).gate
    assert "1 row was refused" in line and "--encoding cp1252" in line
    assert not ws.audit(_words, path, **how, encoding="cp1252").gate
    assert not ws.audit(_words, path, draws=0, baselines=False).gate
    path = tmp_path / "texts.txt"  # a text without an edit is no damage
    path.write_text("The film is not good.\nDas ist gut.\n", "utf-8")
    found = ws.audit(_words, path, **how | {"fail_under": {"small": 0.0}})
    assert [one.row for one in found.refused] == [2] and not found.gate


def test_own_triples(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    german = "Das Geschäft ist offen.,Der Laden hat auf.,Das Geschäft ist zu."
    path.write_text(
        f"kind,text,change,rewording\nclosed,{_swapped(TRIPLE)}\n,{_swapped(german)}\n"
        f"closed,{_swapped(TRIPLE)},extra\n",
        "utf-8",
    )
    found = collect(path)
    assert found.kinds == ("closed", "own") and [one.row for one in found.refused] == [3]
    first, second = found.cases
    assert isinstance(first, Case) and first.edits[0].edited == "The shop is closed."
    assert first.compared == 1 and first.edits[1].edited == "The store is open."
    assert [edit.edited for edit in second.edits] == ["Das Geschäft ist zu.", "Der Laden hat auf."]
    assert collect(path, kinds=["own"]).kinds == ("own",)
    with pytest.raises(InputError, match="kinds among closed, own"):
        collect(path, kinds=["humour"])
    with pytest.raises(InputError, match="triples"):
        ws.pairs(path)
    one = ws.audit(_words, path, draws=0, kinds=["own"])
    assert one.texts == 1 and "20 texts or more are needed" in one.verdict(one[0])


def test_only_columns_of_triples_can_be_swapped(tmp_path: Path) -> None:
    """Pairs, which have no such columns, had the same warning."""
    rows = ["It is on.", "It is quite on.", "Nobody uses it."]
    triples, pairs = tmp_path / "triples.csv", tmp_path / "pairs.csv"
    triples.write_text("\n".join(["text,rewording,change", ",".join(rows)]), "utf-8")
    pairs.write_text(f"a,b,kind\n{rows[0]},{rows[1]},rewording\n{rows[0]},{rows[2]},own\n", "utf-8")
    for table, target, warned in ((triples, "cosine", True), (pairs, "cosine", False),
                                  (triples, "logits", False)):  # fmt: skip
        found = ws.audit(_words, table, target=target, draws=0, baselines=False)
        assert (b.warning(SWAPPED) in audit_view(found).blocks) is warned


def _swapped(triple: str) -> str:
    text, rewording, change = triple.split(",")
    return f"{text},{change},{rewording}"


def test_a_text_counts_once_however_often_it_is_repeated(tmp_path: Path) -> None:
    """The same table twice gives the same scores, intervals and thresholds, and one line."""
    head = "text,rewording,change,kind"
    rows = [
        f"The shop number {at} is open.,The store number {at} is {word}.,"
        f"The shop number {at} is not open.,negation"
        for at, word in enumerate(["open"] * 7 + ["now open for everybody who wants to come"] * 6)
    ]
    once, twice = tmp_path / "once.csv", tmp_path / "twice.csv"
    once.write_text("\n".join([head, *rows]), "utf-8")
    twice.write_text("\n".join([head, *rows, *rows]), "utf-8")
    one, two = (ws.audit(_words, path, draws=0) for path in (once, twice))
    assert two.texts == one.texts == 13 and (one.repeated, two.repeated) == (0, 13)
    assert two[0].levels == one[0].levels and two[0].kinds == one[0].kinds
    assert two[0].thresholds == one[0].thresholds
    assert two[0].closer_changes == one[0].closer_changes
    assert "20 texts or more are needed" in two.verdict(two[0])
    two.save(tmp_path / "a.html")
    assert "13 rows repeat an earlier row" in (tmp_path / "a.html").read_text("utf-8")


def test_several_rewordings_and_changes_of_a_text(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    text, closed = "The shop is open on Sundays.", "The shop is closed on Sundays."
    rows = [
        (text, "The store is open on Sundays.", closed, "antonyms"),
        (text, "You can buy things there even at the end of a week.", closed, "antonyms"),
        (text, "The store is open on Sundays.", "The shop is open on Mondays.", "names"),
    ]
    path.write_text("\n".join(["text,rewording,change,kind", *map(",".join, rows)]), "utf-8")
    (case,) = collect(path).cases
    assert [edit.edited for edit in case.edits if edit.role == "turning"] == [
        closed, "The shop is open on Mondays."
    ]  # fmt: skip
    given = {edit.edited: edit.strength for edit in case.edits if edit.kind == "rewording"}
    assert given == {rows[0][1]: "light", rows[1][1]: "heavy"}
    found = ws.audit(_words, path, draws=0)
    assert found.texts == 1 and found[0].levels["light"].texts == 1
    assert found[0].levels["rewording"].score == naive(
        found[0].measured[0], ["light", "heavy", "rewording"]
    )


def test_rows_of_queries_count_once(tmp_path: Path) -> None:
    path = tmp_path / "nevir.csv"
    row = "open shops,aaaa aaaa,closed shops,bbbb bbbb"
    other = "open shops,aaaa aaaa,shut shops,bbbb bbbb"
    path.write_text("\n".join(["query,document,query2,document2", row, row, other]), "utf-8")
    found = collect(path)
    assert [case.id for case in found.cases] == [
        "row 1 query 1", "row 1 query 2", "row 3 query 1", "row 3 query 2"
    ]  # fmt: skip
    assert found.repeated == 1


def test_a_floor_is_no_finding(tmp_path: Path) -> None:
    """If all models and baselines are at 0, the table is the reason."""
    path = tmp_path / "own.csv"
    rows = [
        f"Shop {at} is open.,Everybody may come and buy things {at}.,Shop {at} is not open."
        for at in range(30)
    ]
    path.write_text("\n".join(["text,rewording,change", *rows]), "utf-8")
    found = ws.audit([_words, _words_again], path, draws=0)
    for model in found:
        said = found.verdict(model)
        assert "this table cannot separate models" in said and "does not track" not in said
        assert "0.10 for edits that preserve" in said and "0.80 for changes" in said
        assert "rewordings that keep more words" in said and "20 texts" not in said
    assert set(found[0].levels) >= {"heavy"}


def test_overlaps_that_explain_a_score_are_stated(tmp_path: Path) -> None:
    """A model whose interval lies above 0 gets the same advice as one at 0."""
    path = tmp_path / "own.csv"
    heavy = [
        f"Shop {at} is open.,You may come and buy {at}.,Shop {at} is not open." for at in range(30)
    ]
    light = [
        f"Hut {at} is big.,Hut {at} is large.,Hut {at} is not so big at all." for at in range(8)
    ]
    for rows, said in ((heavy + light, "keep more words"), (light, "")):
        path.write_text("\n".join(["text,rewording,change", *rows]), "utf-8")
        found = ws.audit(_words, path, draws=0, baselines=False)
        assert found[0].levels["rewording"].low > 0
        verdict = found.verdict(found[0])
        assert ("The median overlap" in verdict) == bool(said) and said in verdict


def _trigrams(dtype: type) -> Callable[[Sequence[str]], np.ndarray]:
    def trigrams(texts: Sequence[str]) -> np.ndarray:
        rows: np.ndarray = np.zeros((len(texts), 4096), dtype)
        for row, text in zip(rows, texts, strict=True):
            for at in range(len(text) - 2):
                row[zlib.crc32(text[at : at + 3].encode()) % 4096] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    return trigrams


def test_percentiles_do_not_depend_on_rounding() -> None:
    """Ties among counts are ties in either precision."""
    single, double = (
        ws.audit(_trigrams(dtype), "everyday", draws=8, baselines=False)[0]
        for dtype in (np.float32, np.float64)
    )
    for one, two in zip(single.kinds, double.kinds, strict=True):
        assert one.percentile == two.percentile
        assert one.percentile_keeping == two.percentile_keeping
    assert [level.score for level in single.levels.values()] == [
        level.score for level in double.levels.values()
    ]


def test_when_no_threshold_works() -> None:
    """A sum of errors of 0.98 by chance is none that works; a constant has no equal error."""
    draws = np.random.default_rng(0)
    same = [[[one] for one in draws.random(100)] for _ in range(2)]
    best = best_threshold(*same)
    assert best.sum < 1 < best.sum_high and not separates(equal_error(*same), best)
    apart = [[0.5], [0.6]] * 40, [[0.8], [0.9]] * 40
    assert best_threshold(*apart).sum == 0
    assert separates(equal_error(*apart), best_threshold(*apart))
    constant = [[1.0]] * 30, [[1.0]] * 30
    assert equal_error(*constant) is None
    assert separates(None, best_threshold(*constant)) is False
    perfect = [[0.5]] * 3, [[0.9]] * 3
    assert separates(equal_error(*perfect), best_threshold(*perfect)) is None, "too few texts"


def test_chance_seldom_looks_like_a_threshold_that_works() -> None:
    """In 2.5 % of tables the interval ends below 1. That of one threshold, chosen on the same
    texts, ended below 1 in 20 % of these.
    """
    draws = np.random.default_rng(0)
    tables = [[[[one] for one in draws.random(150)] for _ in range(2)] for _ in range(150)]
    assert sum(best_threshold(*one).sum_high < 1 for one in tables) <= 10


def test_light_and_heavy_rewordings_are_told_apart_only_where_both_exist(tmp_path: Path) -> None:
    table = tmp_path / "light.csv"
    row = "The big shop is open.,The big store is open.,The big shop is shut."
    table.write_text(f"text,rewording,change\n{row}\n")
    encoder = _trigrams(np.float64)
    (light,) = ws.audit(encoder, table, draws=0, baselines=False)
    (both,) = ws.audit(encoder, "everyday", draws=0, baselines=False)
    shares = ("rejected_light", "rejected_heavy")
    assert light.best_threshold is not None and both.equal_error is not None
    assert [light.best_threshold[one] is None for one in shares] == [False, True]
    assert both.equal_error["rejected_light"] < both.equal_error["rejected_heavy"]
    assert (
        both.equal_error["light"]["rejected_rewordings"] < both.equal_error["rejected_rewordings"]
    )
    said = threshold_sentences(both.to_dict())
    assert "of the heavy ones" in said and "Against light rewordings alone (" in said
    assert "of the heavy" not in threshold_sentences(light.to_dict())


def test_shares_of_few_light_rewordings_are_left_out(tmp_path: Path, capsys: Any) -> None:
    """ "Against light rewordings alone, 100 % … are wrong" was said of one text."""
    table = tmp_path / "own.csv"
    heavy = [f"Room {at} is free.,Nobody uses {at} now.,Room {at} is not free." for at in range(24)]
    light = "The big shop is open.,The big store is open.,The big shop is shut."
    table.write_text("\n".join(["text,rewording,change", *heavy, light]), "utf-8")
    found = ws.audit(_trigrams(np.float64), table, draws=0, baselines=False)
    counts = {name: found[0].levels[name].texts for name in ("light", "heavy")}
    assert counts == {"light": 1, "heavy": 24}
    said = threshold_sentences(found[0].to_dict())
    assert "both errors are equal" in said and "light" not in said
    found.show()
    lines = capsys.readouterr().out.splitlines()
    head = next(line for line in lines if line.startswith("threshold "))
    assert "heavy" in head and "light" not in head


def test_kinds_of_a_table_and_of_gates_ignore_case(tmp_path: Path) -> None:
    table = tmp_path / "kinds.csv"
    rows = ["It is on.,It runs.,It is off.,Dose", "We go.,We leave.,We do not go.,dose"]
    table.write_text("\n".join(["text,rewording,change,kind", *rows]))
    gate = {"rewording.Dose": 1.0}
    for kinds in (None, ["DOSE"]):
        found = ws.audit(
            _trigrams(np.float64), table, kinds=kinds, draws=0, baselines=False, fail_under=gate
        )
        assert found.kinds == ["dose"] and found[0].levels["rewording"].texts == 2
        assert len(found.gate) == 1 and "rewording.dose" in found.gate[0]


def test_thresholds_are_as_short_as_their_errors_allow() -> None:
    """Printed with three decimals, 0.99996 was 1.000, at which every rewording is rejected."""
    changed, kept = [[0.3], [0.12345]], [[0.99996], [0.99998]]
    for found in (equal_error(changed, kept), best_threshold(changed, kept)):
        assert found is not None and found.threshold == 0.9
        assert (found.accepted_changes, found.rejected_rewordings) == (0, 0)
    close = [[0.8701], [0.8702]], [[0.87015], [0.9]]
    found = best_threshold(*close)
    assert 0.8701 < found.threshold <= 0.87015 or 0.8702 < found.threshold <= 0.9
    assert found.sum == 0.5


def test_the_strict_threshold_is_the_smallest() -> None:
    changed, kept = [[at / 100] for at in range(100)], [[0.97], [0.5]]
    found = strict_threshold(changed, kept)
    assert found is not None and found.threshold == 0.9401
    assert (found.accepted_changes, found.rejected_rewordings) == (0.05, 0.5)
    assert strict_threshold([[1.0]], [[1.0]]) is None


def test_several_thresholds() -> None:
    found = ws.audit(_words, "everyday", draws=0, texts=3, threshold=[0.87, 0.96], baselines=False)
    levels = [one.threshold for one in found[0].thresholds]
    assert levels == sorted(levels) and {0.87, 0.96, 0.97, 0.98, 0.99} <= set(levels)
    with pytest.raises(InputError, match="between -1 and 1"):
        ws.audit(_words, threshold=[0.5, 2.0])


def test_a_misspelt_name_of_data() -> None:
    with pytest.raises(InputError, match=r"one of gold, .*did you mean everyday"):
        collect("evryday")
