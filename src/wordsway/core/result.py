"""The base of all results: numbers as JSON, as a table, and in every medium.

A result does not depend on a view. A renderer is registered through a loader (`use_renderer`), as
the package's ``__init__`` does with `wordsway.render`, which provides terminal, notebook, page,
picture and file output.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, SupportsIndex, TypeVar, overload

from wordsway.core.errors import WordswayError
from wordsway.core.escape import shortened
from wordsway.version import __version__

if TYPE_CHECKING:
    import pandas
    from rich.console import RenderableType


_load_renderer: Callable[[], ModuleType] | None = None


def use_renderer(load: Callable[[], ModuleType]) -> None:
    """Let ``load()`` import the module with ``terminal``, ``fragment`` and ``save``."""
    global _load_renderer
    _load_renderer = load


def _renderer() -> Any:
    if _load_renderer is None:
        raise WordswayError("no renderer is loaded: import wordsway first")
    return _load_renderer()


class Result:
    """The result of a verb, with its seed and versions.

    A subclass is a frozen dataclass with `frame`; its rendering is defined in
    `wordsway.render.views`. ``class Swaps(Result, brief="word target", derived="reached")`` names
    what its ``repr`` shows, and the properties that `to_dict` adds to the fields.
    """

    _brief: ClassVar[tuple[str, ...]] = ()
    _derived: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, *, brief: str = "", derived: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._brief = tuple(brief.split()) or cls._brief
        cls._derived = tuple(derived.split()) or cls._derived
        if "__repr__" not in vars(cls):  # or dataclass would write one with every number
            cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        known: Any = getattr(self, "__dataclass_fields__", {})
        names = self._brief or tuple(name for name in known if known[name].repr)[:4]
        facts = [f"{name}={_short(getattr(self, name))}" for name in names]
        return f"{type(self).__name__}({', '.join(facts)})"

    def to_dict(self) -> dict[str, Any]:
        """All numbers, ready for JSON."""
        return json_fields(self)

    def frame(self) -> pandas.DataFrame:
        """The numbers as a data frame: one row, unless a subclass has more."""
        import pandas

        return pandas.DataFrame([self.to_dict()])

    def to_json(self, **options: Any) -> str:
        """One JSON document."""
        return json_text(self.to_dict(), **options)

    def show(self) -> None:
        """Print the result for a person."""
        from rich.console import Console

        Console().print(self.__rich__())

    def save(self, path: str | Path, *, style: str = "") -> Path:
        """Write a file; its suffix selects the medium.

        .html (one self-contained page), .svg, .png, .pdf, .json, .csv or .parquet, as far as they
        apply to this result. ``style`` "icml" draws pictures for print.
        """
        return _renderer().save(self, Path(path), style)

    def __rich__(self) -> RenderableType:
        return _renderer().terminal(self)

    def _repr_html_(self) -> str:
        return _renderer().fragment(self)


Item = TypeVar("Item")


class SequenceResult(Result, Generic[Item]):
    """A result that is a sequence of its items: words, trials, rows.

    ``class Words(SequenceResult[Word], items="words")`` has a length, is iterable, and is indexed
    as ``words.words`` is.
    """

    _items: ClassVar[str] = ""

    def __init_subclass__(cls, *, items: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        if items:
            cls._items = items

    def _sequence(self) -> Sequence[Item]:
        return getattr(self, self._items)

    def __repr__(self) -> str:
        facts = super().__repr__().removesuffix(")").partition("(")[2] if self._brief else ""
        counted = f"{len(self)} {self._items}" + (f", {facts}" if facts else "")
        return f"{type(self).__name__}({counted})"

    def __bool__(self) -> bool:
        """Return True: a result is truthy even if it is empty."""
        return True

    def __len__(self) -> int:
        return len(self._sequence())

    def __iter__(self) -> Iterator[Item]:
        return iter(self._sequence())

    @overload
    def __getitem__(self, index: SupportsIndex) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._sequence()[index]


def _short(value: Any) -> str:
    """A value in a few characters: numbers in four digits, texts cut, sequences counted."""
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str):
        return repr(shortened(value, 40))
    if isinstance(value, dict):
        return shortened(next(iter(value.values()), "{}"), 40)
    if isinstance(value, (tuple, list)):
        return f"[{len(value)}]"
    if isinstance(value, (int, Path)):
        return shortened(value, 60)
    name = getattr(value, "name", None) or getattr(value, "map", None)
    return shortened(name, 40) if isinstance(name, str) else f"<{type(value).__name__}>"


def fields_of(record: Any) -> dict[str, Any]:
    """The fields of a dataclass, as they are (nested dataclasses are not converted)."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def json_fields(value: Any) -> dict[str, Any]:
    """The fields of a dataclass, ready for JSON, and the properties that ``_derived`` names.

    Fields that do not count in comparisons (``compare=False``: witnesses) are left out.
    """
    names = [field.name for field in fields(value) if field.compare]
    names += getattr(value, "_derived", ())
    return {name: json_value(getattr(value, name)) for name in names}


def json_value(value: Any) -> Any:
    """A value ready for JSON: records as dictionaries, sequences and arrays as lists, and null for
    infinity and NaN, which JSON does not have.
    """
    if hasattr(value, "to_dict"):
        return json_value(value.to_dict())
    if is_dataclass(value):
        return json_fields(value)
    if isinstance(value, Mapping):
        return {name: json_value(entry) for name, entry in value.items()}
    if isinstance(value, (tuple, list)):
        return [json_value(entry) for entry in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return json_value(value.tolist()) if hasattr(value, "tolist") else value


def json_text(document: Any, **options: Any) -> str:
    """One JSON document (RFC 8259: without NaN and infinity).

    >>> json_text({"change": math.inf, "cosine": 0.5})
    '{"change": null, "cosine": 0.5}'
    """
    return json.dumps(json_value(document), **{"ensure_ascii": False, "allow_nan": False} | options)


def table(rows: Iterable[Any], kind: type) -> pandas.DataFrame:
    """One row per record of a dataclass, one column per field; missing numbers are NaN."""
    import pandas

    columns = [field for field in fields(kind) if field.compare]
    numbers = [field.name for field in columns if field.type == "float | None"]
    return pandas.DataFrame(
        [json_fields(row) for row in rows], columns=[field.name for field in columns]
    ).astype(dict.fromkeys(numbers, float))


#: Packages whose versions results depend on, where they are installed.
RECORDED = ("torch", "numpy", "transformers", "tokenizers", "sentence-transformers")


@cache  # reading a package's metadata takes a millisecond
def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def versions() -> dict[str, str]:
    """The versions a result depends on: of wordsway, Python and the installed `RECORDED`."""
    found = {name: one for name in RECORDED if (one := _installed(name)) is not None}
    return {"wordsway": __version__, **found, "python": platform.python_version()}
