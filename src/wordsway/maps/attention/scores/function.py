"""`ScoreFunction`: all that the attention family needs of one kind of scores."""

from __future__ import annotations

from dataclasses import dataclass

from wordsway.maps.attention.certificates.bounds import RowBounds
from wordsway.maps.attention.heads import HeadsLayer, HeadsView
from wordsway.maps.attention.ingredients import Lift
from wordsway.maps.attention.layer import Starts
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.attention.one_matrix.starts import attracting
from wordsway.maps.attention.one_matrix.view import Certify
from wordsway.maps.attention.scores.base import Scores

_PLAIN = Lift()


@dataclass(frozen=True)
class ScoreFunction:
    """One kind of scores: the shares of row j come from c f(q_j)·g(k_l) over the keys l."""

    scores: Scores  # from scores to shares
    lift: Lift = _PLAIN  # f and g
    power: float = 0.5  # c = m^(−power) for heads of m dimensions
    log_n: bool = False  # whether scores are multiplied by log n
    shifts: bool = True  # whether a constant may be added to a score (ALiBi)
    shape: str = "usual"  # the matrices of the layer, see `attention.ingredients`
    smooth: bool = True  # whether single precision finds the same maxima
    falling: bool = False  # whether S falls like 1/√n (the paper's argument)
    starts: Starts[Layer] = attracting  # the Δ that a search with one matrix starts from
    bounds: RowBounds | Certify | None = None  # with one matrix; None: it is treated as one head
    layer: type[HeadsLayer] = HeadsLayer  # with heads
    view: type[HeadsView] = HeadsView
