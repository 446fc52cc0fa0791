"""Repeated measurements: trials, and what they will cost."""

from wordsway.experiments.forecast import Forecast, forecast
from wordsway.experiments.texts import TextOptions, paper_samples
from wordsway.experiments.trials import MAPS, Measurement, Request, Trial, measure

__all__ = [
    "MAPS",
    "Forecast",
    "Measurement",
    "Request",
    "TextOptions",
    "Trial",
    "forecast",
    "measure",
    "paper_samples",
]
