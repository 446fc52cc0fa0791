"""`ScoreFunction`: all that the attention family needs of one kind of scores."""

from __future__ import annotations

from dataclasses import dataclass

from wordsway.maps.attention.certificates.bounds import RowBounds
from wordsway.maps.attention.heads import HeadsLayer, HeadsView
from wordsway.maps.attention.ingredients import Lift, Plain
from wordsway.maps.attention.layer import Starts
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.attention.one_matrix.starts import attracting
from wordsway.maps.attention.one_matrix.view import Certify
from wordsway.maps.attention.scores.base import Scores

_PLAIN = Plain()


@dataclass(frozen=True)
class ScoreFunction:
    """One kind of scores: the shares of row j come from c f(q_j)·g(k_l) over the keys l.

    Parameters
    ----------
    scores : from scores to shares
    lift : f and g
    power : c = m^(−power) for heads of m dimensions
    log_n : whether scores are multiplied by log n
    shifts : whether a constant may be added to a score (ALiBi)
    shape : the matrices of the layer, see `attention.ingredients`
    smooth : whether single precision finds the same maxima
    falling : whether S falls like 1/√n (the paper's argument), rather than staying constant
    starts : the Δ that a search with one matrix starts from
    bounds : certifies the layer with one matrix; None where it is treated as one head
    layer, view : of the layer with heads
    """

    scores: Scores
    lift: Lift = _PLAIN
    power: float = 0.5
    log_n: bool = False
    shifts: bool = True
    shape: str = "usual"
    smooth: bool = True
    falling: bool = False
    starts: Starts[Layer] = attracting
    bounds: RowBounds | Certify | None = None
    layer: type[HeadsLayer] = HeadsLayer
    view: type[HeadsView] = HeadsView
