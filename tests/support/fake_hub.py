"""A small hub on loopback that answers the requests of huggingface_hub."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wordsway.data.hub import git_blob_hash

COMMIT = "0" * 39 + "1"


class FakeHub:
    """One repository: ``files`` by path; ``status`` other than 200 refuses every request."""

    def __init__(self, repo: str, files: dict[str, bytes], *, dataset: bool = False) -> None:
        self.repo, self.files, self.status = repo, dict(files), 200
        self.kind = "datasets" if dataset else "models"
        self.headers: dict[str, str] = {}
        self.requests: list[tuple[str, str, str]] = []
        self.url = ""
        #: Paths whose listed hash is wrong, and the sizes listed instead of the true ones.
        self.wrong_hashes: set[str] = set()
        self.sizes: dict[str, int] = {}

    def entry(self, path: str, large: bool) -> dict[str, Any]:
        content = self.files[path] + (b"!" if path in self.wrong_hashes else b"")
        size = self.sizes.get(path, len(self.files[path]))
        listed: dict[str, Any] = {"size": size, "oid": git_blob_hash(content)}
        if large:
            digest = hashlib.sha256(content).hexdigest()
            listed["lfs"] = {"size": size, "sha256": digest, "oid": digest, "pointerSize": 100}
        return listed

    def listing(self) -> dict[str, Any]:
        siblings = [
            {"rfilename": path, "blobId": (listed := self.entry(path, _large(path)))["oid"]}
            | {name: listed[name] for name in ("size", "lfs") if name in listed}
            for path in self.files
        ]
        return {"id": self.repo, "sha": COMMIT, "siblings": siblings, "private": False, "tags": []}

    def tree(self) -> list[dict[str, Any]]:
        return [
            {"type": "file", "path": path, **self.entry(path, _large(path))} for path in self.files
        ]


def _large(path: str) -> bool:
    return path.endswith((".safetensors", ".parquet"))


@contextmanager
def serve(hub: FakeHub) -> Iterator[FakeHub]:
    prefix = "/datasets" if hub.kind == "datasets" else ""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            hub.requests.append((self.command, path, self.headers.get("Authorization", "")))
            name = path.removeprefix(f"{prefix}/{hub.repo}/resolve/").partition("/")[2]
            api = f"/api/{hub.kind}/{hub.repo}"
            content: bytes | None = None
            if path == api or path.startswith(f"{api}/revision/"):
                content = json.dumps(hub.listing()).encode()
            elif path.startswith(f"{api}/tree/"):
                content = json.dumps(hub.tree()).encode()
            elif "/resolve/" in path:
                content = hub.files.get(name)
            status = hub.status if content is not None else 404
            self.send_response(status)
            for header, value in hub.headers.items():
                self.send_header(header, value)
            body = content if status == 200 and content is not None else b""
            if "/resolve/" in path and status == 200:
                digest = git_blob_hash(body)
                if _large(name):
                    digest = hashlib.sha256(body).hexdigest()
                self.send_header("ETag", f'"{digest}"')
                self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
