"""This process: the memory it has used and may use, and its threads."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import multiprocessing as mp
import os
import queue
import re
import resource
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from wordsway.core.errors import InputError, first_line

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
_panics_hidden = False


def hide_panics() -> None:
    """Discard the output of native code that panics; the Python error has the same content.

    Standard error of the whole process is redirected meanwhile, so this is for processes that run
    wordsway alone: the command line and the workers of the page.
    """
    global _panics_hidden
    _panics_hidden = True


def panics_are_hidden() -> bool:
    return _panics_hidden


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
    """Bytes that this process may use: the machine's, or less if a control group sets a limit."""
    import psutil

    free = int(psutil.virtual_memory().available)
    group = Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError, ValueError):
        used = int((group / "memory.current").read_text())
        free = min(free, int((group / "memory.max").read_text()) - used)
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
    """Return freed memory to the system; the C library would keep it. Takes 0.1 to 0.3 s."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def end_with_parent() -> None:
    """End this process when its parent has exited; run it in a separate thread."""
    parent = mp.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def run_with_timeout(seconds: float, call: Callable[[], T]) -> T:
    """The result of ``call`` in a thread, or TimeoutError; then the thread is abandoned."""
    results: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue()

    def run() -> None:
        try:
            results.put((call(), None))
        except BaseException as error:  # a panic of native code is no Exception
            results.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    try:
        result, error = results.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"no answer within {seconds:.0f} s") from None
    if error is not None:
        raise error
    return cast(T, result)


_IGNORE_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


def python_process(code: str, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    """A fresh interpreter that runs ``code`` (after ``import sys``) with this one's module path;
    Ctrl-C is left to this one.

    multiprocessing would import the main module into it, and a user's script without
    ``if __name__ == "__main__"`` would start itself again.
    """
    return subprocess.Popen(
        [sys.executable, "-P", "-c", f"{_IGNORE_CTRL_C}; import sys; {code}", *arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.PIPE,
        **options,
    )


def end_with_input() -> None:
    """End this process when its standard input is closed; run it in a separate thread."""
    os.read(0, 1)  # sys.stdin would hold a lock that the interpreter needs to end
    os._exit(1)


@contextmanager
def single_thread(wanted: bool) -> Iterator[None]:
    """Run the body on one thread if ``wanted``; the number of threads before is restored.

    Threads that meet after every small product cost more than they save, and far more on a busy
    machine: small and memory-bound work runs on one. The setting applies to the whole process.

    >>> import torch
    >>> with single_thread(True):
    ...     torch.get_num_threads()
    1
    """
    import torch

    before = torch.get_num_threads()
    if not wanted or before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
