"""A corpus: texts with labels ±1, read as a stream as often as needed, never held as a whole."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordsway import data
from wordsway.core.checks import Count, Seed, validated
from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, silent
from wordsway.core.seeds import check_seed
from wordsway.text.clean import STRAY, Faults, clean
from wordsway.text.files import Encoding, expanded, path_exists
from wordsway.text.readers import Columns, Row, records, rows, signs, spelled

#: At most this share of a corpus's texts may hold bytes that are not text in its encoding.
TOLERATED = 0.01


@dataclass(frozen=True, slots=True)
class Text:
    """A text: its place in the corpus, its characters, its label, and its SHA-256."""

    id: str
    text: str
    kind: str | None
    sha256: str

    @property
    def label(self) -> str | None:
        """The label as it is spelled in the corpus: ``kind``."""
        return self.kind


@dataclass
class Corpus:
    """Texts that can be read repeatedly; ``read`` gives the raw rows.

    After a whole pass, ``faults`` counts the repairs, ``signs`` maps labels to ±1, and ``digest``
    is a fingerprint of the texts that does not depend on their order, ``labelling`` one of which
    texts have which label, ±1, however it is spelled.
    """

    name: str
    read: Callable[[], Iterator[Row]]
    remedy: str = "pass --encoding latin-1, or the encoding it was written in"
    faults: Faults = field(default_factory=Faults)
    signs: Mapping[str, int] = field(default_factory=dict)
    digest: str = ""
    labelling: str = ""

    def __iter__(self) -> Iterator[Text]:
        """All texts that are not empty. HTML line breaks and encoding faults are repaired."""
        faults, kinds, totals = Faults(), set[str](), dict[str | None, int]()
        for where, raw, label in self.read():
            text = clean(raw, faults)
            if not text.strip():
                faults.empty += 1
                continue
            kind = None if label is None else STRAY.sub("�", spelled(label)) or None
            if kind is not None and kind not in kinds:
                kinds.add(kind)
                signs(kinds, self.name)
            digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
            totals[kind] = totals.get(kind, 0) + int.from_bytes(digest, "big")
            yield Text(where, text, kind, digest.hex())
        if faults.texts == faults.empty:
            raise InputError(
                f"texts in {self.name}", "none", "check that it was written completely"
            )
        if faults.encoding > TOLERATED * faults.texts:
            raise InputError(
                f"{self.name} in UTF-8",
                f"other bytes in {faults.encoding} of {faults.texts} texts",
                self.remedy,
            )
        self.faults, self.signs = faults, signs(kinds, self.name)
        self.digest = f"{sum(totals.values()) % 2**256:064x}"
        self.labelling = self._labelling(totals)

    def _labelling(self, totals: Mapping[str | None, int]) -> str:
        """SHA-256 over the fingerprints of the texts of each label."""
        sums: dict[int, int] = {}
        for kind, total in totals.items():
            sign = 0 if kind is None else self.signs[kind]
            sums[sign] = (sums.get(sign, 0) + total) % 2**256
        lines = "".join(f"{sign} {sums[sign]:064x}\n" for sign in sorted(sums))
        return hashlib.sha256(lines.encode()).hexdigest()

    @property
    def count(self) -> int:
        """How many texts are not empty."""
        return self.faults.texts - self.faults.empty

    def label(self, text: Text) -> int | None:
        """The text's label as ±1; None where the corpus has none."""
        if text.kind is not None and text.kind not in self.signs:  # in the middle of a first pass
            for _ in self:
                pass
        return None if text.kind is None else self.signs[text.kind]


@validated
def corpus(
    source: Any,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    encoding: Encoding | None = None,
    progress: Progress = silent,
) -> Corpus:
    """A corpus of the catalogue ("imdb"), a file or folder, a Hugging Face `datasets` split, or any
    list of texts.

    >>> reviews = corpus(["A fine film.", "Two hours that I will not get back."])
    >>> [text.text for text in reviews]
    ['A fine film.', 'Two hours that I will not get back.']
    """
    columns = Columns(text_column, label_column)
    if isinstance(source, str) and source in data.CATALOGUE:
        return _fetched(source, progress)
    if isinstance(source, (str, Path)):
        if not path_exists(source):
            raise unknown_corpus(source)
        path = expanded(source)
        return Corpus(STRAY.sub("�", path.name or str(path)), lambda: rows(path, columns, encoding))
    if isinstance(source, Mapping):
        raise InputError(
            "one split of a data set",
            f"a dictionary of {', '.join(map(str, source))}",
            "choose one: dataset['train']",
        )
    names = getattr(source, "column_names", None)
    if isinstance(names, list):
        text, label = columns.find(names, "the data set")
        columns = Columns(text, label or columns.label)
    if not hasattr(source, "__iter__") or iter(source) is source:
        raise InputError(
            "texts that can be read more than once",
            type(source).__name__,
            "pass a list, or a file's path",
        )
    name = str(getattr(source, "builder_name", None) or "texts")
    return Corpus(name, lambda: records(source, columns, name))


def unknown_corpus(source: str | Path, others: str = "") -> InputError:
    """The error for a name that is neither a corpus nor a path; ``others`` are further values."""
    known = ", ".join(name for name, entry in data.CATALOGUE.items() if entry.kind == "corpus")
    expected = f"{others}a corpus ({known}), a file or a folder"
    return InputError(expected, repr(str(source)), "check the name or the path")


