"""Gaussian matrices sampled lazily and exactly, only where they are queried."""

from wordsway.gaussian.basis import Basis
from wordsway.gaussian.matrix import GaussianMatrix
from wordsway.gaussian.operator import BlockOperator, Operator
from wordsway.gaussian.tokens import TokenMatrix

__all__ = ["Basis", "BlockOperator", "GaussianMatrix", "Operator", "TokenMatrix"]
