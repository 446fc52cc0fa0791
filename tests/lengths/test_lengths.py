"""Edited sentences in longer and longer texts: windows, responses against naive ones, the verb."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

import tiny
import wordsway as ws
from jobs import Here
from wordsway.auditing.background import Place
from wordsway.auditing.encoder import encoder_for
from wordsway.auditing.gold import gold_triples
from wordsway.cli.app import run
from wordsway.core.errors import InputError
from wordsway.lengths.length import LengthRequest
from wordsway.lengths.responses import responses
from wordsway.lengths.result import Invisible, Length, ModelLength, _crossing
from wordsway.lengths.theory import THEORY, RandomMaps
from wordsway.lengths.windows import hosted_texts
from wordsway.models.encoders import PairScorer
from wordsway.models.probe import Probe
from wordsway.render.terminal import panel

SENTENCES = [
    "The film is good and the actors are fine.",
    "I think that this movie was a big surprise.",
    "We saw it with our friends in the old cinema.",
    "The story is simple, but the music is great.",
    "It was a long evening, and the rain was heavy.",
    "My brother is happy with the end of the story.",
    "The house in the film was built by his father.",
    "You will like the first half of this movie.",
]
DOCUMENTS = [
    " ".join(SENTENCES[at:] + SENTENCES[:at]) + f" That was number {at}." for at in range(8)
]
SMALL: dict[str, Any] = {"windows": (1, 2, 4), "texts": 6, "baselines": False}


def letters(texts: list[str]) -> np.ndarray:
    return np.array([[text.count(one) + 0.1 for one in "aeinost "] for text in texts])


@pytest.fixture(scope="module")
def minilm() -> Probe:
    return Probe("minilm")


def test_windows_are_nested_and_keep_the_edited_sentence():
    for text in hosted_texts(DOCUMENTS, texts=8, longest=8).texts:
        sentence = text.document[text.at]
        before = ""
        for size in range(1, 9):
            whole, places = text.window(size)
            assert sentence in whole and before in whole
            before = whole
            alone, own = text.window(1)
            for here, there in zip(places, own, strict=True):
                edited = here.edited(whole)
                assert there.edited(alone) in edited
                assert edited.replace(there.edited(alone), sentence) == whole


def test_a_place_moves_the_sentence_among_the_same_ones():
    for text in hosted_texts(DOCUMENTS, texts=8, longest=6).texts:
        sentence = text.document[text.at]
        own, *others = [text.window(5, place)[0] for place in ("own", "beginning", "middle", "end")]
        assert others[0].startswith(sentence) and others[2].endswith(sentence)
        for other in others:
            assert sorted(other.split()) == sorted(own.split())


def test_roles_are_a_change_a_rewording_of_its_size_and_a_random_word():
    for text in hosted_texts("gold", texts=20, longest=4).texts:
        whole, _ = text.window(1)
        edited = {role: place.edited(whole) for role, place in text.edits.items()}
        assert {"change", "rewording", "heavy rewording", "random"} == set(edited)
        assert len(set(edited.values()) | {whole}) == 5


def test_filler_comes_from_other_texts_of_the_same_field():
    from wordsway.auditing.gold import gold_triples

    field = {one.text: one.field for one in gold_triples()}
    for text in hosted_texts("gold", texts=20, longest=6).texts:
        assert len(text.document) == 6 and len(set(text.document)) == 6
        assert len({field[one] for one in text.document}) == 1


def test_triples_of_the_user_are_put_among_each_other(tmp_path: Path):
    rows = [
        f'"The dose is {n} mg a day.","Take {n} mg daily.","The dose is {n}0 mg a day.",dose'
        for n in range(2, 9)
    ]
    file = tmp_path / "triples.csv"
    file.write_text("text,rewording,change,kind\n" + "\n".join(rows))
    found = hosted_texts(file, longest=4)
    assert found.host == "filler" and {text.kind for text in found.texts} == {"dose"}
    assert all(len(text.document) == 4 for text in found.texts)
    other = hosted_texts(file, longest=4, host=DOCUMENTS)
    assert all(set(text.document) & set(SENTENCES) for text in other.texts)


TRIPLES = """text,rewording,change
The dose is 2 mg a day.,Take two milligrams every morning.,The dose is 20 mg a day.
Batteries are included.,Cells come in the box.,Batteries are not included.
The battery lasts ten hours.,One charge gives half a working day.,The battery lasts two hours.
Refunds take five days.,Money comes back within one week.,Refunds take fifty days.
"""


#: One text allows an edit by a rule, film → movie, which is nearer in size to the change.
MIXED = TRIPLES + "This film is good.,A pleasure to see.,This film is bad.\n"


@pytest.fixture
def triples(tmp_path: Path) -> Path:
    file = tmp_path / "triples.csv"
    file.write_text(TRIPLES)
    return file


def test_a_host_that_does_not_exist_is_refused_before_texts_are_read() -> None:
    with pytest.raises(InputError, match="own, filler, a corpus"):
        LengthRequest("minilm", host="gaussian")


def test_a_rewording_is_of_the_same_size_only_where_sizes_are_matched(triples: Path):
    assert hosted_texts(DOCUMENTS, longest=4).rewording == "rewording of the same size"
    gold = hosted_texts("gold", kinds=["quantifiers"], longest=1)
    assert gold.rewording == "light rewording" and len(gold.texts) > 20
    light = {one.text: one.light for one in gold_triples()}
    for text in gold.texts:
        sentence = text.document[text.at]
        assert text.edits["rewording"].edited(sentence) == light[sentence]
    found = hosted_texts(triples, longest=4)
    assert found.rewording == "your rewording"
    assert found.overlaps["rewording"] < 0.3 < found.overlaps["change"]
    triples.write_text(MIXED)
    assert hosted_texts(triples, longest=4).rewording == "rewording"  # film → movie, by a rule


def test_the_user_s_rewording_is_named_where_a_rule_s_edit_takes_its_place(triples: Path):
    """It was called "heavy" as if all texts had one, and the rule's edits seemed to be the heavy
    ones.
    """
    triples.write_text(MIXED)
    plain = shown(ws.length(letters, triples, windows=(1, 2, 4), baselines=False))
    assert "letters yours, heavy 1 " in plain and "letters reworded 5 " in plain
    assert "rewording (in some texts an edit by a rule, nearer in size to the change) 0." in plain
    assert "your heavy rewording in those texts 0." in plain


def test_triples_are_described_in_plain_words(triples: Path):
    console = Console(width=400, file=io.StringIO())
    with console.capture() as shown:
        console.print(panel(ws.length(letters, triples, windows=(1, 2, 4), baselines=False)))
    plain = " ".join(shown.get().split())
    assert "your changes in 4 texts of triples.csv, surrounded by other rows of the file" in plain
    assert "your rewording 0." in plain and "same size" not in plain
    assert "Kinds of changes: your changes (4 texts). Unit of length: words." in plain
    assert "Share of invisible changes (cosine above 0.95)" in plain and " tokens" not in plain
    assert "Root mean square" not in plain  # explains a table that only the page shows


def decaying(texts: int = 40, share: float = 0.46) -> Length:
    """A model in which that share of changes is invisible at 11 tokens, and all are from 19 on; the
    change ends in a floor, the word alone does not. A baseline has half of the texts.
    """
    from wordsway.lengths.responses import Response
    from wordsway.lengths.result import MeasuredText

    rng = np.random.default_rng(0)
    measured = []
    for number in range(texts):
        windows = []
        for n in (11, 19, 38, 75, 150):
            noise = math.exp(rng.normal(0, 0.02))
            distance = 0.1 if n == 11 and number >= share * texts else 0.01
            change = Response(n, 5, noise * (20 / n**2 + 0.1), distance, 1.0, {})
            windows.append({"change": change, "word": Response(n, 5, noise / n, 0.01, 1.0, {})})
        measured.append(MeasuredText(str(number), "negation", tuple(windows)))
    sizes = (1, 2, 4, 8, 16)
    model, baseline = (
        ModelLength(name, sizes, tuple(some), (), 0.05, 0)
        for name, some in (("m", measured), ("mean", measured[: texts // 2]))
    )
    facts: Any = ("imdb", "own", "own", ("negation",), "pooled", sizes, texts, 0, 0.05, 0)
    fields: Any = ((model,), (baseline,), *facts, False, 1.0, {})
    return Length(*fields)


def shown(found: Length) -> str:
    console = Console(width=200, file=io.StringIO())
    with console.capture() as printed:
        console.print(panel(found))
    return " ".join(printed.get().split())


def test_shares_of_invisible_changes_are_printed_with_intervals():
    plain = shown(decaying(50))
    shares = "46 % (33 % to 60 %) at 11 tokens, 100 % (91 % to 100 %) at 19 tokens."
    assert f"m: changed texts with a cosine above 0.95 with the original: {shares}" in plain
    assert "m 1 11 tokens 50 46 % 33 % to 60 %" in plain
    assert "m 16 150 tokens 50 100 % 91 % to 100 %" in plain
    assert "half of the changed texts have a cosine above" in shown(decaying(50, 0.1))
    enough = "On these texts, no measured length is short enough."
    assert enough not in plain
    assert f"at every length. {enough}" in shown(decaying(50, 1.0))
    assert f"at 11 tokens. {enough}" in shown(decaying(10, 0.6))


@pytest.mark.parametrize("texts", [1, 2, 19])
def test_few_texts_have_no_claim_and_one_has_no_interval(texts: int):
    full = decaying(share=0.1)
    model = replace(full.models[0], measured=full.models[0].measured[-texts:])
    found = replace(full, models=(model,), baselines=(), texts=texts)
    assert full.models[0].curve().invisible.claim == "from"
    assert model.curve().invisible == Invisible("open")
    plain = shown(found)
    assert "half of the changed texts have" not in plain
    assert plain.count("20 texts or more are needed") == 1
    assert "20 texts or more" not in shown(full)
    document = found.to_dict()
    point, law = document["models"][0]["curves"][0]["points"][0], document["laws"][0]
    for one, value in ((point, "change"), (law, "exponent")):
        ends = (one["low"], one["high"])
        assert ends == (None, None) if texts == 1 else ends[0] < one[value] < ends[1]
    assert texts > 1 or ("1 texts" not in plain and "[" not in plain)


def test_moved_positions_are_named_only_for_changes_that_move_them():
    found = decaying()
    assert "shifted positions" in shown(replace(found, moves_positions=0.9))
    assert "shifted positions" not in shown(replace(found, moves_positions=0.0))
    shares = [
        hosted_texts("gold", kinds=[kind], texts=20, longest=4).moves_positions
        for kind in ("negation", "antonyms")
    ]
    assert shares[0] > 0.5 and shares[1] == 0


def test_fewer_texts_of_baselines_are_a_column():
    plain = shown(decaying())
    assert "model edit texts 1 sent." in plain
    assert "m change 40 " in plain and "mean change 20 " in plain
    assert "model edit 1 sent." in shown(replace(decaying(), baselines=()))


def test_models_in_different_units_are_not_compared():
    one = decaying()
    words = replace(one.models[0], name="box", unit="words")
    assert "different units" in shown(replace(one, models=(*one.models, words)))
    assert "different units" not in shown(one)


def test_default_windows_fit_a_small_table(triples: Path):
    assert LengthRequest(letters, triples).sizes == (1, 2, 4)
    assert LengthRequest(letters, triples, host=DOCUMENTS).sizes == (1, 2, 4, 8, 16)
    assert LengthRequest(letters, DOCUMENTS).sizes == (1, 2, 4, 8, 16)
    with pytest.raises(InputError, match="--windows 1,2,4"):  # before a model is loaded
        LengthRequest("no such model", triples, windows=(1, 2, 8)).hosted()
    triples.write_text("\n".join(TRIPLES.splitlines()[:3]))
    with pytest.raises(InputError, match="add rows"):
        LengthRequest(letters, triples).hosted()


def test_a_text_with_several_rows_is_in_a_window_once(triples: Path):
    again = "Batteries are included.,Cells come in the box.,Batteries were included.\n"
    triples.write_text(TRIPLES + 3 * again)
    for text in hosted_texts(triples, longest=4).texts:
        assert len(set(text.document)) == 4
    assert LengthRequest(letters, triples).sizes == (1, 2, 4)


def test_a_host_may_repeat_the_edited_sentence(triples: Path):
    rows = [row.partition(",")[0] for row in TRIPLES.splitlines()[1:]]
    host = [" ".join(rows * 3)] * 8
    for text in hosted_texts(triples, longest=16, host=host).texts:
        assert len(text.document) == 16 and text.document.count(text.document[text.at]) == 1
    with pytest.raises(InputError, match=r"8 sentences.*got 4 .*--windows 1,2,4\)"):
        hosted_texts(triples, longest=8, host=[" ".join(rows)] + [f"{rows[0]} {rows[0]}"] * 8)


def test_panels_name_what_is_compared(triples: Path):
    from wordsway.render.views.length import picture

    word, change, *_ = (one.title for one in picture(ws.length(letters, DOCUMENTS, **SMALL)).panels)
    assert word == "“not” against a random word, equal length"
    assert change == "the whole negation (positions shift)"
    found = ws.length(letters, triples, baselines=False)
    assert picture(found).panels[1].title == "your changes: the whole change"


def test_a_fall_without_a_preferred_law_is_marked():
    from wordsway.render.views.length import fall

    curve = ws.length(letters, DOCUMENTS, **SMALL).models[0].curve()
    marked = "(no law is preferred)" in fall(curve)
    assert marked == (curve.laws.best is None)


def test_another_seed_draws_other_texts_and_the_same_seed_the_same():
    one, two = (hosted_texts("gold", texts=20, longest=4, seed=0) for _ in range(2))
    assert one == two
    assert hosted_texts("gold", texts=20, longest=4, seed=1).texts != one.texts


def naive(probe: Probe, a: str, b: str) -> tuple[float, float, list[list[float]]]:
    """Change, cosine distance, and per layer the mean's and the last row's change."""
    found = []
    for text in (a, b):
        with torch.no_grad():
            ids = torch.tensor([probe.ids_of([text])[0]])
            found.append([H[0].double() for H in probe.layers.every_hidden(ids)])
    one, two = torch.from_numpy(probe.encode([a, b]))
    rate = lambda u, v: float((v - u).norm() / u.norm())  # noqa: E731
    layers = [[rate(x.mean(0), y.mean(0)), rate(x[-1], y[-1])] for x, y in zip(*found, strict=True)]
    cosine = float(one @ two / one.norm() / two.norm())
    return rate(one, two), 1 - cosine, layers


@pytest.mark.slow
def test_responses_are_those_of_the_naive_version(minilm: Probe):
    texts = [text.window(3) for text in hosted_texts(DOCUMENTS, texts=4, longest=3).texts]
    for (whole, places), found in zip(texts, responses(encoder_for(minilm), texts), strict=True):
        assert not isinstance(found, InputError)
        assert len(found) == len(places) + 1
        versions = [whole, *(place.edited(whole) for place in places)]
        word = versions[1] if places[0].after.strip() else whole
        pairs = [(whole, one) for one in versions[1:]] + [(versions[-1], word)]
        for (before, after), one in zip(pairs, found, strict=True):
            change, distance, layers = naive(minilm, before, after)
            assert one.change == pytest.approx(change, rel=1e-4)
            assert one.cosine_distance == pytest.approx(distance, rel=1e-3, abs=1e-8)
            means = list(zip(one.layers["mean"], one.layers["last"], strict=True))
            assert np.allclose(means, layers, rtol=1e-3, atol=1e-7)
            assert one.tokens == len(minilm.ids_of([before])[0])


def test_rows_before_a_word_of_a_decoder_do_not_change(tmp_path: Path):
    probe = Probe(tiny.save(tmp_path / "gpt2", "gpt2"))
    text = "the film was good , and the story was not bad ."
    (found,) = responses(encoder_for(probe), [(text, (Place(len(text) - 5, "bad", "good"),))])
    assert not isinstance(found, InputError)
    (one,) = found
    assert one.layers["first"] == pytest.approx([0.0] * 4, abs=1e-6)
    assert one.behind == 2  # the full stop, and the special token
    assert one.layers["rows"][0] == 0 and one.layers["rows"][-1] > 0


@pytest.mark.slow
def test_theory_has_the_exponents_of_its_formulas(minilm: Probe):
    """One word put into n others: 1/√n for random features, and 1/n for the mean's shift."""
    maps = {name: RandomMaps(minilm).measure(name) for name in THEORY}
    texts = [text.window for text in hosted_texts(DOCUMENTS, texts=6, longest=8).texts]
    rows = {
        name: [[maps[name](window(size))[0] for size in (1, 2, 4, 8)] for window in texts]
        for name in ("random features", "mean of word vectors")
    }
    n = np.log([[one.tokens for one in row] for row in rows["random features"]])
    change = np.log([[one.change for one in row] for row in rows["random features"]])
    shift = np.log([[one.shift for one in row] for row in rows["mean of word vectors"]])
    assert np.polyfit(n.mean(0), change.mean(0), 1)[0] == pytest.approx(-0.5, abs=0.03)
    assert np.polyfit(n.mean(0), shift.mean(0), 1)[0] == pytest.approx(-1.0, abs=0.1)


