"""Maximise functions of points in balls: plans, starts, solvers, and one driver for all of them."""

from wordsway.optimize.driver import Found, maximise, maximise_ranked
from wordsway.optimize.objective import Objective
from wordsway.optimize.plan import Plan
from wordsway.optimize.solver import PointStates, Solver

__all__ = ["Found", "Objective", "Plan", "PointStates", "Solver", "maximise", "maximise_ranked"]
