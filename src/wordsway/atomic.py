"""Files that are there whole, or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary name beside ``path`` to write to; then the disk's own confirmation and the
    rename. A failure leaves nothing.

    The name is hidden and ends in .part, whatever ``path`` ends in, so that what a killed process
    leaves is never taken for a result.
    """
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
