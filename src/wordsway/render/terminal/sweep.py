"""What a sweep did, for a person at a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.escape import one_line
from wordsway.experiments.run import Tally
from wordsway.experiments.sweep import Sweep
from wordsway.format import format_seconds
from wordsway.render.terminal import panels


def tally_line(tally: Tally, store: object) -> Text:
    """How much was done, now and before, and where it is kept."""
    parts = [f"{tally.done:,} {tally.what} done now", f"{tally.before:,} before"]
    parts += [f"{tally.elsewhere:,} by other runs"] if tally.elsewhere else []
    spent = format_seconds(tally.seconds)
    line = f"{', '.join(parts)}, of {tally.total:,}; {spent}; kept in {store}"
    return Text(one_line(line), overflow="fold")


@panels.register(Sweep)
def sweep_panel(result: Sweep) -> RenderableType:
    tables = ", ".join(str(path) for path in result.tables)
    return Group(
        tally_line(result.tally, result.folder / "store"),
        Text(one_line(f"tables: {tables}"), overflow="fold"),
    )
