"""The server behind the page: who may ask, what is refused, what it survives."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from serving import PATIENCE, start
from wordsway.page.guard import POLICY
from wordsway.page.settings import Settings, listening

TEXT = "the film was good"


def test_ready(client):
    found = client.get("/healthz")
    assert found.status == 200 and found.json["status"] == "ready"


def test_threads_of_workers_do_not_spin(served):
    """Where other programs run, too, spinning costs ten times the time of the work itself."""
    workers = [one for one in served.processes[1:] if "spawn_main" in " ".join(one.cmdline())]
    assert workers
    assert {one.environ()["OMP_WAIT_POLICY"] for one in workers} == {"PASSIVE"}


def test_every_answer_carries_the_policy(client):
    for path in ("/words", "/assets/app.js", "/api/models", "/nothing", "/healthz"):
        assert client.get(path).headers["content-security-policy"] == POLICY, path
    assert "'unsafe" not in POLICY


def test_every_place_has_an_address(client):
    assert client.get("/").headers["location"] == "/words"
    for place in ("words", "attention", "theory", "audit", "length"):
        found = client.get(f"/{place}?text=%3Cscript%3E")
        assert found.status == 200 and b"%3C" not in found.body
        assert found.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "example.com"},
        {"host": "127.0.0.1"},
        {"host": "127.0.0.1:1"},
        {"host": ""},
        {"host": "localhost.example.com:80"},
        {"origin": "http://example.com"},
        {"origin": "null"},
        {"origin": "https://127.0.0.1"},
    ],
    ids=str,
)
def test_foreign_hosts_and_origins_are_refused(client, headers):
    for path in ("/words", "/healthz", "/api/models"):
        assert client.get(path, **headers).status == 403
    body = json.dumps({"text": TEXT}).encode()
    sent = {"content-type": "application/json"} | headers
    assert client.send("POST", "/api/words", body, sent).status == 403


def test_our_own_names_are_accepted(client):
    for name in ("127.0.0.1", "localhost", "[::1]"):
        host = f"{name}:{client.port}"
        assert client.get("/healthz", host=host, origin=f"http://{host}").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../server.py",
        "/assets/%2e%2e/server.py",
        "/assets/..%2fserver.py",
        "/assets/....//server.py",
        "/../../etc/passwd",
        "/assets//etc/passwd",
        "/assets/page.html",
        "/assets/%00",
        "/docs",
        "/openapi.json",
        "/assets/",
        "/words/",
        "/%ff",
    ],
)
def test_nothing_else_is_served(client, path):
    assert 400 <= client.get(path).status < 500


BAD = [
    {},
    {"text": ""},
    {"text": 5},
    {"text": None},
    {"text": ["a"]},
    {"text": "a" * 8001},
    {"text": TEXT, "seed": -1},
    {"text": TEXT, "seed": "0"},
    {"text": TEXT, "seed": 1.5},
    {"text": TEXT, "seed": True},
    {"text": TEXT, "seed": 2**31},
    {"text": TEXT, "layer": 3},
    {"text": TEXT, "layer": "-1"},
    {"text": TEXT, "target": "everything"},
    {"text": TEXT, "tiers": []},
    {"text": TEXT, "tiers": ["all"]},
    {"text": TEXT, "unknown": 1},
    {"text": TEXT, "model": ""},
    {"text": TEXT, "model": "../../etc"},
    {"text": TEXT, "model": "/etc/passwd"},
    {"text": TEXT, "cut": 1},
    {"text": "\ud800"},
    {"text": " \n "},
]


@pytest.mark.slow
@pytest.mark.parametrize("ask", BAD, ids=lambda ask: str(ask)[:60])
def test_wrong_questions_are_refused_in_plain_words(client, ask):
    found = client.ask("/api/words", **ask)
    assert 400 <= found.status < 500
    error = found.json["error"]
    assert error["message"] and "Traceback" not in error["message"]
    assert found.headers["content-type"] == "application/json"


def test_a_wrong_field_is_named_in_plain_words(client):
    for path, asked, said in (
        ("words", {"text": " "}, "expected a text that is not empty for text"),
        ("words", {"text": "a", "layer": "x"}, "expected last, input or the number of a layer"),
        ("theory", {"maps": [{"map": "raf"}], "n": [513]}, "expected at most 512 for n"),
        ("length", {"models": ["minilm"], "texts": 3}, "expected 8 or more for texts"),
    ):
        message = client.ask(f"/api/{path}", **asked).json["error"]["message"]
        assert said in message


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"\xff\xfe",
        b'{"text": NaN}',
        b'{"text": "a", "seed": Infinity}',
        b"[" * 60_000,
        b'{"a":' * 10_000,
        b"x" * 70_000,
        b'{"text": "a", "text": 5}',
    ],
    ids=lambda body: repr(body[:20]),
)
def test_bodies_that_are_no_questions(client, body):
    found = client.send("POST", "/api/words", body, {"content-type": "application/json"})
    assert 400 <= found.status < 500


def test_a_body_without_an_end_is_cut(served):
    """A chunked body that never says how long it is."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as raw:
        head = f"POST /api/words HTTP/1.1\r\nhost: 127.0.0.1:{served.port}\r\n"
        raw.sendall(f"{head}content-type: application/json\r\n".encode())
        raw.sendall(b"transfer-encoding: chunked\r\n\r\n")
        chunk = b"8000\r\n" + b"x" * 0x8000 + b"\r\n"
        answer = b""
        try:
            for _ in range(40):
                raw.sendall(chunk)
            answer = raw.recv(100)
        except OSError:
            answer = answer or raw.recv(100)
        assert b"413" in answer.split(b"\r\n")[0]


