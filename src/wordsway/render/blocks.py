"""The parts that a view of a result is made of.

A result is described once, as a list of blocks (`wordsway.render.views`); `terminal`, `html` and
`plot` render blocks. Texts are stored as they are: each renderer escapes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from wordsway.core.chart import Chart

Style = Literal["", "bold", "soft", "first", "second", "marked", "italic", "good", "bad"]


@dataclass(frozen=True)
class Span:
    """A part of a line. ``first`` and ``second`` are the colours of two texts under comparison,
    ``marked`` is the word in question, ``soft`` a remark.

    ``shade`` is a place on a scale of colours: from 0 to 1 in orange, from 0 to −1 in blue; ``tip``
    is shown on hover.
    """

    text: str
    style: Style = ""
    shade: float | None = None
    tip: str = ""


Inline = str | Span


Role = Literal["headline", "plain", "soft", "source", "warning", "failure"]


@dataclass(frozen=True)
class Sentence:
    """One line or paragraph; ``source`` is the last line, about where the numbers come from."""

    parts: tuple[Inline, ...]
    role: Role = "plain"


def _sentence(role: Role) -> Callable[..., Sentence]:
    return lambda *parts: Sentence(parts, role)


headline, plain, soft = _sentence("headline"), _sentence("plain"), _sentence("soft")
source, warning, failure = _sentence("source"), _sentence("warning"), _sentence("failure")


@dataclass(frozen=True)
class RunningText:
    """A text of the user's with marked spans; ``label`` stands in front, ``quoted`` indents."""

    parts: tuple[Inline, ...]
    label: Span | None = None
    quoted: bool = False


@dataclass(frozen=True)
class Scale:
    """The legend of shaded spans: values at equal steps from shade 0 to shade 1."""

    title: str
    values: Sequence[str]


@dataclass(frozen=True)
class Bar:
    """A cell: the part of ``top`` that ``value`` is; up to ``upper`` in a lighter colour."""

    value: float
    top: float
    upper: float | None = None
    grey: bool = False


Cell = str | Span | Bar | Sequence[Inline]


@dataclass(frozen=True)
class Column:
    """A column: numbers are never cut, texts are, prose is wrapped. An optional column may be left
    out if there is no space, the last one first. ``meaning`` is one plain sentence; ``cell``
    returns the cell of a record, for `table_of`.
    """

    name: str
    kind: Literal["number", "text", "prose", "bar"] = "number"
    meaning: str = ""
    optional: bool = False
    cell: Callable[[Any], Cell] = str


@dataclass(frozen=True)
class Table:
    """Rows of cells. The terminal shows ``shown`` rows and a page ``on_page``; ``rest(count)``
    describes the rows below the first ``count``. ``notes`` explains more names than the columns'.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    shown: int = 20
    on_page: int = 100
    rest: Callable[[int], str] | None = None
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def meanings(self) -> dict[str, str]:
        """One sentence per column that has one, then the notes."""
        return {one.name: one.meaning for one in self.columns if one.meaning} | dict(self.notes)

    def beyond(self, shown: int) -> str:
        """One line about the rows that are not shown."""
        left = len(self.rows) - shown
        if left <= 0:
            return ""
        more = self.rest(shown) if self.rest else ""
        return f"… and {left:,} more{f', {more}' if more else ''}"


def table_of(
    records: Sequence[Any], columns: Sequence[Column], *, numbered: str = "", **how: Any
) -> Table:
    """A table with a row for each record; ``numbered`` names a first column with their numbers."""
    rows = [[column.cell(record) for column in columns] for record in records]
    if numbered:
        columns = [Column(numbered), *columns]
        rows = [[str(number), *row] for number, row in enumerate(rows)]
    return Table(columns, rows, **how)


@dataclass(frozen=True)
class Explanation:
    """One plain sentence for each name."""

    sentences: Mapping[str, str]


@dataclass(frozen=True)
class Matrix:
    """A square matrix, rows attending to columns, on a scale that ends at ``top``."""

    title: str
    names: Sequence[str]
    values: np.ndarray
    top: float
    bold: Sequence[int] = ()
    scale: str = "attention"


@dataclass(frozen=True)
class Fold:
    """Blocks under a title that can be folded away on a page; ``terminal`` prints them, too."""

    title: str
    blocks: Sequence[Block]
    open: bool = True
    terminal: bool = True


@dataclass(frozen=True)
class Illustration:
    """A figure that was saved as SVG: on a page only, with its caption and links to its files."""

    title: str
    svg: Path
    caption: str
    files: Sequence[str] = ()


#: A chart is drawn in HTML; a terminal leaves it out.
Block = Sentence | RunningText | Scale | Table | Explanation | Matrix | Chart | Fold | Illustration


@dataclass(frozen=True)
class BarColumn:
    """Bars, one per name: lighter up to ``upper``, with (left, right) ``errors`` and ``marks``."""

    label: str
    values: Sequence[float | None]
    upper: Sequence[float | None] = ()
    errors: Sequence[tuple[float, float]] = ()
    marks: Sequence[float | None] = ()


@dataclass(frozen=True)
class LayerHeat:
    """A heat map of one value per name and layer; the layer ``mark`` is framed."""

    label: str
    values: np.ndarray
    mark: int | None = None


@dataclass(frozen=True)
class Bars:
    """Columns of bars with common names; ``lines`` of the first are (place, label, style)."""

    title: str
    names: Sequence[str]
    columns: Sequence[BarColumn]
    key: tuple[str, str] | None = None
    lines: Sequence[tuple[float, str, str]] = ()
    beside: LayerHeat | Chart | None = None
    note: str = ""


@dataclass(frozen=True)
class Matrices:
    """A picture of matrices next to each other, and curves of layers if there are any."""

    title: str
    matrices: Sequence[Matrix]
    curves: Chart | None = None


@dataclass(frozen=True)
class Texts:
    """A picture of paragraphs with a chart next to them."""

    texts: Sequence[Span]
    chart: Chart


Picture = Chart | Bars | Matrices | Texts


@dataclass(frozen=True)
class ResultView:
    """How a result looks: blocks for terminal, notebook and page; ``lead`` above and facts below
    them on the page; and perhaps a picture.

    ``data`` is what the browser's modules draw from, where ``script`` names one of them.
    """

    title: str
    blocks: Sequence[Block]
    facts: Mapping[str, str] = field(default_factory=dict)
    picture: Callable[[], Picture | None] | None = None
    lead: str = ""
    script: str = ""
    data: Callable[[], dict[str, Any]] | None = None
