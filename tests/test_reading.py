"""Words of every script, by Unicode's boundaries; English as it always was."""

from __future__ import annotations

import random
import re
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest

import tiny
from wordsway.core.reading import Reading, word_spans
from wordsway.models.probe import Probe


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in word_spans(text)]


def former(text: str) -> list[str]:
    """How 0.1.0 split: letters and digits with apostrophes and hyphens; marks join."""
    joined: list[tuple[int, int]] = []
    sticky = False
    for match in re.finditer(r"\w+(?:['’\-]\w+)*|[^\w\s]", text):
        start, end = match.span()
        mark = end - start == 1 and (
            unicodedata.category(text[start]).startswith("M") or text[start] in "\u200c\u200d"
        )
        touches = bool(joined) and joined[-1][1] == start
        if touches and (mark or (sticky and text[start].isalnum())):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
        sticky = mark
    return [text[start:end] for start, end in joined]


def test_spaced_scripts_are_split_as_before() -> None:
    """ASCII, accents (composed and not), right-to-left, Devanagari, Hangul: 2,000 random texts."""
    alphabet = [*"aZ09'’- .,!\n\t_()\"", "é", "e\u0301", "ß", "“", "—", "ש", "ׁ", "م", "\u200c"]
    alphabet += ["ह", "ि", "्", "안", "녕", "Ж", "ı", "½", "€"]
    draw = random.Random(0)
    for _ in range(2000):
        text = "".join(draw.choices(alphabet, k=draw.randrange(40)))
        assert split(text) == former(text)
    ascii_text = "".join(map(chr, range(128))) * 3
    assert split(ascii_text) == former(ascii_text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我爱北京。", "我|爱|北|京|。"),
        ("東京タワーへ行きました！", "東|京|タワー|へ|行|きました|！"),
        ("ｱｲｽﾞ と コーヒー", "ｱｲｽﾞ|と|コーヒー"),
        ("Python编程3月", "Python|编|程|3|月"),
        ("a-中-b", "a|-|中|-|b"),
        ("葛\U000e0100飾", "葛\U000e0100|飾"),
        ("สวัสดี 3 คน", "ส|วั|ส|ดี|3|ค|น"),
        ("안녕하세요 세계", "안녕하세요|세계"),
        ("good😀! so", "good|😀|!|so"),
        ("👩\u200d👩\u200d👧 👍🏽👍", "👩\u200d👩\u200d👧|👍🏽|👍"),
        ("🇩🇪🇫🇷", "🇩🇪|🇫🇷"),
        ("1\ufe0f\u20e3 1", "1\ufe0f\u20e3|1"),
        ("❤\ufe0fok", "❤\ufe0f|ok"),
        ("🏴\U000e0067\U000e0062\U000e007fx", "🏴\U000e0067\U000e0062\U000e007f|x"),
    ],
)
def test_scripts_without_spaces_and_emoji(text: str, words: str) -> None:
    assert split(text) == words.split("|")


def test_spans_are_in_order_and_lose_nothing_but_space() -> None:
    alphabet = [*"ab1'- .é中のカー", "ก", "ิ", "😀", "\u200d", "🏽", "🇩", "\ufe0f"]
    draw = random.Random(1)
    for _ in range(2000):
        text = "".join(draw.choices(alphabet, k=draw.randrange(30)))
        spans = word_spans(text)
        assert all(start < end for start, end in spans)
        assert all(one[1] <= two[0] for one, two in pairwise(spans))
        assert "".join(split(text)) == "".join(text.split())


def test_words_that_share_a_token_are_one() -> None:
    reading = Reading.of("good😀 你好 ...", [
        ("[UNK]", 0, 5, "word"), ("你好", 6, 8, "word"), ("...", 9, 12, "word")
    ], unknown=[0])  # fmt: skip
    assert [(word.text, word.index, word.joined, word.rows) for word in reading.words] == [
        ("good😀", 0, 2, (0,)),
        ("你好", 2, 2, (1,)),
        ("...", 4, 3, (2,)),
    ]
    assert [reading.is_unknown(word) for word in reading.words] == [True, False, False]
    assert reading.word(3) == reading.words[1], "each of them names the one that they are"


def test_tokens_that_overlap_words_chain_them() -> None:
    reading = Reading.of(
        "我们你好", [("ab", 0, 2, "word"), ("c", 2, 3, "word"), ("d", 3, 4, "word")]
    )
    assert [(word.text, word.rows) for word in reading.words] == [
        ("我们", (0,)),
        ("你", (1,)),
        ("好", (2,)),
    ]
    over = Reading.of("我们你好", [("ab", 0, 2, "word"), ("bc", 1, 3, "word"), ("d", 3, 4, "word")])
    assert [(word.text, word.rows) for word in over.words] == [("我们你", (0, 1)), ("好", (2,))]


def test_pieces_that_the_tokenizer_does_not_know_are_marked(tmp_path: Path) -> None:
    probe = Probe(tiny.save(tmp_path / "bert"))
    reading = probe.read("the xylophone was good 😀").reading
    unknown = [word.text for word in reading.words if reading.is_unknown(word)]
    assert unknown == ["xylophone", "😀"]
    assert [token.unknown for token in reading.tokens] == [
        token.piece == "[UNK]" for token in reading.tokens
    ]
    gpt2 = Probe(tiny.save(tmp_path / "gpt2", "gpt2"))
    assert gpt2.reader.unknown == 1
