"""Memory of a trial, computed before it is run."""

from __future__ import annotations

from dataclasses import replace

from wordsway.core.errors import MemoryBudgetError
from wordsway.core.format import format_bytes
from wordsway.core.runtime import available_memory
from wordsway.intervals import MEMORY
from wordsway.studies.request import Request


def trial_bytes(request: Request) -> float:
    """Bytes of one trial, beyond the process itself."""
    learning = request.learning
    if learning is None:
        return request.kind.peak_bytes(
            request.n,
            request.d,
            request.rows,
            effort=request.effort,
            certificate=request.certificate,
            memory=request.memory,
            **request.options,
        )
    texts, size = learning.train + 1, request.n * request.d
    # Features of all texts, the texts in float32, Gram matrix and eigenvectors; a block of both.
    held = 8.0 * texts * (1.2 * request.features + 0.5 * size + 3 * texts)
    held += 8.0 * (60 * request.features + 64 * size)
    # The columns of the row that moves, where weights are drawn for many texts.
    return held + 8.0 * request.features * request.d * request.kind.joint


def check_memory(request: Request) -> None:
    """Refuse what cannot fit, before anything is drawn."""
    why = what_does_not_fit(request)
    if why is not None:
        raise MemoryBudgetError(why)


def what_does_not_fit(request: Request) -> str | None:
    """Why a request is refused for its memory, with the remedy; None where it is not."""
    needed = trial_bytes(request)
    free = available_memory()
    texts = "" if request.learning is None else f"{request.learning.train:,} training texts of "
    what = f"{texts}n = {request.n:,}, d = {request.d:,}"
    remedy = "take fewer texts or shorter ones, name fewer positions"
    if needed > free:
        return (
            f"{what} needs about {format_bytes(needed)}; only {format_bytes(free)} is free: "
            f"{remedy}, or use a larger machine"
        )
    if request.memory < MEMORY:
        least = trial_bytes(replace(request, memory=1))
        if least > request.memory:
            return (
                f"{what} needs {format_bytes(least)} before the search begins; the budget is "
                f"{format_bytes(request.memory)}: {remedy}, or raise --memory"
            )
    return None
