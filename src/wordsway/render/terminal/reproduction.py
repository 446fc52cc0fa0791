"""The paper's claims beside what was measured, for a person at a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.core.escape import one_line
from wordsway.paper.reproduce import Reproduction
from wordsway.render.terminal import panels
from wordsway.render.terminal.findings import findings_table
from wordsway.render.views.sweep import tally_line
from wordsway.render.wording.findings import HOW_DECIDED, TABLES


@panels.register(Reproduction)
def reproduction_panel(result: Reproduction) -> RenderableType:
    parts: list[RenderableType] = []
    for source, title in TABLES.items():
        found = result.findings_of(source)
        if found:
            parts += [Text(title, style="bold"), findings_table(found)]
    if parts:
        parts.append(Text(HOW_DECIDED, style="dim"))
    return Group(
        *parts,
        Text(one_line(tally_line(result.tally, result.folder / "store")), overflow="fold"),
        Text(one_line(f"The page: {result.page}"), overflow="fold"),
    )
