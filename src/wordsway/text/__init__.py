"""Texts: corpora read as a stream, draws by seed, and the paper's recipe."""

from wordsway.text.corpora import Corpus, Text, corpus, draw

__all__ = ["Corpus", "Text", "corpus", "draw"]
