"""How much memory this process has used, and may use."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import re
import resource
import sys
from pathlib import Path


def peak_bytes() -> int:
    """The largest resident size of this process so far.

    On Linux a child's ``ru_maxrss`` starts at the size of the process that launched it; the kernel's own mark of this
    program (VmHWM) does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        mark = re.search(r"^VmHWM:\s+(\d+) kB", status.read_text(), flags=re.MULTILINE)
        if mark:
            return int(mark[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def available_memory() -> int:
    """Bytes that this process may use: the machine's, or less where a control group says so."""
    import psutil

    free = int(psutil.virtual_memory().available)
    for limit, used in (("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),):
        with contextlib.suppress(OSError, ValueError), open(limit) as top, open(used) as now:
            free = min(free, int(top.read()) - int(now.read()))
    return free


def in_words(count: float) -> str:
    """Bytes for a person: 512 MB, 1.4 GB.

    >>> in_words(1_400_000_000), in_words(512_000_000)
    ('1.4 GB', '512 MB')
    """
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def duration(seconds: float) -> str:
    """Seconds for a person.

    >>> duration(0.2), duration(83), duration(239.7), duration(7300)
    ('0.2 s', '1 min 23 s', '4 min 0 s', '2 h 1 min')
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


def give_back_memory() -> None:
    """Return freed memory to the system: the C library keeps what lies between blocks that are still in use, 800 MB per large cell."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
