"""Corpora and models: installed or not, their sources and licences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wordsway.core.format import format_bytes
from wordsway.data.fetch import Catalogue
from wordsway.render.blocks import Block, Span, View, plain, soft, source


def catalogue_view(catalogue: Catalogue) -> View:
    blocks: list[Block] = []
    for entry in catalogue:
        state = Span("installed", "good") if entry["here"] else Span("not installed", "soft")
        name = Span(f"{entry['name']:<10}", "bold")
        blocks += [
            plain(name, " ", state, f" · {format_bytes(entry['bytes'])} · {entry['about']}"),
            soft(f"{'':<10} {_origin(entry)}"),
        ]
    where = f"stored in {catalogue.home} (set WORDSWAY_HOME to use another folder)"
    return View("Catalogue", [*blocks, source(where)])


def _origin(entry: Mapping[str, Any]) -> str:
    where = f"from {entry['from']}"
    if not entry["here"]:
        where = f"available from {', else '.join(entry['sources'])}"
    return f"{where} · licence: {entry['licence']}"
