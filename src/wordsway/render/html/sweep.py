"""What a sweep did, as HTML."""

from __future__ import annotations

from wordsway.escape import html_line
from wordsway.experiments.sweep import Sweep
from wordsway.render.html import elements, fragments
from wordsway.render.html.fallback import frame_table
from wordsway.render.wording.sweep import tally_line


@fragments.register(Sweep)
def sweep_fragment(result: Sweep) -> str:
    """Means over trials, what was done, and where the tables are."""
    tables = ", ".join(str(path) for path in result.tables)
    return elements.frame(
        [
            elements.paragraph(f"<b>{html_line(result.study.name)}</b>, means over trials"),
            frame_table(result.means()),
            elements.soft(tally_line(result.tally, result.folder / "store")),
            elements.source(f"tables: {tables}"),
        ]
    )
