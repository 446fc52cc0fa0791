"""Compute ``sensitivity(map, sample)``: an interval for S, with a witness.

S_φ(X) = sup over rows i and ‖Δ‖ ≤ radius of ‖φ(X^i(Δ)) − φ(X)‖_F / ‖φ(X)‖_F, radius = √d.
"""

from __future__ import annotations

import logging
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import torch

from wordsway.core.checks import Bytes, Effort, Radius, Seed, Within, validated
from wordsway.core.errors import WordswayError, needs
from wordsway.core.progress import Progress, silent, stretch_of
from wordsway.core.result import SequenceResult, fields_of, versions
from wordsway.core.runtime import single_thread
from wordsway.core.sample import Positions, Sample, rows_of
from wordsway.core.seeds import check_seed
from wordsway.core.vectors import ball_radius, exactly_inside
from wordsway.maps.average import AverageChange, averages
from wordsway.maps.base import FeatureMap, FeatureRangeError, Map, View, search_view_of
from wordsway.maps.proof import Proof, prove
from wordsway.maps.rigorous import VERIFIED, Certificate, U
from wordsway.optimize import Plan, maximise, maximise_ranked
from wordsway.optimize.driver import MANY

if TYPE_CHECKING:
    import pandas

_log = logging.getLogger(__name__)
#: The number of random Δ of an average.
Draws = Annotated[int, Within(1, 1_000_000, "1,000 tell enough")]
#: Default memory budget of a search, in bytes.
MEMORY = 2**31
#: The status of a search whose groups of starts agree, and of one whose groups ended at different
#: values, or before they stalled.
CONVERGED = "converged"
NOT_CONVERGED = "not converged: a larger effort= may raise lower"


@dataclass(frozen=True)
class WordSensitivity:
    """One searched row: ``lower`` is attained, ``upper`` is certified (None without certificate).

    ``average`` and ``real`` are over random Δ and over words of a vocabulary, if requested.
    ``index`` is the index of the word in the original text, if the sample stores it: a word of
    several tokens has several rows, special tokens and padding belong to no word.
    """

    position: int
    word: str | None
    lower: float
    upper: float | None
    index: int | None = None
    average: AverageChange | None = None
    real: AverageChange | None = None

    def row(self) -> dict[str, Any]:
        """Return a row of a table, with the averages that were requested."""
        found = {name: getattr(self, name) for name in _COLUMNS}
        for name, kind in (("mean", self.average), ("real", self.real)):
            if kind is not None:
                found |= {name: kind.mean, f"{name}_error": kind.error, f"{name}_q90": kind.q90}
        return found


_COLUMNS = ("position", "word", "lower", "upper", "index")


@dataclass(frozen=True)
class Sensitivity(SequenceResult[WordSensitivity], items="words"):
    """lower ≤ S ≤ upper over the searched rows.

    ``lower`` is attained at row ``position`` by ``delta``; check it with
    ``phi(X.replaced(position, delta))``. ``status`` is "converged" where at least half of the
    search's independent groups of starts (three, or both of two) found that value to 0.1 %; that is
    evidence, not proof, that no larger one exists. ``certificate`` says what ``upper`` rests on:
    "verified" (every inequality, in ball arithmetic, by a separate verifier), "float64" (the actual
    weights; rounding errors are bounded on paper) or "1 − 1e-9" (probability over their draw).
    ``proof`` can be saved and verified again.
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
    average: AverageChange | None = None
    real: AverageChange | None = None
    proof: Proof | None = None

    def by_word(self) -> tuple[WordSensitivity, ...]:
        """One entry per word of the original text: the best of its rows, certified by the largest
        of their upper ends.
        """
        words: dict[int, WordSensitivity] = {}
        for row in self.words:
            if row.index is not None:
                before = words.get(row.index, row)
                best = row if row.lower > before.lower else before
                ends = [end for end in (row.upper, before.upper) if end is not None]
                words[row.index] = replace(best, upper=max(ends) if ends else None)
        return tuple(words.values())

    def to_dict(self) -> dict[str, Any]:
        found = fields_of(self) | {
            "average": None if self.average is None else asdict(self.average),
            "real": None if self.real is None else asdict(self.real),
            "delta": self.delta.tolist(),
            "words": [word.row() for word in self.words],
        }
        del found["proof"]
        return found

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per searched row."""
        import pandas

        rows = [word.row() for word in self.words]
        return pandas.DataFrame(rows, columns=None if rows else list(_COLUMNS))

    def __repr__(self) -> str:
        upper = "no certificate" if self.upper is None else f"{self.upper:.4g} ({self.certificate})"
        return (
            f"Sensitivity(lower={self.lower:.4g}, upper={upper}, position={self.position}, "
            f"status={self.status!r})"
        )


