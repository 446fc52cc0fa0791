"""Corpora: every kind of file, in bounded memory, with labels ±1, draws by seed, and errors that
help.
"""

from __future__ import annotations

import csv
import gzip
import json
import random
import subprocess
import sys

import pytest

import wordsway as ws
from wordsway.core.errors import InputError
from wordsway.core.reading import Kind, Reading, word_spans
from wordsway.text import corpus, draw
from wordsway.text.corpora import POOL

TEXTS = [
    ("A fine film, well-made.", 1),
    ("Dull.<br /><br />I don't\tcare", 0),
    ('She said "no", twice; naïve 映画', 1),
]
MENDED = [text.replace("<br />", "\n     ") for text, _ in TEXTS]


def write(path, kind):
    """The three texts in each kind of file; returns the label column's values in order."""
    if kind in ("csv", "tsv", "csv.gz"):
        opener = gzip.open if kind.endswith("gz") else open
        with opener(path, "wt", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if kind == "tsv" else ",")
            writer.writerow(["text", "label"])
            writer.writerows(TEXTS)
    elif kind == "jsonl":
        path.write_text(
            "\n".join(json.dumps({"text": text, "label": label}) for text, label in TEXTS) + "\n\n",
            "utf-8",
        )
    elif kind == "json":
        path.write_text(
            json.dumps([{"text": text, "label": label} for text, label in TEXTS], indent=2), "utf-8"
        )
    elif kind == "parquet":
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.table(
            {"text": [text for text, _ in TEXTS], "label": [label for _, label in TEXTS]}
        )
        pyarrow.parquet.write_table(table, path)
    elif kind == "txt":
        path.write_text("\n".join(text for text, _ in TEXTS) + "\n", "utf-8")
    else:
        for number, (text, label) in enumerate(TEXTS):
            folder = path / ("pos" if label else "neg")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}.txt").write_text(text, "utf-8")


@pytest.mark.parametrize(
    "kind", ["csv", "tsv", "csv.gz", "jsonl", "json", "parquet", "txt", "folder"]
)
def test_every_kind_of_file_gives_the_same_texts(tmp_path, kind):
    path = tmp_path / ("reviews" if kind == "folder" else f"reviews.{kind}")
    write(path, kind)
    found = corpus(path)
    texts = list(found)
    assert {text.text.rstrip("\n") for text in texts} == set(MENDED)
    assert found.faults.breaks == 2 and found.faults.texts == 3 and found.faults.encoding == 0
    if kind != "txt":
        labels = {text.text: found.label(text) for text in texts}
        assert [labels[text] for text in MENDED] == [1, -1, 1]
    assert len({text.id for text in texts}) == 3


def test_a_datasets_split_and_a_list(tmp_path):
    import datasets

    split = datasets.Dataset.from_dict(
        {"review": [text for text, _ in TEXTS], "label": [label for _, label in TEXTS]}
    )
    for source in (split, split.to_iterable_dataset()):
        found = corpus(source)
        assert [text.text for text in found] == MENDED
        assert sorted(found.label(text) for text in found) == [-1, 1, 1]
    assert [text.text for text in corpus([text for text, _ in TEXTS])] == MENDED
    with pytest.raises(InputError, match="choose one: dataset"):
        corpus(datasets.DatasetDict({"train": split}))
    with pytest.raises(InputError, match="columns review, label"):
        corpus(split, text_column="body")
    with pytest.raises(InputError, match="read more than once"):
        corpus(iter(["a"]))


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (["0", "1"], [-1, 1]),
        (["-1", "1"], [-1, 1]),
        (["Positive", "Negative"], [1, -1]),
        (["true", "false"], [1, -1]),
        (["ham", "spam"], [-1, 1]),
        (["4", "10"], [-1, 1]),
    ],
)
def test_labels_become_signs(kinds, expected):
    found = corpus([{"text": f"text {kind}", "label": kind} for kind in kinds])
    assert [found.label(text) for text in list(found)] == expected


