"""What every medium says of a request: which map on which texts."""

from __future__ import annotations

from collections.abc import Sequence

from wordsway.studies.request import Request


def request_line(request: Request) -> str:
    """What is being measured, in one line."""
    sizes = f"n={request.n} d={request.d}"
    for name, value in request.settings.items():
        shown = request.features if name == "k" else value
        if shown is None:
            continue
        letter = "L" if name == "depth" else name
        sizes += f" {letter}={shown:,}" if isinstance(shown, int) else f" {letter}={shown}"
    if isinstance(request.positions, str):
        where = "all rows" if request.positions == "all" else "all words"
    else:
        where = _named(request.positions)
    return f"{request.map.upper()} {sizes} · {where} · {request.data} texts · seed {request.seed}"


def _named(positions: Sequence[int | str]) -> str:
    """Rows and words, counted from 0.

    >>> _named((0,)), _named((0, 3)), _named(("word:0",)), _named((2, "word:1"))
    ('row 0', 'rows 0,3', 'word 0', 'row 2, word 1')
    """
    parts = []
    for what, found in (
        ("row", [str(row) for row in positions if isinstance(row, int)]),
        ("word", [str(name).partition(":")[2] for name in positions if isinstance(name, str)]),
    ):
        if found:
            parts.append(f"{what}{'s' if len(found) > 1 else ''} {','.join(found)}")
    return ", ".join(parts)
