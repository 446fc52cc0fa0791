"""A process for a lane that does as it is told: wait, compute, end."""

from __future__ import annotations

import os
import threading
import time
from multiprocessing.connection import Connection

from wordsway.core.runtime import end_with_parent


def obey(pipe: Connection, name: str) -> None:
    """One task after the other; cancellations are seen between two tasks. The task "rest" ends once
    there is nothing else to do for two seconds.
    """
    resting: list[int] = []
    threading.Thread(target=end_with_parent, daemon=True).start()
    while True:
        if resting and not pipe.poll(2):
            _end(pipe, resting.pop())
            continue
        message = pipe.recv()
        if message[0] == "cancel":
            pipe.send((message[1], "end", {}))
            continue
        _, number, task, ask = message
        pipe.send((number, "event", {"kind": "begun", "pid": os.getpid()}))
        if task == "rest":
            resting.append(number)
            continue
        if task == "sleep":
            time.sleep(ask["seconds"])
        elif task == "spin":
            until = time.monotonic() + ask["seconds"]
            while time.monotonic() < until:
                pass
        elif task == "exit":
            os._exit(ask["code"])
        elif task == "signal":
            os.kill(os.getpid(), ask["number"])
            time.sleep(60)
        _end(pipe, number)


def _end(pipe: Connection, number: int) -> None:
    pipe.send((number, "event", {"kind": "done", "pid": os.getpid()}))
    pipe.send((number, "end", {}))
