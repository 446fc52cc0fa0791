"""Gaussian matrices drawn only where they are looked at, exactly."""

from wordsway.gaussian.basis import Basis
from wordsway.gaussian.matrix import GaussianMatrix
from wordsway.gaussian.operator import BlockOperator, Operator
from wordsway.gaussian.tokens import TokenMatrix

__all__ = ["Basis", "BlockOperator", "GaussianMatrix", "Operator", "TokenMatrix"]
