"""Learning trials as HTML."""

from __future__ import annotations

from wordsway.escape import html_line, html_name
from wordsway.experiments.lessons import Lessons
from wordsway.format import format_bytes, format_seconds
from wordsway.render.html import elements, fragments, pages
from wordsway.render.html.page import page_around
from wordsway.render.wording.learned import HEADS, KEY, learned_cells, place
from wordsway.render.wording.lessons import error_line, request_and_update
from wordsway.render.wording.provenance import provenance


@fragments.register(Lessons)
def lessons_fragment(result: Lessons) -> str:
    """One row per trial, then the errors together."""
    real = any(trial.get("word") for trial in result.trials)
    heads = [(name, elements.RIGHT) for name in ("trial", *HEADS)]
    heads += [("row and word", elements.WORD)] if real else []
    rows = [
        [str(index), *learned_cells(trial), *([html_name(place(trial))] if real else [])]
        for index, trial in enumerate(result.trials)
    ]
    cost = f"{format_seconds(result.seconds)} · peak memory {format_bytes(result.peak_mb * 1e6)}"
    return elements.frame(
        [
            elements.paragraph(f"<b>{html_line(request_and_update(result))}</b>"),
            elements.table(heads, rows),
            elements.paragraph(html_line(error_line(result))),
            elements.soft(KEY),
            elements.source(cost),
        ]
    )


@pages.register(Lessons)
def lessons_page(result: Lessons) -> str:
    request = result.request
    more = {name: str(value) for name, value in request.sizes.items() if value is not None}
    more |= {"texts": request.data, "seed": str(request.seed)}
    return page_around(
        "The error after a one-word change",
        lessons_fragment(result),
        provenance(result, more),
        result.to_dict(),
    )
