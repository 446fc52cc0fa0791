"""The processes behind the page: what is slow to load is loaded there, never by the server."""

from __future__ import annotations

from typing import Any


def start_lane(pipe: Any, tasks: str, desk: dict[str, Any], threads: int | None) -> None:
    """Run the tasks of one lane until the server is gone."""
    from wordsway.page import tasks as known
    from wordsway.page.worker import serve

    serve(pipe, getattr(known, tasks), desk, threads)