BAD = {
    "an empty file": ("reviews.csv", b"", "empty"),
    "a header only": ("reviews.csv", b"text,label\n", "none"),
    "a wrong column": ("reviews.csv", b"body,label\nfine film,1\n", "columns body, label"),
    "a binary file": ("reviews.csv", b"\x7fELF\0\0\0\1" * 100, "binary"),
    "a binary file by another name": ("reviews.parquet", b"\x7fELF\0\0\0\1" * 100, "Parquet"),
    "invalid UTF-8": (
        "reviews.csv",
        b"text,label\ncaf\xe9 noir,1\n",
        "other bytes in 1 of 1 texts",
    ),
    "a single line of 10 MB": ("reviews.txt", b"word " * 2_000_000, "at most 1,000,000 characters"),
    "a field of 10 MB": (
        "reviews.csv",
        b'text,label\n"' + b"word\n" * 2_000_000 + b'",1\n',
        "field larger",
    ),
    "labels of three kinds": ("reviews.csv", b"text,label\na,1\nb,2\nc,3\n", "1, 2, 3"),
    "an unknown kind": ("reviews.docx", b"abc", ".csv, .tsv"),
    "a row too short": ("reviews.csv", b"label,text\n1,fine\n0\n", "1 in row 2"),
    "broken JSON": ("reviews.jsonl", b'{"text": "fine"}\n{"text": \n', "on line 2"),
    "a truncated list": ("reviews.json", b'[{"text": "fine"}, {"te', "written completely"),
    "no list": ("reviews.json", b'{"text": "fine"}', "something else"),
    "numbers for texts": ("reviews.jsonl", b'{"text": 3}\n', "int in row 1"),
    "blank lines only": ("reviews.txt", b"\n  \n\n", "none"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_say_what_to_do(tmp_path, case, capsys):
    from wordsway.cli.app import run

    name, content, said = BAD[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        list(corpus(tmp_path / name))
    assert said in str(caught.value) and "\n" not in str(caught.value)
    status = run(
        ["measure", "--map", "raf", "--n", "3", "--d", "4", "--data", str(tmp_path / name)]
    )
    out, err = capsys.readouterr()
    assert status == 2 and out == "" and err.count("\n") == 1 and said in err


def test_a_few_encoding_faults_are_mended_and_counted(tmp_path):
    path = tmp_path / "reviews.txt"
    path.write_bytes(b"caf\xe9 noir\n" + b"a fine film\n" * 400)
    found = corpus(path)
    assert next(iter(found)).text == "caf� noir"
    list(found)
    assert found.faults.encoding == 1
    latin = tmp_path / "latin.txt"
    latin.write_bytes(b"caf\xe9 noir\n")
    assert next(iter(corpus(latin, encoding="latin-1"))).text == "café noir"
    wide = tmp_path / "wide.txt"
    wide.write_bytes("café noir\n".encode("utf-16"))
    assert next(iter(corpus(wide))).text == "café noir"
    with pytest.raises(InputError, match="that names an encoding of texts"):
        list(corpus(latin, encoding="nothing"))


STREAM = """
import sys
from wordsway.core.runtime import peak_bytes
from wordsway.text import corpus, draw
from wordsway.text.corpora import POOL
path = sys.argv[1]
found = corpus(path)
before = peak_bytes()
drawn = draw(found, 5, seed=1)
print(len(drawn), (peak_bytes() - before) / 1e6)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "jsonl", "json", "txt"])
def test_a_large_file_is_read_in_bounded_memory(tmp_path, kind):
    """60 MB of texts cost less than 25 MB to draw from."""
    path = tmp_path / f"large.{kind}"
    line = "word " * 1000
    record = f'{{"text": "%d {line}", "label": 0}}'
    before, each, between, after = {
        "csv": ("text,label\n", f"%d {line},0", "\n", "\n"),
        "jsonl": ("", record, "\n", "\n"),
        "json": ("[", record, ",\n", "]"),
        "txt": ("", f"%d {line}", "\n", "\n"),
    }[kind]
    with path.open("w") as file:
        file.write(before + each % 0)
        for number in range(1, 12_000):
            file.write(between + each % number)
        file.write(after)
    assert path.stat().st_size > 60e6
    done = subprocess.run(
        [sys.executable, "-c", STREAM, str(path)], capture_output=True, text=True, check=True
    )
    count, grown = done.stdout.split()
    assert int(count) == 5 and float(grown) < 25


def test_draws_depend_on_seed_and_texts_only():
    texts = [{"text": f"text {number}", "label": number % 2} for number in range(3000)]
    shuffled = [*texts, *texts[:500]]
    random.Random(0).shuffle(shuffled)
    one, other = corpus(texts), corpus(shuffled)
    mine, yours = draw(one, 40, seed=7), draw(other, 40, seed=7)
    assert [text.text for text in mine] == [text.text for text in yours], (
        "order and repetition change nothing"
    )
    assert [text.text for text in draw(one, 8, seed=7)] == [text.text for text in mine[:8]], (
        "a larger draw goes on"
    )
    assert len({text.text for text in mine}) == 40
    assert {text.text for text in draw(one, 40, seed=8)} != {text.text for text in mine}
    labels = [one.label(text) for text in draw(one, 9, seed=3, balanced=True)]
    assert labels == [-1, 1, -1, 1, -1, 1, -1, 1, -1]
    assert one.digest != "" and corpus(list(reversed(texts))).digest == ""


def test_draws_are_uniform():
    """Each of 8 texts is drawn first equally often: χ² over 1,600 seeds, false alarm 1e-3."""
    from scipy.stats import chisquare

    found = corpus([f"text {number}" for number in range(8)])
    counts = dict.fromkeys((text.text for text in found), 0)
    for seed in range(1600):
        counts[draw(found, 1, seed)[0].text] += 1
    assert chisquare(list(counts.values())).pvalue > 1e-3


def test_a_rare_condition_is_found_in_further_passes():
    """One text in 1,000 fits, none of them among the first candidates held."""
    found = corpus([f"text {number}" for number in range(4_000)])
    drawn = draw(
        found, 3, seed=0, accept=lambda texts: [text.text.endswith("777") for text in texts]
    )
    every = [text.text for text in draw(found, 4_000, seed=0)]
    assert not any(text.endswith("777") for text in every[:POOL])
    assert [text.text for text in drawn] == [t for t in every if t.endswith("777")][:3]
    with pytest.raises(InputError, match="5 different texts in texts, got 4 among 4,000"):
        draw(found, 5, seed=0, accept=lambda texts: [text.text.endswith("777") for text in texts])
    with pytest.raises(InputError, match="labels of two kinds"):
        draw(found, 2, seed=0, balanced=True)


@pytest.mark.slow
def test_imdb_is_what_the_catalogue_says():
    reviews = ws.corpus("imdb")
    kinds, digests = zip(*((text.kind, text.sha256) for text in reviews), strict=True)
    assert {reviews.signs[kind]: kinds.count(kind) for kind in set(kinds)} == {
        -1: 25_000,
        1: 25_000,
    }
    assert reviews.faults.texts == 50_000 and reviews.faults.breaks > 100_000
    assert len(set(digests)) == pytest.approx(
        49_582, abs=10
    )  # blanking breaks may make a few more equal


def test_words_do_not_depend_on_the_tokenizer():
    text = "It's a well-made film (1999)..."
    assert [text[a:b] for a, b in word_spans(text)] == [
        "It's", "a", "well-made", "film", "(", "1999", ")", ".", ".", ".",
    ]  # fmt: skip
    wordpiece: list[tuple[str, int, int, Kind]] = [
        ("[CLS]", 0, 0, "special"),
        ("it", 0, 2, "word"),
        ("'", 2, 3, "word"),
        ("s", 3, 4, "word"),
        ("[PAD]", 0, 0, "padding"),
    ]
    reading = Reading.of("It's", wordpiece)
    assert [(word.text, word.rows) for word in reading.words] == [("It's", (1, 2, 3))]
    bytelevel: list[tuple[str, int, int, Kind]] = [
        ("so", 0, 2, "word"),
        (" so", 2, 5, "word"),
        (" good", 5, 10, "word"),
    ]
    reading = Reading.of("so so good", bytelevel)
    assert [(word.index, word.text, word.rows) for word in reading.words] == [
        (0, "so", (0,)),
        (1, "so", (1,)),
        (2, "good", (2,)),
    ]
    assert Reading.of("", [("[CLS]", 0, 0, "special")]).words == ()


def test_a_rare_label_is_not_given_up_early():
    """5,000 texts of one label, 3,000 of the other, of which only the last 500 of the seed's order
    are acceptable.
    """
    texts = [{"text": f"common {n}", "label": 0} for n in range(5_000)] + [
        {"text": f"rare {n}", "label": 1} for n in range(3_000)
    ]
    order = [
        text.text for text in draw(corpus([item for item in texts if item["label"]]), 3_000, seed=0)
    ]
    good = set(order[-500:])
    drawn = draw(
        corpus(texts),
        4,
        0,
        balanced=True,
        accept=lambda some: [t.text in good or t.kind == "0" for t in some],
    )
    assert [text.text for text in drawn[1::2]] == order[-500:][:2]


def test_a_text_under_both_labels_is_drawn_once():
    both = [{"text": "same", "label": label} for label in (0, 1)] + [
        {"text": f"text {n}", "label": n % 2} for n in range(6)
    ]
    for seed in range(20):
        drawn = draw(corpus(both), 6, seed, balanced=True)
        assert len({text.text for text in drawn}) == 6
    with pytest.raises(InputError, match="1 different texts with label"):
        draw(corpus(both[:2]), 2, 0, balanced=True)


def test_line_endings_are_no_part_of_a_text(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"alpha beta\r\ngamma\r\nalpha beta")
    (tmp_path / "b.txt").write_bytes(b"alpha beta\ngamma\nalpha beta\n")
    one, other = corpus(tmp_path / "a.txt"), corpus(tmp_path / "b.txt")
    assert [t.text for t in one] == [t.text for t in other] == ["alpha beta", "gamma", "alpha beta"]
    assert one.digest == other.digest
    with pytest.raises(InputError, match="3 different texts"):
        draw(one, 3, 0)


def test_labels_are_known_in_the_middle_of_a_pass():
    found = corpus([{"text": "a", "label": 1}, {"text": "b", "label": 0}])
    assert [found.label(text) for text in found] == [1, -1]


def test_blanking_breaks_takes_linear_time():
    """A pattern that backtracked would not come to an end: 10¹² steps."""
    from wordsway.text.clean import Faults, clean

    text = "x <" + " " * 1_000_000 + "y" + "<" * 1_000_000
    assert clean(text, Faults()) == text


@pytest.mark.parametrize("text", ["re\u0301sume\u0301 nai\u0308ve", "हिन्दी भाषा", "שָׁלוֹם עוֹלָם"])
def test_marks_stay_with_their_word(text):
    assert [text[a:b] for a, b in word_spans(text)] == text.split()


def test_folders_as_people_have_them(tmp_path):
    for name, content in {
        "train/pos/1.txt": "good",
        "train/neg/2.txt": "bad",
        "README.txt": "about",
        "train/urls.txt": "http",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    found = corpus(tmp_path)
    assert {(text.text, found.label(text)) for text in found} == {("good", 1), ("bad", -1)}
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    (mixed / "r.csv").write_text("text\nfine\n")
    (mixed / "notes.txt").write_text("notes")
    with pytest.raises(InputError, match=r"notes\.txt beside r\.csv"):
        list(corpus(mixed))
    tables = tmp_path / "tables"
    for part in ("a", "b"):
        (tables / part).mkdir(parents=True)
        (tables / part / "x.csv").write_text(f"text\nfine {part}\n")
    assert [text.id for text in corpus(tables)] == ["a/x.csv:1", "b/x.csv:1"]


BROKEN = {
    "a truncated gzip": (
        "r.csv.gz",
        gzip.compress(b"text\n" + b"fine\n" * 9000)[:-20],
        "whole gzip",
    ),
    "a gzip with a flipped byte": (
        "r.csv.gz",
        b"\x1f\x8b\x08\x00" + bytes(6) + b"\xff" * 50,
        "whole gzip",
    ),
    "no gzip": ("r.csv.gz", b"text\nfine\n", "whole gzip"),
    "half a UTF-16 file": ("r.txt", "fine film".encode("utf-16")[:-1], "encoding"),
    "semicolons": ("r.csv", b"text;label\nfine, really;1\n", "commas between the columns"),
    "deep JSON": ("r.jsonl", b"[" * 100_000 + b"]" * 100_000, "nested|JSON"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_are_named_with_a_remedy(tmp_path, case):
    name, content, said = BROKEN[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        list(corpus(tmp_path / name))


def test_a_file_that_may_not_be_read_and_names_that_no_file_has(tmp_path, monkeypatch):
    from pathlib import Path

    (tmp_path / "r.txt").write_text("fine")
    monkeypatch.setattr(
        Path, "open", lambda *_, **__: (_ for _ in ()).throw(PermissionError(13, "no"))
    )
    with pytest.raises(InputError, match="check its permissions"):
        list(corpus(tmp_path / "r.txt"))
    monkeypatch.undo()
    for name in ("", "x" * 5000, "~nobody-of-this-name/x.csv", "a\0b"):
        with pytest.raises(InputError, match="check the name or the path"):
            corpus(name)
    for encoding in ("rot13", "hex", "undefined"):
        with pytest.raises(InputError, match="an encoding of texts"):
            list(corpus(tmp_path / "r.txt", encoding=encoding))
    (tmp_path / "bom.csv").write_bytes(b"\xef\xbb\xbftext\nfine\n")
    assert [text.text for text in corpus(tmp_path / "bom.csv", encoding="utf-8")] == ["fine"]
