"""The text and the map of any state of the playground, as Python has them.

The page and this file follow one rule, for n ≤ 64 words of d ≤ 64 dimensions and k = 512 fully
connected features. With g_m(stream) the numbers of `normals`,

    row l of X  ∝ (g_{64l + c}(text))_{c < d}, rescaled to norm √d,
    W_bc        = g_{64b + c}(weight)/(τ√d),
    V_{j, lc}   = g_{64(512l + j) + c}(features)/√(nd).

A longer text therefore begins with the shorter one, and the temperature τ divides the weights.

Number m of a stream under a seed is one half of a Box–Muller pair,

    √(−2 log u) cos 2πv  (m even),    √(−2 log u) sin 2πv  (m odd),
    u = (a + ½)/2³²,  v = (b + ½)/2³²,

where (a, b) = Threefry-2×32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as
1, 2, 3", 2011) of the counter (⌊m/2⌋, 0) under the key (seed, stream). Only sums, rotations and
exclusive ors of 32 bits are needed, so that ``assets/random.js`` has the same 32 bits, and the same
numbers up to the last digit of a logarithm or a cosine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordsway.core.checks import OneOf, Within, validated
from wordsway.core.sample import Sample
from wordsway.maps import RAF, RF, ReluRAF
from wordsway.maps.attention.certificates.bounds import RowBounds
from wordsway.maps.attention.certificates.dual import (
    Multipliers,
    cells,
    first_multipliers,
    largest,
    tune,
    tune_where_it_matters,
)
from wordsway.maps.attention.certificates.one_matrix import WrapperContext, problem_of
from wordsway.maps.attention.family import Attention, SigmoidRAF
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.attention.one_matrix.view import AttentionView
from wordsway.maps.base import FeatureMap
from wordsway.maps.rigorous import SAFE

#: The largest n and d, and the number of fully connected features.
LARGEST, COUNT = 64, 512
#: Temperatures that the page offers.
COLDEST, HOTTEST = 0.05, 20.0
FURTHER = "the page goes no further"
#: How far, and in how many steps, log λ and log κ of a ceiling are looked for in turn.
SCHEDULE = ((4.5, 10), (1.5, 7))

ATTENTION: dict[str, Callable[..., FeatureMap]] = {
    "softmax": RAF,
    "sink": partial(Attention, scores="sink"),
    "sigmoid": SigmoidRAF,
    "relu": ReluRAF,
}
#: Names of the kinds of scores, and of the fully connected features.
SCORES = (*ATTENTION, "fully-connected")

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


class Instance(NamedTuple):
    """A state of the playground: a map and the text whose first word moves."""

    phi: FeatureMap
    X: Sample

    def ceiling(self, radius: float | None = None) -> float:
        """The page's certified ceiling of S over ‖Δ‖ ≤ ``radius``, √d by default.

        It is the certificate of `attention.certificates.one_matrix` with moves priced by their
        squares alone, and multipliers tuned step for step as in ``assets/ceiling.js``. That of
        `ws.sensitivity` is tuned in another way, and lower where the text has more than d/2 words,
        because it prices fourth powers, too.

        >>> import wordsway as ws
        >>> phi, X = state = instance(n=3, d=8)
        >>> round(state.ceiling() / ws.sensitivity(phi, X, positions=0).upper, 2)
        1.0
        """
        reach = math.sqrt(self.X.d) if radius is None else radius
        view = self.phi.view(self.X)
        if isinstance(view, AttentionView) and isinstance(view.bounds, RowBounds):
            return _ceiling(view.layer, view.bounds, reach)
        other = view.certify([0], reach)
        assert other is not None  # every map of this page has one
        return float(other.upper[0])


def _ceiling(layer: Layer, bounds: RowBounds, radius: float) -> float:
    """A bound of S over ‖Δ‖ ≤ radius for the first word; the layer must be in float64."""
    total = math.inf
    tuned: Multipliers | None = None
    for split in filter(None, bounds.young_parameters):
        plain = problem_of(layer, bounds, 0, radius, split, WrapperContext(layer.norm))
        for tilt in bounds.reweightings:
            problem = plain.reweighted(tilt) if tilt else plain
            lo, hi = cells(radius, problem.rows.p)
            few = problem.coarse()
            if tuned is None:
                tuned = tune(few, radius, lo, hi, first_multipliers(problem, radius), SCHEDULE)
            else:
                tuned = tune_where_it_matters(few, problem, radius, lo, hi, tuned)
            value = largest(problem, radius, tuned)
            total = total if value >= total else value
    moved = math.sqrt(total * SAFE) if math.isfinite(total) else math.inf
    return min(moved, bounds.at_most(layer, 0, radius)) / layer.norm


@validated
def instance(
    n: Annotated[int, Within(1, LARGEST, FURTHER)],
    d: Annotated[int, Within(2, LARGEST, FURTHER)],
    seed: Annotated[int, Within(0, 2**32 - 1, FURTHER)] = 0,
    *,
    scores: Annotated[str, OneOf(SCORES)] = "softmax",
    temperature: Annotated[float, Within(COLDEST, HOTTEST, FURTHER)] = 1.0,
) -> Instance:
    """The map and the text that the playground computes with.

    >>> import wordsway as ws
    >>> phi, X = instance(n=12, d=32, seed=0, scores="softmax", temperature=1.0)
    >>> X.n, X.d, type(phi).__name__
    (12, 32, 'RAF')
    >>> torch_equal = (instance(13, 32, 0).X.X[:12] - X.X).abs().max()
    >>> float(torch_equal)  # a longer text begins with the shorter one
    0.0
    """
    table = np.arange(LARGEST * LARGEST).reshape(LARGEST, LARGEST)
    X = Sample(normals(seed, TEXT, table[:n, :d]))
    if scores in ATTENTION:
        W = normals(seed, WEIGHT, table[:d, :d]) / math.sqrt(d) / temperature
        return Instance(ATTENTION[scores](weight=W), X)
    address = np.arange(LARGEST * COUNT * LARGEST).reshape(LARGEST, COUNT, LARGEST)
    V = normals(seed, FEATURES, address[:n, :, :d]) / math.sqrt(n * d)
    return Instance(RF(weight=V.transpose(1, 0, 2).reshape(COUNT, n * d), n=n), X)
