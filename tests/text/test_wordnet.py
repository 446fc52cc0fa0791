"""The reader against the files themselves, read whole."""

from __future__ import annotations

from collections import Counter

import pytest

from wordsway import data
from wordsway.text.wordnet import PARTS, Sense, WordNet, wordnet


@pytest.fixture(scope="module")
def net() -> WordNet:
    return wordnet()


def test_the_licence_is_kept_beside_the_files(net: WordNet) -> None:
    assert "Princeton" in (net.folder / "LICENSE").read_text("latin-1")
    assert data.entry("wordnet").kind == "dictionary"


def test_senses_equal_the_naive_reading(net: WordNet) -> None:
    wanted = ["good", "bad", "film", "not", "run", ".22_caliber", "a", "zymosis", "zyrian", "0"]
    naive: Counter[str] = Counter()
    for line in (net.folder / "index.sense").read_text("latin-1").splitlines():
        lemma = line.partition("%")[0]
        if lemma in wanted:
            naive[lemma] += int(line.split()[3])
    assert {word: net.count(word) for word in wanted} == {word: naive[word] for word in wanted}
    assert naive["good"] > 200


def test_senses_are_numbered_within_their_part_of_speech(net: WordNet) -> None:
    for word in ("good", "light", "well"):
        for pos in PARTS:
            numbers = [sense.number for sense in net.senses(word, pos)]
            assert numbers == list(range(1, len(numbers) + 1))
    assert net.senses("good", "adj")[0] == Sense("good", "adj", 1, 1126910, 190)


def test_every_synset_of_an_index_is_where_it_says(net: WordNet) -> None:
    lines = (net.folder / "index.adv").read_text("latin-1").splitlines()[29::40]
    assert len(lines) > 100
    for line in lines:
        cells = line.split()
        for offset in cells[-int(cells[2]) :]:
            synset = net.synset("adv", int(offset))
            assert cells[0].replace("_", " ") in [word.lower() for word in synset.words]


@pytest.mark.parametrize(
    ("word", "pos", "opposite"),
    [
        ("good", "adj", ("bad",)),
        ("happy", "adj", ("unhappy",)),
        ("quickly", "adv", ("slowly",)),
        ("love", "verb", ("hate",)),
        ("film", "noun", ()),
        ("no such word", "adj", ()),
        ("naïve", "adj", ()),
    ],
)
def test_antonyms(net: WordNet, word: str, pos: str, opposite: tuple[str, ...]) -> None:
    assert net.antonyms(word, pos) == opposite  # type: ignore[arg-type]


def test_synonyms(net: WordNet) -> None:
    assert "large" in net.synonyms("big", "adj")
    assert "movie" in net.synonyms("film", "noun")
    assert "glad" not in net.synonyms("happy", "adj")
    assert net.parts("film") == {"noun", "verb"} and net.parts("qwertz") == set()
