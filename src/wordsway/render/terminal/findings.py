"""Claims beside measurements, for a person at a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from wordsway.paper.finding import FAILS, HOLDS, Finding
from wordsway.render.terminal.tables import TerminalColumn as Column
from wordsway.render.terminal.tables import table

STYLES = {HOLDS: "green", FAILS: "red"}


def findings_table(findings: Sequence[Finding]) -> RenderableType:
    """One row per claim."""
    columns = (
        Column("claim", "left", wraps=True),
        Column("on", "left", wraps=True),
        Column("measured [95 % interval]", "left", wraps=True),
        Column("agrees if", "left", wraps=True),
        Column("verdict", "left"),
    )
    rows = [
        (
            finding.claim,
            finding.series,
            finding.measured,
            finding.rule,
            Text(finding.verdict, style=STYLES.get(finding.verdict, "dim")),
        )
        for finding in findings
    ]
    return table(columns, rows, padding=(0, 2, 0, 0))
