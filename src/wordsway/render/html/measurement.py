"""A random map measured on several texts, as HTML."""

from __future__ import annotations

from wordsway.escape import html_line, html_name
from wordsway.experiments.measure import Measurement
from wordsway.format import format_seconds
from wordsway.render.html import elements, fragments, pages
from wordsway.render.html.page import page_around
from wordsway.render.numbers import largest, number
from wordsway.render.wording.measurement import cost_line, mean_line, ratio, source_line
from wordsway.render.wording.provenance import provenance
from wordsway.render.wording.request import request_line
from wordsway.render.wording.sensitivity import OVER, average_line


@fragments.register(Measurement)
def measurement_fragment(result: Measurement) -> str:
    """One row per trial, then mean ± sd."""
    parts = [
        elements.paragraph(f"<b>{html_line(request_line(result.request))}</b>"),
        _table(result),
        elements.paragraph(f"<b>S</b> {html_line(mean_line(result))}"),
    ]
    average = average_line(result.averages)
    if average is not None:
        parts.append(elements.paragraph(html_line(f"on average, {average}")))
    source = source_line(result)
    if source:
        parts.append(elements.soft(source))
    return elements.frame([*parts, elements.source(cost_line(result))])


def _table(result: Measurement) -> str:
    real = any(trial.text for trial in result.trials)
    top = largest(trial.upper or trial.lower for trial in result.trials)
    names = ("trial", "attained", "certified", "ratio", "row", "time")
    heads = [(name, elements.RIGHT) for name in names]
    heads += [("word", elements.WORD), ("text", elements.WORD)] if real else []
    asked = [name for name in OVER if name in result.averages]
    heads += [(OVER[name], elements.RIGHT) for name in asked]
    rows = []
    for index, trial in enumerate(result.trials):
        row = [
            str(index),
            number(trial.lower),
            number(trial.upper),
            ratio(trial),
            str(trial.position),
            format_seconds(trial.seconds),
        ]
        if real:
            row += [html_name(trial.word or ""), html_name((trial.text or {}).get("id", ""))]
        row += [number(trial.averages[name].mean) for name in asked]
        rows.append([*row, elements.interval_bar(trial.lower, trial.upper, top)])
    return elements.table([*heads, ("", elements.BARS)], rows)


@pages.register(Measurement)
def measurement_page(result: Measurement) -> str:
    request = result.request
    more = {name: str(value) for name, value in request.sizes.items() if value is not None}
    more |= {"texts": request.data, "seed": str(request.seed)}
    return page_around(
        "Sensitivity of a random map",
        measurement_fragment(result),
        provenance(result, more),
        result.to_dict(),
    )
