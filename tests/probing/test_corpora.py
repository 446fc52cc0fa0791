"""Words of many texts: cells of texts, the same bytes for any number of workers, resume, failures,
and what a corpus says.
"""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest

import tiny
from jobs import Here, stored, wait_for_cells
from jobs import cell as grid_cell
from wordsway.cli.app import run
from wordsway.core.errors import InputError
from wordsway.core.reading import word_spans
from wordsway.core.result import versions
from wordsway.core.runtime import single_thread
from wordsway.engine.provenance import Provenance
from wordsway.engine.store import Record, Store
from wordsway.engine.workers import LocalWorkers, work
from wordsway.models.files import parameters_of
from wordsway.models.probe import Probe
from wordsway.probing.corpus import (
    EFFORT,
    MEMORY,
    TextJob,
    aggregates,
    corpus_jobs,
    corpus_texts,
    words_frame,
)
from wordsway.probing.request import WordsRequest
from wordsway.probing.words import words
from wordsway.studies.tables import cells_frame
from wordsway.text import corpus, draw

TOKENS = 9
TEXTS = [
    "The film was good, and the cast fine.",
    "A dull plot; it was not very good.",
    "I was bad and you dull",
    "Films",
    "She was very very fine, they not",
    "The film was good, and the cast fine.",
    "the plot or the cast",
    "He was not good. It was bad.",
    "Very dull films, films, films",
    "you and i and she and he and they",
]
#: One word of more pieces than fit.
HOPELESS = "goods" + 12 * "s"
PROVENANCE = Provenance(versions())
FILES = ("words.csv", "by_word.csv", "by_place.csv", "by_layer.csv")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(tiny.save(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(scope="module")
def probe(model):
    return Probe(model)


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    """A table of texts: one comes twice, one cannot be probed; labels of more kinds than two are
    nobody's business here.
    """
    path = tmp_path_factory.mktemp("texts") / "reviews.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["text", "label"])
        table.writerows(
            [text, f"{at % 5} stars"] for at, text in enumerate([*TEXTS[:4], HOPELESS, *TEXTS[4:]])
        )
    return path


def command(reviews: Path, model: str, out: Path, *options: str) -> list[str]:
    tier = [] if "--tier" in options else ["--tier", "local"]
    return [
        "corpus",
        str(reviews),
        "--model",
        model,
        "--tokens",
        str(TOKENS),
        "--out",
        str(out),
        *tier,
        *options,
    ]


def tables(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.fixture(scope="module")
def finished(reviews, model, tmp_path_factory):
    """An uninterrupted run in this process: the truth for all the others."""
    out = tmp_path_factory.mktemp("one")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here())
        assert run(command(reviews, model, out, "--workers", "1")) == 1, "one text cannot be probed"
    return out


def a_cell(**changes) -> TextJob:
    usual: dict[str, Any] = {
        "text": TEXTS[0],
        "id": "r:1",
        "model": "minilm",
        "model_sha256": "0" * 64,
    }
    own = {name: changes.pop(name) for name in (*usual, "tokens") if name in changes}
    request = WordsRequest(**{"layer": 3, "effort": EFFORT, "memory": MEMORY} | changes)
    return TextJob(**(usual | own), request=request)


# Cells


def test_a_text_is_its_content():
    one = a_cell()
    changes: list[dict[str, Any]] = [
        {"text": "x"},
        {"layer": 2},
        {"reach": 2.0},
        {"at": "input"},
        {"effort": 1.0},
        {"tokens": 5},
        {"seed": 1},
    ]
    changes += [{"model_sha256": "1" * 64}]
    others = [a_cell(**change) for change in changes]
    assert (
        len({one.key, *(other.key for other in others)})
        == len({one.own_seed, *(other.own_seed for other in others)})
        == 9
    )
    named = [a_cell(id="elsewhere"), a_cell(model="./copy")]
    assert len({one.key, *(cell.key for cell in named)}) == 3 and {
        cell.own_seed for cell in named
    } == {one.own_seed}
    assert a_cell(reach=1).key == a_cell(reach=1.0).key != one.key
    for cell in [one, *others]:
        assert json.loads(json.dumps(cell.content)) == cell.content


def test_the_key_of_a_text_is_what_it_was():
    """A store outlives versions: if this fails, VERSION of corpus has to be raised."""
    assert a_cell().key == "bf8f3fd8eff019a29b66185c836798bf06b12905532285689e04be4d9cc314d4"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"reach": 0.0}, "reach between"),
        ({"effort": float("nan")}, "effort > 0"),
        ({"tokens": 0}, "tokens ≥ 1"),
        ({"at": "output"}, "among words, input"),
        ({"text": "a\ud800"}, "whole characters"),
    ],
)
def test_a_wrong_text_cell(change, said):
    with pytest.raises(InputError, match=said):
        a_cell(**change)


