"""The jobs of a sweep of a user's own function: one call each."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from inspect import Parameter
from numbers import Real
from typing import Any, final

import torch

from wordsway.core.errors import InputError
from wordsway.core.runtime import single_thread
from wordsway.core.sample import Sample
from wordsway.core.seeds import derive
from wordsway.engine.forecast import extrapolated_seconds
from wordsway.engine.function import ImportableFunction, parameters_of
from wordsway.engine.job import PROCESS_WITH_MODEL, Job, canonical
from wordsway.intervals import Sensitivity, sensitivity
from wordsway.maps import FeatureMap
from wordsway.studies.pairing import (
    DRAW,
    Trials,
    design,
    draws_of,
    numbers_of,
    paired_names,
    unpaired,
)

#: The version of stored outputs; raise it when the same content would give other numbers.
VERSION = 1
#: Arguments that the sweep itself passes to a function that has such parameters.
PASSED = ("seed", "text_seed", "search_seed", "X")
#: Parameters of a grid that `sensitivity` reads where the function makes a map.
MEASURING = ("positions", "radius", "constraint", "objective", "edit", "effort", "certificate")


@final
@dataclass(frozen=True)
class FunctionJob(Job):
    """One call of a function: one setting, one trial.

    The function returns a map (a `FeatureMap` or a torch callable), whose S is then measured on a
    Gaussian text of n rows in d dimensions; or what `sensitivity` returns; or a number; or several
    numbers by name.
    """

    function: ImportableFunction
    parameters: Mapping[str, Any] = field(hash=False)
    trial: int = 0
    study_seed: int = 0
    weights: int | None = None
    pair_by: tuple[str, ...] = ()

    @cached_property
    def content(self) -> dict[str, Any]:
        return {
            "function": str(self.function),
            "source": self.function.source,
            "parameters": dict(self.parameters),
            "seed": self.study_seed,
            "trial": self.trial,
            "version": VERSION,
        } | design(self.weights, self.pair_by, "weights")

    @property
    def source(self) -> str:
        return str(self.function)

    def fingerprint(self) -> dict[str, str]:
        self.function.load()
        return {"source_sha256": self.function.source}

    def source_is_here(self) -> bool:
        return True

    def seeds(self) -> dict[str, int]:
        """Seeds of text, weights and search; the function's source does not change them."""
        parameters = unpaired(self.parameters, self.pair_by)
        drawn = canonical({"function": str(self.function), "parameters": parameters})
        text, weights = self.trial, self.trial if self.weights is None else self.weights
        return {
            "text_seed": derive(self.study_seed, drawn, "text", text),
            "seed": derive(self.study_seed, drawn, "weights", weights),
            "search_seed": derive(self.study_seed, drawn, "search", text, weights),
        }

    def peak_bytes(self) -> float:
        return PROCESS_WITH_MODEL

    @property
    def size(self) -> float:
        """The product of n and d, as far as they are parameters."""
        return float(math.prod(self.parameters.get(name, 1) for name in ("n", "d")))

    @property
    def family(self) -> Hashable:
        others = {name: value for name, value in self.parameters.items() if name not in ("n", "d")}
        return (str(self.function), canonical(others))

    def estimate(self) -> float:
        return extrapolated_seconds(lambda share: self.run())

    def run(self) -> dict[str, Any]:
        """The outputs. One thread, so that they are the same for any number of workers."""
        seeds = self.seeds()
        with single_thread(torch.get_num_threads() > 1):
            found = self._call(seeds)
        drawn = {"sample_seed": "text_seed", "map_seed": "seed", "search_seed": "search_seed"}
        return {"found": found} | {name: seeds[key] for name, key in drawn.items()}

    def _call(self, seeds: dict[str, int]) -> list[dict[str, Any]]:
        function, given = self.function.load(), self.parameters
        known = parameters_of(function)
        arguments: dict[str, Any] = {name: seed for name, seed in seeds.items() if name in known}
        if "X" in known:
            arguments["X"] = self._sample(seeds["text_seed"])
        any_name = any(one.kind is Parameter.VAR_KEYWORD for one in known.values())
        arguments |= {name: value for name, value in given.items() if any_name or name in known}
        result = function(**arguments)
        if callable(result) and not isinstance(result, FeatureMap):
            result = FeatureMap.of(result)
        if isinstance(result, FeatureMap):
            options = {name: given[name] for name in MEASURING if name in given}
            options = {"positions": 0} | options
            X = self._sample(seeds["text_seed"])
            result = sensitivity(result, X, seed=seeds["search_seed"], **options)
        if isinstance(result, Sensitivity):
            names = ("lower", "upper", "position", "certificate", "status")
            return [{"measured": "S"} | {name: getattr(result, name) for name in names}]
        values = result if isinstance(result, Mapping) else {"value": result}
        return [{"measured": str(name), "lower": number(name, x)} for name, x in values.items()]

    def _sample(self, seed: int) -> Sample:
        missing = [name for name in ("n", "d") if name not in self.parameters]
        if missing:
            raise InputError(
                "n and d, the sizes of the text", f"no {missing[0]}", "add it to grid="
            )
        return Sample.gaussian(self.parameters["n"], self.parameters["d"], seed)


