"""The definition of a measurement: command line, grids, jobs and figures all use a `Request`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Annotated, Any

from wordsway.constraints import named
from wordsway.core.checks import Bytes, Count, Effort, NonNegative, Radius, Within, check_fields
from wordsway.core.errors import InputError, MemoryBudgetError
from wordsway.core.format import format_bytes
from wordsway.core.runtime import available_memory
from wordsway.intervals import MEMORY, Draws
from wordsway.learning.losses import FlipSetting, check_setting
from wordsway.maps import FeatureMap
from wordsway.maps.objectives import EDITS, OBJECTIVES
from wordsway.maps.registry import MapKind, check_options, kind_of
from wordsway.studies.texts import TextOptions

#: Rows that may change: "all", "words", or row numbers and words ("word:3").
Rows = str | tuple[int | str, ...]


@dataclass(frozen=True)
class LearningOptions:
    """The learning part of a request: N training texts, an update, a loss for Δ."""

    train: Annotated[int, Within(2, remedy="pass 2 or more: both labels are needed")]
    update: str = "fine-tune"
    loss: str = "penalised"
    penalty: NonNegative | None = None
    real_words: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        check_setting(self.update, self.loss, self.penalty)

    @property
    def setting(self) -> FlipSetting:
        """The update and the loss."""
        return check_setting(self.update, self.loss, self.penalty)

    @property
    def content(self) -> dict[str, Any]:
        """Everything that decides a result."""
        plain = asdict(self) | self.setting._asdict()
        return {name: value for name, value in plain.items() if value is not False}


@dataclass(frozen=True)
class Request:
    """The definition of a measurement: validated once, here; all other code assumes it is valid.

    ``options`` are the map's own (k, depth …), as its registry entry lists them; ``radius`` None is
    √d; ``memory`` is the search's budget in bytes; ``learning`` requests learning trials,
    ``average`` is the number of random Δ (and real words) to try next to the worst one. With a
    ``shortlist``, a short search of all rows chooses that many of them for the search itself, and
    with ReLU scores a longer search of these chooses one: enough where only the largest S of all
    rows is wanted. Where weights are drawn on demand, that many evenly spaced rows are searched.
    ``constraint`` names a set with this radius, ``objective`` a norm, ``together`` rows ("0-3,7")
    that all move, in place of ``positions``, ``edit`` whether words are replaced, inserted or
    deleted; see `sensitivity`.

    >>> request = Request("drf", n=6, d=5, options={"depth": 4})
    >>> request.features, request.settings
    (30, {'k': None, 'depth': 4, 'activation': None, 'weights': None})
    """

    map: str
    n: Count
    d: Count
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    positions: Rows = (0,)
    radius: Radius | None = None
    trials: Count = 1
    seed: int = 0
    data: str = "gaussian"
    texts: TextOptions = field(default_factory=TextOptions)
    certificate: bool = True
    effort: Effort = 1.0
    memory: Bytes = MEMORY
    learning: LearningOptions | None = None
    average: Draws | None = None
    shortlist: Count | None = None
    constraint: str | None = None
    objective: str = "frobenius"
    together: str | None = None
    edit: str = "replace"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.constraint is not None:
            named(self.constraint, self.radius)
        if not re.fullmatch(r"frobenius|largest-row|operator|row:\d{1,6}", self.objective):
            raise InputError(
                f"an objective among {', '.join(OBJECTIVES)}", repr(self.objective), "choose one"
            )
        if self.objective != "frobenius" and self.learning is not None:
            raise InputError("frobenius for learning", self.objective, "leave the objective out")
        if self.together is not None:
            self._check_together()
        if self.edit != "replace":
            self._check_edit()
        if self.shortlist is not None and self.moves:
            raise InputError(
                "a shortlist of rows in the ball, in the Frobenius norm",
                ", ".join(self.moves),
                "leave the shortlist out",
            )
        given = {name: value for name, value in self.options.items() if value is not None}
        object.__setattr__(self, "options", given)
        check_options(self.map, given)
        self.kind.check(self.n, self.d, **given)
        if self.data == "gaussian":
            self._check_gaussian()
        self._check_positions()

    def _check_gaussian(self) -> None:
        if self.texts != TextOptions():
            raise InputError(
                "a corpus for these options (model, layer, padding, columns)",
                "gaussian texts",
                "pass --data imdb, or a file",
            )
        if self.learning is not None and self.learning.real_words:
            raise InputError(
                "a corpus, to try real words", "gaussian texts", "pass --data imdb, or a file"
            )

    def _check_together(self) -> None:
        special = isinstance(self.positions, str) or self.positions != (0,)
        real_words = self.learning is not None and self.learning.real_words
        if special or real_words or self.average is not None:
            raise InputError(
                "together without positions, averages and real words",
                f"together={self.together}",
                "leave the others out",
            )
        rows = rows_together(self.together or "")
        if not all(row < self.n for row in rows) or len(set(rows)) < len(rows):
            raise InputError(
                f"distinct rows below {self.n} that move together",
                repr(self.together),
                "count rows from 0: 0,3 or 0-7",
            )

    def _check_edit(self) -> None:
        if self.edit not in EDITS:
            raise InputError(f"an edit among {', '.join(EDITS)}", repr(self.edit), "choose one")
        others = (self.together, self.learning, self.average)
        if any(other is not None for other in others):
            raise InputError(
                "an edit without together, averages and learning", self.edit, "leave them out"
            )
        if self.edit == "delete" and (self.radius, self.constraint) != (None, None):
            raise InputError("a deletion, which has no Δ", "a set of Δ", "leave it out")

    def _check_positions(self) -> None:
        if isinstance(self.positions, str):
            if self.positions not in ("all", "words"):
                raise InputError(
                    'positions "all", "words" or numbers',
                    repr(self.positions),
                    "write them as 0,3,5 or word:3",
                )
            return
        places = self.n + (self.edit == "insert")
        outside = [
            row
            for row in self.positions
            if not (re.fullmatch(r"word:\d+", row) if isinstance(row, str) else 0 <= row < places)
        ]
        if outside or not self.positions:
            raise InputError(
                f"positions between 0 and {places - 1}", outside or "none", "count words from 0"
            )
        if len(set(self.positions)) < len(self.positions):
            raise InputError("distinct positions", f"{list(self.positions)}", "name each word once")

    @property
    def kind(self) -> MapKind:
        """The map's entry in the registry."""
        return kind_of(self.map)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The map's options, with defaults where they were left out."""
        return self.kind.filled(self.options)

    @property
    def features(self) -> int:
        """The number of features, n·d for attention."""
        return self.kind.features(self.n, self.d, **self.options)

    @property
    def rows(self) -> int:
        """How many rows are searched, at most."""
        return self.n if isinstance(self.positions, str) else len(self.positions)

    @property
    def named_rows(self) -> str | list[int | str]:
        """The positions as JSON and `sensitivity` take them."""
        return self.positions if isinstance(self.positions, str) else list(self.positions)

    def build(self, seed: int) -> FeatureMap:
        """The map, drawn from a seed."""
        return self.kind.build(self.n, self.d, seed, **self.options)

    def seeded(self, seed: int) -> Request:
        """The same request for one trial, from another seed."""
        return replace(self, seed=seed, trials=1)

    @property
    def drawn(self) -> Request:
        """What decides text and weights: map, sizes, options and data, measured in the paper's way
        (first row, radius √d).

        >>> Request("raf", 5, 4, positions="all", effort=2.0).drawn == Request("raf", 5, 4)
        True
        """
        how: dict[str, Any] = {"seed": self.seed, "data": self.data, "texts": self.texts}
        return Request(self.map, self.n, self.d, self.options, **how)

    @property
    def sizes(self) -> dict[str, Any]:
        """Map, n, d, k, depth and what else the map has, as results record them."""
        more = {
            name: value
            for name, value in self.settings.items()
            if name not in ("k", "depth") and value is not None
        }
        sizes = {"map": self.map, "n": self.n, "d": self.d, "k": self.features}
        return sizes | {"depth": self.settings.get("depth")} | more

    @property
    def reach(self) -> float:
        """The radius of the ball or of the constraint; 0 for deletions."""
        if self.edit == "delete":
            return 0.0
        return named(self.constraint or "l2", self.radius).size(self.d)

    @property
    def moves(self) -> dict[str, Any]:
        """Constraint, objective, edit and rows together, where they are not the paper's."""
        names = ("constraint", "together", "objective", "edit")
        given = {name: getattr(self, name) for name in names}
        usual = (None, "frobenius", "replace")
        return {name: value for name, value in given.items() if value not in usual}

    @property
    def content(self) -> dict[str, Any]:
        """All that determines a result, except the trial and how a layer learns, as JSON.

        Stores outlive versions: fields added later (``radius``, ``memory``, new options) are
        included only if they differ from their default.
        """
        plain: dict[str, Any] = {
            "map": self.map,
            "n": self.n,
            "d": self.d,
            "k": self.options.get("k"),
            "depth": self.options.get("depth"),
            "positions": self.named_rows,
            "data": self.data,
            "seed": self.seed,
            "certificate": self.certificate,
            "effort": self.effort,
        }
        plain |= {name: value for name, value in self.options.items() if name not in plain}
        later = {
            "source": self.kind.source or None,
            "radius": None if self.radius is None else float(self.radius),
            "memory": None if self.memory == MEMORY else self.memory,
            "average": self.average,
            "shortlist": self.shortlist,
            "texts": None if self.data == "gaussian" else self.texts.content,
        }
        return plain | {name: one for name, one in later.items() if one is not None} | self.moves


