"""Corpora and models: installed or not, their sources and licences."""

from __future__ import annotations

from wordsway.core.format import format_bytes
from wordsway.data.fetch import Catalogue
from wordsway.render import blocks as b


def catalogue_view(catalogue: Catalogue) -> b.ResultView:
    blocks: list[b.Block] = []
    for entry in catalogue:
        state = b.Span("installed", "good") if entry["here"] else b.Span("not installed", "soft")
        name = b.Span(f"{entry['name']:<10}", "bold")
        origin = f"from {entry['from']}"
        if not entry["here"]:
            origin = f"available from {', else '.join(entry['sources'])}"
        blocks += [
            b.plain(name, " ", state, f" · {format_bytes(entry['bytes'])} · {entry['about']}"),
            b.soft(f"{'':<10} {origin} · licence: {entry['licence']}"),
        ]
    where = f"stored in {catalogue.home} (set WORDSWAY_HOME to use another folder)"
    return b.ResultView("Catalogue", [*blocks, b.source(where)])
