"""Small maps and texts that something is learnt from."""

from __future__ import annotations

from collections.abc import Callable

import wordsway as ws

#: By name, for texts of n rows in d dimensions.
MAPS: dict[str, Callable[[int, int], ws.FeatureMap]] = {
    "raf": lambda n, d: ws.RAF(d=d, seed=1),
    "relu-raf": lambda n, d: ws.ReluRAF(d=d, seed=2),
    "rf": lambda n, d: ws.RF(n=n, d=d, k=50, seed=3),
    "drf": lambda n, d: ws.DRF(n=n, d=d, depth=3, k=40, seed=4),
}


def texts(count: int, n: int = 5, d: int = 6) -> list[ws.Sample]:
    return [ws.Sample.gaussian(n=n, d=d, seed=100 + number) for number in range(count)]
