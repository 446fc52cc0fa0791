"""The kinds of scores that `ws.Attention` knows: what each is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from wordsway.maps.attention.certificates.bounds import RowBounds
from wordsway.maps.attention.ingredients.lifts import Distance, Lift, Plain, Positive, Unit
from wordsway.maps.attention.ingredients.projections import Projections
from wordsway.maps.attention.one_matrix.starts import attracting
from wordsway.maps.attention.one_matrix.view import Certify, Suggest
from wordsway.maps.attention.scores.base import Scores
from wordsway.maps.attention.scores.per_length import PerLength, certify_per_length
from wordsway.maps.attention.scores.relu import ReluBounds, ReluScores, all_starts
from wordsway.maps.attention.scores.sigmoid import SigmoidBounds, SigmoidScores
from wordsway.maps.attention.scores.sink import SinkBounds, SinkScores
from wordsway.maps.attention.scores.softmax import SoftmaxBounds, SoftmaxScores
from wordsway.maps.attention.scores.sparsemax import SparsemaxScores

_PLAIN = Plain()


@dataclass(frozen=True)
class Choice:
    """One kind of scores: weights of row j on key l from c f(q_j)·g(k_l).

    ``power`` is that of c = m^(−power) for heads of m dimensions; ``log_n`` multiplies scores by
    log n; ``shifts`` says that adding a constant to a score means something (ALiBi); ``shape`` is
    that of `attention.ingredients.weights`; ``bounds`` certifies the layer with one matrix
    (None: it is seen as one head).
    """

    about: str
    scores: Scores
    lift: Lift = _PLAIN
    power: float = 0.5
    log_n: bool = False
    shifts: bool = True
    shape: str = "usual"
    smooth: bool = True
    suggest: Suggest = attracting
    bounds: RowBounds | Certify | None = None

    @property
    def heads_are_means(self) -> bool:
        """Whether heads are means of values, and logistic in one score: certified as such."""
        return isinstance(self.scores, (SoftmaxScores, SinkScores))

    def factor(self, m: int) -> float:
        """c for heads of m dimensions."""
        return m**-self.power

    def projections(
        self, given: Mapping[str, torch.Tensor], heads: int, strength: float
    ) -> Projections:
        """The given matrices as projections."""
        if "W" in given:
            return self._one_matrix(given, strength)
        Q, K, V, O = given["Q"], given.get("K", given["Q"]), given["V"], given["O"]
        if self.shape != "twice":
            return Projections(Q, K, V, O, heads, heads)
        return Projections(
            torch.cat([Q, given["Q2"]], 1),
            torch.cat([K, given["K2"]], 1),
            torch.cat([V, V], 1),
            torch.cat([O, -strength * O]),
            2 * heads,
            2 * heads,
        )

    def _one_matrix(self, given: Mapping[str, torch.Tensor], strength: float) -> Projections:
        W = given["W"]
        if self.shape == "usual":
            return Projections(W, None, None, None)
        if self.shape == "tied":
            return Projections(W, W, None, None)
        both = torch.eye(len(W), dtype=W.dtype, device=W.device).repeat(1, 2)
        out = torch.cat([both[:, : len(W)], -strength * both[:, : len(W)]])
        return Projections(torch.cat([W, given["W2"]], 1), both, both, out, 2, 2)


_SOFTMAX = SoftmaxBounds()

#: By name, in the order in which they are listed.
SCORES: dict[str, Choice] = {
    "softmax": Choice("softmax over the keys", SoftmaxScores(), bounds=_SOFTMAX),
    "softmax-1/d": Choice(
        "softmax of scores over d instead of √d", SoftmaxScores(), power=1.0, bounds=_SOFTMAX
    ),
    "softmax-log-n": Choice(
        "softmax of scores times log n", SoftmaxScores(), log_n=True, bounds=_SOFTMAX
    ),
    "sink": Choice(
        "softmax with a key of score 0 and value 0",
        SinkScores(),
        bounds=SinkBounds(),
    ),
    "sigmoid": Choice(
        "σ(s − log n), no normaliser",
        SigmoidScores(),
        bounds=SigmoidBounds(),
    ),
    "sparsemax": Choice(
        "(s − τ)₊, which sum to one: most keys get nothing", SparsemaxScores(), smooth=False
    ),
    "relu": Choice(
        "positive scores divided by their sum",
        ReluScores(),
        shifts=False,
        smooth=False,
        suggest=all_starts,
        bounds=ReluBounds(),
    ),
    "relu/n": Choice(
        "positive scores divided by n",
        PerLength(relu=True),
        shifts=False,
        smooth=False,
        bounds=certify_per_length,
    ),
    "linear/n": Choice(
        "scores divided by n",
        PerLength(relu=False),
        shifts=False,
        bounds=certify_per_length,
    ),
    "linear-attention": Choice(
        "(elu(q) + 1)·(elu(k) + 1), divided by their sum",
        ReluScores(),
        lift=Positive(),
        power=0.0,
        shifts=False,
        smooth=False,
    ),
    "l2": Choice("softmax of −‖q − k‖²/√m", SoftmaxScores(), lift=Distance(), shape="tied"),
    "qk-norm": Choice("softmax of √m q̂·k̂", SoftmaxScores(), lift=Unit(), power=-0.5),
    "differential": Choice(
        "softmax₁ − λ softmax₂, two pairs of queries and keys", SoftmaxScores(), shape="twice"
    ),
}
