"""Repeated measurements: trials, and what they will cost."""

from wordsway.studies.forecast import Forecast, forecast
from wordsway.studies.texts import TextOptions, paper_samples
from wordsway.studies.trials import MAPS, Measurement, Request, Trial, measure

__all__ = ["MAPS", "Forecast", "Measurement", "Request", "TextOptions", "Trial", "forecast", "measure", "paper_samples"]
