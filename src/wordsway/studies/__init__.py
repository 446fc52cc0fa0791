"""Repeated measurements: trials, and what they will cost."""

from wordsway.studies.forecast import Forecast, forecast
from wordsway.studies.trials import MAPS, Measurement, Request, Trial, measure

__all__ = ["MAPS", "Forecast", "Measurement", "Request", "Trial", "forecast", "measure"]
