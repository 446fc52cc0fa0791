"""The one verb: sensitivity(map, sample) → an interval with a witness.

S_φ(X) = sup over words i and ‖Δ‖ ≤ radius of ‖φ(X^i(Δ)) − φ(X)‖_F / ‖φ(X)‖_F, radius = √d.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from wordsway.errors import InputError, WordswayError
from wordsway.maps.base import FeatureMap, View
from wordsway.maps.certificate import Certificate
from wordsway.optimize import Found, Progress, search
from wordsway.optimize.plan import Plan
from wordsway.result import Result, versions
from wordsway.runtime import single_thread
from wordsway.sample import Sample
from wordsway.vectors import exactly_inside

if TYPE_CHECKING:
    import pandas

#: Which words may change; see `rows_of`.
Positions = str | int | Sequence[int | str]
#: Default memory budget of a search, in bytes.
MEMORY = 2**31
#: Rounding error of an attained S, which is a difference of two forward passes divided by one of
#: them.
ROUNDING = 1e-12
#: Above this many words, every word gets a lighter search first and the most promising ones the
#: full one.
MANY, FINALISTS = 8, 4


@dataclass(frozen=True)
class WordSensitivity:
    """One searched row: ``lower`` was attained, ``upper`` is certified (None where no certificate exists).

    ``index`` is the index of the word in the original text, where the sample knows it: a word of several tokens has
    several rows, special tokens and padding belong to no word.
    """

    position: int
    word: str | None
    lower: float
    upper: float | None
    index: int | None = None


@dataclass(frozen=True)
class Sensitivity(Result):
    """lower ≤ S ≤ upper over the searched words.

    ``lower`` is attained at word ``position`` by ``delta``; check it with ``phi(X.replaced(position, delta))``.
    ``certificate`` says what ``upper`` rests on: "exact" (the actual weights) or "1 − 1e-9" (probability over their draw).
    """

    lower: float
    upper: float | None
    certificate: str | None
    position: int
    delta: torch.Tensor
    words: tuple[WordSensitivity, ...]
    status: str
    seed: int
    seconds: float
    radius: float
    n: int
    d: int
    map: dict[str, Any]
    versions: dict[str, str]

    def by_word(self) -> tuple[WordSensitivity, ...]:
        """One entry per word of the original text: the best of its rows, certified by the largest of their upper ends."""
        words: dict[int, WordSensitivity] = {}
        for row in self.words:
            if row.index is not None:
                before = words.get(row.index, row)
                best = row if row.lower > before.lower else before
                ends = [end for end in (row.upper, before.upper) if end is not None]
                words[row.index] = replace(best, upper=max(ends) if ends else None)
        return tuple(words.values())

    def to_dict(self) -> dict[str, Any]:
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return plain | {
            "delta": self.delta.tolist(),
            "words": [asdict(word) for word in self.words],
        }

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per searched word."""
        import pandas

        return pandas.DataFrame(
            [asdict(word) for word in self.words],
            columns=[field.name for field in fields(WordSensitivity)],
        )

    def __repr__(self) -> str:
        upper = "no certificate" if self.upper is None else f"{self.upper:.4g} ({self.certificate})"
        return f"Sensitivity(lower={self.lower:.4g}, upper={upper}, position={self.position}, status={self.status!r})"


@dataclass(frozen=True)
class _Searched:
    """Per searched word: Δ (float64, exactly in the ball) and S there, from the map's float64 view."""

    words: list[int]
    delta: torch.Tensor
    lower: torch.Tensor
    converged: bool


