"""Maximise the change over ‖Δ‖ ≤ radius: starts, solvers that know steps but no maps, and one
driver.
"""

from wordsway.optimize.driver import Found, Progress, search
from wordsway.optimize.solvers import Ascent, ConjugateAscent, Solver

__all__ = ["Ascent", "ConjugateAscent", "Found", "Progress", "Solver", "search"]