@pytest.mark.parametrize(
    "text", [*TEXTS, "goods goods, films! good-bad films", "  the   film\n", "!!! the ??? film"]
)
def test_a_cut_is_the_longest_that_fits(probe, text):
    def count(some: str) -> int:
        return probe.reader([some])[0].count

    for tokens in range(3, count(text) + 2):
        whole = [text[:end] for _, end in word_spans(text)]
        fitting = [some for some in [*whole, text] if count(some) <= tokens]
        if fitting:
            assert probe.cut(text, tokens) == fitting[-1]
        else:
            with pytest.raises(InputError, match=f"a word within the first {tokens} tokens"):
                probe.cut(text, tokens)
    with pytest.raises(InputError, match="a word within"):
        probe.cut(text, 2)


@pytest.mark.slow
@pytest.mark.parametrize("at", ["words", "input"])
def test_a_cell_gives_what_words_gives(probe, model, at):
    """The same numbers as the verb, in any order, in one file or another."""
    texts = list(corpus(TEXTS[:3]))
    how: dict[str, Any] = {"layer": 2, "at": at, "tiers": ("local",)}
    cells = corpus_jobs(texts, model, tokens=TOKENS, seed=7, **how)
    found = {cell.key: cell.run() for cell in reversed(cells)}
    for cell, text in zip(cells, texts, strict=True):
        cut = probe.cut(text.text, TOKENS)
        with single_thread(True):
            how |= {"tiers": ("mean-local", "local"), "memory": MEMORY}
            direct = words(cut, probe, seed=cell.own_seed, **how)
        outputs = found[cell.key]
        for row, word in zip(outputs["words"], direct.words, strict=True):
            assert (row["index"], row["word"], row["start"], row["end"]) == (
                word.index,
                word.word,
                word.start,
                word.end,
            )
            assert row["sensitivity"] == word.sensitivity == pytest.approx(row["profile"][2])
            assert row["mean_local"] == word.mean_local and row["local"] == word.local
            assert row["pieces"] == len(word.rows)
            assert tuple(row["profile"]) == word.profile and tuple(row["noise"]) == word.noise
        assert (outputs["layer"], outputs["layers"], outputs["status"]) == (2, 3, direct.status)
        assert (
            outputs["tokens"] == len(direct.tokens) <= TOKENS
            and text.text[: outputs["characters"]] == cut
        )
        json.dumps(outputs, allow_nan=False)


def test_a_corpus_gets_mean_local_by_default(model):
    """Minutes for a thousand reviews; the other tiers, hours, where they are requested."""
    (cell,) = corpus_jobs(corpus(TEXTS[:1]), model, tokens=TOKENS)
    assert cell.measured == ("mean-local",)
    outputs = cell.run()
    assert all(row["mean_local"] > 0 and row["local"] is None for row in outputs["words"])
    assert a_cell(tiers=("local",)).measured == ("mean-local", "local")
    assert a_cell(reach=0.1).measured == ("mean-local", "local", "curve")


