"""Edited sentences inside longer texts: the sentence stays the same, its surroundings grow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import fmean, median

from wordsway.auditing.background import Place, RandomWords, background, place_of
from wordsway.auditing.cases import (
    GOLD,
    Case,
    collect,
    edited_case,
    sentences,
    turning_kinds,
)
from wordsway.auditing.edits.edit import Edit, overlap
from wordsway.auditing.scores import LEVELS
from wordsway.auditing.table import read_table
from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, silent
from wordsway.core.reading import word_spans
from wordsway.core.seeds import derive
from wordsway.lengths.responses import versions_of
from wordsway.text import corpus
from wordsway.text.corpora import Text

#: Sentences of a window, by default.
WINDOWS = (1, 2, 4, 8, 16)
#: Where the edited sentence stands in its window: the share of the other sentences before it.
PLACES = {"beginning": 0.0, "middle": 0.5, "end": 1.0}
#: What is compared: an edit with the text, or ("word") the change with a random word in its place.
ROLES = ("change", "word", "rewording", "heavy rewording", "random")
#: What the role "rewording" is: a rule's edit with about as many changed words as the change, a
#: light rewording of a gold triple, or the rewording of a row of the user's table.
SAME_SIZE, LIGHT, YOURS = "rewording of the same size", "light rewording", "your rewording"
#: Of a table, if it is a rule's edit in some texts, whose size is nearer to that of the change.
MIXED = "rewording"
#: Documents that filler is taken from, and their least number of sentences.
FILLER, FILLER_SENTENCES = 500, 2


@dataclass(frozen=True)
class HostedText:
    """An edited sentence, number ``at`` of the ``document`` that surrounds it; ``edits`` by role.

    ``rewording`` is the light one of a gold triple, else the meaning-preserving edit whose number
    of changed words is nearest to that of the change; ``heavy rewording`` rewrites most words: that
    of a gold triple, or of a table in texts whose ``rewording`` is another edit; ``random`` puts a
    random real word of as many letters in the place of the change.
    """

    id: str
    kind: str
    document: tuple[str, ...]
    at: int
    edits: dict[str, Place]

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of the responses: of the edits, and of the word alone (`all_responses`)."""
        return (*self.edits, "word")

    def window(self, size: int, place: str = "own") -> tuple[str, tuple[Place, ...]]:
        """The text of ``size`` sentences around the edited one, and the places of the edits in it.

        The share of sentences before the edited one is that of the whole document, so that windows
        are nested; another ``place`` moves the sentence among the same ones.

        >>> text = HostedText("t", "negation", ("A.", "B.", "It is.", "C."), 2,
        ...                   {"change": Place(6, "", " not")})
        >>> text.window(2), text.window(3, "beginning")[0]
        (('B. It is.', (Place(start=9, before='', after=' not'),)), 'It is. B. C.')
        """
        last = len(self.document) - 1
        start = self.at - round((size - 1) * self.at / last) if last else 0
        start = min(max(start, 0), len(self.document) - size)
        inside = list(self.document[start : start + size])
        sentence = inside.pop(self.at - start)
        at = self.at - start if place == "own" else round(PLACES[place] * (size - 1))
        inside.insert(at, sentence)
        offset = sum(len(one) + 1 for one in inside[:at])
        places = [one._replace(start=one.start + offset) for one in self.edits.values()]
        return " ".join(inside), tuple(places)


@dataclass(frozen=True)
class HostedTexts:
    """The texts of a study; ``source`` and ``host`` say where they and their surroundings come
    from, ``too_long`` how many did not fit into a model, ``rewording`` what kind of text the role
    of that name is.
    """

    texts: tuple[HostedText, ...]
    source: str
    host: str
    too_long: int = 0
    rewording: str = SAME_SIZE

    @property
    def overlaps(self) -> dict[str, float]:
        """The median over texts of the words that a sentence and its edit have in common, as a
        share of those of either, by role.
        """
        found: dict[str, list[float]] = {}
        for text in self.texts:
            sentence = text.document[text.at]
            for role, place in text.edits.items():
                found.setdefault(role, []).append(overlap(sentence, place.edited(sentence)))
        return {role: median(shares) for role, shares in found.items()}

    @property
    def moves_positions(self) -> float:
        """The share of texts whose change adds or removes words."""
        changes = [text.edits["change"] for text in self.texts]
        return fmean(len(word_spans(one.before)) != len(word_spans(one.after)) for one in changes)


