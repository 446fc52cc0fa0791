"""The texts of an audit and their edits: sentences of reviews, of the package, or of the user."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from wordsway.auditing.edits import KEEPING, RULES, SMALL, TURNING
from wordsway.auditing.edits.edit import Edit, EnglishSentence, Role, Strength
from wordsway.auditing.edits.lexicon import AUXILIARIES, FUNCTION, SHARED, words
from wordsway.auditing.gold import FIELDS, gold_triples
from wordsway.auditing.table import (
    OWN,
    REWORDING,
    PairRow,
    PairTable,
    RefusedRow,
    TripleRow,
    read_table,
    without_repeats,
)
from wordsway.core.errors import InputError, positive
from wordsway.core.progress import Progress, silent
from wordsway.core.reading import word_spans
from wordsway.core.seeds import derive
from wordsway.text import corpus, draw
from wordsway.text.forms import singular, verb_forms
from wordsway.text.wordnet import PARTS, wordnet

#: Words of a readable sentence, punctuation not counted.
READABLE = 8, 30
#: Names of the gold triples: all of them, or those of a field. "packaged" is the name of 0.2.0.
GOLD = ("gold", "packaged", *FIELDS)
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
    if lower[0] in _FRAGMENTS or (not SHARED.subjects.intersection(lower) and "the" not in lower):
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


#: Texts per kind, and of a quick audit.
TEXTS, QUICK = 200, 40
#: Reviews that are read per text of a kind, and at least: the rarest kinds need that many.
REVIEWS, FEWEST = 60, 2000
#: Words of a sentence of a user's own texts.
SHORTEST, LONGEST = 3, 60
#: Words that a light rewording changes, at most.
LIGHT = 4
#: Kinds in a user's table that stand for meaning-preserving edits.
KEEPING_NAMES = {
    *KEEPING, "keeping", "keep", "keeps", "synonym", "paraphrase", "rewording", "same"
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A text with its edits: meaning-changing ones, small harmless ones, then larger ones."""

    id: str
    text: str
    edits: tuple[Edit, ...]

    @classmethod
    def of(cls, name: str, text: str, edits: Iterable[Edit]) -> Case:
        """A case, with its edits in order."""
        order = sorted(edits, key=lambda one: (one.role != "turning", one.strength != "small"))
        return cls(name, text, tuple(order))

    @property
    def compared(self) -> int:
        """How many of the first edits have one place that random words can take."""
        return sum(one.role == "turning" or one.strength == "small" for one in self.edits)


@dataclass(frozen=True)
class Cases:
    """The texts of an audit; ``source`` says where they come from, ``refused`` what was left out
    and why, ``unedited`` rows whose texts allow no edit by a rule, ``unused`` how many texts that
    were read allow no edit that was still wanted,
    ``repeated`` how many rows repeat an earlier row and are left out. ``retrieval``: the texts are
    queries in pairs, with documents in the place of edits. ``own``: the user wrote the changes;
    ``triples``: and a rewording of every text.
    """

    cases: tuple[Case, ...]
    kinds: tuple[str, ...]
    source: str
    refused: tuple[RefusedRow, ...] = ()
    unused: int = 0
    retrieval: bool = False
    repeated: int = 0
    unedited: tuple[RefusedRow, ...] = ()
    own: bool = False
    triples: bool = False

    @property
    def edit_kinds(self) -> tuple[str, ...]:
        """The kinds of all edits, those that preserve the meaning included."""
        return tuple(dict.fromkeys(edit.kind for case in self.cases for edit in case.edits))

    def preserving(self, kinds: Sequence[str]) -> Cases:
        """The same texts; edits of these kinds count as meaning-preserving."""
        cases = [
            Case.of(
                case.id,
                case.text,
                [_preserving(one) if one.kind in kinds else one for one in case.edits],
            )
            for case in self.cases
        ]
        changing = tuple(kind for kind in self.kinds if kind not in kinds)
        return replace(self, cases=tuple(cases), kinds=changing)


def _preserving(edit: Edit) -> Edit:
    """The edit as a meaning-preserving one: small if it changes one word, else a rewording."""
    if edit.role == "keeping":
        return edit
    strength: Strength = "small" if edit.words_changed <= 1 else "rewording"
    return replace(edit, role="keeping", strength=strength)


