"""Repeated measurements of random maps: requests, trials, sweeps, tables, forecasts."""
