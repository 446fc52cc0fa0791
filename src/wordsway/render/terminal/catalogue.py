"""The catalogue for a person at a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from wordsway.format import format_bytes


def catalogue_table(rows: list[dict[str, Any]], home: str) -> RenderableType:
    """One block per entry: what it is, whether it is here, where it comes from, its licence."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for row in rows:
        state = Text("here", style="green") if row["here"] else Text("not here", style="dim")
        table.add_row(Text(row["name"], style="bold"), state, Text(row["about"]))
        where = (
            f"from {row['from']}"
            if row["here"]
            else "can come from " + ", else ".join(row["sources"])
        )
        table.add_row(
            "",
            Text(format_bytes(row["bytes"]), style="dim"),
            Text(f"{where} · licence: {row['licence']}", style="dim"),
        )
    return Group(table, Text(f"kept in {home} (WORDSWAY_HOME chooses another place)", style="dim"))