@pytest.mark.slow
def test_a_corpus_takes_tiers_and_targets(reviews, model, probe, tmp_path, capsys, monkeypatch):
    """--tier, --target, --draws and --passes reach every text; mean local is always there."""
    monkeypatch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here())
    options = ["--tier", "real-words", "--target", "cosine", "--draws", "3", "--passes", "4"]
    arguments = command(reviews, model, tmp_path / "some", *options, "--limit", "2", "--json")
    assert run(arguments) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["target"] == "cosine" and told["measured"] == ["mean-local", "real-words"]
    assert all(row["mean_local"] is not None for row in told["by_word"])
    assert any(row["mean_real"] is not None for row in told["by_word"])
    store = Store(tmp_path / "some" / "store")
    for _, record in store.records(None):
        content = record.content
        own = {"text": content["text"], "id": content["id"], "model": model, "seed": 0}
        own |= {"model_sha256": content["model_sha256"], "tokens": content["tokens"]}
        how = {"target": "cosine", "tiers": ("real-words",), "draws": 3, "passes": 4}
        cell = a_cell(**own, **how)
        assert cell.content == content
        with single_thread(True):
            true = words(
                probe.cut(cell.text, cell.tokens),
                probe,
                target="cosine",
                tiers=("mean-local", "real-words"),
                draws=3,
                passes=4,
                seed=cell.own_seed,
                memory=MEMORY,
            )
        for row, word in zip(record.outputs["words"], true.words, strict=True):
            assert row["mean_local"] == word.mean_local
            assert row.get("real_mean") == (word.real.mean if word.real else None)
    frame = words_frame(store)
    assert {"real_mean", "real_worst_word", "real_draws"} <= set(frame.columns)


def test_texts_that_cannot_be_probed_fail_with_their_error(probe, model):
    digest = probe.files.digest
    for text, said in (
        ("", "at least one word"),
        (" \n ", "at least one word"),
        (HOPELESS, "a word within the first 9 tokens"),
    ):
        outcome = work(a_cell(text=text, model=model, model_sha256=digest, tokens=9), PROVENANCE)
        assert outcome.outputs is None and said in outcome.error and "\n" not in outcome.error
    changed = work(a_cell(model=model, model_sha256="f" * 64), PROVENANCE)
    assert changed.outputs is None and "with the files ffffffffffff…" in changed.error


def test_repeated_texts_are_one_cell(model):
    texts = list(corpus(TEXTS))
    cells = corpus_jobs(texts, model)
    assert [cell.text for cell in cells] == list(dict.fromkeys(TEXTS)) and len(cells) == len(
        TEXTS
    ) - 1
    assert [cell.id for cell in cells][:6] == [
        f"texts:{number}" for number in (1, 2, 3, 4, 5, 7)
    ] and {cell.layer for cell in cells} == {3}
    with pytest.raises(InputError, match="at most 64 tokens"):
        corpus_jobs(texts, model, tokens=65)
    with pytest.raises(InputError, match="a layer behind the one that moves"):
        corpus_jobs(texts, model, at="input", layer=0)