@validated
def sensitivity(
    phi: Map,
    X: Any,
    *,
    positions: Positions = "all",
    radius: Radius | None = None,
    seed: Seed = 0,
    plan: Plan | None = None,
    effort: Effort = 1.0,
    certificate: bool = True,
    proof: bool = False,
    average: Draws | None = None,
    vocabulary: Any = None,
    memory: Bytes = MEMORY,
    progress: Progress = silent,
) -> Sensitivity:
    """How far can one word sway φ at X?

    Parameters
    ----------
    phi : the map; X : a `Sample`, or n×d numbers (whose rows are rescaled to √d)
    positions : the rows that may change: "all", "words" (neither special tokens nor padding), one
        position or a list;
        "word:3" is word 3 of the original text, wherever a position may stand
    radius : of the ball for Δ, √d by default
    seed : of the search, a whole number; the same seed gives the same numbers
    plan : how hard to search (`Plan`); the map proposes one. Beyond eight rows, all are searched by
        a part of it, and the four with the largest S by all of it
    effort : times the groups of starts of the map's own plan. A larger effort never has a smaller
        ``lower``: it repeats the search of the smaller one (with the same seed) and adds to it. Of
        many rows of attention with smooth scores each gets as many groups as the effort says, of
        which a row alone has three
    certificate : also compute an upper end
    proof : also write the upper end down as a proof and verify it in ball arithmetic; ``upper`` is
        then the verified bound, ``certificate`` is "verified" and ``proof`` can be saved. Where
        this kind of map has no verifier, or it refuses the proof (a warning says why), ``proof`` is
        None and the other fields stay as they are
    average : number of random Δ of length radius to try at each row; see `AverageChange`
    vocabulary : word vectors (V, d): the same over real words in each row's place, in ``real``; or
        a function from a row to them, where a word's vector depends on its place
    memory : budget of the search in bytes; rows are searched in batches that fit
    progress : called as progress(stage, done, total, note), the note being the best S so far

    Returns
    -------
    Sensitivity, with lower ≤ S ≤ upper over the requested positions. ``lower`` is the map's
    definition in float64 at ``position`` and ``delta``, and ‖delta‖ ≤ radius exactly. Of several
    positions the first one is searched as it is alone: with the same seed, ``lower`` of many
    positions is at least that of the first.

    The identity map on rows of norm √d has S = 1/√n exactly:

    >>> identity = FeatureMap.of(lambda X: X)
    >>> s = sensitivity(identity, Sample.gaussian(n=4, d=3, seed=0), seed=0)
    >>> round(s.lower, 6), s.upper
    (0.5, None)
    """
    started = time.perf_counter()
    seed = check_seed(seed)
    sample = X if isinstance(X, Sample) else Sample(X)
    rows = rows_of(positions, sample)
    radius = ball_radius(radius, sample.d)
    phi.check(sample.n, sample.d)
    # A certificate takes about as long as the search.
    searching = stretch_of(progress, 0, 1, 2 if certificate else 1)
    certifying = stretch_of(progress, 1, 2, 2)
    first: Sensitivity | None = None
    if len(rows) > 1:  # before the others: weights drawn on demand are then the same ones
        first = sensitivity(
            phi,
            sample,
            positions=rows[0],
            radius=radius,
            seed=seed,
            plan=plan,
            effort=effort,
            certificate=False,
            memory=memory,
            progress=stretch_of(searching, 0, 1, len(rows)),
        )
        searching = stretch_of(searching, 1, len(rows), len(rows))
    others = rows if first is None else rows[1:]
    view = search_view_of(phi, sample)
    many = plan is None and len(others) > MANY
    ranking = search_view_of(phi, sample, ranking=True) if many else view
    with single_thread(view.small), torch.no_grad():
        delta, converged = _search(
            view,
            ranking,
            others,
            radius,
            seed=seed,
            plan=plan,
            effort=effort,
            memory=memory,
            progress=searching,
        )
        if first is not None:
            delta = torch.cat([first.delta[None], delta])
            converged = converged and first.status == CONVERGED
        exact = view
        if (certificate or first is not None) and view.X.dtype != torch.float64:
            exact = phi.view(sample, torch.float64)
        lowers = [0.0] if first is None else _attained(exact, rows, delta)
        # The definition itself, at the best witness, in float64; evaluated before any other query
        # of weights that are drawn on demand.
        best = max(range(len(rows)), key=lowers.__getitem__)
        before = phi.exact(sample)
        after = phi.exact(sample.replaced(rows[best], delta[best]))
        lowers[best] = float((after - before).norm() / before.norm())
        if first is not None:
            lowers[0] = first.lower
            best = best if lowers[best] > first.lower else 0
        bound = None
        if certificate:
            bound = exact.certify(rows, _reached(radius, sample), certifying)
            certifying("certifying", 1, 1)
        means = averages(view, rows, radius, seed, memory, average, vocabulary)
        proved = None
        if proof and bound is not None:
            needs("proofs", "flint")
            bound, proved = _verified(phi, sample, rows, _reached(radius, sample), bound)
        uppers = _uppers(phi, sample, rows, lowers, delta, bound)
    entries = _entries(sample, rows, lowers, uppers)
    entries = tuple(replace(entry, **each) for entry, each in zip(entries, means[1:], strict=True))
    return Sensitivity(
        lower=entries[best].lower,
        upper=None if uppers is None else max(uppers),
        certificate=None if bound is None or uppers is None else bound.kind,
        position=rows[best],
        delta=delta[best],
        words=entries,
        status=CONVERGED if converged else NOT_CONVERGED,
        seed=seed,
        seconds=time.perf_counter() - started,
        radius=radius,
        n=sample.n,
        d=sample.d,
        map=phi.describe(),
        versions=versions(),
        proof=proved,
        **means[0],
    )


