"""What every medium says of learning trials."""

from __future__ import annotations

import statistics

from wordsway.experiments.lessons import Lessons, learning_of
from wordsway.render.numbers import number
from wordsway.render.wording.learned import update_line


def request_and_update(result: Lessons) -> str:
    request = result.request
    learning = learning_of(request)
    update, loss, penalty = learning.settings
    how = update_line(update, loss, penalty, learning.train)
    return f"{request.map.upper()} n={request.n} d={request.d} · {how} ({request.data})"


def error_line(result: Lessons) -> str:
    """The errors of all trials together."""
    errors = sorted(result.errors)
    if not errors:
        return "no trial was finished"
    ends = f"from {number(errors[0])} to {number(errors[-1])}"
    return f"error: median {number(statistics.median(errors))}, {ends}"
