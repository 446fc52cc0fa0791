"""Attention as people see it: transformers' own numbers, whatever the text; files, views and exit
statuses.
"""

from __future__ import annotations

import io
import json
import random

import numpy as np
import pandas
import pytest
import torch
from rich.cells import cell_len
from rich.console import Console

import pages
import tiny
from wordsway import data
from wordsway.cli.app import run
from wordsway.core.errors import InputError, MemoryBudgetError
from wordsway.probing import attention as module
from wordsway.probing.attention import attention

A, B = "the film was good", "the films was dull"
HOSTILE = [
    "\x1b[2Jfilm\x00\x07",
    "<script>alert(1)</script>",
    "😀 👩‍👩‍👧 film",
    "مرحبا שלום",
    "[bold]film[/bold] $x^ {$}",
    "q" * 150,
    "映画 & film \u202e",
]


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {name: tiny.save(tmp_path_factory.mktemp(name), name) for name in tiny.ARCHITECTURES}


@pytest.fixture(scope="module")
def bert(folders):
    return folders["bert"]


def own(folder, text):
    """transformers' attentions (layers, heads, n, n) from token ids, and which rows are special."""
    import transformers as tf
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    read = tokenizer.encode(text)
    model = tf.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    model = model.get_encoder() if model.config.is_encoder_decoder else model
    ids = torch.tensor([read.ids])
    with torch.no_grad():
        found = model(
            input_ids=ids, attention_mask=torch.ones_like(ids), output_attentions=True
        ).attentions
    return torch.stack(found)[:, 0].double().numpy(), [
        row for row, special in enumerate(read.special_tokens_mask) if not special
    ]


@pytest.mark.parametrize("name", tiny.ARCHITECTURES)
def test_numbers_equal_the_models_own(folders, name):
    """One layer and head, and the mean over heads; cutting special tokens leaves the other numbers
    as they are.
    """
    true, words = own(folders[name], A)
    layers, heads, n, _ = true.shape
    found = attention(A, model=folders[name], layer=2, head=1, special=True)
    np.testing.assert_allclose(found.texts[0].matrix, true[1, 1], rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.texts[0].matrix.sum(axis=1), 1, atol=1e-5)
    assert (found.layer, found.layers, found.head, found.heads) == (2, layers, "1", heads)
    cut = attention(A, model=folders[name], layer="last")
    np.testing.assert_allclose(
        cut.texts[0].matrix, true[-1].mean(axis=0)[np.ix_(words, words)], rtol=0, atol=1e-6
    )
    assert len(words) == n - 2 and (name in ("gpt2", "llama") or cut.texts[0].kept < 0.99), (
        "rows are not rescaled"
    )


def test_minilm_equals_its_own():
    if not data.present("minilm"):
        pytest.skip("minilm is not here")
    from wordsway.models.files import locate

    texts = "I love her much", "I love her smile"
    found = attention(*texts)
    for one, text in zip(found.texts, texts, strict=True):
        true, words = own(locate("minilm").folder, text)
        np.testing.assert_allclose(
            one.matrix, true[0].mean(axis=0)[np.ix_(words, words)], rtol=0, atol=1e-6
        )
        assert one.labels == tuple(text.split())
    np.testing.assert_array_equal(found.difference, found.texts[1].matrix - found.texts[0].matrix)
    assert "█0.23" in shown(found)


def test_sub_words_stay_tokens_of_their_word(bert):
    found = attention("The films films", model=bert).texts[0]
    assert [token.piece for token in found.tokens] == ["the", "film", "##s", "film", "##s"]
    assert [token.word for token in found.tokens] == [0, 1, 1, 2, 2]
    assert found.labels == ("The", "film", "s", "film", "s")
    kept = attention("The film", model=bert, special=True).texts[0]
    assert [token.word for token in kept.tokens] == [None, 0, 1, None] and kept.labels[0] == "[CLS]"


def test_the_difference_needs_as_many_tokens(bert):
    assert attention(A, "the plot was bad", model=bert).difference.shape == (4, 4)
    assert attention(A, B, model=bert).difference is None
    assert attention(A, model=bert).difference is None
    assert not attention(A, A, model=bert).difference.any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": 0}, r"with attention, 1, 2, 3 or last, got 0: layer 0 is the input"),
        ({"layer": 4}, "1, 2, 3 or last, got 4"),
        ({"layer": -1}, "that is a number or last, got -1"),
        ({"layer": "first"}, "got 'first'"),
        ({"layer": 1.5}, "layer to be a whole number or a string that .*, got 1.5"),
        ({"layer": True}, "layer to be a whole number or a string that .*, got True"),
        ({"layer": "mean"}, "a number or last"),
        ({"head": -1}, "a number or mean, got -1"),
        ({"head": 2}, "a head, 0 to 1, or mean, got 2: heads count from 0"),
        ({"head": "last"}, "a number or mean"),
        ({"head": None}, "head to be a whole number or a string that .*, got None"),
        ({"dtype": "int4"}, "a dtype among"),
    ],
)
def test_layers_and_heads_out_of_range(bert, options, message):
    with pytest.raises(InputError, match=message):
        attention(A, model=bert, **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a text with words"),
        (" \n", "a text with words"),
        ("\udfff film", "lone surrogates"),
        (3, "text_[ab] to be a string.*, got 3"),
        ("film " * 70, "at most 64 tokens"),
    ],
)
def test_texts_that_cannot_be_shown(bert, text, message):
    with pytest.raises(InputError, match=message):
        attention(text, model=bert)
    with pytest.raises(InputError, match=message):
        attention(A, text, model=bert)


