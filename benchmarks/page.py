"""`python -m benchmarks page`: first colours in Chromium, fifty clients at once, ten thousand bad
requests; `python -m benchmarks.page colours` (or load, refusals) is a part. Figures:
docs/notes/performance.md.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import psutil

from tools.browser import find

SENTENCE = "The quick brown fox jumps over the lazy dog near the river"
#: Last words of the same text, asked about one after the other.
LASTS = ("bridge", "house", "forest", "garden", "window", "station")
CLIENTS, BAD, REPEATS = 50, 10_000, 5
ROOT = Path(__file__).resolve().parent.parent


class Bad(NamedTuple):
    """A request that no page sends."""

    method: str
    path: str
    body: bytes | None
    headers: dict[str, str]


def bad_requests(count: int, port: int, seed: int = 0) -> Iterator[Bad]:
    """Fuzzed JSON, huge bodies, wrong types, paths that lead out, foreign hosts and origins."""
    noise = random.Random(seed)
    own = {"host": f"127.0.0.1:{port}", "content-type": "application/json"}
    good: dict[str, dict[str, Any]] = {
        "/api/words": {"text": "a good film"},
        "/api/word": {"text": "a good film", "index": 0},
        "/api/attention": {"text": "a good film"},
        "/api/theory": {"maps": [{"map": "raf"}], "n": [3], "d": 4},
        "/api/audit": {"folder": "x"},
        "/api/audit/start": {"folder": "x", "models": ["minilm"]},
        "/api/file": {"ending": "json", "words": {"text": "a"}},
    }
    strange: list[Any] = [
        None,
        True,
        -1,
        1.5,
        "",
        [],
        {},
        [[]],
        {"a": 1},
        10**30,
        "\ud800",
        "x" * 9000,
        -0.0,
    ]
    outside = ["..", "%2e%2e", "..%2f", "%00", "etc/passwd", "\\", "....//", "%ff", "~", "a" * 3000]
    for _ in range(count):
        path = noise.choice(list(good))
        kind = noise.randrange(7)
        if kind == 0:  # a field of another type
            ask = dict(good[path])
            ask[noise.choice([*ask, "extra", "__proto__"])] = noise.choice(strange)
            ask["unknown"] = noise.choice(strange)
            yield Bad("POST", path, json.dumps(ask).encode(), own)
        elif kind == 1:  # broken JSON
            text = bytearray(json.dumps(good[path]).encode())
            text[noise.randrange(len(text))] = noise.randrange(256)
            yield Bad("POST", path, bytes(text[: noise.randrange(len(text))]), own)
        elif kind == 2:  # noise
            yield Bad("POST", path, noise.randbytes(noise.randrange(2000)) + b"\xff", own)
        elif kind == 3:  # more than a request may have
            yield Bad("POST", path, b" " * noise.choice([65_537, 200_000]), own)
        elif kind == 4:  # a way out
            steps = "/".join(noise.choice(outside) for _ in range(noise.randrange(1, 5)))
            yield Bad(
                "GET", f"{noise.choice(['/', '/assets/', '/api/', '/words/'])}{steps}", None, own
            )
        elif kind == 5:  # somebody else
            foreign = noise.choice(["example.com", "127.0.0.1.nip.io", f"evil:{port}", "", "0:0"])
            who = {"host": foreign} if noise.random() < 0.5 else {"origin": f"http://{foreign}"}
            yield Bad("POST", path, json.dumps(good[path]).encode(), own | who)
        else:  # another method
            method = noise.choice(["PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])
            yield Bad(method, path, None, own)


def status_of(port: int, bad: Bad) -> int:
    """The status of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    try:
        connection.putrequest(bad.method, quote(bad.path, safe="/%\\~."), skip_host=True)
        for name, value in bad.headers.items():
            connection.putheader(name, value)
        if bad.body is not None:
            connection.putheader("content-length", str(len(bad.body)))
        connection.endheaders()
        if bad.body is not None:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.send(bad.body)  # it may be refused before it is read
        return connection.getresponse().status
    finally:
        connection.close()


