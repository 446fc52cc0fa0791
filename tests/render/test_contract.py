"""Every kind of result in every view: the contract that a new one inherits by a line in `RESULTS`."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from xml.etree import ElementTree

import numpy as np
import pandas
import pytest
from rich.console import Console

from pages import HARMFUL, HOSTILE, Page, printed
from wordsway.audit.background import place_of
from wordsway.audit.pairs_result import Pair, PairInModel, Pairs
from wordsway.audit.table import Refused
from wordsway.escape import readable
from wordsway.probing.attention import Attention, AttentionMap
from wordsway.probing.attract import Attracted
from wordsway.probing.compare import Comparison, LayerChange, NextToken, Side
from wordsway.probing.differences import word_edits
from wordsway.probing.results import Swap, Swaps, Words, WordSway
from wordsway.reading import Token, word_spans
from wordsway.render.files import WRITERS, save
from wordsway.render.html import page as page_of
from wordsway.result import Result

PLAIN = "The film was not bad, but the end of the film was."
TEXTS = {
    "plain": PLAIN,
    "hostile": HOSTILE.replace("\ud800", ""),
    "long": " ".join(["one two three four five six"] * 30),
}
ABOUT = {"name": "tiny/<b>model</b>", "sha256": "0123abcd" * 8, "dtype": "float32", "device": "cpu"}
VERSIONS = {"wordsway": "0.9", "torch": "2.4"}


def words(text: str) -> Words:
    found = []
    for index, (start, end) in enumerate(word_spans(text)):
        profile = tuple((0.0123 + 0.07 * index) * (1 + layer / 7) for layer in range(5))
        noise = tuple(value / 3.3 for value in profile)
        found.append(
            WordSway(
                index, text[start:end], start, end, (index + 1,), profile[3], profile, noise, 9.876
            )
        )
    return Words(
        text,
        tuple(found),
        ("[CLS]", "[SEP]"),
        3,
        4,
        1.0,
        "words",
        ABOUT,
        11,
        12.5,
        321.0,
        "converged",
        VERSIONS,
    )


def swaps(text: str) -> Swaps:
    best = tuple(
        Swap(word, 0.5123 - 0.1 * at, 7 + at)
        for at, word in enumerate([text[:20], "</script>", "\x1b[2Jgone", "שלום", "[red]x"])
    )
    index = min(1, len(word_spans(text)) - 1)
    start, end = word_spans(text)[index]
    return Swaps(
        text, index, text[start:end], "layer 4", best, 30522, 64, 0.8111, ABOUT, 5, 1.25, VERSIONS
    )


def comparison(text: str) -> Comparison:
    other = " ".join([*text.split()[:-1], "good"])
    likely = tuple(
        NextToken(at, piece, 0.5 / (at + 1), 0.25 / (at + 1))
        for at, piece in enumerate([" the", "\n", text[:9]])
    )
    sides = [
        Side(one, ("a", "b"), (1, 2), f"{one[:60]}\nsaid so", 9, cut, likely)
        for one, cut in ((text, True), (other, False))
    ]
    layers = tuple(
        LayerChange(at, 0.0456 * at, None if at else 0.0, 0.1234 * at + 1e-5) for at in range(5)
    )
    return Comparison(
        *sides,
        word_edits(text, other),
        layers,
        2,
        1,
        1,
        0.0567,
        0.0678,
        True,
        ABOUT,
        3.5,
        99.0,
        VERSIONS,
    )


def attention(text: str) -> Attention:
    maps = []
    for seed in (0, 1):
        spans = word_spans(text)[:40]
        tokens = tuple(
            Token(text[start:end], start, end, "word", index)
            for index, (start, end) in enumerate(spans)
        )
        matrix = np.random.default_rng(seed).dirichlet(np.ones(len(tokens)), size=len(tokens))
        maps.append(AttentionMap(text, tokens, tuple(token.piece for token in tokens), matrix))
    return Attention(tuple(maps), 1, 6, "mean", 12, False, ABOUT, 0.5, 55.0, VERSIONS)


def attracted(text: str) -> Attracted:
    names = tuple(text[start:end] for start, end in word_spans(text)[:40])
    draws = [
        np.random.default_rng(seed).dirichlet(np.ones(len(names)), size=len(names))
        for seed in (0, 1)
    ]
    before, after = (tuple(map(tuple, draw.tolist())) for draw in draws)
    profile, noise = (0.1111, 0.2222, 0.3333), (0.1, 0.05, 0.03)
    return Attracted(
        text, names, (1,), 4, 1.0, profile, noise, before, after, ABOUT, 7, 0.5, VERSIONS
    )


def pairs(text: str) -> Pairs:
    other = " ".join([*text.split()[:-1], "good"])
    numbers = (
        (0.9697, 0.2521, 12.5, 0.81, (0.0123, 0.3, 0.2521), 1),
        (-0.1, 1.5, None, None, (0.1, 1.5), 1),
    )
    models = tuple(
        PairInModel(name, *row) for name, row in zip((ABOUT["name"], "b"), numbers, strict=True)
    )
    both = (
        Pair(text, other, text[:30], 1, place_of(text, other), models),
        Pair(text, f"Not {text}", "", 2, place_of(text, f"Not {text}"), models),
    )
    refused = (Refused(3, f"the text has no word {text[:20]!r}"),)
    return Pairs(both, (ABOUT, ABOUT | {"name": "b"}), refused, 100, 3, 1.5, VERSIONS)


#: A result of each kind, and numbers of it that every view says.
RESULTS: dict[type[Result], tuple[Callable[[str], Result], tuple[str, ...]]] = {
    Words: (words, ("0.01757", "3.3×")),
    Swaps: (swaps, ("0.5123", "0.8111", "63.2")),
    Comparison: (comparison, ("0.057", "0.068", "0.494", "0.182", "cut at 9 tokens")),
    Attention: (attention, ("layer 1 of 6", "12 heads")),
    Attracted: (attracted, ("0.3333", "11.1×", "head 4")),
    Pairs: (pairs, ("0.9697", "0.2521", "12 %", "layer 1 of 2")),
}
EVERY = pytest.mark.parametrize("kind", RESULTS, ids=lambda kind: kind.__name__)
EACH = pytest.mark.parametrize("name", TEXTS)


def test_every_kind_is_here():
    assert set(RESULTS) <= set(Result.__subclasses__())


@EVERY
@EACH
def test_the_terminal_is_not_driven_and_fits(kind, name):
    result = RESULTS[kind][0](TEXTS[name])
    for colours in (False, True):
        view = re.sub("\x1b\\[[0-9;]*m", "", printed(result, 80, colours=colours))
        assert not HARMFUL.search(view)
        assert all(
            Console(width=999).measure(line).maximum <= 80
            for line in view.replace("[", "(").splitlines()
        )


@EVERY
def test_every_view_says_the_numbers(kind):
    result, said = RESULTS[kind][0](PLAIN), RESULTS[kind][1]
    page = "".join(Page(page_of(result)).read)
    for view in (
        " ".join(printed(result, 80).split()),
        "".join(Page(result._repr_html_()).read),
        page,
    ):
        for number in said:
            assert number in view, number
    assert "tiny/<b>model</b>" in page and "0123abcd" in page and "torch 2.4" in page


@EVERY
@EACH
def test_html_is_well_formed_and_harmless(kind, name):
    result = RESULTS[kind][0](TEXTS[name])
    for document, scripts in ((result._repr_html_(), 0), (page_of(result), 1)):
        assert not HARMFUL.search(document)
        page = Page(document)
        assert page.open == []
        tags = {tag for tag, _ in page.tags}
        assert not tags & {
            "img",
            "link",
            "iframe",
            "object",
            "embed",
            "base",
            "form",
            "audio",
            "video",
            "use",
            "image",
        }
        assert not [
            key for _, attributes in page.tags for key in attributes if key.startswith("on")
        ]
        running = [
            attributes
            for tag, attributes in page.tags
            if tag == "script" and attributes.get("type") != "application/json"
        ]
        assert len(running) == (scripts if kind is Words else 0)
        assert not page.attributes("src") and not re.search("https?:|url\\(|@import", document)
    (data,) = re.findall(
        r'<script type="application/json" id="result">(.*?)</script>', document, flags=re.DOTALL
    )
    assert json.loads(data) == json.loads(result.to_json())


@EVERY
@EACH
@pytest.mark.parametrize("ending", WRITERS)
def test_files(kind, name, ending, tmp_path):
    """Whole, the same bytes for the same numbers, and what they say they are."""
    if name == "long" and ending in (".svg", ".pdf"):
        pytest.skip("as for the others")
    make = RESULTS[kind][0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = save(make(TEXTS[name]), tmp_path / "new" / f"a{ending}")
        second = make(TEXTS[name]).save(str(tmp_path / f"b{ending.upper()}"))
    assert first.read_bytes() == second.read_bytes()
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == [
        f"a{ending}",
        f"b{ending.upper()}",
    ]
    if ending == ".json":
        assert json.loads(first.read_text("utf-8")) == json.loads(make(TEXTS[name]).to_json())
    elif ending == ".parquet":
        pandas.testing.assert_frame_equal(
            pandas.read_parquet(first), make(TEXTS[name]).frame(), check_dtype=False
        )
    elif ending == ".svg":
        svg = first.read_text("utf-8")
        ElementTree.fromstring(svg)
        assert "<script" not in svg and not HARMFUL.search(svg)
    else:
        assert first.read_bytes()[:4] == {
            ".html": b"<!do",
            ".png": b"\x89PNG",
            ".pdf": b"%PDF",
        }.get(ending, first.read_bytes()[:4])


def test_the_differing_words_are_marked_in_their_place():
    result = comparison("a\r\nfilm <b> was dull")
    marked = re.findall(r'<span style="background:rgba[^"]*">([^<]*)</span>', result._repr_html_())
    assert marked == ["dull", "good"]
    assert "a  film &lt;b&gt; was" in result._repr_html_()
    assert "film <b> was" in "".join(Page(result._repr_html_()).read)


def test_heat_has_a_cell_for_every_pair():
    result = attention("the film was dull")
    document = result._repr_html_()
    told = re.findall(r'<td title="(\w+) → (\w+): ([\d.]+)"', document)
    matrices = [one.matrix for one in result.texts]
    assert [float(value) for *_, value in told[:32]] == pytest.approx(
        np.concatenate([m.ravel() for m in matrices]).tolist(), rel=1e-3
    )
    assert [row for row, *_ in told[:16]] == [
        name for name in result.texts[0].labels for _ in range(4)
    ]
    depths = [float(depth) for depth in re.findall(r"rgba\(213,94,0,([\d.]+)\)", document)[:16]]
    top = max(matrix.max() for matrix in matrices)
    assert depths == pytest.approx((0.78 * matrices[0] / top).ravel().tolist(), abs=1e-3)
    losses = len(re.findall(r"rgba\(0,114,178,", document))
    assert losses == int((result.difference < 0).sum()), "what is lost is blue"


def test_a_text_is_readable_in_the_swaps():
    assert readable(PLAIN) in "".join(Page(swaps(PLAIN)._repr_html_()).read)
