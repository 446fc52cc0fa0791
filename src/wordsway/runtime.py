"""This process: the memory it has used and may use, and its threads."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import faulthandler
import gc
import importlib
import multiprocessing as mp
import os
import re
import resource
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from wordsway.errors import InputError, first_line
from wordsway.light import import_torch_lightly

if TYPE_CHECKING:
    import torch

_own = False
_modules = 0


def own_process() -> None:
    """Say that this process runs wordsway alone, as the command line does: nobody else here wants
    what wordsway leaves out for speed.

    Threads that wait for each other spin for a tenth of a millisecond instead of a whole one before
    they sleep: beside other work on two cores four words of a sentence took 14 s of processor time
    with long spins, 3 s without any; where they sleep at once, they wake too late.
    """
    global _own
    _own = True
    if "torch" not in sys.modules:  # both are settled when torch is imported
        if "OMP_WAIT_POLICY" not in os.environ:
            os.environ.setdefault("GOMP_SPINCOUNT", "30000")
        import_torch_lightly()


def is_own_process() -> bool:
    """Whether this process runs wordsway alone."""
    return _own


@dataclass(frozen=True)
class Alone:
    """A function for a process that is started to call it, and runs wordsway alone: there this is
    said before the function's module, and torch with it, is imported, which takes half the time.
    """

    function: Callable[..., None]

    def __call__(self, *arguments: Any) -> None:
        self.function(*arguments)

    def __reduce__(self) -> tuple[Callable[[str, str], Alone], tuple[str, str]]:
        return _alone, (self.function.__module__, self.function.__qualname__)


def _alone(module: str, name: str) -> Alone:
    own_process()
    return Alone(getattr(importlib.import_module(module), name))


def leave(status: int) -> NoReturn:
    """End this process as `sys.exit` does, but for taking its modules apart, which takes 0.15 s
    with a model's libraries.

    It is `sys.exit` where somebody watches (a debugger, a profiler), where threads are still at
    work, and where what was printed cannot be written.
    """
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on
    watched = sys.gettrace() is not None or sys.getprofile() is not None
    watched |= monitoring is not None and any(map(monitoring.get_tool, range(6)))
    here = threading.current_thread()
    others = [one for one in threading.enumerate() if one is not here and not one.daemon]
    if not watched and not others:
        atexit._run_exitfuncs()
        with contextlib.suppress(OSError, ValueError):
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
            os._exit(status)
    sys.exit(status)


def peak_bytes() -> int:
    """The largest resident size of this process so far.

    On Linux a child's ``ru_maxrss`` starts at the size of the process that launched it; the
    kernel's own mark of this program (VmHWM) does not.
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


def checked_device(name: object) -> str:
    """The device's name, if this machine has it and can hold numbers on it.

    >>> checked_device("cpu")
    'cpu'
    """
    import torch

    try:
        wanted = torch.device(str(name))
        if wanted.type == "meta":
            raise ValueError("it holds no numbers")
        torch.empty(0, device=wanted)
    except (RuntimeError, AssertionError, ValueError) as error:
        raise InputError(
            "a device of this machine", f"{name} ({first_line(error, 80)})", "use cpu"
        ) from None
    return str(name)


def survives_products(dtype: torch.dtype) -> bool:
    """Whether this processor multiplies matrices of that type, tried in a process that may die.

    A virtual machine can promise instructions that it does not have: torch then chooses them for
    half precision, and the first product ends the process without a word.

    >>> import torch
    >>> survives_products(torch.float32)
    True
    """
    import torch

    if dtype in (torch.float32, torch.float64) or not hasattr(os, "fork"):
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads that the child does not have, nor need
        child = os.fork()
    if not child:
        faulthandler.disable()
        torch.ones(64, 64, dtype=dtype) @ torch.ones(64, 64, dtype=dtype)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def release_memory() -> None:
    """Return freed memory to the system: the C library keeps what lies between blocks that are
    still in use, 800 MB per large cell.

    Objects that came with modules stay for good and are looked at once: with a model's libraries
    they are a million, and looking at them took 0.2 s.
    """
    global _modules
    gc.collect()
    if len(sys.modules) != _modules:
        _modules = len(sys.modules)
        gc.freeze()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def end_with_parent() -> None:
    """End this process when the one that started it is gone, also in the middle of a job; for a
    thread of its own.
    """
    parent = mp.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


@contextmanager
def single_thread(wanted: bool) -> Iterator[int]:
    """Run the body on one thread if ``wanted``; the number of threads before is restored. What
    comes is how many threads are free meanwhile.

    Two threads that meet after every small product cost more than they save, and far more on a
    busy machine, where they wait for each other: a search over weights drawn on demand took 25
    times longer with two threads than with one beside another process on two cores. Small and
    memory-bound work therefore runs on one thread. The setting is the process's own.

    >>> import torch
    >>> with single_thread(True):
    ...     torch.get_num_threads()
    1
    """
    import torch

    before = torch.get_num_threads()
    if not wanted or before == 1:
        yield 0
        return
    torch.set_num_threads(1)
    try:
        yield before - 1
    finally:
        torch.set_num_threads(before)
