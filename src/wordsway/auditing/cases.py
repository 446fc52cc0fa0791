"""The texts of an audit and their edits: sentences of reviews, of the package, or of the user."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from wordsway.auditing.background import place_of
from wordsway.auditing.edits import KEEPING, RULES, TURNING
from wordsway.auditing.edits.edit import Edit, EnglishSentence, Role
from wordsway.auditing.edits.lexicon import AUXILIARIES, FUNCTION, SUBJECTS, words
from wordsway.auditing.table import PairRow, RefusedRow, read_table
from wordsway.core.errors import InputError, positive
from wordsway.core.progress import Progress, silent
from wordsway.core.reading import word_spans
from wordsway.core.seeds import derive
from wordsway.text import corpus, draw
from wordsway.text.forms import singular, verb_forms
from wordsway.text.wordnet import PARTS, wordnet

#: Words of a readable sentence, punctuation not counted.
READABLE = 8, 30
#: Parts of the packaged sentences.
PACKAGED = ("everyday", "medical", "legal")
_ABBREVIATION = re.compile(
    r"\b(?:Mr|Mrs|Ms|Dr|Prof|Sr|Jr|St|vs|etc|e\.g|i\.e|No|Vol|Lt|Col|Gen|Capt|[A-Z])\.$"
)
_END = re.compile(r"[.!?](?=\s+[\"'“‘(]?[A-Z0-9])|\n+")
#: What a readable sentence is made of.
_PLAIN = re.compile(r"[A-Z][A-Za-z0-9 ,;:'’%$-]+[.!]")
#: Quotation marks and dashes, which are no part of a word.
_LOOSE = re.compile(r"(?<!\w)['’-]|['’-](?!\w)")
_CAPITALS = {"I", "A", "TV", "DVD", "US", "UK", "USA", "CGI", "B", "OK"}


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, by its full stops and lines.

    >>> list(sentences("I met Dr. Lee. He was late!  So what?"))
    ['I met Dr. Lee.', 'He was late!', 'So what?']
    """
    start = 0
    for mark in _END.finditer(text):
        if _ABBREVIATION.search(text[start : mark.end()]) and text[mark.start()] == ".":
            continue
        if text[start : mark.end()].strip():
            yield " ".join(text[start : mark.end()].split())
        start = mark.end()
    if text[start:].strip():
        yield " ".join(text[start:].split())


def plain(sentence: str) -> bool:
    """Return whether a sentence runs from a capital to a full stop without quotations or dashes."""
    return _PLAIN.fullmatch(sentence) is not None and _LOOSE.search(sentence) is None


def readable(sentence: str) -> bool:
    """A whole English sentence of 8 to 30 words in plain characters, without typing errors.

    >>> readable("The story is simple, but the actors make it a pleasure.")
    True
    >>> readable("the story is simpel but teh actors make it a pleasure.")
    False
    """
    if not plain(sentence):
        return False
    words = [sentence[a:b] for a, b in word_spans(sentence)]
    spelled = [word for word in words if word[0].isalnum()]
    if not READABLE[0] <= len(spelled) <= READABLE[1]:
        return False
    lower = [word.lower().replace("’", "'") for word in spelled]
    if any(one == two for one, two in itertools.pairwise(lower)):
        return False
    if any(len(word) > 1 and word.isupper() and word not in _CAPITALS for word in spelled):
        return False
    if not any(word in AUXILIARIES or "'" in word for word in lower):
        return False
    if lower[0] in _FRAGMENTS or (not SUBJECTS.intersection(lower) and "the" not in lower):
        return False
    names = sum(word[0].isupper() for word in spelled[1:] if word != "I")
    return names <= 4 and all(
        word[0].isupper() or word[0].isdigit() or known(word.lower().replace("’", "'"))
        for word in spelled
    )


#: First words of what is mostly a fragment, or depends on the previous sentence.
_FRAGMENTS = words("which who whom whose because except than or nor like such especially")


@lru_cache(maxsize=100_000)
def known(word: str) -> bool:
    """Return whether WordNet or the function words contain this word.

    >>> known("movies"), known("don't"), known("shouldn't"), known("simpel")
    (True, True, True, False)
    """
    if word in FUNCTION:
        return True
    if "'" in word:
        head, _, tail = word.rpartition("'")
        ending = tail in ("s", "d", "m", "re", "ve", "ll") and known(head)
        return ending or (tail == "t" and head.endswith("n") and head[:-1] in _BEFORE_NOT)
    if "-" in word:
        return all(known(part) for part in word.split("-") if part) and not word.endswith("-")
    net = wordnet()
    bases = {word, singular(word) or word, *(base for base, _ in verb_forms(word))}
    bases |= {word.removesuffix("r"), word.removesuffix("er"), word.removesuffix("est")}
    bases |= {f"{word[:-3]}y"} if word.endswith("ier") else set()
    return any(net.senses(base, pos) for base in bases for pos in PARTS)


