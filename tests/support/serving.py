"""A server of the page in a process of its own, and a client that sends exactly what it is told."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import psutil

#: Seconds that anything may take on a busy machine.
PATIENCE = 300


@dataclass(frozen=True)
class Answer:
    """Status, headers (small letters) and body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.body.splitlines()]

    def last(self, kind: str) -> dict[str, Any]:
        return [event for event in self.events if event["kind"] == kind][-1]


class Client:
    """One request at a time, each on a connection of its own."""

    def __init__(self, port: int) -> None:
        self.port = port

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            sent = {"host": f"127.0.0.1:{self.port}"} | (headers or {})
            if body is not None and "content-length" not in sent:
                sent["content-length"] = str(len(body))
            for name, value in sent.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            got = connection.getresponse()
            named = {name.lower(): value for name, value in got.getheaders()}
            return Answer(got.status, named, got.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, headers=headers)

    def ask(self, path: str, **ask: Any) -> Answer:
        body = json.dumps(ask).encode()
        return self.send("POST", path, body, {"content-type": "application/json"})


@dataclass
class Served:
    """A running server."""

    process: subprocess.Popen[str]
    address: str
    family: list[psutil.Process] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.address.split("?")[0].rstrip("/").rpartition(":")[2])

    def interrupt(self) -> None:
        """Ctrl-C, once; ``family`` is everything that has to end."""
        if not self.family:
            self.family = self.processes
            self.process.send_signal(signal.SIGINT)

    @property
    def client(self) -> Client:
        return Client(self.port)

    @property
    def processes(self) -> list[psutil.Process]:
        """The server and everything that it started."""
        own = psutil.Process(self.process.pid)
        return [own, *own.children(recursive=True)]


@contextlib.contextmanager
def start(*options: str) -> Iterator[Served]:
    """`wordsway serve` on a free port; ended by Ctrl-C, and checked to leave nothing behind."""
    command = [sys.executable, "-m", "wordsway", "serve", "--no-open", "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert address.startswith("http://"), process.communicate()
    served = Served(process, address)
    try:
        yield served
        served.interrupt()
        said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0 and "Traceback" not in said[1], said
        _, alive = psutil.wait_procs(served.family, timeout=30)
        assert alive == [], "processes were left behind"
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