def test_costs_of_texts(probe: Probe, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted from the headers of the weights' files: no model is loaded for it."""
    monkeypatch.setattr(
        "wordsway.models.jobs.probe_of", lambda *_: pytest.fail("a model was loaded")
    )
    digest = probe.files.digest
    own = {"model": model, "model_sha256": digest}
    short, long = (a_cell(text=5 * text, effort=1e-4, **own) for text in ("film ", TEXTS[0]))
    assert short.size < long.size and short.family == long.family
    every = a_cell(tiers=("local",), **own)
    assert every.size > a_cell(**own).size and every.family != a_cell(**own).family
    weights = sum(one.numel() for one in probe.layers.model.parameters())
    assert parameters_of(model, digest) == pytest.approx(weights, rel=0.1)
    assert MEMORY < long.peak_bytes() < 3 * MEMORY


# Runs


@pytest.mark.slow
def test_a_batch_is_all_texts_once_and_the_failed_one_apart(finished, reviews, probe, model):
    rows = list(csv.DictReader((finished / "words.csv").open(newline="")))
    kept = list(dict.fromkeys(TEXTS))
    ids = list(dict.fromkeys(row["text_id"] for row in rows))
    assert ids == [f"reviews.csv:{number}" for number in (1, 2, 3, 4, 6, 8, 9, 10, 11)] and len(
        ids
    ) == len(kept)
    for number, text in zip(ids, kept, strict=True):
        (cell,) = corpus_jobs(corpus([text]), model, tokens=TOKENS, tiers=("local",))
        outputs = cell.run()
        own = [row for row in rows if row["text_id"] == number]
        assert [row["word"] for row in own] == [word["word"] for word in outputs["words"]]
        assert [float(row["sensitivity"]) for row in own] == [
            word["sensitivity"] for word in outputs["words"]
        ]
        assert [float(row["noise_1"]) for row in own] == [
            word["noise"][1] for word in outputs["words"]
        ]
    (failure,) = Store(finished / "store").failures().values()
    assert "a word within the first 9 tokens" in failure
    import pandas

    beside = pandas.read_parquet(finished / "words.parquet")
    assert len(beside) == len(rows) and {"seconds", "host", "torch"} <= set(beside.columns)


@pytest.mark.slow
def test_a_second_run_gives_the_same_bytes(finished, reviews, model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here())
    assert run(command(reviews, model, tmp_path, "--json")) == 1
    assert tables(tmp_path) == tables(finished)
    told = json.loads(capsys.readouterr().out)
    assert (told["texts"], told["probed"], told["done"], told["before"]) == (10, 9, 9, 0)
    assert list(told["failed"]) == ["reviews.csv:5"] and told["layer"] == 3
    assert [row["layer"] for row in told["by_layer"]] == [0, 1, 2, 3] and [
        row["fifth"] for row in told["by_place"]
    ] == [1, 2, 3, 4, 5]
    assert told["by_word"][0]["mean_local"] == max(row["mean_local"] for row in told["by_word"])


@pytest.mark.slow
def test_a_killed_batch_goes_on_where_it_was(
    finished, reviews, model, tmp_path, capsys, monkeypatch
):
    process = subprocess.Popen(
        [sys.executable, "-m", "wordsway", *command(reviews, model, tmp_path, "--workers", "1")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for_cells(process, tmp_path, 2)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    half = stored(tmp_path)
    assert 2 <= len(half) < 9 and not (tmp_path / "words.csv").exists()
    monkeypatch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here())
    assert run(command(reviews, model, tmp_path, "--json")) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["before"] == len(half) and told["done"] == 9 - len(half)
    everything = stored(tmp_path)
    assert set(half) <= set(everything) and len(everything) == 9, "a text was searched again"
    assert tables(tmp_path) == tables(finished)


@pytest.mark.slow
def test_a_finished_batch_is_only_read_again(finished, reviews, model, capsys, monkeypatch):
    """Nothing is run, the failure stays told; with labels, they stand beside the texts."""
    before, rows = stored(finished), tables(finished)
    with monkeypatch.context() as patch:
        patch.setattr(LocalWorkers, "_start", lambda pool: pytest.fail("a worker was started"))
        assert run(command(reviews, model, finished)) == 1
    out, err = capsys.readouterr()
    assert (
        "0 texts done now, 9 before, of 10" in out
        and "1 failed: InputError: expected a word within the first 9 tokens" in err
    )
    assert stored(finished) == before and tables(finished) == rows
    out = " ".join(out.split())  # long paths break lines anywhere
    assert "words of 9 texts" in out and "by fifth of the text" in out and "by layer" in out
    assert run(command(reviews, model, finished, "--forecast", "--json")) == 0
    assert json.loads(capsys.readouterr().out)["left"] == 1
    monkeypatch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here())
    labels = reviews.with_name("two.csv")
    labels.write_text(
        "review,mood\n"
        + "\n".join(f'"{text}",{"pos" if at % 2 else "neg"}' for at, text in enumerate(TEXTS[:1]))
    )
    assert (
        run(command(labels, model, reviews.parent / "labels", "--label-column", "mood", "--json"))
        == 0
    )
    capsys.readouterr()
    assert {
        row["label"]
        for row in csv.DictReader((reviews.parent / "labels" / "words.csv").open(newline=""))
    } == {"neg"}


def test_a_limit_draws_by_seed(reviews):
    reading = corpus(str(reviews), label_column="")
    for seed in (0, 1):
        chosen = corpus_texts(str(reviews), limit=4, seed=seed)
        assert [text.text for text in chosen] == [text.text for text in draw(reading, 4, seed)]
    assert (
        len(
            {
                text.id
                for seed in range(5)
                for text in corpus_texts(str(reviews), limit=4, seed=seed)
            }
        )
        > 4
    )
    for limit in (10, 11, 1000, None):
        assert [text.text for text in corpus_texts(str(reviews), limit=limit)] == [
            *dict.fromkeys([*TEXTS[:4], HOPELESS, *TEXTS[4:]])
        ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.csv"], "'nowhere.csv'"),
        (["EMPTY"], "texts in empty.csv, got none"),
        (["TEXTS", "--limit", "0"], "limit ≥ 1"),
        (["TEXTS", "--twin"], "No such option: --twin"),
        (["TEXTS", "--model", "no-such-model"], "'no-such-model'"),
        (["TEXTS", "--layer", "9"], "0 to 3"),
        (["TEXTS", "--tier", "best"], "a tier among"),
        (["TEXTS", "--target", "logits"], "saved with a classifier"),
        (["TEXTS", "--draws", "0"], "draws"),
        (["TEXTS", "--tokens", "0"], "tokens ≥ 1"),
        (["TEXTS", "--tokens", "65"], "at most 64 tokens"),
        (["TEXTS", "--workers", "0"], "workers between 1 and 1024"),
        (["TEXTS", "--text-column", "body"], "a column 'body'"),
        (["TEXTS", "--out", "TEXTS"], "a folder for results"),
    ],
)
def test_a_wrong_request_is_one_line(arguments, said, reviews, model, tmp_path, capsys):
    empty = tmp_path / "empty.csv"
    empty.write_text("text,label\n")
    places = {"TEXTS": str(reviews), "EMPTY": str(empty)}
    given = ["corpus", *(places.get(word, word) for word in arguments)]
    given += [] if "--model" in given else ["--model", model]
    assert run(given + ([] if "--out" in given else ["--out", str(tmp_path / "out")])) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and said in err


