"""Compute ``sensitivity(map, sample)``: an interval for S, with a witness.

S_φ(X) = sup over rows i and ‖Δ‖ ≤ radius of ‖φ(X^i(Δ)) − φ(X)‖_F / ‖φ(X)‖_F, radius = √d;

or over another set of Δ (`wordsway.constraints`), several rows at once, texts with a word more or
less, or in another norm (`wordsway.maps.objectives`).
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import torch

from wordsway.constraints import COMBINATIONS, L2, Choices, Constraint, euclidean, exactly_in, named
from wordsway.core.checks import Bytes, Effort, Radius, Seed, Within, validated
from wordsway.core.errors import InputError, WordswayError, needs
from wordsway.core.progress import Progress, silent, stretch_of
from wordsway.core.result import SequenceResult, versions
from wordsway.core.runtime import single_thread
from wordsway.core.sample import Positions, Sample, rows_of
from wordsway.core.vectors import ball_radius
from wordsway.maps.average import AverageChange, averages
from wordsway.maps.base import FeatureMap, FeatureRangeError, Map, View, search_view_of
from wordsway.maps.objectives import EDITS, ChangeNorm, EditView, aligned, norm_view, together_view
from wordsway.maps.proof import LARGER_SLACK, SLACK, Proof, prove
from wordsway.maps.rigorous import VERIFIED, Certificate, U
from wordsway.optimize import Plan, maximise, maximise_ranked

if TYPE_CHECKING:
    import pandas

_log = logging.getLogger(__name__)
#: The number of random Δ of an average.
Draws = Annotated[int, Within(1, 1_000_000, "1,000 tell enough")]
#: Default memory budget of a search, in bytes.
MEMORY = 2**31
#: The kind of an upper end where all vectors of a finite set were tried, in float64.
ENUMERATED = "enumeration"
#: The status of a search whose groups of starts agree, and of one whose groups ended at different
#: values, or before they stalled; or that had one group, so that none could agree.
CONVERGED = "converged"
NOT_CONVERGED = "not converged: a larger effort= may raise lower"
NOT_COMPARED = f"{NOT_CONVERGED} (one group of starts)"


def not_converged_line(
    loose: int, total: int, effort: str, *, certified: bool, used: float = 1.0
) -> str:
    """A line on searches that did not converge; the gain from effort 4, which ``effort`` spells, is
    that of docs/notes/search.md, and is left out where that much was ``used``.
    """
    valid = "The interval is valid. " if total == 1 else "The intervals are valid. "
    advice = (
        f": {effort} may raise attained values (benchmark: 0.5 % on average, 9.5 % at most)"
        if used < 4
        else f" at effort {used:g}"
    )
    valid = valid if certified else ""
    return f"{valid}{loose:,} of {total:,} searches did not converge{advice}"


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
        """A row of a table, with the averages that were requested."""
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
    weights; rounding errors are bounded on paper), "1 − 1e-9" (probability over their draw) or
    "enumeration" (every vector of a finite set was tried, in float64). ``proof`` can be saved and
    verified again. ``radius`` is the norm of the longest Δ of the ``constraint``. Rows that move
    ``together`` have a ``delta`` with one row for each of them. The ``delta`` of an insertion
    (``edit``) is the word's vector, to be checked with ``phi(X.inserted(position, delta))``, that
    of a deletion is empty.
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
    constraint: str | None = None
    objective: str = "frobenius"
    together: tuple[int, ...] | None = None
    edit: str = "replace"

    def by_word(self) -> tuple[WordSensitivity, ...]:
        """One entry per word of the original text: the best of its rows, with their largest end."""
        words: dict[int, WordSensitivity] = {}
        for row in self.words:
            if row.index is not None:
                before = words.get(row.index, row)
                best = row if row.lower > before.lower else before
                ends = [end for end in (row.upper, before.upper) if end is not None]
                words[row.index] = replace(best, upper=max(ends) if ends else None)
        return tuple(words.values())

    def to_dict(self) -> dict[str, Any]:
        found = super().to_dict() | {"words": [word.row() for word in self.words]}
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
    phi: Map | Callable[[torch.Tensor], torch.Tensor],
    X: Any,
    *,
    positions: Positions = "all",
    radius: Radius | None = None,
    constraint: Constraint | Choices | str | None = None,
    together: Positions | None = None,
    objective: Any = "frobenius",
    edit: str = "replace",
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
    phi : the map, or a differentiable torch callable (`FeatureMap.of`)
    X : a `Sample`, or n×d numbers (whose rows are rescaled to √d)
    positions : the rows that may change: "all", "words" (neither special tokens nor padding), one
        position or a list;
        "word:3" is word 3 of the original text, wherever a position may stand
    radius : of the ball for Δ, √d by default
    constraint : another set for Δ, from `wordsway.constraints`, or the name of one with this
        ``radius`` ("l1", "linf", "shell"); the upper end is certified for the ball around it, and
        exact for a finite set
    together : rows that all move at once, each in the set, in place of ``positions``
    objective : the norm of the change, relative to that of φ(X): "frobenius", "largest-row",
        "operator", "row:3", or an array θ of the features' shape, for |θ·change|/(‖θ‖‖φ(X)‖)
    edit : "replace" moves rows by Δ; "insert" puts a word Δ of the set (around 0) before a row, or
        at the end for position n; "delete" leaves a row out. Features with a row for each word are
        compared at the words that both texts have
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
        that bound is much larger, ``upper`` stays as it is, and a warning has the bound of the
        proof. Where there is no proof, ``proof`` is None, the other fields stay as they are, and a
        warning says why
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
    sample = X if isinstance(X, Sample) else Sample(X)
    phi = phi if isinstance(phi, FeatureMap) else FeatureMap.of(phi)
    phi.check(sample.n, sample.d)
    moves = _Moves.of(phi, sample, radius, constraint, together, objective, edit)
    rows = moves.places(positions)
    moves.check(positions, average, vocabulary)
    # A certificate takes about as long as the search.
    searching = stretch_of(progress, 0, 1, 2 if certificate else 1)
    certifying = stretch_of(progress, 1, 2, 2)
    view = moves.view(search_view_of(phi, sample))
    several = len(rows) > 1 or moves.finite
    first = -math.inf
    with single_thread(view.small), torch.no_grad():
        if not moves.finite:
            how: dict[str, Any] = {"seed": seed, "plan": plan, "effort": effort, "memory": memory}
            part = stretch_of(searching, 0, 1, len(rows))
            delta, converged = _search(view, rows[:1], moves, **how, progress=part)
            if several:
                # Before the others are searched: weights drawn on demand are then the same ones.
                first = moves.attained(rows[0], delta[0])
                part = stretch_of(searching, 1, len(rows), len(rows))
                more, rest = _search(view, rows[1:], moves, **how, progress=part)
                delta, converged = torch.cat([delta, more]), converged and rest
        alone = not moves.finite and (plan or view.plan.scaled(effort)).groups == 1
        exact = view
        if (certificate or several) and view.X.dtype != torch.float64:
            exact = moves.view(phi.view(sample, torch.float64))
        if moves.finite:
            delta, converged = _try_choices(exact, rows, moves, memory)
        lowers = _attained(exact, rows, delta) if several else [0.0]
        # The definition itself, at the best witness, in float64; evaluated before any other query
        # of weights that are drawn on demand.
        best = max(range(len(rows)), key=lowers.__getitem__)
        lowers[best] = moves.attained(rows[best], delta[best])
        if first > -math.inf:
            lowers[0] = first
            best = best if lowers[best] > first else 0
        bound = None
        reach = moves.reached
        if certificate and moves.finite and converged:
            bound = Certificate(torch.tensor(lowers, dtype=torch.float64), ENUMERATED)
        elif certificate:
            within = exact if moves.constraint is None else moves.within(exact)
            bound = within.certify(rows, reach, certifying)
            certifying("certifying", 1, 1)
        means = averages(view, rows, moves.radius, seed, memory, average, vocabulary)
        proved = None
        if proof:
            needs("proofs", "flint")
            bound, proved = _verified(moves, rows, reach, bound)
        uppers = _uppers(moves, rows, lowers, delta, bound)
    entries = _entries(sample, rows, lowers, uppers)
    entries = tuple(replace(entry, **each) for entry, each in zip(entries, means[1:], strict=True))
    return Sensitivity(
        lower=entries[best].lower,
        upper=None if uppers is None else max(uppers),
        certificate=None if bound is None or uppers is None else bound.kind,
        position=rows[best],
        delta=delta[best],
        words=entries,
        status=CONVERGED if converged else NOT_COMPARED if alone else NOT_CONVERGED,
        seed=seed,
        seconds=time.perf_counter() - started,
        radius=moves.radius,
        n=sample.n,
        d=sample.d,
        map=phi.describe(),
        versions=versions(),
        proof=proved,
        constraint=moves.name,
        objective="frobenius" if moves.norm is None else moves.norm.name,
        together=moves.together,
        edit=moves.edit,
        **means[0],
    )


def reached(
    constraint: Constraint | Choices | str | None, radius: float | None, rows: torch.Tensor
) -> tuple[Constraint | Choices | None, float]:
    """The constraint, and the norm of the longest Δ that it allows at one of the rows (m×d)."""
    if isinstance(constraint, str):
        constraint = named(constraint, radius)
    elif constraint is not None and radius is not None:
        raise InputError(
            "a radius or a constraint", f"both, {constraint!r}", "pass the constraint alone"
        )
    d = rows.shape[1]
    if constraint is None:
        return None, ball_radius(radius, d)
    constraint.check(d)
    if isinstance(constraint, Choices):
        changes = torch.cdist(constraint.vectors, rows, compute_mode="donot_use_mm_for_euclid_dist")
        return constraint, float(changes.max()) * (1 + 1e-9)
    return constraint, constraint.span(d)


@dataclass(frozen=True)
class _Moves:
    """The moves of a text that are searched, and the norm of the change.

    ``radius`` is the norm of the longest Δ of one row; ``constraint`` is None for that ball, unless
    rows move together; ``norm`` is None for the Frobenius norm.
    """

    phi: FeatureMap
    sample: Sample
    radius: float
    constraint: Constraint | None
    choices: Choices | None
    together: tuple[int, ...] | None
    norm: ChangeNorm | None
    name: str | None
    edit: str

    @staticmethod
    def of(
        phi: FeatureMap,
        sample: Sample,
        radius: float | None,
        constraint: Constraint | Choices | str | None,
        together: Positions | None,
        objective: Any,
        edit: str,
    ) -> _Moves:
        rows = None if together is None else tuple(rows_of(together, sample))
        if edit not in EDITS:
            raise InputError(f"an edit among {', '.join(EDITS)}", repr(edit), "choose one of them")
        if edit == "delete" and (constraint is not None or radius is not None):
            raise InputError("a deletion, which has no Δ", "a set of Δ", "leave it out")
        origin = sample.X if rows is None else sample.X[list(rows)]
        if edit == "insert":
            phi.check(sample.n + 1, sample.d)
            origin = torch.zeros_like(origin[:1])
        elif edit == "delete":
            phi.check(sample.deleted(0).n, sample.d)
        given, reach = reached(constraint, radius, origin)
        ball, choices = (None, given) if isinstance(given, Choices) else (given, None)
        if rows is None and euclidean(ball):
            ball = None
        elif ball is None and choices is None:
            ball = L2(reach)
        plain = isinstance(objective, str) and objective == "frobenius"
        norm = None if plain else ChangeNorm(objective, phi.exact(sample))
        name = None if given is None else repr(given)
        reach = 0.0 if edit == "delete" else reach
        return _Moves(phi, sample, reach, ball, choices, rows, norm, name, edit)

    def places(self, positions: Positions) -> list[int]:
        """The rows to search: one for rows together, and up to n for insertions."""
        if self.together is not None:
            return [self.together[0]]
        sample = self.sample
        if self.edit == "insert":
            sample = sample.inserted(sample.n, torch.zeros(sample.d))
        return rows_of(positions, sample)

    def check(self, positions: Positions, average: int | None, vocabulary: Any) -> None:
        """Refuse arguments that do not go together."""
        if self.together is not None and not (isinstance(positions, str) and positions == "all"):
            raise InputError("positions or together", "both", "leave positions out")
        if self.together is not None and self.edit != "replace":
            raise InputError("one word to insert or delete", "rows together", "leave them out")
        sets = (self.together, self.constraint, self.choices)
        special = self.edit != "replace" or any(one is not None for one in sets)
        if special and (average is not None or vocabulary is not None):
            raise InputError(
                "an average over random Δ of one row in the ball",
                "a constraint, or rows together",
                "leave average and vocabulary out",
            )

    @property
    def plain(self) -> bool:
        """Whether a proof for one row in a ball applies."""
        one = self.together is None and self.norm is None
        return one and self.choices is None and self.edit == "replace"

    @property
    def finite(self) -> bool:
        """Whether finitely many texts are tried."""
        return self.choices is not None or self.edit == "delete"

    def candidates(self, row: int) -> torch.Tensor:
        """All Δ of a row where they are finitely many, (V, d)."""
        if self.choices is None:
            return torch.zeros(1, 0, dtype=torch.float64)
        return self.choices.vectors - (self.sample.X[row] if self.edit == "replace" else 0.0)

    @property
    def rows_moved(self) -> int:
        return 1 if self.together is None else len(self.together)

    @property
    def reached(self) -> float:
        """The radius of a ball that holds fl(x_i + Δ) − x_i for every allowed Δ, of all rows."""
        one = self.radius * (1 + 4 * U) + 2 * U * float(self.sample.X.norm(dim=1).max())
        return one if self.together is None else one * math.sqrt(self.rows_moved) * (1 + 4 * U)

    def view(self, view: View) -> View:
        """The view of these moves, from that of one row."""
        if self.edit != "replace":
            view = EditView(self.phi, self.sample, view, self.edit)
        if self.together is not None:
            view = together_view(self.phi, self.sample, self.together, view)
        return view if self.norm is None else norm_view(self.phi, self.sample, view, self.norm)

    def within(self, view: View) -> View:
        """The view, to be searched over these moves."""
        return view.within(self.radius * math.sqrt(self.rows_moved), self.constraint)

    def moved(self, row: int, delta: torch.Tensor) -> Sample:
        """The text after a move."""
        if self.edit == "insert":
            return self.sample.inserted(row, delta)
        if self.edit == "delete":
            return self.sample.deleted(row)
        if self.together is None:
            return self.sample.replaced(row, delta)
        found = self.sample
        for one, part in zip(self.together, delta, strict=True):
            found = found.replaced(one, part)
        return found

    def attained(self, row: int, delta: torch.Tensor) -> float:
        """S at Δ by the definition in float64."""
        change, size = self._sizes(row, self.moved(row, delta))
        return change / size

    def attained_for_sure(self, row: int, delta: torch.Tensor) -> tuple[float, float]:
        """S at Δ by the definition in float64, and a lower bound on it in exact arithmetic."""
        other = self.moved(row, delta)
        change, size = self._sizes(row, other)
        off = self.phi.view(self.sample, torch.float64).rounding
        try:
            more = self.phi.view(other, torch.float64).rounding
        except FeatureRangeError:  # φ(X^i(Δ)) = 0
            more = off
        return change / size, (change - more - off) / (size + off) * (1 - 1e-12)

    def _sizes(self, row: int, moved: Sample) -> tuple[float, float]:
        """The norms of φ(X′) − φ(X) and of φ(X), in float64."""
        before, after = self.phi.exact(self.sample), self.phi.exact(moved)
        place = torch.tensor([row], device=after.device)
        change = aligned(before, self.edit, place, after[None])[0] - before
        if self.norm is None:
            return float(change.norm()), float(before.norm())
        return float(self.norm(change[None])[0]), self.norm.size


def _search(
    view: View,
    rows: list[int],
    moves: _Moves,
    *,
    seed: int,
    plan: Plan | None,
    effort: float,
    memory: int,
    progress: Progress,
) -> tuple[torch.Tensor, bool]:
    """The best Δ of each row (P, d), exactly in the set, and whether the search converged."""
    search = (moves.within(view), torch.tensor(rows, device=view.X.device))
    how: dict[str, Any] = {"seed": seed, "memory": memory, "progress": progress}
    if plan is None:
        found = maximise_ranked(*search, view.plan.scaled(effort), **how)
    else:
        found = maximise(*search, plan, **how)
    x = found.x if moves.together is None else found.x.unflatten(1, (moves.rows_moved, -1))
    return exactly_in(moves.constraint, x, moves.radius), found.converged


def _try_choices(
    view: View, rows: list[int], moves: _Moves, memory: int
) -> tuple[torch.Tensor, bool]:
    """The best of the vectors that may stand in each row, and whether all were tried."""
    view = view.bounded(min(256, memory // max(1, view.bytes_per_point)))

    def best(row: int, deltas: torch.Tensor) -> tuple[torch.Tensor, float]:
        """Of Δ (…, d) or (…, m, d), the one that moves the features most, and S² there."""
        flat = deltas.reshape(len(deltas), -1).to(view.X)
        value, place = view.values(torch.full((len(flat),), row, device=flat.device), flat).max(0)
        return deltas[place], float(value)

    if moves.together is None:
        return torch.stack([best(row, moves.candidates(row))[0] for row in rows]), True
    each = [moves.candidates(row) for row in moves.together]
    count = len(each[0])
    if moves.choices is not None and count**moves.rows_moved <= COMBINATIONS:
        every = moves.choices.combined(moves.sample.X[list(moves.together)])
        return best(rows[0], every)[0][None], True
    delta, value = torch.stack([part[0] for part in each]), -math.inf
    while True:
        before = value
        for number, part in enumerate(each):
            tried = delta.repeat(count, 1, 1)
            tried[:, number] = part
            found, reached = best(rows[0], tried)
            if reached > value:
                delta, value = found, reached
        if value == before:
            return delta[None], False


def _attained(view: View, rows: list[int], delta: torch.Tensor) -> list[float]:
    """S at each row's Δ, from a float64 view."""
    index = torch.tensor(rows, device=view.X.device)
    delta = delta.flatten(1).to(view.X.device, view.X.dtype)
    return view.bounded(64).values(index, delta).clamp_min(0).sqrt().tolist()