def _fetched(name: str, progress: Progress) -> Corpus:
    entry = data.entry(name)
    if entry.kind != "corpus":
        remedy = f"write imdb:{name} to embed with it" if entry.kind == "model" else "name imdb"
        raise InputError("a corpus", f"{name}, which is a {entry.kind}", remedy)
    here = data.get(name, progress=progress)
    files = [here.path(file) for file in sorted(here.files)]

    def read() -> Iterator[Row]:
        every = (
            row
            for path in files
            for row in (
                _reviews_only(path) if path.suffix == ".csv" else rows(path, Columns(), "utf-8")
            )
        )
        for number, (_, text, label) in enumerate(every):
            yield f"{name}:{number}", text, label

    return Corpus(name, read, remedy=f"fetch it again: wordsway data get {name}")


def _reviews_only(path: Path) -> Iterator[Row]:
    """The IMDb rows of a table that also holds snippets of another site."""
    sources = (row[2] for row in rows(path, Columns("text", "source"), "utf-8"))
    for source, row in zip(sources, rows(path, Columns("text", "label"), "utf-8"), strict=True):
        if source == "imdb":
            yield row


open_corpus = corpus

#: Texts held per pass, at least; each pass that does not suffice holds eight times more.
POOL = 512


@validated
def draw(
    corpus: Any,
    count: Count,
    seed: Seed,
    *,
    accept: Callable[[list[Text]], list[bool]] = lambda texts: [True] * len(texts),
    promising: Callable[[str], bool] = lambda text: True,
    balanced: bool = False,
    wanted: str = "texts",
) -> list[Text]:
    """The first ``count`` acceptable texts of the seed's order; ``balanced`` alternates labels −1,
    +1, −1, …

    ``promising`` is a cheap test of the characters, applied to every text; ``accept`` may be
    expensive, and sees only candidates, in batches.

    >>> from wordsway.text.corpora import corpus
    >>> numbers = corpus([str(number) for number in range(100)])
    >>> draw(numbers, 3, seed=0) == draw(numbers, 10, seed=0)[:3]
    True
    """
    source: Corpus = corpus if isinstance(corpus, Corpus) else open_corpus(corpus)
    shares = {-1: (count + 1) // 2, 1: count // 2} if balanced else {0: count}
    found: dict[int, list[Text]] = {side: [] for side in shares}
    taken: set[str] = set()
    pool, after = max(POOL, 8 * count), -1
    while any(len(found[side]) < share for side, share in shares.items()):
        texts, after, more = _next_texts(source, seed, pool, after, promising, balanced)
        if count > source.count:  # refused before anything expensive is tried
            raise _too_few(source, 0, count, source.count, wanted)
        for side, share in shares.items():
            own = [text for text in texts if not balanced or source.label(text) == side]
            while own and len(found[side]) < share:
                size = max(8, 2 * (share - len(found[side])))
                # A text may have both labels.
                batch = [text for text in own[:size] if text.sha256 not in taken]
                fine = [text for text, good in zip(batch, accept(batch), strict=True) if good]
                found[side] += fine[: share - len(found[side])]
                taken |= {text.sha256 for text in found[side]}
                own = own[size:]
            if len(found[side]) < share and not more:
                raise _too_few(source, side, share, len(found[side]), wanted)
        pool *= 8
    if not balanced:
        return found[0]
    return [found[(-1, 1)[number % 2]][number // 2] for number in range(count)]


def _too_few(corpus: Corpus, side: int, share: int, found: int, wanted: str) -> InputError:
    which = {-1: " with label −1", 1: " with label +1"}.get(side, "")
    expected = f"{share} different {wanted}{which} in {corpus.name}"
    got = f"{found} among {corpus.count:,}"
    return InputError(expected, got, "draw fewer, or take a smaller n")


def _next_texts(
    corpus: Corpus,
    seed: int,
    pool: int,
    after: int,
    promising: Callable[[str], bool],
    balanced: bool,
) -> tuple[list[Text], int, bool]:
    """The ``pool`` texts that follow the key ``after`` in the seed's order, each once (per label),
    the key of the last one, and whether there may be more.
    """
    prefix = f"{check_seed(seed)}:".encode()

    def keyed() -> Iterator[tuple[int, Text]]:
        for text in corpus:
            digest = hashlib.sha256(prefix + text.sha256.encode()).digest()
            key = int.from_bytes(digest[:16], "big")
            if key > after and promising(text.text):
                yield key, text

    found = heapq.nsmallest(pool, keyed(), key=lambda pair: pair[0])
    unlabelled = any(text.kind is None for _, text in found)
    if balanced and (unlabelled or len(corpus.signs) < 2):
        raise InputError(
            f"labels of two kinds in {corpus.name}, to balance them",
            "texts without a label" if unlabelled else f"{len(corpus.signs)} kinds",
            "name the labels with --label-column",
        )
    once = {(text.sha256, balanced and text.kind): text for _, text in reversed(found)}
    last = found[-1][0] if found else after
    return list(once.values())[::-1], last, len(found) == pool