def test_positions_that_a_model_keeps_for_itself(folders, monkeypatch):
    """RoBERTa's 80 positions hold 79 tokens."""
    with pytest.raises(InputError, match=r"at most 7\d tokens, the longest that"):
        attention("film " * 78, model=folders["roberta"])
    monkeypatch.setattr(module, "BUDGET", 1000)
    with pytest.raises(MemoryBudgetError, match="shorten the text"):
        attention("film " * 20, model=folders["bert"])


def shown(found, width=80):
    file = io.StringIO()
    Console(file=file, width=width).print(found)
    return file.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts(bert, text, tmp_path):
    """The numbers are there, and the terminal is not driven; tests/render has the pictures."""
    found = attention(text, "the film", model=bert, special=True)
    assert json.loads(found.to_json())["texts"][0]["text"] == text
    view = shown(found)
    assert not pages.HARMFUL.search(view)
    assert all(cell_len(line) <= 80 for line in view.splitlines())
    back = pandas.read_csv(found.save(tmp_path / "a.csv"), keep_default_na=False)
    assert len(back) == sum(len(one.tokens) ** 2 for one in found.texts)


@pytest.mark.slow
def test_the_view_fits_eighty_columns(bert):
    """Every size: numbers, then shades, then a word about --out; the difference marks gains and
    losses.
    """
    rng = random.Random(0)
    for n in (1, 2, 5, 9, 10, 14, 20, 24, 25, 26, 40, 60):
        text, other = (
            " ".join(rng.choice([word for word in tiny.WORDS if len(word) < 5]) for _ in range(n))
            for _ in range(2)
        )
        found = attention(text, other, model=bert)
        view = shown(found)
        assert all(len(line) <= 80 for line in view.splitlines()), n
        assert ("--out" in view) == (n >= 24), n
        assert (f"{found.texts[0].matrix[0, 0]:.2f}" in view) or n > 9
    pair = attention("the film was good", "the film was dull", model=bert)
    assert "second − first" in shown(pair) and "good→dull" in shown(pair)


@pytest.mark.slow
def test_files(bert, tmp_path):
    found = attention(A, "the plot was bad", model=bert)
    heads = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml", ".PNG": b"\x89PNG"}
    for ending, start in heads.items():
        path = found.save(tmp_path / "deep" / f"one.two{ending}")
        assert path.read_bytes().startswith(start) and path.suffix == ending
    frame = pandas.read_csv(found.save(tmp_path / "a.csv"))
    pandas.testing.assert_frame_equal(frame, found.frame(), check_dtype=False)
    matrix = (
        frame[frame["text"] == "b"]
        .pivot_table(index="row", columns="column", values="attention")
        .to_numpy()
    )
    np.testing.assert_allclose(matrix, found.texts[1].matrix, rtol=1e-12)
    assert json.loads(found.save(tmp_path / "a.json").read_text()) == json.loads(found.to_json())
    assert (
        found.save(tmp_path / "x.svg").read_bytes() == found.save(tmp_path / "y.svg").read_bytes()
    )
    for wrong in ("a.gif", "a", tmp_path):
        with pytest.raises(InputError, match=r"ends in \.html"):
            found.save(wrong)
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.slow
def test_exit_statuses(bert, tmp_path, capsys):
    model = ["--model", str(bert)]
    assert (
        run(
            [
                "attention",
                A,
                B,
                *model,
                "--layer",
                "2",
                "--head",
                "1",
                "--special",
                "--out",
                str(tmp_path / "a.png"),
            ]
        )
        == 0
    )
    out, err = capsys.readouterr()
    out = " ".join(out.split())  # the model's path may break the line anywhere
    assert (
        "layer 2 of 3, head 1 of 2" in out and "[CLS]" in out and "written: " in out and err == ""
    )
    assert (tmp_path / "a.png").stat().st_size > 1000
    assert run(["attention", A, *model, "--json", "--out", str(tmp_path / "a.csv")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (
        document["difference"] is None
        and document["texts"][0]["tokens"][1]["label"] == "film"
        and (tmp_path / "a.csv").exists()
    )
    (tmp_path / "file").write_text("")
    wrong = [
        ([], 2),
        (["", *model], 2),
        ([A, *model, "--layer", "9"], 2),
        ([A, *model, "--head", "x"], 2),
        ([A, *model, "--out", "a.gif"], 2),
        ([A, "--model", str(tmp_path)], 2),
        ([A, *model, "--out", str(tmp_path / "file" / "a.png")], 2),
    ]
    for arguments, status in wrong:
        assert run(["attention", *arguments]) == status, arguments
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("wordsway: ") and err.count("\n") == 1
