"""Texts: corpora read as a stream, draws by seed, and the paper's recipe."""

from wordsway.text.corpora import Corpus, Text, corpus
from wordsway.text.drawing import draw

__all__ = ["Corpus", "Text", "corpus", "draw"]
