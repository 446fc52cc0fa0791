"""Arguments are checked where a verb is called, against the verb's own annotations.

`validated` decorates a verb or a constructor, `check_fields` stands in the ``__post_init__`` of a
dataclass. An annotation states the kind of value (``int``, ``bool``, ``Sequence[str]``,
``Sample | None``), and ``Annotated`` its range: `Count`, `Effort`, `Several`, `Within`, `OneOf`.

>>> @validated
... def draw(count: Count, even: bool = False) -> int: return count
>>> draw(3)
3
>>> draw(True)
Traceback (most recent call last):
wordsway.core.errors.InputError: expected count ≥ 1, a whole number, got True: pass one
>>> draw(3, even="no")
Traceback (most recent call last):
wordsway.core.errors.InputError: expected even to be True or False, got 'no': leave it out for False

True and False are no numbers, and numbers are finite. NumPy's scalars count as Python's.
"""

from __future__ import annotations

import inspect
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache, wraps
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ParamSpec,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from wordsway.core.errors import InputError

Options = ParamSpec("Options")
Answer = TypeVar("Answer")
Item = TypeVar("Item")

#: The largest number where no other is stated: more of anything is a mistake.
MOST = 10**12


@dataclass(frozen=True)
class Within:
    """The range of a number, ends included; with ``above``, without the lower one."""

    low: float
    high: float | None = None
    remedy: str = ""
    above: bool = False

    def allows(self, value: Any) -> bool:
        high = MOST if self.high is None else self.high
        return bool(self.low <= value <= high) and not (self.above and value == self.low)

    def __str__(self) -> str:
        if self.high in (None, math.inf):
            return f"{'>' if self.above else '≥'} {_plain(self.low)}"
        return f"between {_plain(self.low)} and {_plain(self.high)}"


def _plain(number: float) -> str:
    """
    >>> _plain(1e-09), _plain(1000)
    ('1e-9', '1000')
    """
    return f"{number:g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


@dataclass(frozen=True)
class OneOf:
    """The names to choose from."""

    names: tuple[str, ...]
    remedy: str = "choose one of them"

    def allows(self, value: Any) -> bool:
        return value in self.names

    def __str__(self) -> str:
        return f"among {', '.join(self.names)}"


@dataclass(frozen=True)
class Condition:
    """A condition on a value, in words, and a remedy."""

    wording: str = ""
    allows: Callable[[Any], bool] = lambda value: True
    remedy: str = ""

    def __str__(self) -> str:
        return self.wording


Count = Annotated[int, Within(1)]
Natural = Annotated[int, Within(0)]
AnyCount = Annotated[int, Within(1, math.inf)]
Number = Annotated[float, Within(-MOST, MOST)]
NonNegative = Annotated[float, Within(0)]
Positive = Annotated[float, Within(0, above=True)]
#: A memory budget, a factor of the search's starts and steps, the radius of the ball for Δ.
Bytes = Annotated[int, Within(1, 10**18, "leave it out for the default")]
Effort = Annotated[float, Within(0.01, 1000, "1 is the default")]
Radius = Annotated[float, Within(1e-9, 1e9, "leave it out for the paper's √d")]
Workers = Annotated[int, Within(1, 1024, "leave it out for one per core")]
#: Δ relative to the word's own embedding.
Reach = Annotated[float, Within(1e-6, 1e6, "1 lets Δ be as long as the word's own embedding")]
FilePath = Annotated[
    str | Path,
    Condition(
        "that can name a file",
        lambda value: str(value) != "" and "\0" not in str(value),
        "name a file or a folder",
    ),
]
OneText = Annotated[
    str,
    Condition(remedy="pass one text at a time, with one ws.Probe for all; decode bytes first"),
]
Seed = Annotated[int, Condition(remedy="pass 0, 1, 2, …")]
Several = Annotated[Sequence[Item], Condition("that is not empty", lambda value: len(value) > 0)]


#: What the errors of pydantic, by type, expect of a value.
_REQUIRED = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_parsing", "float_type", "finite_number"), "a number"),
    "bool_type": "true or false",
    "string_type": "a text",
    "missing": "a value",
    "literal_error": "one of {expected}",
    "string_pattern_mismatch": "a value of the form {pattern}",
    "string_too_short": "{min_length} or more characters",
    "string_too_long": "at most {max_length} characters",
    "too_short": "{min_length} or more entries",
    "too_long": "at most {max_length} entries",
    "greater_than": "more than {gt}",
    "greater_than_equal": "{ge} or more",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
}


def required(error: Mapping[str, Any]) -> str:
    """What an error of pydantic expects, in plain English.

    >>> required({"type": "less_than_equal", "ctx": {"le": 512}, "msg": "Input should be …"})
    'at most 512'
    """
    wording = _REQUIRED.get(error["type"], error["msg"])
    return wording.format(**{"pattern": ""} | error.get("ctx", {})) if "{" in wording else wording


def validated(verb: Callable[Options, Answer]) -> Callable[Options, Answer]:
    """``verb``, refusing arguments that its annotations do not allow."""
    parameters = inspect.signature(verb).parameters
    names = [name for name, one in parameters.items() if one.kind is not one.KEYWORD_ONLY]

    @wraps(verb)
    def wrapper(*given: Any, **named: Any) -> Answer:
        hints = _hints(verb)

        def check(name: str, value: Any) -> Any:
            known = name in hints and name in parameters
            return _checked(name, value, hints[name], parameters[name].default) if known else value

        first = [check(name, value) for name, value in zip(names, given, strict=False)]
        rest = {name: check(name, value) for name, value in named.items()}
        return verb(*first, *given[len(first) :], **rest)

    return wrapper


