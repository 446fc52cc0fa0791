"""A worker process for tests: it sleeps, computes or ends as requested."""

from __future__ import annotations

import os
import threading
import time
from multiprocessing.connection import Connection

from wordsway.core.runtime import end_with_parent


def obey(pipe: Connection) -> None:
    """Run one task after the other; a cancellation is seen after the task."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    while True:
        message = pipe.recv()
        if message[0] == "cancel":
            continue
        _, task, request = message
        pipe.send(("event", {"kind": "begun", "pid": os.getpid()}))
        if task == "sleep":
            time.sleep(request["seconds"])
        elif task == "spin":
            until = time.monotonic() + request["seconds"]
            while time.monotonic() < until:
                pass
        elif task == "exit":
            os._exit(request["code"])
        elif task == "signal":
            os.kill(os.getpid(), request["number"])
            time.sleep(60)
        pipe.send(("event", {"kind": "done", "pid": os.getpid()}))
        pipe.send(("end", {}))
