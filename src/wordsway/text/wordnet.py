"""WordNet 3.1, read where it lies: senses, how often each was met, synonyms and antonyms.

The files are those of ``wndb(5)`` and ``senseidx(5)``. An index is sorted, so a word is found by
bisection of the file itself; nothing is read ahead, and opening takes no time.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Literal

from wordsway import data

Pos = Literal["noun", "verb", "adj", "adv"]
PARTS: tuple[Pos, ...] = ("noun", "verb", "adj", "adv")
#: The first number of a sense key; 5 is an adjective of a cluster.
_NUMBERS: dict[str, Pos] = {"1": "noun", "2": "verb", "3": "adj", "4": "adv", "5": "adj"}
_LETTERS: dict[str, Pos] = {"n": "noun", "v": "verb", "a": "adj", "s": "adj", "r": "adv"}
ANTONYM = "!"
#: A line of the index of senses: word, part of speech, and how often this sense was met.
_SENSE = re.compile(rb"^([a-z'-]+)%(\d)\S* \d+ \d+ (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Pointer:
    """From word ``source`` of a synset to word ``target`` of another, counted from 1; 0: all."""

    symbol: str
    pos: Pos
    offset: int
    source: int
    target: int


@dataclass(frozen=True)
class Synset:
    """Words with one meaning, spelled with spaces, and its pointers."""

    pos: Pos
    offset: int
    words: tuple[str, ...]
    pointers: tuple[Pointer, ...]


@dataclass(frozen=True)
class Sense:
    """One meaning of a word; ``count`` is how often it was met in the texts tagged for WordNet."""

    word: str
    pos: Pos
    number: int
    offset: int
    count: int


class SortedFile:
    """A sorted text file: the lines that begin with a prefix, found by bisection."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self.bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def line_at(self, offset: int) -> str:
        end = self.bytes.find(b"\n", offset)
        return self.bytes[offset : end if end >= 0 else len(self.bytes)].decode("latin-1")

    def starting_with(self, prefix: str) -> Iterator[str]:
        wanted = prefix.encode("latin-1", "replace")
        low, high = 0, len(self.bytes)  # the first such line begins in [low, high]
        while low < high:
            middle = (low + high) // 2
            start = self.bytes.rfind(b"\n", 0, middle) + 1
            if self.bytes[start : start + len(wanted)] < wanted:
                end = self.bytes.find(b"\n", middle)
                low = end + 1 if end >= 0 else len(self.bytes)
            else:
                high = start
        while self.bytes[low : low + len(wanted)] == wanted:
            line = self.line_at(low)
            yield line
            low += len(line) + 1


class WordNet:
    """The database of a folder; `wordnet()` is the catalogue's own.

    >>> net = wordnet()
    >>> net.count("good", "adj") > net.count("good", "noun") > 0
    True
    >>> net.antonyms("good", "adj"), net.antonyms("film", "noun")
    (('bad',), ())
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def _senses(self) -> SortedFile:
        return SortedFile(self.folder / "index.sense")

    @cache  # noqa: B019 (one WordNet lives as long as the process)
    def _data(self, pos: Pos) -> SortedFile:
        return SortedFile(self.folder / f"data.{pos}")

    @lru_cache(maxsize=100_000)  # noqa: B019
    def senses(self, word: str, pos: Pos | None = None) -> tuple[Sense, ...]:
        """The senses of a word in its base form, numbered within each part of speech."""
        found = []
        lemma = word.lower().replace(" ", "_")
        if not lemma or not lemma.isascii():
            return ()
        for line in self._senses.starting_with(f"{lemma}%"):
            key, offset, number, count = line.split()
            part = _NUMBERS[key[len(lemma) + 1]]
            if pos in (None, part):
                found.append(Sense(word.lower(), part, int(number), int(offset), int(count)))
        return tuple(sorted(found, key=lambda sense: (PARTS.index(sense.pos), sense.number)))

    def count(self, word: str, pos: Pos | None = None) -> int:
        """How often the word was met in the tagged texts."""
        return sum(sense.count for sense in self.senses(word, pos))

    @lru_cache  # noqa: B019
    def used(self, times: int = 1) -> tuple[str, ...]:
        """Words of two letters or more, in their base form, that occur at least that often in the
        tagged texts, sorted.

        >>> len(wordnet().used()), "unfair" in wordnet().used(), "acer" in wordnet().used()
        (16732, True, False)
        """
        return tuple(
            sorted(
                word
                for word, parts in self.counts.items()
                if word.isalpha() and len(word) > 1 and sum(parts.values()) >= times
            )
        )

    @cached_property
    def counts(self) -> dict[str, dict[Pos, int]]:
        """For every word of one piece, in its base form, how often each of its parts of speech was
        met.

        >>> wordnet().counts["chase"]
        {'noun': 5, 'verb': 10}
        """
        found: dict[str, dict[Pos, int]] = {}
        for word, number, count in _SENSE.findall(self._senses.bytes):
            here = found.setdefault(word.decode(), {})
            part = _NUMBERS[number.decode()]
            here[part] = here.get(part, 0) + int(count)
        return found

    def parts(self, word: str) -> set[Pos]:
        """The parts of speech that the word, in this very form, can have."""
        return {sense.pos for sense in self.senses(word)}

    @lru_cache(maxsize=100_000)  # noqa: B019
    def synset(self, pos: Pos, offset: int) -> Synset:
        """The synset that begins at this byte of its file."""
        cells = self._data(pos).line_at(offset).partition(" | ")[0].split()
        count = int(cells[3], 16)
        words = tuple(word.split("(")[0].replace("_", " ") for word in cells[4 : 4 + 2 * count : 2])
        at = 4 + 2 * count
        pointers = []
        for number in range(int(cells[at])):
            symbol, target, part, ends = cells[at + 1 + 4 * number : at + 5 + 4 * number]
            pointers.append(
                Pointer(symbol, _LETTERS[part], int(target), int(ends[:2], 16), int(ends[2:], 16))
            )
        return Synset(pos, offset, words, tuple(pointers))

    def antonyms(self, word: str, pos: Pos, number: int | None = 1) -> tuple[str, ...]:
        """Words that WordNet names as the opposite of sense ``number`` (None: of any sense)."""
        found: dict[str, None] = {}
        for sense in self.senses(word, pos):
            if number not in (None, sense.number):
                continue
            synset = self.synset(pos, sense.offset)
            here = [one.lower() for one in synset.words].index(sense.word) + 1
            for pointer in synset.pointers:
                if pointer.symbol == ANTONYM and pointer.source in (0, here):
                    target = self.synset(pointer.pos, pointer.offset)
                    found[target.words[max(0, pointer.target - 1)]] = None
        return tuple(found)

    def synonyms(self, word: str, pos: Pos, number: int = 1) -> tuple[str, ...]:
        for sense in self.senses(word, pos):
            if sense.number == number:
                words = self.synset(pos, sense.offset).words
                return tuple(one for one in words if one.lower() != sense.word)
        return ()


@cache
def wordnet() -> WordNet:
    """The catalogue's WordNet, fetched where it is not here, verified, opened once per process."""
    return WordNet(data.get("wordnet").folder)
