"""How much memory this process has used."""

from __future__ import annotations

import resource
import sys


def peak_bytes() -> int:
    """The largest resident size of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def in_words(count: float) -> str:
    """Bytes for a person: 512 MB, 1.4 GB.

    >>> in_words(1_400_000_000), in_words(512_000_000)
    ('1.4 GB', '512 MB')
    """
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def duration(seconds: float) -> str:
    """Seconds for a person.

    >>> duration(0.2), duration(83), duration(7300)
    ('0.2 s', '1 min 23 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"
