"""`python -m benchmarks.mixed_load --minutes 60`: a server of the page under mixed load.

Eleven client threads on the loopback interface ask for words, swaps, attention, pairs, audits and
theory, leave requests unfinished, hold slow connections open and send bursts. Every ten seconds
the memory of each process is written to a CSV file, and the summary so far to a text file of the
same name: answers by client and status, what the server printed (a line for every worker process
that ended, with the reason), and the memory in each ten minutes.
Bounded: at most 120 minutes, 640 sockets at once, loopback only.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import http.client
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

#: Upper limits: minutes of a run, connections of one wave of slow ones, requests of a burst.
MINUTES, SLOW, BURST = 120.0, 540, 26
#: Seconds between two samples of memory, and that an answer may take.
SAMPLE, PATIENCE = 10.0, 400
SUBJECTS = ("The film", "This drug", "My neighbour", "The new contract", "Her first novel")
VERBS = ("was never", "was certainly", "is not", "has been", "could be")
ENDS = ("worth the money", "safe for children", "as good as the old one", "a great surprise")
MODELS = ("minilm",) * 8 + ("mpnet", "smollm2")
MAPS = ("rf", "raf", "relu-raf", "drf")


@dataclass
class Load:
    """A running load: where to send it, until when, and what came back."""

    port: int
    models: tuple[str, ...]
    until: float
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.until

    def pause(self, seconds: float) -> None:
        time.sleep(max(0.0, min(seconds, self.until - time.monotonic())))

    def note(self, client: str, status: str, error: str = "") -> None:
        self.counts[client, status] += 1
        if error:
            self.errors[f"{client} {status}: {error}"] += 1

    def ask(self, client: str, path: str, **ask: Any) -> list[dict[str, Any]]:
        """Send a question and read its whole answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("POST", path, json.dumps(ask), {"content-type": "application/json"})
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.note(client, "no answer", f"{type(error).__name__}: {error}")
            return []
        finally:
            connection.close()
        if answer.status != 200:
            self.note(client, str(answer.status), message_of(body))
            return []
        events: list[dict[str, Any]] = [json.loads(line) for line in body.splitlines()]
        if events[-1]["kind"] == "error":
            self.note(client, "error event", events[-1]["message"])
        else:
            self.note(client, "answered")
        return events


