"""The catalogue for a person at a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from wordsway.data.listing import Catalogue
from wordsway.escape import one_line
from wordsway.format import format_bytes
from wordsway.render.terminal import panels
from wordsway.render.wording.catalogue import home_line, origin


@panels.register(Catalogue)
def catalogue_panel(catalogue: Catalogue) -> RenderableType:
    """One block per entry: what it is, whether it is here, where it comes from, its licence."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for entry in catalogue:
        state = Text("here", style="green") if entry["here"] else Text("not here", style="dim")
        about = Text(one_line(entry["about"]))
        table.add_row(Text(one_line(entry["name"]), style="bold"), state, about)
        size = Text(format_bytes(entry["bytes"]), style="dim")
        table.add_row("", size, Text(one_line(origin(entry)), style="dim"))
    return Group(table, Text(one_line(home_line(catalogue.home)), style="dim"))
