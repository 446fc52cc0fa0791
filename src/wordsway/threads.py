"""Threads inside torch's operations, for a while.

Two threads that meet after every small product cost more than they save, and far more on a busy machine, where they wait for
each other: a search over weights drawn on demand took 25 times longer with two threads than with one beside another
process on two cores. Small and memory-bound work therefore runs on one thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread(wanted: bool) -> Iterator[None]:
    """Run the body on one thread if ``wanted``; the number of threads before is restored. The setting is the process's own.

    >>> with one_thread(True):
    ...     torch.get_num_threads()
    1
    """
    before = torch.get_num_threads()
    if not wanted or before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