def _search(
    view: View,
    ranking: View,
    rows: list[int],
    radius: float,
    *,
    seed: int,
    plan: Plan | None,
    effort: float,
    memory: int,
    progress: Progress,
) -> tuple[torch.Tensor, bool]:
    """The best Δ of each row (P, d), float64 and exactly in the ball, and whether the search
    converged. ``ranking`` evaluates many rows first; a plan passed by the caller applies to every
    row.
    """
    objective = view.within(radius)
    problems = torch.tensor(rows, device=view.X.device)
    if plan is None:
        found = maximise_ranked(
            objective,
            problems,
            view.plan.scaled(effort),
            ranking=ranking.within(radius),
            seed=seed,
            memory=memory,
            progress=progress,
        )
    else:
        found = maximise(objective, problems, plan, seed=seed, memory=memory, progress=progress)
    return torch.stack([exactly_inside(x, radius) for x in found.x]), found.converged


def _attained(view: View, rows: list[int], delta: torch.Tensor) -> list[float]:
    """S at each row's Δ, from a float64 view."""
    index = torch.tensor(rows, device=view.X.device)
    delta = delta.to(view.X.device, view.X.dtype)
    parts = zip(index.split(64), delta.split(64), strict=True)
    squares = torch.cat([view.value(*part) for part in parts])
    return squares.clamp_min(0).sqrt().tolist()


def _reached(radius: float, sample: Sample) -> float:
    """The radius of a ball that holds fl(x_i + Δ) − x_i for all ‖Δ‖ ≤ ``radius``."""
    return radius * (1 + 4 * U) + 2 * U * float(sample.X.norm(dim=1).max())


def _verified(
    phi: FeatureMap, sample: Sample, rows: list[int], radius: float, bound: Certificate
) -> tuple[Certificate, Proof | None]:
    """The verified bound and its proof; ``bound`` itself where there is none."""
    proved = prove(phi, sample, rows, radius)
    if proved is None:
        return bound, None
    try:
        upper = torch.tensor(proved.verify().uppers, dtype=torch.float64)
    except WordswayError as refused:
        _log.warning("%s; upper rests on %s", refused, bound.kind)
        return bound, None
    return Certificate(upper, VERIFIED), proved


def _uppers(
    phi: FeatureMap,
    sample: Sample,
    rows: list[int],
    lowers: list[float],
    delta: torch.Tensor,
    bound: Certificate | None,
) -> list[float] | None:
    """Return the certified upper ends, None where none is finite. An attained value above its end
    is replaced by that end if rounding explains the difference; otherwise an error is raised.
    """
    if bound is None or not bool(bound.upper.isfinite().all()):
        return None
    uppers: list[float] = bound.upper.tolist()
    for at, (row, up) in enumerate(zip(rows, uppers, strict=True)):
        if lowers[at] > up:
            low, proved = _attained_for_sure(phi, sample, row, delta[at])
            if proved > up:
                raise WordswayError(
                    f"word {row}: attained {low:.9g} exceeds the certified {up:.9g}; this is a bug "
                    "in wordsway (or an event of probability 1e-9): please report it with the map, "
                    "its seed and the sample"
                )
            lowers[at] = min(low, up)
    return uppers


def _attained_for_sure(
    phi: FeatureMap, sample: Sample, row: int, delta: torch.Tensor
) -> tuple[float, float]:
    """S at Δ by the definition in float64, and a lower bound on it in exact arithmetic."""
    other = sample.replaced(row, delta)
    before, after = phi.exact(sample), phi.exact(other)
    view = phi.view(sample, torch.float64)
    try:
        off = phi.view(other, torch.float64).rounding
    except FeatureRangeError:  # φ(X^i(Δ)) = 0
        off = view.rounding
    size, moved = float(before.norm()), float((after - before).norm())
    return moved / size, (moved - off - view.rounding) / (size + view.rounding) * (1 - 1e-12)


def _entries(
    sample: Sample, rows: list[int], lowers: list[float], uppers: list[float] | None
) -> tuple[WordSensitivity, ...]:
    """One entry per searched row."""
    ends: list[float] | list[None] = [None] * len(rows) if uppers is None else uppers
    entries = []
    for row, low, up in zip(rows, lowers, ends, strict=True):
        index = sample.reading.tokens[row].word if sample.reading else None
        entries.append(WordSensitivity(row, sample.word(row), low, up, index))
    return tuple(entries)
