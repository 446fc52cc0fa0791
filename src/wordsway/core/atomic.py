"""Write files atomically, remove partial files left by killed processes, and read whole texts."""

from __future__ import annotations

import os
import re
import stat
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from wordsway.core.errors import InputError, first_line

#: Age in seconds after which a partial file is abandoned: no write takes that long.
STALE = 6 * 3600.0
_PARTIAL = re.compile(r"\..*\.[0-9a-f]{32}\.part")
_swept: set[Path] = set()


def read_text(path: Path, expected: str) -> str:
    """The text of a UTF-8 file, or an error that says what was expected."""
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else first_line(error)
        raise InputError(
            expected, f"{path} ({reason})", "check the path and its encoding"
        ) from None


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary name next to ``path`` to write to, then fsync and rename it. A failure
    leaves no file behind.

    The name is hidden and ends in .part, whatever ``path`` ends in, so that the remains of a killed
    process are never mistaken for a result. The first use in a folder removes old partial files.
    """
    if path.parent not in _swept:
        _swept.add(path.parent)
        remove_stale(path.parent)
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


def remove_stale(folder: Path, seconds: float = STALE) -> int:
    """Remove old partial files that `atomic` named, directly in this folder; their number."""
    removed = 0
    with suppress(OSError):
        for entry in os.scandir(folder):
            with suppress(OSError):
                if not _PARTIAL.fullmatch(entry.name):
                    continue
                about = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(about.st_mode) and time.time() - about.st_mtime > seconds:
                    os.unlink(entry.path)
                    removed += 1
    return removed
