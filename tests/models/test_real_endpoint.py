"""A third-party server of embeddings on this machine: an audit over it is the audit in process, and
a second run sends nothing.

infinity-emb is installed from the registry into an environment of its own, out/infinity, which uses
torch, and what torch needs, of this one.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wordsway as ws
from tools.imports import ROOT
from wordsway.models.files import locate

pytestmark = pytest.mark.slow
PACKAGE = "infinity-emb[server,torch]==0.0.78"
WAIT = 180.0


@pytest.fixture(scope="module")
def program() -> Path:
    folder = ROOT / "out" / "infinity"
    found = folder / "bin" / "infinity_emb"
    if not found.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        (own,) = folder.glob("lib/python*/site-packages")
        for name in ("torch", "sympy", "networkx", "mpmath"):
            for path in Path(sysconfig.get_path("platlib")).glob(f"{name}*"):
                (own / path.name).symlink_to(path)
        install = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--no-compile"]
        made = subprocess.run(
            [*install, PACKAGE],
            capture_output=True,
            text=True,
        )
        if made.returncode:
            pytest.skip(f"infinity-emb cannot be installed: {made.stderr.strip()[-200:]}")
    return found


@pytest.fixture(scope="module")
def server(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = (tmp_path_factory.mktemp("infinity") / "log").open("w")
    offline = {"HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1", "INFINITY_ANONYMOUS_USAGE_STATS": "0"}
    command = [str(program), "v2", "--model-id", str(locate("minilm").folder)]
    command += ["--served-model-name", "minilm", "--engine", "torch", "--device", "cpu"]
    command += ["--no-bettertransformer", "--no-model-warmup"]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | offline
    process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + WAIT
        while True:
            try:
                urllib.request.urlopen(f"{url}/health", timeout=2).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(f"infinity-emb does not start: {Path(log.name).read_text()[-600:]}")
                time.sleep(0.5)
        yield url
    finally:
        process.terminate()
        process.wait(WAIT)
        log.close()


def requests(url: str) -> int:
    """Requests for embeddings that the server itself has counted."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    counts = [
        float(line.rpartition(" ")[2])
        for line in lines
        if re.match(r"http_requests_total\{.*/embeddings", line)
    ]
    return int(sum(counts))


def test_an_audit_over_a_server_is_the_audit_in_process(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sentence_transformers import SentenceTransformer

    folder = locate("minilm").folder
    before = requests(server)
    monkeypatch.setattr("wordsway.models.cache.home", lambda: tmp_path)
    endpoint = ws.Endpoint(server, "minilm")
    model = SentenceTransformer(str(folder), device="cpu")
    options: dict[str, Any] = {"texts": 10, "kinds": ["negation", "numbers"]}
    options["baselines"] = False
    ours = ws.audit(model.encode, **options)
    theirs = ws.audit(endpoint, **options)
    for mine, other in zip(ours.models[0].kinds, theirs.models[0].kinds, strict=True):
        assert mine.kind == other.kind and mine.levels.keys() == other.levels.keys()
        for level, score in mine.levels.items():
            assert other.levels[level].texts == score.texts > 0
            assert other.levels[level].score == pytest.approx(score.score, abs=1e-6)
    sent = requests(server)
    assert sent > before
    again = ws.audit(ws.Endpoint(server, "minilm"), **options)
    assert again.models[0].about["vectors_sent"] == 0, "a second run sends no new text"
    assert again.models[0].kinds == theirs.models[0].kinds