def _verified(
    moves: _Moves, rows: list[int], radius: float, bound: Certificate | None
) -> tuple[Certificate | None, Proof | None]:
    """The verified bound and its proof; ``bound`` itself where there is no proof, or where that of
    the proof is larger by more than its slack.
    """
    for slack in (SLACK, LARGER_SLACK):
        try:
            if bound is None:
                raise InputError("a certificate to prove", "none", "docs/maps.md lists them")
            if not moves.plain:
                raise InputError(
                    "one row that moves in a ball, and the Frobenius norm, in a proof",
                    "another question",
                    "leave together, edit, objective and finite sets out",
                )
            proved = prove(moves.phi, moves.sample, rows, radius, slack)
            upper = torch.tensor(proved.verify().uppers, dtype=torch.float64)
            if bool((upper <= bound.upper * (1 + 2 * LARGER_SLACK)).all()):
                return Certificate(upper, VERIFIED), proved
            _log.warning(
                "the bound of the proof is %.6g; upper is the smaller one, %.6g, which rests on %s",
                float(upper.max()),
                float(bound.upper.max()),
                bound.kind,
            )
            return bound, proved
        except WordswayError as error:
            refused = error
            if isinstance(error, InputError):  # no proof can be written, with any slack
                break
    _log.warning("no proof: %s (certificate: %s)", refused, bound.kind if bound else "none")
    return bound, None


def _uppers(
    moves: _Moves,
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
            low, proved = moves.attained_for_sure(row, delta[at])
            if proved > up:
                raise WordswayError(
                    f"word {row}: attained {low:.9g} exceeds the certified {up:.9g}; this is a bug "
                    f"in wordsway{bound.caveat}: please report it with the map, its seed and the "
                    "sample"
                )
            lowers[at] = min(low, up)
    return uppers


def _entries(
    sample: Sample, rows: list[int], lowers: list[float], uppers: list[float] | None
) -> tuple[WordSensitivity, ...]:
    """One entry per searched row."""
    ends: list[float] | list[None] = [None] * len(rows) if uppers is None else uppers
    entries = []
    for row, low, up in zip(rows, lowers, ends, strict=True):
        inside = row < sample.n  # a word may be inserted at the end
        index = sample.reading.tokens[row].word if inside and sample.reading else None
        entries.append(WordSensitivity(row, sample.word(row) if inside else None, low, up, index))
    return tuple(entries)
