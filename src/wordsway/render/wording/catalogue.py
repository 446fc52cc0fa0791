"""What every medium says of an entry of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def origin(entry: Mapping[str, Any]) -> str:
    """Where it came from, or can come from, and its licence."""
    where = f"from {entry['from']}"
    if not entry["here"]:
        where = f"can come from {', else '.join(entry['sources'])}"
    return f"{where} · licence: {entry['licence']}"


def home_line(home: str) -> str:
    return f"kept in {home} (WORDSWAY_HOME chooses another place)"
