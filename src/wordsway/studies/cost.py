"""What a trial costs, computed before it is run; the registry knows, nothing is tried."""

from __future__ import annotations

from dataclasses import replace

from wordsway.core.cost import Cost
from wordsway.core.errors import MemoryBudgetError
from wordsway.core.format import format_bytes
from wordsway.core.runtime import available_memory
from wordsway.intervals import MEMORY
from wordsway.studies.request import Request


def trial_cost(request: Request) -> Cost:
    """Bytes of one trial beside the process itself, and its floating-point operations."""
    searched = search_cost(request)
    if request.learning is None:
        return searched
    texts = request.learning.train + 1
    size = request.n * request.d
    # Features of all texts, the texts in float32, Gram matrix and eigenvectors; a block of both.
    held = 8.0 * texts * (1.2 * request.features + 0.5 * size + 3 * texts)
    held += 8.0 * (60 * request.features + 64 * size)
    if request.kind.joint:  # the columns of the row that moves
        held += 8.0 * request.features * request.d
    setup = texts * search_cost(replace(request, positions=(0,), effort=0.01)).work
    return Cost(held, setup + 2.0 * texts**2 * request.features + searched.work)


def search_cost(request: Request) -> Cost:
    """What searching all rows takes, certificate included."""
    return request.kind.cost(
        request.n,
        request.d,
        request.rows,
        effort=request.effort,
        certificate=request.certificate,
        memory=request.memory,
        **request.options,
    )


def check_memory(request: Request) -> None:
    """Refuse what cannot fit, before anything is drawn."""
    why = what_does_not_fit(request)
    if why is not None:
        raise MemoryBudgetError(why)


def what_does_not_fit(request: Request) -> str | None:
    """Why a request is refused for its memory, with the remedy; None where it is not."""
    needed = trial_cost(request).bytes
    free = available_memory()
    texts = "" if request.learning is None else f"{request.learning.train:,} training texts of "
    what = f"{texts}n = {request.n:,}, d = {request.d:,}"
    remedy = "take fewer texts or shorter ones, name fewer positions"
    if needed > free:
        return (
            f"{what} take about {format_bytes(needed)}, and {format_bytes(free)} are free: "
            f"{remedy}, or use a larger machine"
        )
    if request.memory < MEMORY:
        least = trial_cost(replace(request, memory=1)).bytes
        if least > request.memory:
            return (
                f"{what} take {format_bytes(least)} before the search begins, and the budget is "
                f"{format_bytes(request.memory)}: {remedy}, or raise --memory"
            )
    return None
