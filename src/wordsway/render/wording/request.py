"""What every medium says of a request: which map on which texts."""

from __future__ import annotations

from wordsway.experiments.request import Request


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
        rows = ",".join(map(str, request.positions))
        where = f"row{'s' if len(request.positions) > 1 else ''} {rows}"
    return f"{request.map.upper()} {sizes} · {where} · {request.data} texts · seed {request.seed}"
