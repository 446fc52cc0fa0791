"""Real words that can stand in one place of a text, with the token ids of the changed text."""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from wordsway.core.checks import OneOf, validated
from wordsway.core.errors import InputError
from wordsway.core.reading import Word, word_spans
from wordsway.models.probe import EncodedText, Probe

#: Pieces that begin a word carry one of these marks in vocabularies that mark beginnings, and
#: pieces inside one these in the others.
BEGINNING, INSIDE = ("Ġ", "▁"), ("##",)
VocabularyPart = Annotated[
    str, OneOf(("words", "all"), "words leaves out numbers and signs; all has every whole token")
]
#: Characters around a word that are tokenised with it, and words for which the whole text is.
AROUND, VERIFIED = 35, 8


@dataclass(frozen=True)
class Candidates:
    """Real words with the ids of the changed text; ``refused`` cannot stand there."""

    words: list[str]
    ids: list[list[int]]
    refused: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.words)


class TextPlace:
    """One word's place in a text, in letters."""

    def __init__(self, text: str, word: Word) -> None:
        self.text, self.word = text, word
        #: Whether a letter, and a sign, stand alone here or would join their neighbours.
        self.alone = {
            sign: (word.start, word.start + 1) in word_spans(self.changed(sign)) for sign in "a?"
        }

    def changed(self, spelling: str, start: int = 0, end: int | None = None) -> str:
        """The text, or a part of it around the word, with another word in this place."""
        return self.text[start : self.word.start] + spelling + self.text[self.word.end : end]

    def takes(self, spelling: str) -> bool:
        """Whether this would be one word of the changed text, and another one than now."""
        return (
            spelling not in (self.word.text, self.word.text.lower())
            and len(word_spans(spelling)) == 1
            and self.alone["a" if spelling[0].isalnum() else "?"]
        )


class WordPlace(TextPlace):
    """One word's place in a text, in letters and in tokens.

    A changed text is tokenised near the word only; that the rest keeps its tokens is checked with
    the tokenizer itself, on some of the words found, and if it does not, whole texts are read.
    """

    def __init__(self, probe: Probe, encoded: EncodedText, word: Word) -> None:
        super().__init__(encoded.text, word)
        self.probe = probe
        ids = encoded.ids.tolist()
        self.whole = _Window(0, len(self.text), ids[: min(word.rows)], ids[max(word.rows) + 1 :])
        self.near = self._nearby(ids[min(word.rows) : max(word.rows) + 1])

    def _nearby(self, own: list[int]) -> _Window:
        """The word with some others around it, where the tokenizer reads it as in the text."""
        start, end = near(self.text, self.word.start, self.word.end)
        if (start, end) == (0, len(self.text)):
            return self.whole
        (tokens,) = self.probe.reader([self.text[start:end]])
        place = self.word.start - start
        words = tokens.reading(tokens.count).words
        rows = next((word.rows for word in words if word.start == place), ())
        if not rows or list(tokens.ids[min(rows) : max(rows) + 1]) != own:
            return self.whole
        ids = list(tokens.ids)
        return _Window(start, end, ids[: min(rows)], ids[max(rows) + 1 :])

    def encode(self, spellings: Sequence[str], *, pieces: int | None = 1) -> Candidates:
        """Those that keep the tokens around them, of ``pieces`` tokens or any number (None)."""
        found = self._read(spellings, self.near, pieces)
        if self.near is not self.whole and len(found):
            step = max(1, len(found) // VERIFIED)
            some = self._read(found.words[::step], self.whole, pieces)
            if some.words != found.words[::step] or some.ids != found.ids[::step]:
                self.near = self.whole
                return self._read(spellings, self.whole, pieces)
        return found

    def _read(self, spellings: Sequence[str], window: _Window, pieces: int | None) -> Candidates:
        words: list[str] = []
        found: list[list[int]] = []
        texts = [self.changed(spelling, window.start, window.end) for spelling in spellings]
        for spelling, ids in zip(spellings, self.probe.reader.ids(texts), strict=True):
            own = window.own(ids)
            if own and len(own) == (pieces or len(own)):
                words.append(spelling)
                found.append([*self.whole.front, *own, *self.whole.back])
        return Candidates(words, found)


@dataclass(frozen=True)
class _Window:
    """A part of the text around a word, and its tokens before and behind the word."""

    start: int
    end: int
    front: list[int]
    back: list[int]

    def own(self, ids: list[int]) -> list[int]:
        """The word's own tokens, where those around it are as they were; none otherwise."""
        last = len(ids) - len(self.back)
        if ids[: len(self.front)] != self.front or ids[last:] != self.back:
            return []
        return ids[len(self.front) : last]


def near(text: str, start: int, end: int, around: int = AROUND) -> tuple[int, int]:
    """Where a window around text[start:end] begins and ends: at white space, at least ``around``
    characters away.

    >>> text = "a " * 40 + "word" + " b" * 40
    >>> near(text, 80, 84), near("a short text", 2, 7)
    ((44, 120), (0, 12))
    """
    first = max(text.rfind(space, 0, max(0, start - around)) for space in " \n\t")
    spaces = [text.find(space, end + around) for space in " \n\t"]
    last = min((at for at in spaces if at >= 0), default=len(text))
    return first + 1, last


@validated
def candidates(
    probe: Probe,
    encoded: EncodedText,
    word: Word,
    *,
    kind: VocabularyPart = "words",
    keep_case: bool = True,
    among: Iterable[str] | None = None,
) -> Candidates:
    """Words that can stand in this place; those of ``among`` that cannot are ``refused``."""
    named = None if among is None else [name.strip() for name in among if name.strip()]
    spelled = vocabulary(probe, kind) if named is None else named
    place = WordPlace(probe, encoded, word)
    names = list(dict.fromkeys(cased(name, word.text) if keep_case else name for name in spelled))
    found = place.encode(
        [name for name in names if place.takes(name)], pieces=1 if named is None else None
    )
    refused: tuple[str, ...] = ()
    if named is not None:
        kept = set(found.words) | {word.text, word.text.lower()}
        refused = tuple(name for name in names if name not in kept)
    if not found.words:
        joined = "" if place.alone["a"] else ", which touches another word"
        raise InputError(
            "words that can stand in that place",
            f"none for {word.text!r}{joined}"
            + (f" (not one word: {', '.join(map(repr, refused[:3]))})" if refused else ""),
            "choose another word, or kind='all' (--kind all)",
        )
    return Candidates(found.words, found.ids, refused)


def vocabulary(probe: Probe, kind: str) -> list[str]:
    """Whole words of the vocabulary, as they are written."""
    pieces = sorted(probe.reader.tokenizer.get_vocab(with_added_tokens=False))
    words = [piece for piece in pieces if not piece.startswith(INSIDE)]
    if any(piece.startswith(BEGINNING) for piece in pieces):
        words = [piece[1:] for piece in pieces if piece.startswith(BEGINNING)]
    return [one for one in words if one and (kind == "all" or (one.isalpha() and len(one) > 1))]


def signs(probe: Probe) -> list[str]:
    """Punctuation marks that the vocabulary has."""
    known = probe.reader.tokenizer.get_vocab(with_added_tokens=False)
    return [sign for sign in string.punctuation if sign in known]


def cased(word: str, like: str) -> str:
    """A word with the capitals of another.

    >>> cased("film", "Good"), cased("film", "NOT"), cased("film", "good")
    ('Film', 'FILM', 'film')
    """
    if len(like) > 1 and like.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word
