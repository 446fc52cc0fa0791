"""Pretrained models. Only this package imports transformers, and only when a model is run."""

from wordsway.models.embedder import PADDING, Embedder

__all__ = ["PADDING", "Embedder"]
