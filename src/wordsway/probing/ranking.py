"""An order of words is shown as far as the numbers carry it: what cannot be told apart is a tie."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: Standard errors of a difference beyond which two values are told apart.
APART = 2.0


def rank_ranges(values: Sequence[float], errors: Sequence[float]) -> list[tuple[int, int]]:
    """For each value the first and the last rank, counted from 1, that it may have.

    Two values are told apart when they differ by more than `APART` standard errors of their
    difference.

    >>> rank_ranges([3.0, 1.0, 2.9, 0.5], [0.1, 0.05, 0.1, 0.05])
    [(1, 2), (3, 3), (1, 2), (4, 4)]
    """
    v = np.asarray(values, dtype=float)
    e = np.asarray(errors, dtype=float)
    gap = v[None, :] - v[:, None]
    apart = np.abs(gap) > APART * np.hypot(e[None, :], e[:, None])
    above = (apart & (gap > 0)).sum(1)
    below = (apart & (gap < 0)).sum(1)
    return [(int(a) + 1, len(v) - int(b)) for a, b in zip(above, below, strict=True)]


def leaders(values: Sequence[float], errors: Sequence[float]) -> list[int]:
    """Those that may be the largest, the largest value first; all of them: nothing stands out.

    >>> leaders([3.0, 1.0, 2.9], [0.1, 0.1, 0.1])
    [0, 2]
    """
    ranges = rank_ranges(values, errors)
    first = [at for at, (best, _) in enumerate(ranges) if best == 1]
    return sorted(first, key=lambda at: -values[at])
