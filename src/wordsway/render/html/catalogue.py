"""The catalogue as HTML."""

from __future__ import annotations

from wordsway.data.listing import Catalogue
from wordsway.escape import html_line
from wordsway.format import format_bytes
from wordsway.render.html import elements, fragments
from wordsway.render.wording.catalogue import home_line, origin


@fragments.register(Catalogue)
def catalogue_fragment(catalogue: Catalogue) -> str:
    """One row per entry."""
    heads = [("name", elements.LEFT), ("", elements.LEFT), ("size", elements.RIGHT)]
    heads += [("what it is", elements.LEFT), ("where from", elements.LEFT)]
    rows = [
        (
            f"<b>{html_line(entry['name'])}</b>",
            "here" if entry["here"] else "not here",
            format_bytes(entry["bytes"]),
            html_line(entry["about"]),
            html_line(origin(entry)),
        )
        for entry in catalogue
    ]
    return elements.frame([elements.table(heads, rows), elements.source(home_line(catalogue.home))])
