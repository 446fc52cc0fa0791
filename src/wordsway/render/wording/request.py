"""What every medium says of a request: which map on which texts."""

from __future__ import annotations

from wordsway.experiments.trials import Request


def request_line(request: Request) -> str:
    """What is being measured, in one line."""
    sizes = f"n={request.n} d={request.d}"
    if request.map in ("rf", "drf"):
        sizes += f" k={request.features:,}" + (
            f" L={request.layers}" if request.map == "drf" else ""
        )
    if isinstance(request.positions, str):
        where = "all rows" if request.positions == "all" else "all words"
    else:
        rows = ",".join(map(str, request.positions))
        where = f"row{'s' if len(request.positions) > 1 else ''} {rows}"
    return f"{request.map.upper()} {sizes} · {where} · {request.data} texts · seed {request.seed}"