def collect(
    data: str | Path | Sequence[str] = "gold",
    *,
    kinds: Sequence[str] | None = None,
    texts: int = TEXTS,
    seed: int = 0,
    encoding: str | None = None,
    unpaired: bool = False,
    progress: Progress = silent,
) -> Cases:
    """Texts for each kind, in an order drawn by the seed.

    Parameters
    ----------
    data : "gold" (the triples of the package), one of their fields ("everyday", "medical", "legal",
        "finance", "support"), "imdb" (sentences of reviews), a file of triples, pairs or texts, or
        a list of texts
    kinds : kinds of meaning-changing edits; all by default
    texts : how many per kind, at most
    unpaired : keep pairs of a table whose text has no edit of the other role to compare with
    """
    positive("texts", texts)
    kinds = None if kinds is None else [kind.lower() for kind in kinds]
    if str(data) in GOLD:
        return _gold(str(data), turning_kinds(kinds), texts, seed)
    if str(data) == "imdb":
        wanted = turning_kinds(kinds)
        return _edited(_reviews(texts, seed, progress), wanted, texts, seed, "imdb", progress)
    if isinstance(data, (str, Path)):
        table, name = read_table(data, encoding), Path(data).name
    else:
        table, name = PairTable(texts=tuple(enumerate(data, 1))), "texts"
    table, repeated = without_repeats(table)
    if table.triples:
        found = _from_triples(table.triples, name, kinds, seed)
    elif table.pairs:
        found = _from_pairs(table, name, kinds, seed, unpaired)
    else:
        own = _Own(table.texts)
        found = _edited(own, turning_kinds(kinds), texts, seed, name, progress)
        found = replace(found, unedited=own.unedited(found))
    refused = sorted((*table.refused, *found.refused), key=lambda one: one.row)
    return replace(found, refused=tuple(refused), repeated=repeated)


def turning_kinds(kinds: Sequence[str] | None) -> tuple[str, ...]:
    """The kinds of meaning-changing edits by name; all by default."""
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

    def unedited(self, found: Cases) -> tuple[RefusedRow, ...]:
        """Return the rows that gave no case."""
        used = {case.id for case in found.cases}
        reason = (
            f"no English sentence of {SHORTEST} to {LONGEST} words that allows an edit that "
            "changes its meaning and one that preserves it"
        )
        return tuple(RefusedRow(row, reason) for row in self.read if f"row {row}" not in used)