def hosted_texts(
    data: str | Path | Sequence[str] = "imdb",
    *,
    host: str | Path | Sequence[str] | None = None,
    kinds: Sequence[str] | None = None,
    texts: int = 200,
    longest: int = 16,
    fits: Callable[[Sequence[str]], bool] = lambda texts: True,
    seed: int = 0,
    encoding: str | None = None,
    progress: Progress = silent,
) -> HostedTexts:
    """Edited sentences with at least ``longest`` − 1 others around them, one per document, in an
    order drawn by the seed.

    Parameters
    ----------
    data : "imdb" (reviews), a file or a list of documents, "gold" or one of its fields, or a file
        of triples or pairs
    kinds : kinds of meaning-changing edits, which take turns; negation by default, and all kinds of
        a file of triples or pairs
    host : "own" (the sentences of the same document), "filler" (those of others of the same data),
        or a file or a list of documents. By default "own", and "filler" for triples and pairs
    fits : whether every model can read all of these texts
    """
    single = _single_texts(data, encoding)
    if single and host == "own":
        raise InputError(
            "a host for single texts", "own", "take filler, or a file of documents as host"
        )
    name = "filler" if single and host is None else "own" if host is None else host
    source = data if isinstance(data, str) else getattr(data, "name", "documents")
    found: Iterator[tuple[Case, str, Sequence[str], int]]
    if single:
        gold = ["negation"] if str(data) in GOLD else None
        cases = collect(data, kinds=kinds or gold, texts=10**6, seed=seed, encoding=encoding).cases
        found = ((case, case.id.rpartition(" ")[0], (case.text,), 0) for case in cases)
    else:
        wanted = turning_kinds(kinds or ["negation"])
        found = _in_documents(data, wanted, 1 if name != "own" else longest, seed, encoding)
    surround = _surroundings(name, data, single, encoding, seed)
    hosted: list[HostedText] = []
    given = set()
    too_long = 0
    for case, field, document, at in found:
        if name != "own":
            document, at = surround(case.text, field, longest)
        one = HostedText(case.id, case.edits[0].kind, tuple(document), at, _chosen(case, seed))
        if fits(versions_of(one.window(longest))):
            hosted.append(one)
            given.add(LEVELS["rewording"](_rewording(case)))
        else:
            too_long += 1
        progress("finding texts", len(hosted), texts)
        if len(hosted) == texts:
            break
    if not hosted:
        raise InputError(
            f"texts of {longest} sentences in {source} with a word that can be edited",
            f"none that the models can read ({too_long} are too long)" if too_long else "none",
            "take smaller windows, other kinds, or longer documents",
        )
    spelled = name if isinstance(name, str) else getattr(name, "name", "documents")
    of_table = YOURS if given == {True} else MIXED
    label = SAME_SIZE if not single else LIGHT if str(data) in GOLD else of_table
    return HostedTexts(tuple(hosted), str(source), str(spelled), too_long, label)


def _single_texts(data: str | Path | Sequence[str], encoding: str | None) -> bool:
    """Whether the data are texts with edits of their own, and not documents."""
    if not isinstance(data, (str, Path)) or str(data) == "imdb":
        return False
    if str(data) in GOLD:
        return True
    table = read_table(data, encoding)
    return bool(table.triples or table.pairs)


def default_windows(
    data: str | Path | Sequence[str],
    host: str | Path | Sequence[str] | None = None,
    encoding: str | None = None,
) -> tuple[int, ...]:
    """`WINDOWS`, up to the number of texts of a table whose rows surround each other."""
    if host not in (None, "filler") or str(data) in GOLD or not _single_texts(data, encoding):
        return WINDOWS
    assert isinstance(data, (str, Path))
    table = read_table(data, encoding)
    count = len({*(row.text for row in table.triples), *(row.a for row in table.pairs)})
    return _fitting(count)


def _fitting(count: int) -> tuple[int, ...]:
    """At least three windows, for that number of texts.

    >>> _fitting(12), _fitting(3)
    ((1, 2, 4, 8), (1, 2, 3))
    """
    return (1, 2, 3) if count < WINDOWS[2] else tuple(size for size in WINDOWS if size <= count)