def request_of(
    map: str,
    n: int,
    d: int,
    *,
    positions: str | int | Sequence[int | str] = 0,
    texts: TextOptions | None = None,
    **given: Any,
) -> Request:
    """A request from one list of names: its fields, those of its texts and of what it learns, and
    the options of the map.

    >>> request = request_of("drf", 6, 5, depth=4, trials=3, train=8)
    >>> request.options, request.trials, request.learning.train
    ({'depth': 4}, 3, 8)
    """

    def taken(kind: type) -> dict[str, Any]:
        names = {one.name for one in fields(kind)} - {"options"}
        return {name: given.pop(name) for name in names & given.keys()}

    own, about, learning = (taken(kind) for kind in (Request, TextOptions, LearningOptions))
    if learning and "train" not in learning:
        raise InputError(
            "train with update, loss and penalty",
            "none",
            "say how many training texts, or leave the others out",
        )
    own |= {"learning": LearningOptions(**learning)} if learning else {}
    rows = as_rows(positions)
    return Request(map, n, d, given, rows, texts=texts or TextOptions(**about), **own)


def rows_together(text: str) -> list[int]:
    """The rows that a request moves together.

    >>> rows_together("0,3"), rows_together("2-4,7")
    ([0, 3], [2, 3, 4, 7])
    """
    parts = [re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", part) for part in text.split(",")]
    spans = [range(int(part[1]), int(part[2] or part[1]) + 1) for part in parts if part]
    rows = [row for span in spans for row in span]
    if not rows or None in parts:
        raise InputError("rows that move together", repr(text), "write 0,3 or 0-7")
    return rows


def as_rows(positions: str | int | Sequence[int | str]) -> Rows:
    """Positions as a request holds them.

    >>> as_rows("all"), as_rows(3), as_rows("word:2"), as_rows([0, 4])
    ('all', (3,), ('word:2',), (0, 4))
    """
    if isinstance(positions, str):
        return (positions,) if positions.startswith("word:") else positions
    return tuple(positions) if isinstance(positions, Sequence) else (positions,)


def first_row(data: str) -> Rows:
    """The row that moves by default: the paper's first row; in real text the first word, since row
    0 may be a special token such as [CLS]. Figures specify row 0 explicitly.

    >>> first_row("gaussian"), first_row("imdb")
    ((0,), ('word:0',))
    """
    return (0,) if data == "gaussian" else ("word:0",)


def trial_bytes(request: Request) -> float:
    """Bytes of one trial, beyond the process itself."""
    learning = request.learning
    if learning is None:
        return request.kind.peak_bytes(
            request.n,
            request.d,
            request.rows,
            effort=request.effort,
            certificate=request.certificate,
            memory=request.memory,
            **request.options,
        )
    texts, size = learning.train + 1, request.n * request.d
    # Features of all texts, the texts in float32, Gram matrix and eigenvectors; a block of both.
    held = 8.0 * texts * (1.2 * request.features + 0.5 * size + 3 * texts)
    held += 8.0 * (60 * request.features + 64 * size)
    # The columns of the row that moves, where weights are drawn for many texts.
    return held + 8.0 * request.features * request.d * request.kind.joint


def check_memory(request: Request) -> None:
    """Refuse what cannot fit, before anything is drawn."""
    why = what_does_not_fit(request)
    if why is not None:
        raise MemoryBudgetError(why)


def what_does_not_fit(request: Request) -> str | None:
    """Why a request is refused for its memory, with the remedy; None where it is not."""
    needed = trial_bytes(request)
    free = available_memory()
    texts = "" if request.learning is None else f"{request.learning.train:,} training texts of "
    what = f"{texts}n = {request.n:,}, d = {request.d:,}"
    remedy = "take fewer texts or shorter ones, name fewer positions"
    if needed > free:
        return (
            f"{what} needs about {format_bytes(needed)}; only {format_bytes(free)} is free: "
            f"{remedy}, or use a larger machine"
        )
    if request.memory < MEMORY:
        least = trial_bytes(replace(request, memory=1))
        if least > request.memory:
            return (
                f"{what} needs {format_bytes(least)} before the search begins; the budget is "
                f"{format_bytes(request.memory)}: {remedy}, or raise --memory"
            )
    return None
