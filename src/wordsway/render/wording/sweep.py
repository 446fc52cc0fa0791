"""What every medium says of a sweep: how much was done."""

from __future__ import annotations

from wordsway.experiments.run import Tally
from wordsway.format import format_seconds


def tally_line(tally: Tally, store: object) -> str:
    """How much was done, now and before, and where it is kept."""
    parts = [f"{tally.done:,} {tally.what} done now", f"{tally.before:,} before"]
    parts += [f"{tally.elsewhere:,} by other runs"] if tally.elsewhere else []
    spent = format_seconds(tally.seconds)
    return f"{', '.join(parts)}, of {tally.total:,}; {spent}; kept in {store}"
