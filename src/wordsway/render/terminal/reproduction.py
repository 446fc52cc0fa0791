"""The paper's claims beside what was measured, for a person at a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.escape import one_line
from wordsway.paper.reproduce import Reproduction
from wordsway.render.terminal import panels
from wordsway.render.terminal.findings import findings_table
from wordsway.render.views.sweep import tally_line


@panels.register(Reproduction)
def reproduction_panel(result: Reproduction) -> RenderableType:
    return Group(
        findings_table(result.findings),
        Text(one_line(tally_line(result.tally, result.folder / "store")), overflow="fold"),
        Text(one_line(f"The page: {result.page}"), overflow="fold"),
    )
