"""Texts: corpora read as a stream, draws by seed, and the paper's recipe."""

from wordsway.text.corpus import Corpus, Text, corpus
from wordsway.text.draw import draw

__all__ = ["Corpus", "Text", "corpus", "draw"]
