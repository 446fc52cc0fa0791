"""Attacks on wordsway: kills, deaths of Dask workers, fuzzed requests, hostile files."""