@pytest.mark.slow
def test_random_features_at_infinite_width_are_those_of_many_neurons(minilm: Probe):
    text = hosted_texts(DOCUMENTS, texts=1, longest=1).texts[0].window(1)
    theory = RandomMaps(minilm)
    found = theory.measure("random features")(text)[1]  # a word replaced by another
    whole, places = text
    (ids, X), (other, Y) = (theory.vectors(one) for one in (whole, places[1].edited(whole)))
    assert len(ids) == len(other)
    torch.manual_seed(0)
    V = torch.randn(40_000, X.numel(), dtype=torch.float32)
    u, v = (torch.relu(V @ one.flatten().float()) for one in (X, Y))
    assert found.change == pytest.approx(float((v - u).norm() / u.norm()), rel=0.02)


@pytest.mark.slow
def test_workers_and_resuming_give_the_same_numbers(tmp_path: Path):
    """In this process, from the store, and in a worker process."""
    options = SMALL | {"baselines": True, "out": tmp_path / "one"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here())
        one = ws.length("minilm", DOCUMENTS, **options, workers=1)
        again = ws.length("minilm", DOCUMENTS, **options, workers=1)
    alone = options | {"baselines": False, "out": tmp_path / "two"}
    two = ws.length("minilm", DOCUMENTS, **alone, workers=1)
    drop = ("seconds", "files")
    facts = [{k: v for k, v in found.to_dict().items() if k not in drop} for found in (one, again)]
    assert facts[0] == facts[1]
    rows = one.frame()
    rows = rows[rows["model"] == "minilm"].reset_index(drop=True)
    assert rows.equals(two.frame())
    assert [model.name for model in one.baselines][:2] == ["minilm:random", "mean of word vectors"]
    for name in ("index.html", "length.svg", "length.png", "length.csv", "length.json"):
        assert (tmp_path / "one" / name).stat().st_size > 500
    laws = json.loads((tmp_path / "one" / "length.json").read_text())["laws"]
    assert {"model", "role", "law", "exponent", "low", "high"} <= set(laws[0])
    columns = {"model", "kind", "role", "window", "tokens", "change", "cosine_distance"}
    assert columns <= set(one.frame().columns)


