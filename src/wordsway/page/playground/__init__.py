"""The playground: random attention in one file, and the same numbers in Python.

>>> from wordsway.page.playground import instance
>>> phi, X = instance(n=6, d=4, seed=1, scores="relu")
>>> phi(X).shape
torch.Size([6, 4])
"""

from wordsway.page.playground.build import Playground, playground
from wordsway.page.playground.instance import Instance, instance

__all__ = ["Instance", "Playground", "instance", "playground"]