def test_methods_that_a_place_does_not_know(client):
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert client.send(method, "/api/words").status == 405
    assert client.send("POST", "/words").status == 405


@contextlib.contextmanager
def streaming(port: int, request: dict[str, Any]) -> Iterator[socket.socket]:
    """An open connection with a request of words."""
    body = json.dumps(request).encode()
    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        head = f"POST /api/words HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        raw.sendall(head.encode() + body)
        yield raw


LONG = " ".join(["the film was good and the plot was very dull"] * 2)


@pytest.mark.slow
def test_requests_whose_page_is_gone_are_cancelled(served, small_model):
    """A long search, and many that wait for it, are left; the next request is answered soon."""
    long = {"text": LONG, "model": str(small_model), "tiers": ["curve"]}
    before = {one.pid for one in served.processes}
    with streaming(served.port, long) as raw, contextlib.ExitStack() as waiting:
        assert b"200" in raw.recv(2000)
        for seed in range(20):
            waiting.enter_context(streaming(served.port, long | {"seed": seed + 1}))
        time.sleep(1)
    started = time.monotonic()
    found = served.client.ask("/api/words", text=TEXT, model=str(small_model))
    assert found.last("done")
    waited = time.monotonic() - started
    assert {one.pid for one in served.processes} == before, "it stopped by itself"
    assert waited < 60


@pytest.mark.slow
def test_the_page_answers_while_a_model_computes(served, small_model):
    long = {"text": LONG, "model": str(small_model), "tiers": ["curve"]}
    with streaming(served.port, long) as raw:
        raw.recv(2000)
        assert served.client.get("/healthz").status == 200
        quick = served.client.ask("/api/words", text="it was fine", model=str(small_model))
        assert quick.events[-1]["kind"] == "done"


@pytest.mark.slow
def test_a_process_that_dies_is_replaced(served, small_model):
    worker = max(served.processes[1:], key=lambda one: one.memory_info().rss)
    worker.kill()
    worker.wait(30)
    found = served.client.ask("/api/words", text="he was good", model=str(small_model))
    assert found.last("done")


@pytest.mark.slow
def test_others_need_the_token_and_ctrl_c_ends_a_stream(tmp_path):
    with (
        socket.socket() as stream,
        start("--host", "0.0.0.0", "--store", str(tmp_path)) as served,
    ):
        client = served.client
        token = served.address.partition("?token=")[2]
        assert len(token) > 20
        assert client.get("/words").status == 401
        assert client.get("/words?token=wrong").status == 401
        assert client.get("/words", cookie="wordsway=wrong").status == 401
        welcome = client.get(f"/words?token={token}&text=a%20b")
        assert welcome.status == 303 and welcome.headers["location"] == "/words?text=a+b"
        cookie = welcome.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
        assert client.get("/words", cookie=cookie.split(";")[0]).status == 200
        assert client.get("/healthz", authorization=f"Bearer {token}").status == 200
        assert client.get("/words", host="example.com", cookie=cookie).status == 403
        ask = {"maps": [{"map": "raf"}], "n": [200] * 16, "d": 200, "trials": 20}
        body = json.dumps(ask).encode()
        head = f"POST /api/theory HTTP/1.1\r\nhost: 127.0.0.1:{served.port}\r\n"
        head += f"authorization: Bearer {token}\r\ncontent-type: application/json\r\n"
        stream.settimeout(PATIENCE)
        stream.connect(("127.0.0.1", served.port))
        stream.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        assert b"200 OK" in stream.recv(100)
        served.interrupt()
        rest = b"".join(iter(lambda: stream.recv(65536), b""))
        assert b"The server was stopped" in rest and rest.endswith(b"0\r\n\r\n"), "a whole answer"


def test_a_port_that_is_taken():
    from wordsway.core.errors import InputError

    with listening("127.0.0.1", 0) as taken, pytest.raises(InputError, match="another --port"):
        listening("127.0.0.1", taken.getsockname()[1])


def test_who_is_asked_for_a_token():
    assert Settings("localhost").token is None and Settings("::1").token is None
    assert Settings("192.168.1.7").token


@pytest.mark.slow
def test_bad_requests_are_refused_and_nothing_else_happens(served):
    from benchmarks.page import bad_requests, status_of

    before = {one.pid for one in served.processes}
    for bad in bad_requests(100, served.port, seed=1):
        assert 400 <= status_of(served.port, bad) < 500, bad
    assert {one.pid for one in served.processes} == before
    assert served.client.get("/healthz").status == 200


@pytest.mark.slow
def test_fifty_clients_get_the_right_answer_or_are_told_to_try_again(served, small_model):
    from benchmarks.page import load

    found = load(served.port, str(small_model))
    assert found["right"] + found["busy"] == 50 and found["right"] >= 20
    assert sum(one.memory_info().rss for one in served.processes) < 3e9
