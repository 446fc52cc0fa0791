"""The progress line under its former name."""

from __future__ import annotations

from wordsway.cli.progress import progress_line as waiting

__all__ = ["waiting"]