def sensitivity(
    phi: FeatureMap,
    X: Any,
    *,
    positions: Positions = "all",
    radius: float | None = None,
    seed: int = 0,
    plan: Plan | None = None,
    effort: float = 1.0,
    certificate: bool = True,
    memory: int = MEMORY,
    progress: Progress | None = None,
) -> Sensitivity:
    """How far can one word sway φ at X?

    Parameters
    ----------
    phi : the map; X : a `Sample`, or n×d numbers (whose rows are rescaled to √d)
    positions : the rows that may change: "all", "words" (neither special tokens nor padding), one
        position or a list;
        "word:3" is word 3 of the original text, wherever a position may stand
    radius : of the ball for Δ, √d by default
    seed : of the search; the same seed gives the same numbers
    plan : how hard to search (`Plan`); the map proposes one, and beyond eight words a lighter one
        for ranking them
    effort : scales the starts and steps of the map's own plan
    certificate : also compute an upper end
    memory : budget of the search in bytes; words are searched in batches that fit
    progress : called as progress(steps done, steps at most, best S so far)

    Returns
    -------
    Sensitivity, with lower ≤ S ≤ upper over the positions asked for. ``lower`` is the map's
    definition in float64 at ``position`` and ``delta``, and ‖delta‖ ≤ radius exactly.

    The identity map on rows of norm √d has S = 1/√n exactly:

    >>> identity = FeatureMap.of(lambda X: X)
    >>> s = sensitivity(identity, Sample.gaussian(n=4, d=3, seed=0), seed=0)
    >>> round(s.lower, 6), s.upper
    (0.5, None)
    """
    started = time.perf_counter()
    sample = X if isinstance(X, Sample) else Sample(X)
    words = rows_of(positions, sample)
    radius = math.sqrt(sample.d) if radius is None else float(radius)
    if not 1e-9 <= radius <= 1e9:
        raise InputError("a radius between 1e-9 and 1e9", radius, "leave it out for the paper's √d")
    phi.check(sample.n, sample.d)
    view = phi.view(sample, phi.search_dtype)
    stages = _Stages(progress, len(words) if certificate else 0)
    with single_thread(view.small), torch.no_grad():
        delta, converged = _search(view, words, radius, seed, plan, effort, memory, stages)
        bound, attained = None, torch.zeros(1, dtype=torch.float64)
        if certificate or len(words) > 1:  # for a single word the definition below is all it takes
            exact = view if view.X.dtype == torch.float64 else phi.view(sample, torch.float64)
            attained = _attained(exact, words, delta)
            bound = exact.certify(words, radius, stages.certified) if certificate else None
        found = _Searched(words, delta, attained, converged)
        # The definition itself, at the best witness, in float64.
        best = int(found.lower.argmax())
        before, after = (
            phi.exact(sample),
            phi.exact(sample.replaced(words[best], found.delta[best])),
        )
    lower = float((after - before).norm() / before.norm())
    return _result(
        phi, sample, found, bound, best, lower, radius, seed, time.perf_counter() - started
    )


class _Stages:
    """One progress over several searches and the certificates of all words, never going back."""

    def __init__(self, progress: Progress | None, certificates: int) -> None:
        self.progress, self.certificates = progress, certificates
        self.done, self.best = 0, 0.0

    def search(self, more: int = 0) -> Progress | None:
        """Progress of the next search, with ``more`` steps to come after it."""
        if self.progress is None:
            return None
        before, progress = self.done, self.progress

        def report(done: int, total: int, best: float) -> None:
            self.done, self.best = before + done, max(self.best, best)
            progress(self.done, before + total + more + self.certificates, self.best)

        return report

    def certified(self, stage: str, done: float, total: float, note: str = "") -> None:
        """So many rows have their certificate."""
        if self.progress is not None:
            self.progress(self.done + int(done), self.done + self.certificates, self.best)


def _search(
    view: View,
    words: list[int],
    radius: float,
    seed: int,
    plan: Plan | None,
    effort: float,
    memory: int,
    stages: _Stages,
) -> tuple[torch.Tensor, bool]:
    """The best Δ of each word (P, d), float64 and exactly in the ball, and whether the search
    converged.
    """
    chosen = plan or view.plan.scaled(effort)
    if plan is None and len(words) > MANY:
        found = _run(
            view,
            words,
            radius,
            chosen.lighter(),
            seed,
            memory,
            stages.search(more=chosen.steps_at_most),
        )
        finalists = [
            words[row]
            for row in found.value.topk(min(len(words), _finalists(view))).indices.tolist()
        ]
        final = _run(view, finalists, radius, chosen, seed, memory, stages.search())
        found = _merge(found, final, words, finalists)
    else:
        found = _run(view, words, radius, chosen, seed, memory, stages.search())
    return torch.stack([exactly_inside(row, radius) for row in found.delta]), found.converged


