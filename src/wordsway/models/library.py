"""The transformers library: imported on first use, and silent while models are loaded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from wordsway.core.errors import needs


def import_transformers() -> Any:
    """The package; an error that names the extra where it is not installed."""
    needs("models", "transformers")
    import transformers

    return transformers


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No progress bars and no log messages of transformers on standard error."""
    import_transformers()
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