def asked(port: int, path: str, ask: dict[str, Any]) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    try:
        connection.request("POST", path, json.dumps(ask), {"content-type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def numbers_of(body: bytes) -> list[float]:
    """Mean local of every word, from the last event that has words."""
    events = [json.loads(line) for line in body.splitlines()]
    words = [event for event in events if event["kind"] == "words"][-1]
    return [word["mean_local"] for word in words["result"]["words"]]


def load(port: int, model: str, clients: int = CLIENTS) -> dict[str, Any]:
    """``clients`` questions at once, each its own text: right answers, busy ones, anything else."""
    texts = [f"the film was good and he was {number} times very dull" for number in range(clients)]
    got: dict[int, tuple[int, bytes]] = {}

    def client(number: int) -> None:
        ask = {"text": texts[number], "model": model, "tiers": ["mean-local"]}
        got[number] = asked(port, "/api/words", ask)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tally = Counter(status for status, _ in got.values())
    right = 0
    for number, (status, body) in got.items():
        if status == 200:
            ask = {"text": texts[number], "model": model, "tiers": ["mean-local"], "cut": True}
            again = asked(port, "/api/words", ask)  # not the answer that is kept
            right += numbers_of(body) == numbers_of(again[1])
    return {"right": right, "busy": tally[503], "other": clients - tally[200] - tally[503]}


@contextlib.contextmanager
def server() -> Iterator[tuple[int, psutil.Process]]:
    command = [sys.executable, "-m", "wordsway", "serve", "--no-open", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    try:
        yield (
            int(process.stdout.readline().rstrip("/\n").rpartition(":")[2]),
            psutil.Process(process.pid),
        )
    finally:
        os.kill(process.pid, signal.SIGINT)
        process.wait()


def memory_of(own: psutil.Process) -> int:
    """Bytes that the server and its processes hold themselves."""
    held = 0
    for one in [own, *own.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            held += one.memory_full_info().uss
    return held


@contextlib.contextmanager
def peak_of(own: psutil.Process) -> Iterator[Callable[[], int]]:
    """The most that the server and its processes held together, looked at five times a second."""
    most, over = memory_of(own), threading.Event()

    def watch() -> None:
        nonlocal most
        while not over.wait(0.2):
            most = max(most, memory_of(own))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield lambda: most
    finally:
        over.set()
        watcher.join()


#: From the click to the frame in which the last word has its colour, in milliseconds.
CLICK = """(last) => new Promise((resolve, reject) => {
  const clicked = performance.now();
  document.querySelector("button[type=submit]").click();
  const look = () => {
    const word = [...document.querySelectorAll(".w")].at(-1);
    const there = word?.textContent === last && word.style.getPropertyValue("--share") !== "";
    const wrong = document.querySelector("[role=alert]:not([hidden])");
    if (wrong) reject(new Error(wrong.textContent));
    requestAnimationFrame(there ? () => resolve(performance.now() - clicked) : look);
  };
  look();
})"""


def first_colours(port: int, text: str, repeats: int) -> list[float]:
    """Seconds from the click to the coloured text, in Chromium, the model being in memory. Each
    time the last word is another one, so that no answer is kept.
    """
    from playwright.sync_api import sync_playwright

    times = []
    kept = " ".join(text.split()[:-1])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(), args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(300_000)
        page.goto(f"http://127.0.0.1:{port}/words?tiers=mean-local")
        page.wait_for_selector(".result[data-state=done]")
        for last in ("town", *LASTS[:repeats]):
            page.fill("textarea >> nth=0", f"{kept} {last}")
            times.append(page.evaluate(CLICK, last) / 1000)
            page.wait_for_selector(".result[data-state=done]")
        browser.close()
    return times[1:]


def crowd(port: int, own: psutil.Process) -> list[str]:
    with peak_of(own) as peak:
        found = load(port, "minilm")
        return [
            f"| {CLIENTS} clients at once | {found['right']} right, {found['busy']} refused "
            f"as busy, {found['other']} other |",
            f"| memory of server and workers meanwhile, at most | {peak() / 1e6:,.0f} MB |",
        ]


def refusals(port: int, own: psutil.Process) -> list[str]:
    statuses = Counter(status_of(port, bad) for bad in bad_requests(BAD, port))
    others = sum(count for status, count in statuses.items() if not 400 <= status < 500)
    each = ", ".join(f"{count:,} × {status}" for status, count in sorted(statuses.items()))
    return [f"| {BAD:,} bad requests | {others} answered with anything but 4xx ({each}) |"]


def colours(port: int, own: psutil.Process) -> list[str]:
    rows = []
    for text, repeats in ((SENTENCE, REPEATS), (" ".join([SENTENCE] * 33), 2)):
        times = first_colours(port, text, repeats)
        spread = f"{min(times):.2f} to {max(times):.2f} s over {repeats}"
        middle = statistics.median(times)
        rows.append(
            f"| first colours of {len(text.split())} words, from the click | {middle:.2f} s "
            f"({spread}) |"
        )
    return rows


PARTS = {"colours": colours, "load": crowd, "refusals": refusals}


def table(parts: Iterable[str] = PARTS) -> str:
    """The parts that were asked for, as a table of docs/notes/performance.md."""
    rows = []
    with server() as (port, own):
        for part in parts:
            rows += PARTS[part](port, own)
    note = (
        "`wordsway serve` with MiniLM in memory, in Chromium; a word has its colour as soon as "
        "mean local is known. A bad request is one that no page sends."
    )
    return "\n".join([note, "", "| what | figure |", "|---|---|", *rows])


if __name__ == "__main__":
    print(table(sys.argv[1:] or PARTS))