@pytest.mark.parametrize("data", [["--data", "TEXTS"], ["--data=TEXTS"]])
def test_words_data_is_the_old_name_of_corpus(data, reviews, model, tmp_path, capsys):
    """It works for one version, with a warning."""
    old = [word.replace("TEXTS", str(reviews)) for word in data]
    out = ["--model", model, "--forecast", "--json", "--out", str(tmp_path)]
    assert run(["words", *old, *out, "--effort", "0"]) == 2
    said = capsys.readouterr().err
    assert "use wordsway corpus FILE" in said and "--effort is deprecated" in said
    assert said.count("\n") == 3 and "effort > 0" in said


# What a corpus says


def made_up(folder: Path) -> tuple[Store, list[TextJob]]:
    """Texts with numbers out of thin air: ties, a word without noise, spellings that differ in
    case, a text of one word.
    """
    noise, store = random.Random(0), Store(folder)
    spellings = ["Good", "good", "GOOD", "straße", "STRASSE", "NA", ",", "film"]
    cells = [a_cell(text=f"text {number}", id=f"r:{number}") for number in range(7)]
    for number, cell in enumerate(cells):
        rows = []
        for index in range((1, 2, 3, 5, 8, 13, 11)[number]):
            profile = [noise.choice([0.25, 0.5, noise.random()]) for _ in range(4)]
            row = {
                "index": index,
                "word": noise.choice(spellings),
                "start": index,
                "end": index + 1,
                "pieces": 1 + index % 2,
                "mean_local": noise.choice([0.25, noise.random()]),
                "mean_local_error": 0.01,
                "local": 1.5,
                "sensitivity": profile[3] ** 2 / 2,  # of another target: a cosine distance
            }
            rows.append(
                row
                | {
                    "profile": profile,
                    "noise": [noise.random() * (noise.random() > 0.1) for _ in range(4)],
                }
            )
        outputs = {
            "words": rows,
            "layer": 3,
            "layers": 3,
            "status": "at rest",
            "tokens": 20,
            "characters": 9,
            "seed": number,
        }
        store.add(Record(cell.content, outputs, {"seconds": 1.5, "host": "here"}))
    return store, cells


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_aggregates_are_what_plain_python_computes(tmp_path):
    store, cells = made_up(tmp_path)
    frame = words_frame(store, [cell.key for cell in cells])
    found = aggregates(frame)
    texts = [dict(store.records([cell.key]))[cell.key].outputs["words"] for cell in cells]
    assert list(frame["word"]) == [word["word"] for words in texts for word in words], (
        "in the order of the keys given"
    )
    by_word: dict[str, list[tuple]] = {}
    by_fifth: dict[int, list[tuple]] = {}
    for number, some in enumerate(texts):
        values = [word["mean_local"] for word in some]
        for place, word in enumerate(some):
            small, noise = word["mean_local"], word["noise"][3]
            below = sum(value < small for value in values)
            equal = sum(value == small for value in values)
            over = word["profile"][3] / noise if noise else None
            by_word.setdefault(word["word"].casefold(), []).append(
                (number, small, (below + equal / 2) / len(values), over, word["mean_local_error"])
            )
            by_fifth.setdefault(int(5 * place / len(some)) + 1, []).append(
                (number, small, small / mean(values))
            )
    assert set(found["by_word"]["word"]) == set(by_word) == {"good", "strasse", "na", ",", "film"}
    for row in found["by_word"].to_dict("records"):
        own = by_word[row["word"]]
        assert (row["texts"], row["occurrences"]) == (len({one[0] for one in own}), len(own))
        assert row["mean_local"] == pytest.approx(mean([one[1] for one in own]), rel=1e-12)
        assert row["max_local"] == max(one[1] for one in own)
        between = stdev([one[1] for one in own]) / len(own) ** 0.5 if len(own) > 1 else 0.0
        error = sum(one[4] ** 2 for one in own) ** 0.5 / len(own)
        assert row["mean_local_error"] == pytest.approx(max(between, error), rel=1e-9)
        assert row["mean_rank_share"] == pytest.approx(mean([one[2] for one in own]), rel=1e-12)
        assert row["mean_over_noise"] == pytest.approx(
            mean([one[3] for one in own if one[3] is not None]), rel=1e-12
        )
    order = list(found["by_word"]["mean_local"])
    assert order == sorted(order, reverse=True)
    for row in found["by_place"].to_dict("records"):
        own = by_fifth[row["fifth"]]
        assert (row["texts"], row["words"]) == (len({one[0] for one in own}), len(own))
        assert row["mean_local"] == pytest.approx(mean([one[1] for one in own]), rel=1e-12)
        assert row["mean_relative"] == pytest.approx(mean([one[2] for one in own]), rel=1e-12)
    for row in found["by_layer"].to_dict("records"):
        layer, every = row["layer"], [word for words in texts for word in words]
        assert row["words"] == len(every)
        assert row["mean_change"] == pytest.approx(
            mean([word["profile"][layer] for word in every]), rel=1e-12
        )
        assert row["mean_noise"] == pytest.approx(
            mean([word["noise"][layer] for word in every]), rel=1e-12
        )


def test_texts_and_grids_share_a_store(tmp_path):
    store, cells = made_up(tmp_path)
    grid = grid_cell("raf", 5, 4)
    store.add(Record(grid.content, {"lower": 1.0, "status": "converged"}, {}))
    assert list(cells_frame(store)["key"]) == [grid.key]
    frame = words_frame(store)
    assert len(frame) == 43 and list(frame["key"].unique()) == sorted(cell.key for cell in cells)
    assert words_frame(Store(tmp_path)).equals(frame) and set(
        words_frame(store, facts=True)["host"]
    ) == {"here"}


def test_nothing_done_yet_has_tables_too(tmp_path):
    frame = words_frame(Store(tmp_path), [])
    found = aggregates(frame)
    assert (
        frame.empty
        and found["by_word"].empty
        and list(found["by_place"]["words"]) == [0, 0, 0, 0, 0]
        and found["by_layer"].empty
    )
    assert {"mean_local", "mean_rank_share", "texts"} <= set(found["by_word"].columns)
