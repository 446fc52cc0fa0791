"""Repeated measurements: requests, jobs, sweeps, and what they will cost."""