_BEFORE_NOT = AUXILIARIES | {"ca", "wo", "sha", "need", "ai"}


def packaged(topic: str | None = None) -> list[tuple[str, str]]:
    """The package's own sentences as (topic, sentence); of one topic, or all.

    >>> len(packaged("medical")) >= 40, {topic for topic, _ in packaged()} == set(PACKAGED)
    (True, True)
    """
    table = files("wordsway.auditing").joinpath("sentences.csv").read_text("utf-8")
    rows = list(csv.reader(table.splitlines()))[1:]
    return [(name, text) for name, text in rows if topic in (None, name)]


#: Texts per kind, and of a quick audit.
TEXTS, QUICK = 200, 40
#: Reviews that are read per text of a kind, and at least: the rarest kinds need that many.
REVIEWS, FEWEST = 60, 2000
#: Words of a sentence of a user's own texts.
SHORTEST, LONGEST = 3, 60
#: Kinds in a user's table that stand for meaning-preserving edits.
KEEPING_NAMES = {*KEEPING, "keeping", "keep", "keeps", "synonym", "paraphrase", "same"}


@dataclass(frozen=True)
class Case:
    """A text with its edits, at most one per kind; some change the meaning, some preserve it."""

    id: str
    text: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Cases:
    """The texts of an audit; ``source`` says where they come from, ``refused`` what was left out
    and why, ``unused`` how many texts that were read allow no edit that was still wanted.
    """

    cases: tuple[Case, ...]
    kinds: tuple[str, ...]
    source: str
    refused: tuple[RefusedRow, ...] = ()
    unused: int = 0


def collect(
    data: str | Path | Sequence[str] = "imdb",
    *,
    kinds: Sequence[str] | None = None,
    texts: int = TEXTS,
    seed: int = 0,
    encoding: str | None = None,
    progress: Progress = silent,
) -> Cases:
    """Texts for each kind, in an order drawn by the seed.

    Parameters
    ----------
    data : "imdb" (sentences of reviews), "everyday", "medical", "legal" or "packaged" (the
        package's own), a file of texts or of pairs, or a list of texts
    kinds : kinds of meaning-changing edits; all by default
    texts : how many per kind, at most
    """
    wanted = _kinds(kinds)
    positive("texts", texts)
    if isinstance(data, (str, Path)) and str(data) not in ("imdb", "packaged", *PACKAGED):
        table = read_table(data, encoding)
        if table.pairs:
            return _from_pairs(table.pairs, table.refused, Path(data).name, kinds, seed)
        own = _Own(table.texts)
        found = _edited(own, wanted, texts, seed, Path(data).name, table.refused, progress)
        return own.with_refused(found)
    if not isinstance(data, (str, Path)):
        own = _Own(list(enumerate(data, 1)))
        return own.with_refused(_edited(own, wanted, texts, seed, "texts", (), progress))
    if str(data) == "imdb":
        return _edited(_reviews(texts, seed, progress), wanted, texts, seed, "imdb", (), progress)
    topic = None if str(data) == "packaged" else str(data)
    ours = [(f"{name} {number}", text) for number, (name, text) in enumerate(packaged(topic), 1)]
    return _edited(ours, wanted, texts, seed, str(data), (), progress)


def _kinds(kinds: Sequence[str] | None) -> tuple[str, ...]:
    unknown = [kind for kind in kinds or () if kind not in TURNING]
    if unknown:
        raise InputError(
            f"kinds among {', '.join(TURNING)}", unknown[0], "leave them out for all kinds"
        )
    return tuple(kinds) if kinds else TURNING


def _reviews(texts: int, seed: int, progress: Progress) -> Iterator[tuple[str, str]]:
    """Readable sentences of IMDb reviews, in an order drawn by the seed."""
    progress("drawing reviews", 0, 0)
    source = corpus("imdb")
    for review in draw(source, max(FEWEST, REVIEWS * texts), derive(seed, "audit")):
        for number, sentence in enumerate(sentences(review.text), 1):
            if plain(sentence):
                yield f"{review.id} sentence {number}", sentence