@lru_cache(maxsize=2)
def _reviews(sentences_at_least: int) -> tuple[Text, ...]:
    return tuple(_long(corpus("imdb"), sentences_at_least))


def _long(texts: Iterable[Text], sentences_at_least: int) -> Iterator[Text]:
    """The texts with about that many sentences, by their punctuation."""
    for text in texts:
        if sum(map(text.text.count, ".!?\n")) >= sentences_at_least - 1:
            yield text


def _documents(
    data: str | Path | Sequence[str], encoding: str | None, seed: int, sentences_at_least: int
) -> list[Text]:
    """The documents with about that many sentences, in an order drawn by the seed."""
    long: Iterable[Text]
    if data == "imdb":
        long = _reviews(sentences_at_least)
    else:
        long = _long(corpus(data, encoding=encoding), sentences_at_least)
    return sorted(long, key=lambda text: derive(seed, "length", text.sha256))


def _in_documents(
    data: str | Path | Sequence[str],
    kinds: Sequence[str],
    longest: int,
    seed: int,
    encoding: str | None,
) -> Iterator[tuple[Case, str, Sequence[str], int]]:
    """The first sentence of each document that allows an edit; kinds take turns."""
    number = 0
    for text in _documents(data, encoding, seed, longest):
        document = list(sentences(text.text))
        if len(document) < longest:
            continue
        for at in sorted(range(len(document)), key=lambda at: derive(seed, text.sha256, at)):
            kind = kinds[number % len(kinds)]
            case = edited_case(text.id, document[at], [kind], seed, careful=data == "imdb")
            if case is not None:
                number += 1
                yield case, text.id, document, at
                break


def _surroundings(
    host: str | Path | Sequence[str],
    data: str | Path | Sequence[str],
    single: bool,
    encoding: str | None,
    seed: int,
) -> Callable[[str, str, int], tuple[list[str], int]]:
    """A function of (sentence, field, size): the sentence in the middle of ``size`` sentences."""
    pools: dict[str, list[str]] = {}
    if host != "own" and not (host == "filler" and single):
        chosen = data if host == "filler" else host
        texts = _documents(chosen, encoding, derive(seed, "host"), FILLER_SENTENCES)[:FILLER]
        pools[""] = [one for text in texts for one in sentences(text.text)]
    elif host == "filler":
        for case in collect(data, texts=10**6, seed=derive(seed, "host"), encoding=encoding).cases:
            pools.setdefault(case.id.rpartition(" ")[0], []).append(case.text)
        # A text may have several rows; a window contains it once.
        pools = {field: list(dict.fromkeys(pool)) for field, pool in pools.items()}

    def surrounded(sentence: str, field: str, size: int) -> tuple[list[str], int]:
        pool = pools.get(field) or pools[""]
        start = derive(seed, "filler", sentence) % max(1, len(pool))
        others = [one for one in pool[start:] + pool[:start] if one != sentence][: size - 1]
        if (count := len(others) + 1) < size:
            smaller = f"take smaller windows (--windows {','.join(map(str, _fitting(count)))})"
            raise InputError(
                f"{size} sentences for the largest window",
                f"{count} (the edited one counts once)",
                f"{smaller if count > 2 else 'add rows'}, or a longer host (--host FILE)",
            )
        at = len(others) // 2
        return [*others[:at], sentence, *others[at:]], at

    return surrounded


def _chosen(case: Case, seed: int) -> dict[str, Place]:
    """The edits of a case by role."""
    change, rewording = case.edits[0], _rewording(case)
    heavy = [edit for edit in case.edits if edit.strength == "heavy" and edit is not rewording]
    by_letters = RandomWords(lambda texts: [len(text) for text in texts])
    (other,) = background(case.text, change.place, 1, seed, by_letters)
    found = {"change": change.place, "rewording": rewording.place}
    found |= {"heavy rewording": heavy[0].place} if heavy else {}
    return found | {"random": place_of(case.text, other)}


def _rewording(case: Case) -> Edit:
    """A gold triple's light rewording, else the meaning-preserving edit nearest in size."""
    kept = [edit for edit in case.edits if edit.role == "keeping"]
    light = [edit for edit in kept if edit.kind == LIGHT]
    if light:
        return light[0]
    size = case.edits[0].words_changed
    return min(kept, key=lambda edit: abs(edit.words_changed - size))
