"""Gaussian numbers that a browser and Python draw alike: every number has an address.

Number m of a stream under a seed is one half of a Box–Muller pair,

    √(−2 log u) cos 2πv  (m even),    √(−2 log u) sin 2πv  (m odd),
    u = (a + ½)/2³²,  v = (b + ½)/2³²,

where (a, b) = Threefry-2×32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as
1, 2, 3", 2011) of the counter (⌊m/2⌋, 0) under the key (seed, stream). Only sums, rotations and
exclusive ors of 32 bits are needed, so that ``assets/random.js`` has the same 32 bits, and the same
numbers up to the last digit of a logarithm or a cosine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Streams of one seed.
TEXT, WEIGHT, FEATURES = 1, 2, 3

_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
_PARITY = 0x1BD11BDA
_MASK = 0xFFFFFFFF


def threefry(
    key: tuple[int, int], counter: tuple[NDArray[np.uint32], NDArray[np.uint32]]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Threefry-2×32, 20 rounds: 64 bits for each counter.

    >>> zero = np.zeros(1, np.uint32)
    >>> [hex(int(half[0])) for half in threefry((0, 0), (zero, zero))]
    ['0x6b200159', '0x99ba4efe']
    """
    keys = np.array([*key, key[0] ^ key[1] ^ _PARITY], dtype=np.uint32)
    a, b = counter[0] + keys[0], counter[1] + keys[1]
    for turn in range(20):
        a = a + b
        shift = np.uint32(_ROTATIONS[turn % 8])
        b = ((b << shift) | (b >> (np.uint32(32) - shift))) ^ a
        if turn % 4 == 3:
            block = turn // 4 + 1
            a = a + keys[block % 3]
            b = b + np.uint32((int(keys[(block + 1) % 3]) + block) & _MASK)
    return a, b


def normals(seed: int, stream: int, addresses: NDArray[np.int64]) -> NDArray[np.float64]:
    """The standard Gaussian numbers at these addresses, float64, of the same shape.

    >>> normals(0, TEXT, np.arange(3)).round(6).tolist() == [
    ...     float(normals(0, TEXT, np.array([m])).round(6)[0]) for m in range(3)
    ... ]
    True
    """
    pairs = (addresses >> 1).astype(np.uint32)
    a, b = threefry((seed, stream), (pairs, np.zeros_like(pairs)))
    radius = np.sqrt(-2 * np.log((a + 0.5) / 2**32))
    angle = 2 * np.pi * ((b + 0.5) / 2**32)
    return radius * np.where(addresses & 1, np.sin(angle), np.cos(angle))
