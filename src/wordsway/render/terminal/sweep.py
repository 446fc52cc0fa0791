"""What a sweep did, for a person at a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.escape import one_line
from wordsway.experiments.run import Tally
from wordsway.experiments.sweep import Sweep
from wordsway.render.numbers import count
from wordsway.render.terminal import panels
from wordsway.render.terminal.tables import Column, table
from wordsway.render.wording import sweep as wording
from wordsway.render.wording.plain import cell

#: Rows of the table of means; the files have all of them.
SHOWN = 30


def tally_line(tally: Tally, store: object) -> Text:
    """How much was done, now and before, and where it is kept."""
    return Text(one_line(wording.tally_line(tally, store)), overflow="fold")


@panels.register(Sweep)
def sweep_panel(result: Sweep) -> RenderableType:
    """Means over trials, what was done, and where the tables are."""
    means = result.means()
    numbers = [kind.kind in "iuf" for kind in means.dtypes]
    columns = [
        Column(str(name), "right" if number else "left", width=20)
        for name, number in zip(means.columns, numbers, strict=True)
    ]
    rows = [[cell(value) for value in row] for row in means.head(SHOWN).itertuples(index=False)]
    parts: list[RenderableType] = [Text(one_line(result.study.name), style="bold")]
    if rows:
        parts.append(table(columns, rows))
    if len(means) > SHOWN:
        parts.append(Text(f"… and {count(len(means) - SHOWN, 'more row')}", style="dim"))
    tables = ", ".join(str(path) for path in result.tables)
    return Group(
        *parts,
        tally_line(result.tally, result.folder / "store"),
        Text(one_line(f"tables: {tables}"), overflow="fold"),
    )