def _attained(view: View, words: list[int], delta: torch.Tensor) -> torch.Tensor:
    """S at each word's Δ, from a float64 view."""
    index, delta = torch.tensor(words, device=view.X.device), delta.to(view.X.device, view.X.dtype)
    squares = [
        view.change(i, part) for i, part in zip(index.split(64), delta.split(64), strict=True)
    ]
    return torch.cat(squares).clamp_min(0).sqrt().to("cpu", torch.float64)


def _run(
    view: View,
    words: list[int],
    radius: float,
    plan: Plan,
    seed: int,
    memory: int,
    progress: Progress | None,
) -> Found:
    index = torch.tensor(words, device=view.X.device)
    return search(view, index, radius, plan=plan, seed=seed, memory=memory, progress=progress)


def _finalists(view: View) -> int:
    """How many words get the full search: more where the lighter one ranks them less surely."""
    return 2 * FINALISTS if view.bytes_per_look else FINALISTS


def _merge(found: Found, final: Found, words: list[int], finalists: list[int]) -> Found:
    delta, value = found.delta.clone(), found.value.clone()
    for row, word in enumerate(finalists):
        at = words.index(word)
        if final.value[row] > value[at]:
            delta[at], value[at] = final.delta[row], final.value[row]
    return replace(found, delta=delta, value=value, converged=final.converged)


def rows_of(positions: Positions, sample: Sample) -> list[int]:
    """The rows that may change: "all", "words" (no special tokens, no padding), rows, or words as
    "word:3"; or a mix.

    A word of several tokens stands for each of its rows: one row moves at a time, as S is defined.
    """
    if isinstance(positions, str) and positions in ("all", "words"):
        rows = list(range(sample.n))
        if positions == "words" and sample.reading is not None:
            rows = [row for row in rows if sample.reading.tokens[row].kind == "word"]
    else:
        named = [positions] if isinstance(positions, (str, int, np.integer)) else list(positions)
        rows = [
            row
            for one in named
            for row in (_word_rows(one, sample) if isinstance(one, str) else [sample.position(one)])
        ]
    if not rows:
        raise InputError("at least one position", "none", 'pass "all" or some positions')
    if len(set(rows)) < len(rows):
        raise InputError("distinct positions", f"{rows}", "name each word once")
    return rows


def _word_rows(name: str, sample: Sample) -> tuple[int, ...]:
    head, _, number = name.partition(":")
    if head != "word" or not number.strip().isdecimal():
        raise InputError(
            'positions "all", "words", rows (0, 3) or words ("word:3")',
            repr(name),
            f"count rows from 0 to {sample.n - 1}, and words from 0",
        )
    return sample.rows(int(number))


def _result(
    phi: FeatureMap,
    sample: Sample,
    found: _Searched,
    bound: Certificate | None,
    best: int,
    lower: float,
    radius: float,
    seed: int,
    seconds: float,
) -> Sensitivity:
    uppers = [None] * len(found.words) if bound is None else bound.upper.tolist()
    lowers = found.lower.tolist()
    lowers[best] = lower
    for row, (word, low, up) in enumerate(zip(found.words, lowers, uppers, strict=True)):
        if up is not None and low > up:
            # A difference of two float64 forward passes is itself rounded; more than that would be
            # a broken certificate.
            lowers[row] = up
        if up is not None and not low <= up * (1 + 1e-9) + ROUNDING:
            raise WordswayError(
                f"word {word}: attained {low:.9g} exceeds the certified {up:.9g}; this is a bug in wordsway (or an event of "
                "probability 1e-9): please report it with the map, its seed and the sample"
            )
    entries = tuple(
        WordSensitivity(
            i, sample.word(i), low, up, sample.reading.tokens[i].word if sample.reading else None
        )
        for i, low, up in zip(found.words, lowers, uppers, strict=True)
    )
    status = "converged" if found.converged else "budget spent: a larger plan= may raise lower"
    return Sensitivity(
        lower=lowers[best],
        upper=None if bound is None else max(up for up in uppers if up is not None),
        certificate=None if bound is None else bound.kind,
        position=found.words[best],
        delta=found.delta[best],
        words=entries,
        status=status,
        seed=seed,
        seconds=seconds,
        radius=radius,
        n=sample.n,
        d=sample.d,
        map=phi.describe(),
        versions=versions(),
    )
