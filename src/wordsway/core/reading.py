"""How a text was read: which rows of X stand for which word of the original, with character spans.

A word is a run of letters and digits, joined by apostrophes and hyphens ("don't", "well-made");
every other visible character is a word. Where words are written without spaces no dictionary is
used: a Han character is a word, so is a run of hiragana or of katakana, and a grapheme cluster of
Thai, Lao, Khmer or Burmese (the boundaries of UAX #29). An emoji is one word with its skin tone,
joiners and flag letters. This does not depend on the tokenizer, so that word 7 is the same word for
every model. A word is its index, not its spelling: repeated words stay distinct. Words that share a
token (one [UNK] for a Thai phrase, one token for "你好" or "...") look the same to the model: they
are read as one, under the index of the first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from wordsway.core.escape import JOINERS

Kind = Literal["word", "special", "padding"]
_WORD = re.compile(r"\w+(?:['’\-]\w+)*|[^\w\s]")
#: An emoji: a flag, a keycap, or pictures with their modifiers and tags, joined by U+200D.
_PICTURE = r"\p{Extended_Pictographic}[\p{Emoji_Modifier}\uFE0E\uFE0F\U000E0020-\U000E007F]*"
_EMOJI = rf"\p{{Regional_Indicator}}{{2}}|[0-9#*]\uFE0F?\u20E3|{_PICTURE}(?:\u200D{_PICTURE})*"
#: Scripts without spaces: a Han character, runs of kana (with the marks that lengthen and voice
#: them), a cluster of South-East Asian letters.
_KANA_MARKS = r"\p{M}\u30FC\uFF70\uFF9E\uFF9F"
_UNSPACED = (
    rf"\p{{Han}}\p{{M}}*|(?:\p{{Hiragana}}[{_KANA_MARKS}]*)+|(?:\p{{Katakana}}[{_KANA_MARKS}]*)+"
    r"|(?=\p{Line_Break=SA})\X"
)


@dataclass(frozen=True, slots=True)
class Token:
    """One row of X: the tokenizer's piece, its span in the original text, and the index of the word
    it belongs to.

    Special tokens and padding have an empty span and no word. An ``unknown`` token stands for
    characters that the vocabulary lacks ([UNK]): the model sees their presence, not their identity.
    """

    piece: str
    start: int
    end: int
    kind: Kind
    word: int | None
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the original text, ``text[start:end]``, and the rows of X that stand for it;
    ``joined`` words that share a token, from ``index`` on, are one.
    """

    index: int
    text: str
    start: int
    end: int
    rows: tuple[int, ...]
    joined: int = 1


@dataclass(frozen=True)
class Reading:
    """A text, its tokens (one per row of X) and its words (those that reach into the rows)."""

    text: str
    tokens: tuple[Token, ...]
    words: tuple[Word, ...]

    @classmethod
    def of(
        cls,
        text: str,
        pieces: Sequence[tuple[str, int, int, Kind]],
        unknown: Iterable[int] = (),
    ) -> Reading:
        """From (piece, start, end, kind) per row, as a tokenizer gives them; ``unknown`` are the
        rows of the token for what the vocabulary lacks.

        >>> pieces = [("[CLS]", 0, 0, "special"), ("un", 0, 2, "word"), ("##fair", 2, 6, "word")]
        >>> reading = Reading.of("unfair!", [*pieces, ("!", 6, 7, "word")])
        >>> [(word.text, word.rows) for word in reading.words]
        [('unfair', (1, 2)), ('!', (3,))]
        >>> reading = Reading.of("你好!", [("你好", 0, 2, "word"), ("!", 2, 3, "word")])
        >>> [(word.text, word.index, word.joined) for word in reading.words]
        [('你好', 0, 2), ('!', 2, 1)]
        """
        spans = word_spans(text)
        unknown_rows = set(unknown)
        tokens: list[Token] = []
        rows: dict[int, list[int]] = {}
        lasts: dict[int, int] = {}
        current = first = 0
        for row, (piece, start, end, kind) in enumerate(pieces):
            word = None
            if kind == "word" and spans:
                while current + 1 < len(spans) and spans[current][1] <= start:
                    current += 1
                # A piece of white space before a word (byte-level vocabularies) counts to the word
                # that follows it.
                if current > lasts.get(first, -1):
                    first = current
                word = first
                rows.setdefault(first, []).append(row)
                while current + 1 < len(spans) and spans[current + 1][0] < end:
                    current += 1
                lasts[first] = current
            tokens.append(Token(piece, start, end, kind, word, row in unknown_rows))
        words = []
        for index, word_rows in sorted(rows.items()):
            start, end = spans[index][0], spans[lasts[index]][1]
            joined = lasts[index] - index + 1
            words.append(Word(index, text[start:end], start, end, tuple(word_rows), joined))
        return cls(text, tuple(tokens), tuple(words))

    def is_unknown(self, word: Word) -> bool:
        """Whether the model sees the word's presence, but (in part) not its identity."""
        return any(self.tokens[row].unknown for row in word.rows)

    def surface(self, row: int) -> str:
        """The text of a row; the piece itself for special tokens and padding."""
        token = self.tokens[row]
        return (
            self.text[token.start : token.end].strip() if token.kind == "word" else ""
        ) or token.piece

    def word(self, index: int) -> Word | None:
        """The word with this index, or the one that it is part of, if it reaches into the rows."""
        return next(
            (word for word in self.words if word.index <= index < word.index + word.joined), None
        )


def word_spans(text: str) -> list[tuple[int, int]]:
    """Character spans of the words of a text.

    >>> [("I don't, I"[a:b]) for a, b in word_spans("I don't, I")]
    ['I', "don't", ',', 'I']
    >>> [("我爱Python"[a:b]) for a, b in word_spans("我爱Python")]
    ['我', '爱', 'Python']
    """
    if text.isascii():
        return _spaced(text, 0, len(text))
    spans: list[tuple[int, int]] = []
    end = 0
    for match in _own_words().finditer(text):
        spans += _spaced(text, end, match.start())
        spans.append(match.span())
        end = match.end()
    return spans + _spaced(text, end, len(text))


@cache
def _own_words() -> Any:
    """The pattern of words that do not depend on their neighbours."""
    import regex

    return regex.compile(f"{_EMOJI}|{_UNSPACED}")


def _spaced(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The words of a part of the text that is written with spaces between them."""
    spans = [match.span() for match in _WORD.finditer(text, start, end)]
    return spans if text.isascii() else _joined(text, spans)


def _joined(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Accents that follow their letter, vowel signs and joiners belong to the word that they touch,
    and hold it together.

    >>> text = "re\u0301sume\u0301!"
    >>> [text[a:b] for a, b in word_spans(text)] == ["re\u0301sume\u0301", "!"]
    True
    """
    joined: list[tuple[int, int]] = []
    sticky = False
    for start, end in spans:
        mark = end - start == 1 and (
            unicodedata.category(text[start]).startswith("M") or text[start] in JOINERS
        )
        touches = bool(joined) and joined[-1][1] == start
        if touches and (mark or (sticky and text[start].isalnum())):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
        sticky = mark
    return joined
