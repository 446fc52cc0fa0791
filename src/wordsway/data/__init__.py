"""Corpora and models that can be fetched: a catalogue with hashes, and one verb, `get`. Nothing
fetched is ever run.
"""

from wordsway.data.catalogue import CATALOGUE, Entry, entry
from wordsway.data.fetch import DataError, Present, get, present
from wordsway.data.home import home

__all__ = ["CATALOGUE", "DataError", "Entry", "Present", "entry", "get", "home", "present"]
