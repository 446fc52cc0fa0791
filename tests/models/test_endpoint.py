"""Endpoints: right numbers or a clear refusal from a faulty server, nothing sent twice, no key
anywhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from wordsway.core.errors import InputError, WordswayError
from wordsway.models import endpoint as module
from wordsway.models.endpoint import Endpoint, EndpointError

KEY = "sk-4f1c-very-secret"
DIMENSIONS = 6


def vector(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    drawn = np.random.default_rng(sum(text.encode()) + len(text)).normal(size=dimensions)
    return drawn.astype(np.float32).tolist()


class Server(ThreadingHTTPServer):
    """An endpoint whose faults are drawn from ``faults``; it counts the texts that it was sent."""

    daemon_threads = True

    def __init__(self, faults: tuple[str, ...] = ("none",), seed: int = 0) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults, self.random = faults, random.Random(seed)
        self.texts: list[str] = []
        self.given: Counter[str] = Counter()
        self.keys: set[str | None] = set()
        self.vector: Callable[..., list[float]] = vector
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = sent["input"]
        with self.server.lock:
            fault = self.server.random.choice(self.server.faults)
            self.server.given[fault] += 1
            self.server.texts += texts
            self.server.keys.add(self.headers["Authorization"])
        dimensions = sent.get("dimensions", DIMENSIONS)
        data: list[dict[str, Any]] = [
            {"index": i, "embedding": self.server.vector(t, dimensions)}
            for i, t in enumerate(texts)
        ]
        if fault in ("429", "429 later", "500", "401", "302"):
            return self.refuse(fault)
        if fault == "shuffled":
            self.server.random.shuffle(data)
        elif fault == "doubled":
            data[-1] = dict(data[0])
        elif fault == "extra":
            data.append(dict(data[0]))
        elif fault == "short":
            data = data[:-1]
        elif fault == "wrong dimension":
            data[0]["embedding"] = data[0]["embedding"][:-1]
        elif fault == "NaN":
            data[0]["embedding"][0] = float("nan")
        body = json.dumps({"data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if fault == "cut" else body)
        self.close_connection = fault == "cut"
        return None

    def refuse(self, fault: str) -> None:
        self.send_response(int(fault.split()[0]))
        if fault == "429 later":
            self.send_header("Retry-After", "0.001")
        if fault == "302":
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        body = json.dumps({"error": {"message": f"no: {self.headers['Authorization']}"}}).encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def serving(*faults: str, seed: int = 0) -> Iterator[Server]:
    server = Server(faults or ("none",), seed)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("WORDSWAY_HOME", str(tmp_path))
    monkeypatch.setattr(module, "PAUSE", 1e-4)


def test_vectors_are_the_servers_and_a_second_run_sends_three_texts():
    texts = [f"text {i % 70}" for i in range(100)]
    with serving("none", "shuffled") as server:
        first = Endpoint(server.url, "m", batch=8).encode(texts)
        assert first.tolist() == [vector(text) for text in texts]
        assert Counter(server.texts) == Counter(set(texts))
        again = Endpoint(server.url, "m").encode(texts)
        assert (again == first).all() and len(server.texts) == 73
        assert Endpoint(server.url, "m").forecast([*texts, "new one"]).texts == 1
        Endpoint(server.url, "other").encode(texts[:1])
        assert Endpoint(server.url, "m", dimensions=3).encode(texts[:1]).shape == (1, 3)
        assert len(server.texts) == 75


def other(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    return vector(f"{text}!", dimensions)


def test_another_model_under_the_same_name_is_refused_until_fresh():
    texts = [f"text {i}" for i in range(20)]
    with serving() as server:
        Endpoint(server.url, "m").encode(texts)
        server.vector = other
        with pytest.raises(EndpointError, match=r"model has changed.*--fresh"):
            Endpoint(server.url, "m").encode(texts)
        server.vector = lambda text, dimensions: vector(text, dimensions + 1)
        with pytest.raises(EndpointError, match="model has changed"):
            Endpoint(server.url, "m").encode(texts)
        server.vector = other
        fresh = Endpoint(server.url, "m", fresh=True)
        assert fresh.forecast(texts).texts == 20
        assert fresh.encode(texts).tolist() == [other(text) for text in texts]
        again = Endpoint(server.url, "m")
        assert again.encode(texts).tolist() == [other(text) for text in texts]
        assert again.describe()["vectors_stored"] == 20 and again.describe()["vectors_sent"] == 0
        assert "20 from the store (the oldest of 20" in again.usage


def test_one_object_notices_another_model_after_a_pause(monkeypatch):
    with serving() as server:
        one = Endpoint(server.url, "m")
        one.encode(["a", "b"])
        server.vector = other
        monkeypatch.setattr(module, "CHECK_AFTER", 0.0)
        with pytest.raises(EndpointError, match="model has changed"):
            one.encode(["a", "b"])


def test_rounding_of_the_server_is_no_other_model():
    with serving() as server:
        first = Endpoint(server.url, "m").encode(["a", "b"])
        server.vector = lambda text, dimensions: [1.005 * one for one in vector(text, dimensions)]
        assert (Endpoint(server.url, "m").encode(["a", "b"]) == first).all()


def test_stored_vectors_of_a_server_that_is_off_are_not_used(caplog):
    with serving() as server:
        Endpoint(server.url, "m").encode(["a"])
    with pytest.raises(EndpointError, match="did not answer"):
        Endpoint(server.url, "m").encode(["a"])
    assert "no answer, attempt 1 of 6" in caplog.text and "attempt 6 of 6" in caplog.text


@pytest.mark.slow
def test_faulty_answers_give_right_numbers_or_a_refusal(monkeypatch, tmp_path):
    """1,000 answers; ``WORDSWAY_DRAWS=10000`` asks for more."""
    answers = int(os.environ.get("WORDSWAY_DRAWS", "1000"))
    monkeypatch.setenv("EMBEDDING_KEY", KEY)
    faults: tuple[str, ...] = ("none",) * 10 + ("shuffled", "cut", "429", "429 later", "500")
    faults += ("doubled", "extra", "short", "wrong dimension", "NaN", "302", "401")
    right, messages = 0, []
    with serving(*faults) as server:
        number = 0
        endpoint = Endpoint(server.url, "m", "EMBEDDING_KEY", batch=3)
        while server.given.total() < answers:
            number += 1
            texts = [f"{number} text {i}" for i in range(6)]
            try:
                found = endpoint.encode(texts)
            except EndpointError as error:
                messages.append(str(error))
            else:
                assert found.tolist() == [vector(text) for text in texts]
                right += 1
        assert set(server.given) == set(faults)
        assert server.keys == {f"Bearer {KEY}"}
    assert right > answers / 40 and len(messages) > answers / 40
    assert not any(KEY in message or "\n" in message for message in messages)
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.rglob("*.*"))


@pytest.mark.parametrize("fault", ["doubled", "extra", "short", "wrong dimension", "NaN"])
def test_a_wrong_answer_is_refused_and_not_stored(fault):
    with serving(fault) as server:
        one = Endpoint(server.url, "m")
        with pytest.raises(EndpointError, match="wrong answer"):
            one.encode(["a", "b"])
        assert one.forecast(["a", "b"]).stored == 0 and server.given.total() == 1


def test_what_was_answered_before_a_fault_is_kept():
    with serving("none") as server:
        one = Endpoint(server.url, "m", batch=2, concurrency=1)
        one.encode(["a", "b"])
        server.faults = ("500",)
        with pytest.raises(EndpointError, match="status 500"):
            one.encode(["a", "b", "c"])
        assert one.forecast(["a", "b", "c"]).texts == 1


def test_a_budget_is_checked_before_anything_is_sent():
    with serving() as server:
        one = Endpoint(server.url, "m", max_texts=2)
        with pytest.raises(InputError, match="max_texts"):
            one.encode(["a", "b", "c"])
        assert server.texts == []
        one.encode(["a"])
        one.encode(["a", "b"])
        with pytest.raises(InputError, match="1 after 2"):
            one.encode(["c"])
        assert server.texts.count("c") == 0


def test_a_redirect_is_not_followed():
    with serving("302") as server, pytest.raises(EndpointError, match="302"):
        Endpoint(server.url, "m").encode(["a"])


def test_the_key_stays_in_the_environment(monkeypatch):
    with serving("401") as server:
        one = Endpoint(server.url, "m", "EMBEDDING_KEY")
        with pytest.raises(InputError, match="EMBEDDING_KEY"):
            one.encode(["a"])
        monkeypatch.setenv("EMBEDDING_KEY", KEY)
        with pytest.raises(EndpointError, match=r"\*\*\*") as refused:
            one.encode(["a"])
    assert KEY not in f"{refused.value} {one!r} {one.describe()} {vars(one)}"


def test_nobody_answers():
    with serving() as server:
        url = server.url
    with pytest.raises(EndpointError, match="did not answer"):
        Endpoint(url, "m").encode(["a"])


@pytest.mark.parametrize(
    "url", ["http://example.com/v1", "ftp://localhost", "https://key@host/v1", "localhost", ""]
)
def test_addresses_that_would_leak_or_mean_nothing_are_refused(url):
    with pytest.raises(WordswayError):
        Endpoint(url, "m")


def test_both_forms_of_an_address_mean_the_same():
    assert Endpoint("http://[::1]:80/v1/", "m").url == "http://[::1]:80/v1/embeddings"
    assert Endpoint("https://h/v1/embeddings", "m").url == "https://h/v1/embeddings"