def message_of(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return repr(body[:80])


def sentence(chance: random.Random, parts: int = 1) -> str:
    return ", and ".join(
        f"{chance.choice(SUBJECTS)} {chance.choice(VERBS)} {chance.choice(ENDS)}"
        for _ in range(parts)
    )


def words(load: Load, chance: random.Random) -> None:
    text = sentence(chance, chance.choice((1, 1, 2)))
    tiers = chance.choice((None, ["mean-local"], ["real-words"]))
    load.ask("words", "/api/words", text=text, model=chance.choice(load.models), tiers=tiers)


def swap(load: Load, chance: random.Random) -> None:
    model = chance.choice(load.models)
    load.ask("swap", "/api/word", text=sentence(chance), model=model, index=chance.randrange(5))


def attention(load: Load, chance: random.Random) -> None:
    text, model = sentence(chance, chance.choice((1, 2, 6))), chance.choice(load.models)
    load.ask("attention", "/api/attention", text=text, model=model, word=1)


def pairs(load: Load, chance: random.Random) -> None:
    text, other = sentence(chance), sentence(chance)
    ask = {"text": text, "other": other, "model": chance.choice(load.models)}
    load.ask("pairs", "/api/words", tiers=["mean-local"], **ask)


def theory(load: Load, chance: random.Random) -> None:
    ask = theory_ask(chance, most_n=96, most_d=128)
    if load.ask("theory", "/api/theory", **ask):
        load.ask("theory file", "/api/file", ending="csv", theory=ask)


def theory_ask(chance: random.Random, most_n: int, most_d: int) -> dict[str, Any]:
    maps = [{"map": name} for name in chance.sample(MAPS, 2)]
    n = sorted(chance.sample(range(4, most_n), 3))
    return {"maps": maps, "n": n, "d": chance.randrange(8, most_d), "seed": chance.randrange(1000)}


def audit(load: Load, chance: random.Random) -> None:
    folder, model = f"load-{chance.randrange(6)}", load.models[0]
    ask = {"models": [model], "texts": chance.randrange(4, 10), "seed": chance.randrange(3)}
    load.ask("audit", "/api/audit/start", folder=folder, **ask)
    load.ask("audits", "/api/audits")
    load.ask("audit file", "/api/file", ending="csv", audit={"folder": folder})


def leave(load: Load, chance: random.Random) -> None:
    """Expensive questions whose client leaves after a while."""
    text, model = sentence(chance, chance.choice((1, 4, 6))), chance.choice(load.models)
    path, ask = chance.choice(
        (
            ("/api/words", {"text": text, "model": model, "tiers": ["curve"]}),
            ("/api/words", {"text": text, "model": model}),
            ("/api/word", {"text": text, "model": model, "index": 2}),
            ("/api/attention", {"text": text, "model": model}),
            ("/api/theory", theory_ask(chance, 256, 512)),
        )
    )
    try:
        with post(load.port, path, ask) as raw:
            load.pause(chance.choice((0.0, 0.3, 3.0, 15.0, 40.0)))
            raw.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                raw.recv(4096)
        load.note("left", "left")
        load.pause(chance.uniform(5, 20))
    except OSError as error:
        load.note("left", "no connection", str(error))


def post(port: int, path: str, ask: dict[str, Any]) -> socket.socket:
    """A question that was sent, its answer unread."""
    body = json.dumps(ask).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
    raw = socket.create_connection(("127.0.0.1", port), timeout=30)
    raw.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    return raw


def slow(load: Load, chance: random.Random) -> None:
    """A wave of connections that send their headers one byte at a time."""
    count = chance.choice((20, 100, SLOW))
    closed = 0
    with contextlib.ExitStack() as stack:
        held = []
        for _ in range(count):
            with contextlib.suppress(OSError):
                raw = socket.create_connection(("127.0.0.1", load.port), timeout=5)
                held.append(stack.enter_context(raw))
        for byte in b"GET /words HTTP/1.1\r\nhost":
            for raw in held:
                with contextlib.suppress(OSError):
                    raw.send(bytes([byte]))
            load.pause(1.0)
            if load.over:
                break
        for raw in held:
            raw.setblocking(False)
            try:
                closed += not raw.recv(100)
            except BlockingIOError:
                pass
            except OSError:
                closed += 1
    load.counts["slow", "closed by the server"] += closed
    load.counts["slow", "still open"] += len(held) - closed
    load.pause(chance.uniform(5, 40))


def burst(load: Load, chance: random.Random) -> None:
    """Many short questions at once; "try again" is a valid answer."""

    def one(number: int) -> None:
        text = f"{sentence(chance)} {number}"
        load.ask("burst", "/api/words", text=text, model=load.models[0], tiers=["mean-local"])

    threads = [threading.Thread(target=one, args=(number,)) for number in range(BURST)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    load.pause(chance.uniform(240, 480))


def health(load: Load, chance: random.Random) -> None:
    """A browser that loads the page and nothing else."""
    started = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", load.port, timeout=60)
    try:
        connection.request("GET", "/words")
        status = connection.getresponse().status
        load.note("health", str(status))
        load.latencies.append(time.monotonic() - started)
    except (OSError, http.client.HTTPException) as error:
        load.note("health", "no answer", f"{type(error).__name__}: {error}")
    finally:
        connection.close()
    load.pause(1.0)


Client = Callable[[Load, random.Random], None]
CLIENTS: tuple[Client, ...] = (
    words,
    words,
    swap,
    attention,
    pairs,
    theory,
    audit,
    leave,
    slow,
    burst,
    health,
)


@dataclass
class Watch:
    """Memory of every process of the server, and which of them came and went."""

    server: psutil.Process
    path: Path
    rows: list[tuple[float, int, float]] = field(default_factory=list)
    seen: dict[int, tuple[float, float]] = field(default_factory=dict)

    def run(self, over: threading.Event, keep: Callable[[], None]) -> None:
        """Sample until it is over; ``keep`` is called after each sample."""
        started = time.monotonic()
        with self.path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["second", "pid", "role", "uss_mb", "threads", "cpu_seconds"])
            while not over.is_set():
                now = time.monotonic() - started
                for one in [self.server, *self.server.children(recursive=True)]:
                    with contextlib.suppress(psutil.Error):
                        held = one.memory_full_info().uss / 1e6
                        role = "server" if one.pid == self.server.pid else "child"
                        cpu = sum(one.cpu_times()[:2])
                        row = [f"{now:.0f}", one.pid, role, f"{held:.0f}"]
                        table.writerow([*row, one.num_threads(), f"{cpu:.0f}"])
                        self.rows.append((now, one.pid, held))
                        self.seen[one.pid] = (self.seen.get(one.pid, (now, now))[0], now)
                file.flush()
                keep()
                over.wait(SAMPLE)

    def summary(self, window: float = 600.0) -> list[str]:
        """Least, median and largest MB of every process in each window of ten minutes."""
        lines = []
        for pid in self.seen:
            own = [(second, held) for second, other, held in self.rows if other == pid]
            if len(own) < 3:
                continue
            first, last = self.seen[pid]
            what = "server" if pid == self.server.pid else "worker"
            parts = []
            for start in range(0, int(last) + 1, int(window)):
                held = [mb for second, mb in own if start <= second < start + window]
                if held:
                    middle = statistics.median(held)
                    parts.append(f"{min(held):.0f}/{middle:.0f}/{max(held):.0f}")
            lines.append(f"{what} {pid} ({first:.0f}-{last:.0f} s): " + "  ".join(parts))
        return lines


@contextlib.contextmanager
def server(folder: Path, *options: str) -> Iterator[tuple[int, psutil.Process, list[str]]]:
    """`wordsway serve` on a free port, and the lines that it prints to standard error."""
    command = [sys.executable, "-m", "wordsway", "serve", "--no-open", "--port", "0"]
    command += ["--store", str(folder / "cells"), "--audits", str(folder), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stderr is not None
    errors: list[str] = []

    def read() -> None:
        for line in process.stderr or ():
            errors.append(line)
            print(line, end="", file=sys.stderr, flush=True)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        port = int(process.stdout.readline().rstrip("/\n").rpartition(":")[2])
        yield port, psutil.Process(process.pid), errors
    finally:
        os.kill(process.pid, signal.SIGINT)
        process.wait()
        reader.join(10)


def run(
    seconds: float,
    path: Path,
    *,
    models: tuple[str, ...] = MODELS,
    options: tuple[str, ...] = (),
    clients: tuple[Client, ...] = CLIENTS,
    seed: int = 0,
) -> tuple[Load, Watch, list[str]]:
    """The load for ``seconds``; what came back, the memory, and what the server printed."""
    seconds = min(seconds, 60 * MINUTES)
    with (
        tempfile.TemporaryDirectory() as folder,
        server(Path(folder), *options) as (port, process, errors),
    ):
        load = Load(port, models, time.monotonic() + seconds)
        watch, over = Watch(process, path), threading.Event()

        def client(number: int) -> None:
            chance = random.Random(f"{seed} {number}")
            while not load.over:
                started = time.monotonic()
                clients[number](load, chance)
                # As a reader does, who reads an answer before the next request.
                load.pause(chance.uniform(0, 4) + time.monotonic() - started)

        threads = [threading.Thread(target=client, args=(at,)) for at in range(len(clients))]

        def keep() -> None:
            text = report(load, watch, errors)
            path.with_suffix(".txt").write_text(text, "utf-8")

        threads.append(threading.Thread(target=watch.run, args=(over, keep)))
        for thread in threads:
            thread.start()
        for thread in threads[:-1]:
            thread.join()
        over.set()
        threads[-1].join()
    return load, watch, errors


def report(load: Load, watch: Watch, printed: list[str]) -> str:
    answers = [f"{who}: {what} {n}" for (who, what), n in sorted(load.counts.copy().items())]
    errors = [f"{n} x {what}" for what, n in load.errors.copy().most_common(40)]
    late = sorted(load.latencies[:]) or [0.0]
    page = f"page: median {statistics.median(late):.2f} s, 99 % {late[int(0.99 * len(late))]:.2f} s"
    printed = [line.rstrip() for line in printed]
    parts = ["ANSWERS", *answers, "ERRORS", *errors, page, "PRINTED", *printed]
    return "\n".join([*parts, "MEMORY (MB, least/median/largest per 10 minutes)", *watch.summary()])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=Path("mixed_load.csv"))
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    print(report(*run(60 * chosen.minutes, chosen.out, seed=chosen.seed)))
