"""Real words that can stand in one place of a text, with the token ids of the changed text."""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from wordsway.errors import InputError
from wordsway.models.probe import Prepared, Probe
from wordsway.reading import Word, word_spans

#: Pieces that begin a word carry one of these marks in vocabularies that mark beginnings, and
#: pieces inside one these in the others.
BEGINNING, INSIDE = ("Ġ", "▁"), ("##",)
KINDS = ("words", "all")


@dataclass(frozen=True)
class Candidates:
    """Real words with the token ids of the changed text; ``refused`` of those that were named could
    not stand there.
    """

    words: list[str]
    ids: list[list[int]]
    refused: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.words)


class Place:
    """One word's place in a text: what stands before and behind it, in letters and in tokens."""

    def __init__(self, probe: Probe, prepared: Prepared, word: Word) -> None:
        self.probe, self.word = probe, word
        self.before = prepared.text[: word.start]
        self.after = prepared.text[word.end :]
        ids = prepared.ids.tolist()
        self.front = ids[: min(word.rows)]
        self.back = ids[max(word.rows) + 1 :]
        #: Whether a letter, and a sign, stand alone here or would join their neighbours.
        self.alone = {
            sign: (word.start, word.start + 1) in word_spans(self.before + sign + self.after)
            for sign in "a?"
        }

    def takes(self, spelling: str) -> bool:
        """Whether this would be one word of the changed text, and another one than now."""
        return (
            spelling not in (self.word.text, self.word.text.lower())
            and len(word_spans(spelling)) == 1
            and self.alone["a" if spelling[0].isalnum() else "?"]
        )

    def encode(self, spellings: Sequence[str], *, one_token: bool = True) -> Candidates:
        """Those that leave the tokens before and behind as they are, with the ids of the text."""
        texts = [self.before + spelling + self.after for spelling in spellings]
        words: list[str] = []
        found: list[list[int]] = []
        for spelling, tokens in zip(spellings, self.probe.reader(texts), strict=True):
            ids = list(tokens.ids)
            middle = len(ids) - len(self.front) - len(self.back)
            whole = (
                middle >= 1
                and ids[: len(self.front)] == self.front
                and ids[len(ids) - len(self.back) :] == self.back
            )
            if whole and (middle == 1 or not one_token):
                words.append(spelling)
                found.append(ids)
        return Candidates(words, found)


def candidates(
    probe: Probe,
    prepared: Prepared,
    word: Word,
    *,
    kind: str = "words",
    keep_case: bool = True,
    among: Iterable[str] | None = None,
) -> Candidates:
    """Words that can stand in this place; the word itself is left out.

    Of your own (``among``) those that cannot stand there are named in ``refused``.
    """
    check_kind(kind)
    check_among(among)
    named = None if among is None else [name.strip() for name in among if name.strip()]
    spelled = vocabulary(probe, kind) if named is None else named
    place = Place(probe, prepared, word)
    names = list(dict.fromkeys(cased(name, word.text) if keep_case else name for name in spelled))
    found = place.encode([name for name in names if place.takes(name)], one_token=named is None)
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


def check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise InputError(
            f"a part of the vocabulary among {', '.join(KINDS)}",
            repr(kind),
            "words leaves out numbers and signs",
        )


def check_among(among: object) -> None:
    """A string would be taken letter by letter."""
    if isinstance(among, str):
        raise InputError("a list of words", f"the string {among!r}", f"pass [{among!r}]")


def vocabulary(probe: Probe, kind: str) -> list[str]:
    """Whole words of the vocabulary, as they are written."""
    pieces = sorted(probe.reader.tokenizer.get_vocab(with_added_tokens=False))
    marked = any(piece.startswith(BEGINNING) for piece in pieces)
    found = []
    for piece in pieces:
        if marked:
            if not piece.startswith(BEGINNING):
                continue
            piece = piece[1:]
        elif piece.startswith(INSIDE):
            continue
        if kind == "all" or (piece.isalpha() and len(piece) > 1):
            found.append(piece)
    return [piece for piece in found if piece]


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
