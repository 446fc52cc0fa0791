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

    def changed(self, spelling: str) -> str:
        return self.text[: self.word.start] + spelling + self.text[self.word.end :]

    def takes(self, spelling: str) -> bool:
        """Whether this would be one word of the changed text, and another one than now."""
        return (
            spelling not in (self.word.text, self.word.text.lower())
            and len(word_spans(spelling)) == 1
            and self.alone["a" if spelling[0].isalnum() else "?"]
        )


class WordPlace(TextPlace):
    """One word's place in a text, in letters and in tokens."""

    def __init__(self, probe: Probe, encoded: EncodedText, word: Word) -> None:
        super().__init__(encoded.text, word)
        self.probe = probe
        ids = encoded.ids.tolist()
        self.front, self.back = ids[: min(word.rows)], ids[max(word.rows) + 1 :]

    def encode(self, spellings: Sequence[str], *, pieces: int | None = 1) -> Candidates:
        """Those that keep the tokens around them, of ``pieces`` tokens or any number (None)."""
        words: list[str] = []
        found: list[list[int]] = []
        texts = [self.changed(spelling) for spelling in spellings]
        for spelling, ids in zip(spellings, self.probe.reader.ids(texts), strict=True):
            first, last = len(self.front), len(ids) - len(self.back)
            kept = ids[:first] == self.front and ids[last:] == self.back
            if kept and last > first and last - first == (pieces or last - first):
                words.append(spelling)
                found.append(ids)
        return Candidates(words, found)


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