def number(name: object, value: Any) -> float:
    """A result of a user's function as a finite number."""
    value = value.item() if hasattr(value, "item") and getattr(value, "size", 1) != 0 else value
    if not isinstance(value, Real) or not math.isfinite(value):
        raise InputError(
            f"{name} to be a finite number, or the function to return a map",
            repr(value),
            "return a map, a number or a dict of numbers",
        )
    return float(value)


def function_jobs(
    function: Callable[..., Any],
    grid: Mapping[str, Any],
    trials: Trials,
    seed: int,
    pair_by: Sequence[str] = (),
) -> tuple[FunctionJob, ...]:
    """The jobs of all settings of a grid, with their trials."""
    named = ImportableFunction.of(function)
    _check_names(function, grid)
    paired = paired_names(pair_by, list(grid))
    spans = {name: _span(name, value) for name, value in grid.items()}
    draws = draws_of(trials, max(1, math.prod(map(len, spans.values()))))
    jobs = [
        FunctionJob(named, dict(zip(spans, values, strict=True)), trial, seed, weights, paired)
        for values in itertools.product(*spans.values())
        for trial, weights in map(numbers_of, draws)
    ]
    if len({job.key for job in jobs}) < len(jobs):
        raise InputError("every setting once", "a value twice", "leave one of them out of grid=")
    return tuple(jobs)


def _check_names(function: Callable[..., Any], grid: Mapping[str, Any]) -> None:
    """Refuse parameters that neither the function nor the measurement has, and missing ones."""
    known = parameters_of(function)
    kinds = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    own = {name: one for name, one in known.items() if one.kind in kinds}
    allowed = [name for name in own if name not in PASSED]
    allowed += [name for name in ("n", "d", *MEASURING) if name not in own]
    free = any(one.kind is Parameter.VAR_KEYWORD for one in known.values())
    for name in grid:
        if name in PASSED or not (free or name in allowed):
            why = "seeds and texts come from the sweep" if name in PASSED else "check its spelling"
            raise InputError(f"parameters among {', '.join(allowed)}", repr(name), why)
    for name, one in own.items():
        if one.default is Parameter.empty and name not in (*grid, *PASSED):
            raise InputError(
                f"a value for the parameter {name}", "none", f'write grid={{"{name}": […]}}'
            )


def _span(name: object, value: Any) -> Sequence[Any]:
    """The values of a parameter: those of a list, or one; as JSON can hold them."""
    values = list(value) if isinstance(value, list | tuple | range) else [value]
    values = [one.item() if hasattr(one, "item") else one for one in values]
    try:
        json.dumps([name, values], allow_nan=False)
    except (TypeError, ValueError):
        raise InputError(
            "numbers, strings, True, False or None as values of a grid",
            f"{name}={value!r}",
            "pass a name or a number, and make the object inside the function",
        ) from None
    if not values or not isinstance(name, str):
        raise InputError(f"at least one {name}", repr(value), "name at least one value")
    return values


def rows_of(content: Mapping[str, Any], outputs: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of a table of such a job, one for each number."""
    setting = {"map": content["function"]} | content["parameters"]
    draw = zip(DRAW, ("seed", "trial", "weights"), strict=True)  # parameters are stored apart
    setting |= {name: content[stored] for name, stored in draw if stored in content}
    setting |= {"pair_by": ",".join(content["pair_by"])} if "pair_by" in content else {}
    seeds = {name: outputs[name] for name in ("sample_seed", "map_seed", "search_seed")}
    names = ("measured", "lower", "upper", "position", "certificate", "status")
    for found in outputs["found"]:
        yield setting | {name: found.get(name) for name in names} | seeds
