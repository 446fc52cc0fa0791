"""The description of a kind of map: its name, its options, the memory it needs.

Every map is one `MapKind`, and `wordsway.maps.registry` lists them. Command line, sweeps, forecasts
and plots read it from here; none of them names a map.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from wordsway.core.checks import OneOf, Within, expected, fits
from wordsway.core.errors import InputError
from wordsway.core.sample import Sample
from wordsway.gaussian.laws import LAWS
from wordsway.maps.base import FeatureMap
from wordsway.optimize import Plan, starts
from wordsway.optimize.driver import stages

#: Numbers that the search in a map of unknown structure holds per entry of the text.
OF_CALLABLES = 512


@dataclass(frozen=True)
class Option:
    """An argument of a map beyond n, d and the seed; where ``default`` is None the map chooses."""

    name: str
    type: type
    default: Any
    help: str
    rule: Within | OneOf | None = None

    def check(self, value: Any) -> None:
        """Refuse a value of another type, out of range, or not among the choices."""
        hint: Any = self.type if self.rule is None else Annotated[self.type, self.rule]
        if value is not None and not fits(value, hint):
            raise InputError(
                expected(self.name, hint), repr(value), "choose another, or leave it out"
            )


WEIGHTS = Option(
    "weights",
    str,
    None,
    f"Distribution of the weights: {', '.join(LAWS)}; gaussian by default.",
    OneOf(LAWS),
)


@dataclass(frozen=True)
class TheoryCurve:
    """A theoretical curve to draw next to measurements.

    ``shape`` is a function of n. It is a prediction where ``anchor`` is "none"; otherwise only its
    shape is predicted, and it is drawn through the "mean" of what was measured, or through the
    "first" point. ``smooth`` curves may be evaluated at any real n; the others are costly and are
    evaluated only at the measured n.

    >>> falling = TheoryCurve("∝ 1/√n", lambda n: n**-0.5, anchor="first")
    >>> falling.values([4, 16], {4: 3.0, 16: 1.4})
    [3.0, 1.5]
    """

    label: str
    shape: Callable[[float], float]
    anchor: str = "none"
    smooth: bool = True
    dash: str = ":"

    def values(self, n: Sequence[float], measured: Mapping[int, float]) -> list[float]:
        """The curve at each n, given the measured S (by n) that it may be anchored to."""
        scale = 1.0
        if self.anchor == "mean":
            shapes = [self.shape(at) for at in measured]
            scale = sum(measured.values()) / sum(shapes)
        elif self.anchor == "first":
            first = min(measured)
            scale = measured[first] / self.shape(first)
        return [scale * self.shape(at) for at in n]


def constant() -> TheoryCurve:
    """S stays away from 0, Ω(1): no curve of a theory, the mean of the measured S."""
    return TheoryCurve("mean of the points, for comparison", lambda n: 1.0, anchor="mean")


def falling() -> TheoryCurve:
    """S falls like 1/√n."""
    return TheoryCurve("∝ 1/√n", lambda n: 1 / math.sqrt(n), anchor="first", dash="--")


@dataclass(frozen=True)
class SearchSize:
    """A measurement of ``rows`` rows of one text of n rows in d dimensions."""

    n: int
    d: int
    rows: int
    effort: float = 1.0
    certificate: bool = True
    memory: int = 2**31

    def searches(self, plan: Plan, *, kept: bool = False) -> list[tuple[Plan, int]]:
        """The plans that the search follows, each with its number of rows: the full plan for the
        first row, and for the others with a lighter one that ranks them where they are many.
        """
        full, others = plan.scaled(self.effort), self.rows - 1
        return [(full, 1), *(stages(full, others, kept=kept) if others > 0 else [])]

    def points_at_once(self, plan: Plan) -> int:
        """Points evaluated at once, at most.

        >>> plan = Plan(starts=4, explore=0, keep=4, steps=9, rounds=0)
        >>> SearchSize(3, 10_000, rows=3).points_at_once(plan)
        8
        """
        sampled = starts.POINTS if plan.scatter and self.d <= starts.DIMENSIONS else 0
        return max(
            count * max(sampled, *(stage.abreast * points for points, _ in stage.phases))
            for stage, count in self.searches(plan)
        )


@dataclass(frozen=True)
class MapKind:
    """A kind of map. An option that is None takes its default.

    ``make(n, d, seed, **options)`` draws one; ``count(n, d, **options)`` is its number of features,
    n·d by default; ``references(d, **options)`` are the theory's curves of S against n, and
    ``search_bytes(size, **options)`` the memory of a search.
    """

    name: str
    title: str
    about: str
    make: Callable[..., FeatureMap]
    search_bytes: Callable[..., float]
    count: Callable[..., int] = lambda n, d, **options: n * d
    references: Callable[..., list[TheoryCurve]] = lambda d, **options: []
    options: tuple[Option, ...] = ()
    #: Refuses sizes and options that do not go together, before anything is drawn.
    validate: Callable[..., None] = lambda n, d, **options: None
    #: Whether weights that do not fit are drawn for many texts together, one row's then in full.
    joint: bool = False
    #: The version or the source of a map of another package: part of the identity of its results.
    source: str = ""

    @classmethod
    def of(cls, name: str, make: Callable[..., Any], source: str = "") -> MapKind:
        """The kind of map that a function of n, d, seed (those that it has) and options draws: a
        `FeatureMap` or a torch callable. Options are its other parameters, with their defaults.

        >>> kind = MapKind.of("twice", lambda d, factor=2.0: lambda X: factor * X)
        >>> [(option.name, option.default) for option in kind.options]
        [('factor', 2.0)]
        >>> MapKind.of("mean", lambda: lambda X: X.mean(-2)).features(n=16, d=8)
        8
        """
        known = inspect.signature(make).parameters
        own = [one for one in known.values() if one.name not in ("n", "d", "seed")]
        for one in own:
            if not isinstance(one.default, bool | int | float | str):
                raise InputError(
                    f"a default of the option {one.name} of the map {name}",
                    "none" if one.default is one.empty else repr(one.default),
                    "give it a number, a string, True or False",
                )

        def build(n: int, d: int, seed: int, **options: Any) -> FeatureMap:
            sizes = {"n": n, "d": d, "seed": seed}
            found = make(**{key: value for key, value in sizes.items() if key in known}, **options)
            return found if isinstance(found, FeatureMap) else FeatureMap.of(found)

        @cache
        def count(n: int, d: int, **options: Any) -> int:
            return build(n, d, 0, **options)(Sample.gaussian(n, d, seed=0)).numel()

        return cls(
            name=name,
            title=name,
            about=(inspect.getdoc(make) or f"A map of {make.__module__}.").splitlines()[0],
            make=build,
            search_bytes=lambda size, **options: 8.0 * OF_CALLABLES * size.n * size.d,
            count=count,
            options=tuple(
                Option(one.name, type(one.default), one.default, f"Of {name}.") for one in own
            ),
            source=source,
        )

    def check(self, n: int, d: int, **options: Any) -> None:
        """Refuse options that the map does not have, or that do not go together."""
        self.validate(n, d, **self.filled(options))

    def build(self, n: int, d: int, seed: int, **options: Any) -> FeatureMap:
        """The map for texts of n rows in d dimensions, drawn from a seed."""
        return self.make(n, d, seed, **self.filled(options))

    def features(self, n: int, d: int, **options: Any) -> int:
        """How many features the map has."""
        return self.count(n, d, **self.filled(options))

    def peak_bytes(
        self,
        n: int,
        d: int,
        rows: int,
        *,
        effort: float = 1.0,
        certificate: bool = True,
        memory: int = 2**31,
        **options: Any,
    ) -> float:
        """Bytes that measuring ``rows`` rows of one text holds at its peak, beyond the process."""
        size = SearchSize(n, d, rows, effort, certificate, memory)
        return self.search_bytes(size, **self.filled(options))

    def filled(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options checked, with defaults where they are missing or None."""
        known = {option.name: option for option in self.options}
        for name, value in options.items():
            if name in known:
                known[name].check(value)
            elif value is not None:
                raise InputError(
                    f"options of {self.name} among {', '.join(known) or 'none'}",
                    f"{name}={value}",
                    f"leave {name} out, or use another map",
                )
        given = {name: value for name, value in options.items() if value is not None}
        return {name: given.get(name, option.default) for name, option in known.items()}
