"""A minimal edit, and a sentence as the rules see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from typing import Literal

from wordsway.auditing.background import Place, place_of
from wordsway.auditing.edits.lexicon import AUXILIARIES, SHARED
from wordsway.core.reading import word_spans
from wordsway.text.forms import takes_an

#: An edit that changes the meaning ("turning") or preserves it ("keeping").
Role = Literal["turning", "keeping"]
#: How much of a text a meaning-preserving edit rewrites: one harmless edit, several at once, 1 to 4
#: words, most words; "rewording" if it is not known which of the last two it is.
Strength = Literal["small", "several", "light", "heavy", "rewording"]


@dataclass(frozen=True)
class Edit:
    """``before``, at ``start`` of a text, becomes ``after``; one of them may be empty. ``by_rule``:
    a rule made it.

    >>> edit = Edit("It is good.", 6, "good", "bad", "antonyms", "turning")
    >>> edit.edited, edit.end
    ('It is bad.', 10)
    """

    text: str
    start: int
    before: str
    after: str
    kind: str
    role: Role
    strength: Strength = "small"
    by_rule: bool = field(default=False, compare=False)

    @classmethod
    def between(
        cls, text: str, edited: str, kind: str, role: Role, strength: Strength = "small"
    ) -> Edit:
        """The edit that makes one text of another, in the one stretch in which they differ.

        >>> Edit.between("It is good.", "It is not good.", "negation", "turning").after
        'not '
        """
        return cls(text, *place_of(text, edited), kind, role, strength)

    @property
    def end(self) -> int:
        return self.start + len(self.before)

    @property
    def place(self) -> Place:
        return Place(self.start, self.before, self.after)

    @property
    def edited(self) -> str:
        return self.place.edited(self.text)

    @cached_property
    def overlap(self) -> float:
        return overlap(self.text, self.edited)

    @cached_property
    def words_changed(self) -> int:
        """Words that are replaced, put in or taken out, outside of the longest stretches that both
        texts have in common.

        >>> Edit.between("It is good.", "It was bad.", "own", "turning").words_changed
        2
        """
        one, two = _spelled(self.text), _spelled(self.edited)
        found = SequenceMatcher(None, one, two, autojunk=False).get_opcodes()
        return sum(max(b - a, d - c) for tag, a, b, c, d in found if tag != "equal")

    @property
    def share_changed(self) -> float:
        """`words_changed` as a share of the words of the longer text."""
        longest = max(len(_spelled(self.text)), len(_spelled(self.edited)), 1)
        return min(1.0, self.words_changed / longest)


def overlap(a: str, b: str) -> float:
    """The words that both texts have, as a share of those that either has (Jaccard's index).

    >>> overlap("It is good.", "It is bad.")
    0.5
    """
    one, two = set(_spelled(a)), set(_spelled(b))
    return len(one & two) / len(one | two) if one | two else 1.0


def _spelled(text: str) -> list[str]:
    """The words of a text in small letters, without punctuation."""
    return [text[a:b].lower() for a, b in word_spans(text) if text[a].isalnum()]


@dataclass(frozen=True)
class SentenceWord:
    """A word of a sentence, ``text[start:end]``; ``lower`` has a plain apostrophe."""

    text: str
    lower: str
    start: int
    end: int

    @property
    def capital(self) -> bool:
        return self.text[:1].isupper()


class EnglishSentence:
    """A text and its words; rules make edits of it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [
            SentenceWord(text[a:b], text[a:b].lower().replace("’", "'"), a, b)
            for a, b in word_spans(text)
        ]
        self.lower = [token.lower for token in self.tokens]

    @cached_property
    def words(self) -> set[str]:
        """The different words, in small letters."""
        return set(self.lower)

    def word(self, index: int) -> str:
        """The word in small letters; "" beyond either end."""
        return self.lower[index] if 0 <= index < len(self.lower) else ""

    def named(self, index: int) -> bool:
        """Return whether this word may be part of a name or a title: capitalised, not first."""
        return (
            0 < index < len(self.tokens)
            and self.tokens[index].capital
            and (self.tokens[index].text != "I" and not self.tokens[index].text.startswith("I'"))
        )

    def in_name(self, index: int) -> bool:
        """Return whether the word, or one next to it, is part of a name."""
        return any(self.named(beside) for beside in (index - 1, index, index + 1))

    def misspelled_its(self, index: int) -> bool:
        """Is this an "it's" that should be "its"?

        >>> EnglishSentence("It's tone is dark.").misspelled_its(0)
        True
        >>> EnglishSentence("It's dark.").misspelled_its(0)
        False
        """
        if self.word(index) != "it's":
            return False
        behind = self.word(index - 1) in SHARED.prepositions - {"as", "than", "like"}
        return behind or self.word(index + 2) in AUXILIARIES

    def replaced(self, first: int, last: int, after: str) -> Place:
        """Words ``first`` … ``last`` become ``after``: as a capital or not, with a or an before it.

        >>> EnglishSentence("It was an interesting film.").replaced(3, 3, "boring")
        Place(start=7, before='an interesting', after='a boring')
        """
        start, end = self.tokens[first].start, self.tokens[last].end
        before = self.text[start:end]
        if before[:1].isupper() and not (before.startswith("I") and before[1:2] in ("", "'", " ")):
            after = after[:1].upper() + after[1:]
        article = self.word(first - 1)
        wanted = "an" if takes_an(after) else "a"
        if article in ("a", "an") and article != wanted:
            token = self.tokens[first - 1]
            spelled = wanted.capitalize() if token.capital else wanted
            after = spelled + self.text[token.end : start] + after
            start = token.start
        return Place(start, self.text[start:end], after)

    def inserted(self, index: int, word: str) -> Place:
        """``word`` and a space come before word ``index``."""
        start = self.tokens[index].start
        return Place(start, "", f"{word} ")

    def removed(self, first: int, last: int) -> Place:
        """Words ``first`` … ``last`` go, with the space behind them."""
        start, end = self.tokens[first].start, self.tokens[last].end
        if self.text[end : end + 1] == " ":
            end += 1
        elif self.text[start - 1 : start] == " ":
            start -= 1
        return Place(start, self.text[start:end], "")


@dataclass(frozen=True)
class Rule:
    """A kind of edit: what it does to the meaning, one sentence about it, and where it applies."""

    name: str
    role: Role
    about: str
    apply: Callable[[EnglishSentence], Iterable[Place]]
    strength: Strength = "small"

    def edits(self, text: str | EnglishSentence) -> list[Edit]:
        """All edits of this kind, in the order of the text."""
        sentence = text if isinstance(text, EnglishSentence) else EnglishSentence(text)
        if not sentence.tokens:
            return []
        found = [
            Edit(sentence.text, *change, self.name, self.role, self.strength, True)
            for change in self.apply(sentence)
        ]
        return [edit for edit in found if edit.edited != edit.text]
