"""Corpora and models: a catalogue with hashes, and one verb, `get`. Nothing fetched is run."""

from wordsway.data.catalogue import CATALOGUE, Entry, entry
from wordsway.data.fetch import Installed, get, present
from wordsway.data.home import DataError, home

__all__ = ["CATALOGUE", "DataError", "Entry", "Installed", "entry", "get", "home", "present"]
