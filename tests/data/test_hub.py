"""Models by hub id: a hub on this machine that is honest, or not."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wordsway.data import hub
from wordsway.data.home import home
from wordsway.data.hub import hub_folder
from wordsway.errors import WordswayError

pytest.importorskip("huggingface_hub")
MEGABYTE = 1 << 20
FILES = {
    "config.json": b"{}",
    "model.safetensors": b"weights",
    "1_Pooling/config.json": b"[1]",
    "run_me.py": b"print()",
}


class FakeHub(http.server.BaseHTTPRequestHandler):
    """Lists `listed` and sends `files`; `endless` is a path that never ends."""

    files: dict[str, bytes]
    listed: list[dict[str, Any]]
    endless: str
    sent: int

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        listing = path == "/api/models/some/model"
        file = path.removeprefix("/some/model/resolve/main/")
        content = json.dumps({"siblings": self.listed}).encode()
        content = content if listing else self.files.get(file, b"")
        self.send_response(200)
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(content)
            while self.endless and path.endswith(self.endless) and FakeHub.sent < 300 * MEGABYTE:
                self.wfile.write(bytes(MEGABYTE))
                FakeHub.sent += MEGABYTE

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[FakeHub]]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), FakeHub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("WORDSWAY_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hf"))
    monkeypatch.setattr(hub, "_in_hub_cache", lambda name: None)
    FakeHub.files, FakeHub.endless, FakeHub.sent = dict(FILES), "", 0
    FakeHub.listed = [{"rfilename": name, "size": len(text)} for name, text in FILES.items()]
    yield FakeHub
    server.shutdown()


def left() -> list[str]:
    """Files of models that are kept, or were left behind."""
    return sorted(p.name for p in (home() / "hub").rglob("*") if p.is_file())


def test_a_model_is_fetched_once_without_its_code(fake: type[FakeHub]) -> None:
    folder = hub_folder("some/model")
    assert (folder / "model.safetensors").read_bytes() == b"weights"
    assert (folder / "1_Pooling" / "config.json").is_file()
    assert left() == ["config.json", "config.json", "model.safetensors"]
    fake.listed = []
    assert hub_folder("some/model") == folder, "nobody is asked again"


@pytest.mark.parametrize("file", ["model.safetensors", "config.json"])
def test_a_file_stops_at_the_size_that_the_hub_declares(fake: type[FakeHub], file: str) -> None:
    fake.endless = f"main/{file}"
    with pytest.raises(WordswayError, match=f"{file} is refused: it is larger than the .* the hub"):
        hub_folder("some/model")
    assert fake.sent < 100 * MEGABYTE, "what was under way, and no more"
    assert left() == []


def test_a_listing_that_never_ends(fake: type[FakeHub]) -> None:
    fake.endless = "/api/models/some/model"
    with pytest.raises(WordswayError, match="a listing of more than"):
        hub_folder("some/model")
    assert fake.sent < 100 * MEGABYTE and left() == []


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ([{"rfilename": "../a.json", "size": 1}], "outside its folder"),
        ([{"rfilename": "/a.json", "size": 1}], "outside its folder"),
        ([{"rfilename": "a.json", "size": -1}], "no size"),
        ([{"rfilename": "a.json", "size": "1"}], "no size"),
        ([{"rfilename": "a.json"}], "listing"),
        ([7], "listing"),
        ([{"rfilename": "a.safetensors", "size": 1}], "no config"),
        ([], "no config"),
    ],
)
def test_a_listing_that_is_refused(fake: type[FakeHub], listed: Any, said: str) -> None:
    fake.listed = listed
    with pytest.raises(WordswayError, match=said):
        hub_folder("some/model")
    assert left() == []


def test_what_is_declared_has_to_fit(fake: type[FakeHub], monkeypatch: pytest.MonkeyPatch) -> None:
    fake.listed = [{"rfilename": "config.json", "size": 2}]
    fake.listed.append({"rfilename": "model.safetensors", "size": 10**15})
    with pytest.raises(WordswayError, match="more than the"):
        hub_folder("some/model")
    monkeypatch.setattr(hub, "MOST", 10**18)
    with pytest.raises(WordswayError, match="free some space"):
        hub_folder("some/model")
    assert fake.sent == 0


def test_other_bytes_than_promised_are_refused(
    fake: type[FakeHub], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many bytes as declared, and not those whose hash the hub tells."""
    monkeypatch.setattr(FakeHub, "send_header", lambda self, name, value: None)
    with pytest.raises(WordswayError, match="not the one that the hub promised"):
        hub_folder("some/model")
    assert left() == []