def _edited(
    texts: Iterable[tuple[str, str]],
    kinds: Sequence[str],
    count: int,
    seed: int,
    source: str,
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
        wanted = [kind for kind in kinds if left[kind]]
        case = edited_case(name, text, wanted, seed, careful=source == "imdb")
        if case is None:
            unused += 1
            continue
        cases.append(case)
        for edit in case.edits:
            if edit.role == "turning":
                left[edit.kind] -= 1
        progress("finding edits", len(kinds) * count - sum(left.values()), len(kinds) * count)
        if not any(left.values()):
            break
    if not cases:
        raise InputError(
            f"English texts in {source} with a word that can be edited",
            f"none among {len(seen)}",
            "pass triples of your own: columns text,rewording,change",
        )
    return Cases(tuple(cases), tuple(kinds), source, unused=unused)


def edited_case(
    name: str, text: str, kinds: Sequence[str], seed: int, *, careful: bool = False
) -> Case | None:
    """A text with one edit of every kind that it allows, and those that preserve its meaning; None
    if it lacks either. ``careful`` asks for a readable sentence, and a small harmless edit.
    """
    sentence = EnglishSentence(text)
    turning = [edit for kind in kinds for edit in _one(sentence, kind, seed)]
    if not turning or (careful and not readable(text)):
        return None
    keeping = keeping_edits(sentence, seed)
    if not keeping or (careful and all(one.strength != "small" for one in keeping)):
        return None
    return Case.of(name, text, (*turning, *keeping))


def _one(sentence: EnglishSentence, kind: str, seed: int) -> list[Edit]:
    """One edit of this kind, drawn by the seed; none if the text has none."""
    found = RULES[kind].edits(sentence)
    if not found:
        return []
    return [found[derive(seed, "edit", kind, sentence.text) % len(found)]]


def keeping_edits(
    sentence: EnglishSentence, seed: int, kinds: Sequence[str] = KEEPING
) -> list[Edit]:
    """One meaning-preserving edit of each kind, and all small ones that fit together at once."""
    return [*(one for kind in kinds for one in _one(sentence, kind, seed)), *several(sentence)]


def several(sentence: EnglishSentence) -> list[Edit]:
    """The text with every harmless edit that it allows; none if it allows fewer than two.

    >>> [one.edited for one in several(EnglishSentence("I think that this film is not bad."))]
    ["I think that the movie isn't bad."]
    """
    found = [edit for kind in SMALL for edit in RULES[kind].edits(sentence)]
    chosen: list[Edit] = []
    for edit in sorted(found, key=lambda one: (one.start, one.end)):
        if not chosen or edit.start > chosen[-1].end:
            chosen.append(edit)
    if len(chosen) < 2:
        return []
    text = sentence.text
    for edit in reversed(chosen):
        text = text[: edit.start] + edit.after + text[edit.end :]
    edit = Edit.between(sentence.text, text, "several", "keeping", "several")
    return [replace(edit, by_rule=True)]


def _gold(data: str, kinds: Sequence[str], texts: int, seed: int) -> Cases:
    """The package's own triples, at most ``texts`` per kind, in an order drawn by the seed."""
    named = [(f"{one.field} {row}", one) for row, one in enumerate(gold_triples(), 1)]
    named.sort(key=lambda pair: derive(seed, "gold", pair[1].text))
    left = dict.fromkeys(kinds, texts)
    cases = []
    for name, one in named:
        if data in ("gold", "packaged", one.field) and left.get(one.kind, 0):
            left[one.kind] -= 1
            edits = [
                Edit.between(one.text, one.change, one.kind, "turning"),
                Edit.between(one.text, one.light, "light rewording", "keeping", "light"),
                Edit.between(one.text, one.heavy, "heavy rewording", "keeping", "heavy"),
                *keeping_edits(EnglishSentence(one.text), seed, SMALL),
            ]
            cases.append(Case.of(name, one.text, edits))
    return Cases(tuple(cases), tuple(kinds), data)


def _from_triples(
    triples: Sequence[TripleRow], source: str, kinds: Sequence[str] | None, seed: int
) -> Cases:
    """A user's own triples by text, with every rewording and change of a text; rules add harmless
    edits to texts that allow them. Queries stay as they are: their unit is the row.
    """
    found = tuple(dict.fromkeys(row.kind for row in triples))
    chosen = [row for row in triples if kinds is None or row.kind in kinds]
    if not chosen:
        raise InputError(
            f"kinds among {', '.join(found)}", ", ".join(kinds or ()), "check the names"
        )
    retrieval = any(row.query for row in chosen)
    by_text: dict[str, list[TripleRow]] = {}
    for row in chosen:
        by_text.setdefault(row.name if retrieval else row.text, []).append(row)
    cases = []
    for rows in by_text.values():
        text = rows[0].text
        edits = [Edit.between(text, row.change, row.kind, "turning") for row in rows]
        if retrieval:
            edits += [
                Edit.between(text, row.rewording, "right document", "keeping", "rewording")
                for row in rows
            ]
        else:
            edits += [_own_rewording(text, row.rewording) for row in rows]
            edits += keeping_edits(EnglishSentence(text), seed, SMALL)
        cases.append(Case.of(rows[0].name, text, dict.fromkeys(edits)))
    measured = tuple(kind for kind in found if any(row.kind == kind for row in chosen))
    whole = Cases(tuple(cases), measured, source, retrieval=retrieval, own=True)
    return replace(whole, triples=not retrieval)


def _own_rewording(text: str, edited: str, kind: str = "rewording") -> Edit:
    """A rewording from a table: heavy if it changes most of the text's words, else light if it
    changes at most `LIGHT` words.

    >>> _own_rewording("The shop is open.", "The store is open.").strength
    'light'
    >>> _own_rewording("It broke.", "The machine failed.").strength
    'heavy'
    """
    edit = Edit.between(text, edited, kind, "keeping", "rewording")
    if edit.share_changed > 0.5:
        return replace(edit, strength="heavy")
    return replace(edit, strength="light") if edit.words_changed <= LIGHT else edit


def _from_pairs(
    table: PairTable, source: str, kinds: Sequence[str] | None, seed: int, unpaired: bool
) -> Cases:
    """A user's own pairs by first text; rules add harmless edits to texts without any; if
    ``unpaired``, none of a kind of the table.
    """
    needed, added = {"turning", "keeping"}, KEEPING
    if unpaired:
        needed = set() if kinds is None else {"turning"}
        own = {row.kind for row in table.pairs}
        added = tuple(kind for kind in KEEPING if kind not in own)
    by_text: dict[str, list[PairRow]] = {}
    for row in table.pairs:
        by_text.setdefault(row.a, []).append(row)
    left_out: list[RefusedRow] = []
    cases = []
    for text, rows in by_text.items():
        edits = list(dict.fromkeys(map(_own_edit, rows)))
        if not any(edit.role == "keeping" for edit in edits):
            edits += keeping_edits(EnglishSentence(text), seed, added)
        if kinds is not None:
            edits = [edit for edit in edits if edit.role == "keeping" or edit.kind in kinds]
        roles = {edit.role for edit in edits}
        if needed <= roles:
            cases.append(Case.of(f"row {rows[0].row}", text, edits))
        else:
            missing = "preserves" if "turning" in roles else "changes"
            reason = f"no pair of this text {missing} its meaning: add one, with its kind"
            left_out += [RefusedRow(row.row, reason) for row in rows]
    if not cases:
        raise InputError(
            f"texts in {source} with a pair that changes the meaning and one that preserves it",
            str([*table.refused, *left_out][0]),
            "add rows of kind keeping",
        )
    found = tuple(dict.fromkeys(e.kind for c in cases for e in c.edits if e.role == "turning"))
    return Cases(tuple(cases), found, source, tuple(left_out), own=True)


def _own_edit(row: PairRow) -> Edit:
    """The edit of a pair; one that preserves the meaning is small if it changes one word."""
    role: Role = "keeping" if row.kind in KEEPING_NAMES else "turning"
    edit = Edit.between(row.a, row.b, row.kind or OWN, role)
    if row.kind in REWORDING and edit.words_changed == 1:
        return replace(edit, strength="light")
    if role == "keeping" and edit.words_changed > 1:
        named = RULES.get(row.kind)
        if named is None:
            return _own_rewording(row.a, row.b, edit.kind)
        return replace(edit, strength=named.strength)
    return edit