def test_functions_and_scorers_of_pairs_have_curves():
    scorer = PairScorer("overlap", lambda pairs: [len({*a} & {*b}) / 30 for a, b in pairs])
    found = ws.length([letters, scorer], DOCUMENTS, **SMALL)
    assert [model.name for model in found.models] == ["letters", "overlap"]
    first = found.models[0].curve().points
    assert first[0].change > first[-1].change > 0 and not found.models[0].layers
    text = hosted_texts(DOCUMENTS, texts=6, longest=4).texts[0]
    whole, places = text.window(1)
    u, v = letters([whole, places[0].edited(whole)])
    row = found.frame().query("model == 'letters' and role == 'change' and window == 1").iloc[0]
    assert row["change"] == pytest.approx(np.linalg.norm(v - u) / np.linalg.norm(u))


def test_a_claim_of_visibility_needs_its_interval():
    sizes = np.array([10.0, 100.0, 1000.0])
    assert _crossing(sizes, np.array([0.2, 0.4, 0.6])) == pytest.approx(10**2.5)
    assert _crossing(sizes, np.array([0.6, 0.4, 0.4])) == math.inf
    assert _crossing(sizes, np.array([0.5, 0.7, 0.5])) == 0


@pytest.mark.parametrize(
    ("level", "claim"), [(1e-6, "never"), (1.9, "always"), (0.02, "from"), (0.03, "from")]
)
def test_the_claim_follows_the_level(level: float, claim: str):
    from wordsway.lengths.responses import Response
    from wordsway.lengths.result import MeasuredText

    rng = np.random.default_rng(0)
    texts = []
    for number in range(100):
        own = 0.3 * math.exp(rng.normal(0, 0.2))
        each = [Response(n, 5, own / n, own / n, own, {}) for n in (5, 10, 20, 40)]
        texts.append(MeasuredText(str(number), "k", tuple({"change": one} for one in each)))
    found = ModelLength("m", (1, 2, 4, 8), tuple(texts), (), level, 0).curve()
    assert found.invisible.claim == claim
    if claim == "from":
        assert found.invisible.tokens.low < 0.3 / level < found.invisible.tokens.high
    assert found.laws["power"].exponent.value == pytest.approx(-1, abs=1e-3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"windows": (1, 2)},
        {"windows": (1, 2, 400)},
        {"place": "top"},
        {"level": 0.0},
        {"data": "gold", "host": "own"},
        {"kinds": ("nonsense",)},
        {"target": "cls"},
    ],
)
def test_wrong_requests_are_refused(wrong: dict[str, Any]):
    with pytest.raises((InputError, ws.WordswayError)):
        ws.length(**{"models": "minilm", "data": DOCUMENTS, **SMALL, **wrong})


@pytest.mark.slow
def test_the_command_writes_json_and_reports_bad_windows(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here())
    file = tmp_path / "documents.txt"
    file.write_text("\n".join(DOCUMENTS))
    common = ["length", "--data", str(file), "--texts", "5", "--no-baselines"]
    common += ["--out", str(tmp_path / "out")]
    assert run([*common, "--windows", "1,2,4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in found["models"]] == ["minilm"] and found["texts"] == 5
    assert run([*common, "--windows", "1;2"]) == 2
    assert "use commas" in capsys.readouterr().err
    assert run([*common, "--windows", "1,2,4", "--forecast"]) == 0


def test_a_request_that_forecasts_counts_every_job():
    request = LengthRequest("minilm", DOCUMENTS, **SMALL)
    jobs = request.jobs(request.hosted())
    assert list(jobs) == ["minilm"] and len(jobs["minilm"]) == 3
    assert all(job.peak_bytes() > 5e8 for some in jobs["minilm"] for job in some)
