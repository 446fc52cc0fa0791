"""What every result of probing a model can do: say its numbers as JSON and as a table, and show them in any view."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    from rich.console import RenderableType


class Shown(ABC):
    """A result with views: `show()` in a terminal, itself in a notebook, `save()` as a page, a picture or a table."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All numbers, ready for JSON."""

    @abstractmethod
    def frame(self) -> pandas.DataFrame:
        """The numbers as a data frame."""

    def to_json(self, **options: Any) -> str:
        """One JSON document."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, **options)

    def show(self) -> None:
        """Print the result for a person."""
        from rich.console import Console

        Console().print(self.__rich__())

    def save(self, path: str | Path) -> Path:
        """Write the view that the ending names: .html (one self-contained page), .svg, .png, .pdf, .json, .csv or .parquet."""
        from wordsway.report.files import save

        return save(self, Path(path))

    def __rich__(self) -> RenderableType:
        from wordsway.report.views import view_of

        panel: RenderableType = view_of(self).panel(self)
        return panel

    def _repr_html_(self) -> str:
        from wordsway.report.views import view_of

        return view_of(self).fragment(self)


def vars_of(one: Any) -> dict[str, Any]:
    """The fields of a dataclass, as they are."""
    return {part.name: getattr(one, part.name) for part in fields(one)}