class _Own:
    """The sentences of a user's own texts; ``read`` lists the rows that were read."""

    def __init__(self, texts: Sequence[tuple[int, str]]) -> None:
        self.texts = texts
        self.read: list[int] = []

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for row, text in self.texts:
            self.read.append(row)
            for sentence in sentences(text):
                if SHORTEST <= len(sentence.split()) <= LONGEST:
                    yield f"row {row}", sentence

    def with_refused(self, found: Cases) -> Cases:
        """Return the cases with the rows that gave none among the refused ones."""
        used = {case.id for case in found.cases}
        reason = (
            f"no English sentence of {SHORTEST} to {LONGEST} words that allows an edit that "
            "changes its meaning and one that preserves it"
        )
        without = [RefusedRow(row, reason) for row in self.read if f"row {row}" not in used]
        refused = sorted((*found.refused, *without), key=lambda one: one.row)
        return replace(found, refused=tuple(refused))


def _edited(
    texts: Iterable[tuple[str, str]],
    kinds: Sequence[str],
    count: int,
    seed: int,
    source: str,
    refused: Sequence[RefusedRow],
    progress: Progress,
) -> Cases:
    """The first ``count`` texts for every kind; a text serves as many kinds as it can."""
    left = dict.fromkeys(kinds, count)
    cases: list[Case] = []
    seen: set[str] = set()
    unused = 0
    for name, text in texts:
        if text in seen:
            continue
        seen.add(text)
        sentence = EnglishSentence(text)
        turning = [edit for kind in kinds if left[kind] for edit in _one(sentence, kind, seed)]
        keeping: list[Edit] = []
        if turning and (source != "imdb" or readable(text)):
            keeping = [edit for kind in KEEPING for edit in _one(sentence, kind, seed)]
        if not keeping:
            unused += 1
            continue
        cases.append(Case(name, text, (*turning, *keeping)))
        for edit in turning:
            left[edit.kind] -= 1
        progress("finding edits", len(kinds) * count - sum(left.values()), len(kinds) * count)
        if not any(left.values()):
            break
    if not cases:
        raise InputError(
            f"English texts in {source} with a word that can be edited",
            f"none among {len(seen)}",
            "pass pairs of your own: columns a,b,kind",
        )
    return Cases(tuple(cases), tuple(kinds), source, tuple(refused), unused)


def _one(sentence: EnglishSentence, kind: str, seed: int) -> list[Edit]:
    """One edit of this kind, drawn by the seed; none if the text has none."""
    found = RULES[kind].edits(sentence)
    if not found:
        return []
    return [found[derive(seed, "edit", kind, sentence.text) % len(found)]]


def _from_pairs(
    pairs: Sequence[PairRow],
    refused: Sequence[RefusedRow],
    source: str,
    kinds: Sequence[str] | None,
    seed: int,
) -> Cases:
    """Collect a user's own pairs by their first text; our rules add meaning-preserving edits to
    texts that have none.
    """
    by_text: dict[str, list[PairRow]] = {}
    for row in pairs:
        by_text.setdefault(row.a, []).append(row)
    left_out = list(refused)
    cases = []
    for text, rows in by_text.items():
        edits = [_own_edit(row) for row in rows]
        if not any(edit.role == "keeping" for edit in edits):
            sentence = EnglishSentence(text)
            edits += [edit for kind in KEEPING for edit in _one(sentence, kind, seed)]
        if kinds is not None:
            edits = [edit for edit in edits if edit.role == "keeping" or edit.kind in kinds]
        roles = {edit.role for edit in edits}
        if roles == {"turning", "keeping"}:
            cases.append(Case(f"row {rows[0].row}", text, tuple(edits)))
        else:
            missing = "preserves" if "turning" in roles else "changes"
            reason = f"no pair of this text {missing} its meaning: add one, with its kind"
            left_out += [RefusedRow(row.row, reason) for row in rows]
    if not cases:
        raise InputError(
            f"texts in {source} with a pair that changes the meaning and one that preserves it",
            str(left_out[0]) if left_out else "none",
            "add rows of kind keeping",
        )
    found = tuple(dict.fromkeys(e.kind for c in cases for e in c.edits if e.role == "turning"))
    left_out.sort(key=lambda one: one.row)
    return Cases(tuple(cases), found, source, tuple(left_out))


def _own_edit(row: PairRow) -> Edit:
    role: Role = "keeping" if row.kind.lower() in KEEPING_NAMES else "turning"
    return Edit(row.a, *place_of(row.a, row.b), row.kind or "own", role)