def takes(request: type) -> Callable[[Callable[Options, Answer]], Callable[Options, Answer]]:
    """A verb whose ``**options`` are fields of a request, which its signature then lists."""

    def around(verb: Callable[Options, Answer]) -> Callable[Options, Answer]:
        own = list(inspect.signature(verb).parameters.values())
        named = {one.name for one in own}
        every = inspect.signature(request).parameters.values()
        fields = [one for one in every if one.name not in named]
        first = [one for one in own if one.kind is one.POSITIONAL_OR_KEYWORD]
        rest = [one for one in own if one.kind is one.KEYWORD_ONLY]
        shown = inspect.signature(verb).replace(parameters=[*first, *fields, *rest])
        verb.__signature__ = shown  # type: ignore[attr-defined]
        return verb

    return around


def check_fields(record: Any) -> None:
    """Refuse fields of a dataclass that its annotations do not allow."""
    kind: Any = type(record)
    hints = _hints(kind)
    for field in fields(record):
        value = getattr(record, field.name)
        found = _checked(field.name, value, hints[field.name], field.default)
        if found is not value:
            object.__setattr__(record, field.name, found)


@cache
def _hints(what: Any) -> dict[str, Any]:
    return get_type_hints(what, include_extras=True)


def _checked(name: str, value: Any, hint: Any, default: Any) -> Any:
    """``value``, NumPy's scalars as Python's, or an error that names it."""
    if value is default:
        return value
    if not fits(value, hint):
        remedy = next((rule.remedy for rule in _rules(hint) if rule.remedy), "")
        raise InputError(expected(name, hint), repr(value), remedy or _remedy(default))
    return value.item() if type(value).__module__ == "numpy" and not _is_list(value) else value


def _remedy(default: Any) -> str:
    if default is inspect.Parameter.empty or default is MISSING:
        return "pass one"
    stated = isinstance(default, (bool, int, float, str))
    return f"leave it out for {default!r}" if stated else "leave it out"


def expected(name: str, hint: Any) -> str:
    """What an argument has to be: "n ≥ 1, a whole number", "cut to be True or False"."""
    kinds = [one for one in get_args(hint) if one is not NoneType]
    only = kinds[0] if get_origin(hint) in (Union, UnionType) and len(kinds) == 1 else hint
    ranges = [rule for rule in _rules(only) if isinstance(rule, Within)]
    if get_origin(only) is Annotated and ranges:
        return f"{name} {ranges[0]}, {described(get_args(only)[0])}"
    return f"{name} to be {described(only)}"


def fits(value: Any, hint: Any) -> bool:
    """Whether an annotation allows a value.

    >>> fits(3, int), fits(True, int), fits(float("nan"), float), fits([1, "a"], Sequence[int])
    (True, False, False, False)
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return fits(value, inner[0]) and all(rule.allows(value) for rule in inner[1:])
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in inner)
    if origin in (Sequence, Iterable, tuple, list):
        return _fits_all(value, inner[0], lazily=origin is Iterable)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(fits(key, inner[0]) for key in value)
    return _fits_kind(value, origin or hint)


def _fits_kind(value: Any, kind: Any) -> bool:
    boolean = isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")  # NumPy
    if kind is Any:
        return True
    if kind is bool:
        return boolean
    if kind is int:
        return isinstance(value, Integral) and not boolean
    if kind is float:
        if not isinstance(value, Real) or boolean:
            return False
        number: Any = value if isinstance(value, Integral) else float(value)
        return bool(-sys.float_info.max <= number <= sys.float_info.max)
    if kind is Path:
        return isinstance(value, os.PathLike)
    if kind is Callable or Protocol in kind.__mro__:
        return callable(value)
    return isinstance(value, kind)


def _fits_all(value: Any, kind: Any, *, lazily: bool) -> bool:
    if isinstance(value, (str, bytes, Mapping)):
        return False
    if _is_list(value):
        entries = value.tolist() if hasattr(value, "tolist") else value
        return isinstance(entries, Iterable) and all(fits(one, kind) for one in entries)
    return lazily and isinstance(value, Iterable)


def _is_list(value: Any) -> bool:
    """Lists, tuples, sets, arrays, tensors, columns of a table."""
    return hasattr(value, "__len__") and hasattr(value, "__iter__") and not isinstance(value, type)


def _rules(hint: Any) -> list[Any]:
    inner = get_args(hint)
    if get_origin(hint) is Annotated:
        return list(inner[1:])
    return [rule for one in inner for rule in _rules(one)]


_NAMES: dict[Any, str] = {
    Any: "anything",
    NoneType: "None",
    bool: "True or False",
    int: "a whole number",
    float: "a finite number",
    str: "a string",
    Path: "a path",
    Callable: "a function",
    Mapping: "a mapping",
}


def described(hint: Any) -> str:
    """An annotation in words.

    >>> described(Several[str] | None), described(list[list[str]])
    ('a list of strings that is not empty or None', 'a list of lists of strings')
    >>> described(Several[Count])
    'a list of whole numbers ≥ 1 that is not empty'
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return " ".join(filter(None, [described(inner[0]), *map(str, inner[1:])]))
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(described, inner)))
    if origin in (Sequence, Iterable, tuple, list):
        annotated = get_origin(inner[0]) is Annotated
        kind, *rules = get_args(inner[0]) if annotated else inner[:1]
        noun, *rest = described(kind).removeprefix("a ").partition(" of ")
        entries = " ".join(filter(None, [f"{noun}s{''.join(rest)}", *map(str, rules)]))
        return "a list" if " or " in noun else f"a list of {entries}"
    kind = origin or hint
    if kind in _NAMES:
        return _NAMES[kind]
    called = Protocol in kind.__mro__
    return "a function" if called else f"a {kind.__module__.split('.')[0]} {kind.__name__}"
