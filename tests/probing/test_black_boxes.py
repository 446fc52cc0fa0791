"""`words` and `swap` for encoders that only return vectors, and one line for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wordsway as ws
from pages import printed
from wordsway.core.errors import InputError
from wordsway.models.encoders import PairScorer
from wordsway.models.probe import Probe
from wordsway.render.terminal import panel
from wordsway.render.views.words import notes

TEXT = "The drug is not safe for Children."


def letters(texts: list[str]) -> list[list[float]]:
    """How often each letter occurs, and the length: a change of a word changes both."""
    return [[float(text.count(chr(97 + at))) for at in range(26)] + [len(text)] for text in texts]


def apart(a: str, b: str, target: str) -> float:
    u, v = np.array(letters([a, b]))
    if target == "pooled":
        return float(np.linalg.norm(v - u) / np.linalg.norm(u))
    return float(1 - u @ v / np.linalg.norm(u) / np.linalg.norm(v))


@pytest.mark.parametrize("target", ["pooled", "cosine"])
def test_words_are_measured_by_real_words(target: str) -> None:
    found = ws.words(TEXT, letters, target=target, draws=8)
    assert found.tiers == ("real-words",) and found.tier == "real-words"
    assert [word.word for word in found.words] == [*TEXT[:-1].split(), "."]
    for word in found.words:
        assert word.real is not None and word.real.draws == 8
        for name, change in zip(word.real.words, word.real.changes, strict=True):
            changed = TEXT[: word.start] + name + TEXT[word.end :]
            assert change == pytest.approx(apart(TEXT, changed, target), abs=1e-12)
            assert len(name) == len(word.word)
    children = found.words[-2].real
    assert children is not None and all(name[0].isupper() for name in children.words)
    assert "characters" in found.status
    assert found.to_dict()["model"] == {"name": "letters", "type": "function"}
    assert ws.words(TEXT, letters, target=target, draws=8).to_dict()["words"] == [
        word.to_dict() for word in found.words
    ]


def test_words_of_a_black_box_can_be_shown(tmp_path: Any, capsys: pytest.CaptureFixture) -> None:
    found = ws.words(TEXT, letters, word="drug", draws=4)
    found.show()
    assert "drug" in capsys.readouterr().out
    found.save(tmp_path / "words.html")
    found.save(tmp_path / "words.csv")
    assert len(found.frame()) == 1


def test_words_in_a_place_are_ranked_by_what_they_change() -> None:
    among = ["unsafe", "effective", "safe", "two words", "banned"]
    found = ws.swap(TEXT, "safe", letters, target="cosine", among=among)
    assert found.refused == ("two words",)
    expected = [
        apart(TEXT, TEXT.replace("safe", one), "cosine") for one in (among[0], *among[1::3])
    ]
    assert [swap.change for swap in found.swaps] == pytest.approx(sorted(expected, reverse=True))
    assert found.exhaustive and found.worst is None


def bag(texts: list[str]) -> list[list[float]]:
    """A classifier that counts five words and has seen no others."""
    weights = {"good": 0.2, "kind": 0.1, "not": -0.3, "slow": -0.1, "rude": -0.3}
    shares = [0.5 + sum(weights.get(word, 0) for word in text.split()) / 4 for text in texts]
    return [[1 - share, share] for share in shares]


def test_words_that_a_model_has_not_seen_are_one_answer() -> None:
    """All random words have the same effect, that of removing the word: this is no statement about
    words of the user's data, and an alphabetical list of them none about words at all.
    """
    found = ws.words("the waiter was kind.", bag, target="logits")
    (said,) = (note for note in notes(found) if "the same change" in note)
    assert said.startswith("in 4 of 4 places most random words") and "swap --among" in said
    assert not [note for note in notes(ws.words("Children.", letters)) if "the same" in note]
    swaps = ws.swap("the waiter was kind", "kind", bag, target="logits")
    effects = [(swap.change, swap.margin) for swap in swaps]
    assert len(set(effects)) == len(effects) <= 6
    assert len(swaps.swaps) + sum(swap.others for swap in swaps) == swaps.evaluated
    (most,) = (swap for swap in swaps if swap.others > 1000)
    assert f"{most.word} and {most.others:,} others" in printed(panel(swaps), 100)
    mine = ws.swap("the waiter was kind", "kind", bag, target="logits", among=["a", "b", "rude"])
    assert [(one.word, one.others) for one in mine] == [("rude", 0), ("a", 0), ("b", 0)]


def test_words_of_wordnet_are_drawn_by_seed() -> None:
    found = ws.swap(TEXT, 3, letters, top=3)
    assert found.target == "pooled" and found.candidates > found.evaluated > 1000
    assert found.swaps == ws.swap(TEXT, 3, letters, top=3).swaps
    assert found.swaps[0].change == apart(TEXT, TEXT.replace("not", found.swaps[0].word), "pooled")
    found.show()


@pytest.mark.parametrize(
    "call",
    [
        lambda box: ws.words(TEXT, box, tiers="local"),
        lambda box: ws.words(TEXT, box, reach=0.5),
        lambda box: ws.words(TEXT, box, target="all"),
        lambda box: ws.words(TEXT, box, layer=2),
        lambda box: ws.words(TEXT, box, twin=True),
        lambda box: ws.swap(TEXT, 0, box, target="next-token"),
        lambda box: ws.swap(TEXT, 0, box, plausible=True),
        lambda box: ws.attention(TEXT, model=box),
        lambda box: ws.attract(TEXT, 0, box),
        lambda box: Probe(box),
    ],
)
def test_a_missing_capability_is_named_with_what_would_work(call: Any) -> None:
    with pytest.raises(InputError, match=r"letters|function") as error:
        call(letters)
    assert "\n" not in str(error.value)


def test_a_scorer_of_pairs_has_no_words() -> None:
    scorer = PairScorer("same", lambda pairs: [float(a == b) for a, b in pairs])
    for verb in (ws.words, ws.swap):
        with pytest.raises(InputError, match="which scores pairs"):
            verb(TEXT, model=scorer)
