"""Human-readable bytes, seconds and counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal


def format_bytes(count: float) -> str:
    """Bytes for a person: 512 MB, 1.4 GB.

    >>> format_bytes(1_400_000_000), format_bytes(512_000_000), format_bytes(7)
    ('1.4 GB', '512 MB', '7 bytes')
    """
    if count < 1e3:
        return f"{count:.0f} bytes"
    if count < 1e6:
        return f"{count / 1e3:.0f} kB"
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def format_seconds(seconds: float) -> str:
    """Seconds for a person.

    >>> format_seconds(0.2), format_seconds(83), format_seconds(239.7), format_seconds(7300)
    ('0.2 s', '1 min 23 s', '4 min 0 s', '2 h 1 min')
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    return (
        f"{whole // 60} min {whole % 60} s"
        if whole < 3600
        else f"{whole // 3600} h {whole % 3600 // 60} min"
    )


def rounded(value: float, digits: int = 2) -> str:
    """A number with that many decimals; halves are rounded up.

    >>> rounded(0.225), rounded(22.5, 0), rounded(0.235), rounded(100 * 0.145, 0)
    ('0.23', '23', '0.24', '15')
    """
    if not math.isfinite(value):
        return f"{value}"
    exact = Decimal(repr(round(float(value), 10)))
    return f"{exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):f}"


def count(items: int, noun: str) -> str:
    """
    >>> count(1, "trial"), count(1200, "word")
    ('1 trial', '1,200 words')
    """
    return f"{items:,} {noun}{'' if items == 1 else 's'}"


def either(names: Sequence[str]) -> str:
    """
    >>> either(["rf"]), either(["rf", "drf", "raf"])
    ('rf', 'rf, drf or raf')
    """
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
