"""Pretrained models. Only this room imports transformers, and only when a model is really run."""

from wordsway.models.embedder import PADDING, Embedder

__all__ = ["PADDING", "Embedder"]
