"""Models and files of the hub, from a small hub on loopback."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import shelf
from fake_hub import FakeHub, serve
from wordsway import data
from wordsway.core.errors import WordswayError
from wordsway.core.runtime import run_with_timeout
from wordsway.data import DataError, hub
from wordsway.data.catalogue import CATALOGUE, Entry, HubSource, PinnedFile
from wordsway.data.hub import hub_folder

constants = pytest.importorskip("huggingface_hub.constants")
FILES = {
    "config.json": b"{}",
    "model.safetensors": b"weights",
    "1_Pooling/config.json": b"[1]",
    "run_me.py": b"print()",
}


@pytest.fixture(autouse=True)
def _empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("WORDSWAY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf"))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with serve(FakeHub("some/model", FILES)) as fake:
        monkeypatch.setenv("HF_ENDPOINT", fake.url)
        yield fake


@pytest.fixture
def reviews(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with serve(FakeHub("someone/small", {"reviews.json": shelf.REVIEWS})) as fake:
        monkeypatch.setenv("HF_ENDPOINT", fake.url)
        monkeypatch.setitem(CATALOGUE, "small", shelf.entry(hub="someone/small"))
        yield fake


def test_a_model_is_downloaded_once_and_without_its_code(model: FakeHub) -> None:
    seen: list[tuple[float, float]] = []

    def progress(stage: str, done: float, total: float, note: str = "") -> None:
        seen.append((done, total))

    folder = hub_folder("some/model", progress)
    assert (folder / "model.safetensors").read_bytes() == b"weights"
    assert (folder / "1_Pooling" / "config.json").is_file()
    assert not (folder / "run_me.py").exists()
    assert seen and all(0 <= done <= total == 12 for done, total in seen)
    asked = len(model.requests)
    assert hub_folder("some/model") == folder
    assert len(model.requests) == asked, "a complete snapshot needs no request"


def test_files_that_another_program_stored_are_completed(model: FakeHub) -> None:
    from huggingface_hub import hf_hub_download

    for name in ("config.json", "model.safetensors"):
        hf_hub_download("some/model", name, endpoint=model.url)
    folder = hub_folder("some/model")
    assert (folder / "1_Pooling" / "config.json").is_file()


def test_files_that_another_program_stored_serve_without_the_hub(
    model: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import hf_hub_download

    for name in ("config.json", "model.safetensors"):
        hf_hub_download("some/model", name, endpoint=model.url)
    model.status = 404
    assert (hub_folder("some/model") / "model.safetensors").is_file()


def test_the_users_token_reaches_gated_models(
    model: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub_folder("some/model")
    assert {key for _, _, key in model.requests} == {"Bearer hf_secret"}


@pytest.mark.parametrize(
    ("status", "headers", "remedy"),
    [
        (403, {"X-Error-Code": "GatedRepo"}, "gated: accept its terms.* HF_TOKEN"),
        (404, {"X-Error-Code": "RepoNotFound"}, "no such repository"),
    ],
)
def test_a_refusal_names_its_remedy(
    model: FakeHub, status: int, headers: dict[str, str], remedy: str
) -> None:
    model.status, model.headers = status, headers
    with pytest.raises(WordswayError, match=remedy) as caught:
        hub_folder("some/model")
    assert "\n" not in str(caught.value)


def test_what_cannot_be_used_is_refused_before_the_download(
    model: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.sizes = {"model.safetensors": 10**15}
    with pytest.raises(WordswayError, match=r"at most 68\.7 GB are downloaded"):
        hub_folder("some/model")
    del model.files["model.safetensors"]
    with pytest.raises(WordswayError, match=r"no config\.json with weights in safetensors"):
        hub_folder("some/model")
    assert not any("/resolve/" in path for _, path, _ in model.requests)


def test_a_hub_that_hangs_is_reported_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "PATIENCE", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        start = time.monotonic()
        with pytest.raises(WordswayError, match="cannot be reached"):
            hub_folder("some/model")
    assert time.monotonic() - start < 10


def test_a_name_lookup_that_hangs_is_left() -> None:
    answered = threading.Event()
    with pytest.raises(TimeoutError):
        run_with_timeout(0.1, lambda: answered.wait(60))
    answered.set()


def test_the_hub_comes_first_where_it_answers(reviews: FakeHub) -> None:
    here = data.get("small")
    assert here.source == "hub someone/small"
    assert here.path("reviews.json").read_bytes() == shelf.REVIEWS


def test_a_pinned_hash_holds_for_the_hub_too(reviews: FakeHub) -> None:
    reviews.files["reviews.json"] = b"[]"
    with pytest.raises(DataError, match=r"reviews\.json is refused: its SHA-256"):
        data.get("small")


def test_more_bytes_than_the_catalogue_declares_are_refused(reviews: FakeHub) -> None:
    reviews.sizes["reviews.json"] = 100 << 20
    with pytest.raises(DataError, match="more than the 1 MB of the catalogue"):
        data.get("small")
    assert not any("/resolve/" in path for _, path, _ in reviews.requests)


@pytest.mark.parametrize("name", ["reviews.json", "reviews.parquet"])
@pytest.mark.parametrize("wrong", [False, True])
def test_unpinned_files_have_the_hash_that_the_hub_declares(
    monkeypatch: pytest.MonkeyPatch, name: str, wrong: bool
) -> None:
    """As for bert-base: git's SHA-1 of small files, SHA-256 of large ones."""
    unpinned = HubSource("someone/small", (PinnedFile(name, name, None),))
    monkeypatch.setitem(CATALOGUE, "small", Entry("small", "model", "", "", 10, (unpinned,)))
    with serve(FakeHub("someone/small", {name: shelf.REVIEWS})) as fake:
        monkeypatch.setenv("HF_ENDPOINT", fake.url)
        if wrong:
            fake.wrong_hashes.add(name)
            with pytest.raises(DataError, match="differs from the one the hub declares"):
                data.get("small")
            return
        here = data.get("small")
    assert here.files == {name: hashlib.sha256(shelf.REVIEWS).hexdigest()}
    here.path(name).write_bytes(b"[]")
    assert here.broken() == [name]


@pytest.mark.slow
def test_bert_base_without_a_hub_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    environment = os.environ | {
        "WORDSWAY_HOME": str(tmp_path),
        "HF_ENDPOINT": f"http://127.0.0.1:{port}",
        "HF_HOME": str(tmp_path / "hf"),
    }
    command = [sys.executable, "-m", "wordsway", "data", "get", "bert-base"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "mpnet" in done.stderr and "local model folder" in done.stderr
