"""Untrusted files: tables, documents, archives, models, stores. Each is read by a separate process,
which has to end in time, with a result or an error of one line.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing as mp
import os
import pickle
import struct
import tarfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

#: Time limit of an answer in seconds, except for the first, which imports everything; multiplied
#: by the load per core on a busy machine.
MOST, FIRST = 15.0, 120.0
PLAIN = ["measure", "--map", "raf", "--n", "3", "--d", "4"]


@dataclass
class Opened:
    """Files that were tried, how many of them were refused or read, and what went wrong."""

    refused: int = 0
    read: int = 0
    longest: float = 0.0
    faults: list[str] = field(default_factory=list)

    @property
    def tried(self) -> int:
        return self.refused + self.read + len(self.faults)


def open_hostile(folder: Path, only: int | None = None) -> Opened:
    """Read every file, each within `MOST` seconds of an idle machine."""
    found = Opened()
    cases = list(hostile(folder))[:only]
    asking: _Asking | None = None
    for name, arguments in cases:
        patience = MOST if asking else FIRST
        crowd = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        asking = asking or _Asking()
        begun = time.monotonic()
        answer = asking.ask(arguments, patience * crowd)
        spent = time.monotonic() - begun
        if patience == MOST:
            found.longest = max(found.longest, spent / crowd)
        if answer is None:
            found.faults.append(f"{name}: no answer within {patience * crowd:.0f} s")
            asking.end()
            asking = None
            continue
        status, err = answer
        if name.startswith("store") and status != 0:  # a bad entry must not stop the run
            found.faults.append(f"{name}: exit {status}, {err[:200]!r}")
        elif status == 0:
            found.read += 1
        elif status not in (1, 2) or err.count("\n") != 1 or "\x1b" in err or "Traceback" in err:
            found.faults.append(f"{name}: exit {status}, {err[:200]!r}")
        else:
            found.refused += 1
    if asking:
        asking.end()
    return found


class _Asking:
    """A process that answers command lines."""

    def __init__(self) -> None:
        context = mp.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_answer, args=(theirs,))
        self.process.start()

    def ask(self, arguments: list[str], patience: float) -> tuple[int, str] | None:
        self.pipe.send(arguments)
        try:
            return self.pipe.recv() if self.pipe.poll(patience) else None
        except EOFError:
            return -1, "the process died"

    def end(self) -> None:
        for child in psutil.Process(self.process.pid).children(recursive=True):
            child.kill()
        self.process.kill()
        self.process.join()


def _answer(pipe: Any) -> None:
    from wordsway.cli.app import run

    while True:
        arguments = pipe.recv()
        err = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
            status = _extracted(arguments) if arguments[0] == "extract" else run(arguments)
        lines = [line for line in err.getvalue().splitlines(keepends=True) if not _mere(line)]
        pipe.send((status, "".join(lines)))


def _mere(line: str) -> bool:
    """A line of progress, or a warning about an entry that was set aside."""
    return " cells" in line or "left alone, computed again" in line or line.startswith("reading")


def _extracted(arguments: list[str]) -> int:
    import sys

    from wordsway.core.errors import WordswayError
    from wordsway.data.archives import Budget, extract

    archive = Path(arguments[1])
    try:
        extract(archive, {"a": archive.parent / "out"}, Budget(2**20))
    except WordswayError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def hostile(folder: Path) -> list[tuple[str, list[str]]]:
    """A name and a command line for each of them."""
    return [*_texts(folder), *_archives(folder), *_models(folder), *_stores(folder)]


def _texts(folder: Path) -> list[tuple[str, list[str]]]:
    (folder / "texts").mkdir()
    escape = b"\x1b[2J\x1b]0;x\x07"
    deep = b"[" * 200_000 + b"]" * 200_000
    files: dict[str, bytes] = {
        "empty.csv": b"",
        "header.csv": b"text,label\n",
        "zeros.csv": b"text\n" + b"\0" * 5000,
        "quote.csv": b'text\n"never ends ' + b"x" * 200_000,
        "long.csv": b"text\n" + b"x" * 3_000_000,
        "wide.csv": b",".join(b"c%d" % at for at in range(50_000)) + b"\n",
        "twice.csv": b"text,text\na b c d,e f g h\n",
        "escape.csv": escape + b",label\n" + escape + b",1\n",
        "formula.csv": b"text,label\n=HYPERLINK(1) a b c,=1\nplain words are here,0\n",
        "bytes.csv": b"text\n" + bytes(range(128, 256)) * 50,
        "utf16.csv": "text\nsome words are here\n".encode("utf-16"),
        "labels.csv": b"text,label\n" + b"".join(b"a b c d,%d\n" % at for at in range(300)),
        "deep.json": deep,
        "deep.jsonl": b'{"text": ' + deep + b"}\n",
        "number.json": b'{"text": ' + b"9" * 100_000 + b"}",
        "cut.json": b'[{"text": "a b c d"}, {"te',
        "other.json": b'{"a": {"b": [1, 2, null]}}',
        "nan.jsonl": b'{"text": NaN}\n{"text": Infinity}\n',
        "surrogate.jsonl": b'{"text": "\\ud800 lone words here"}\n',
        "magic.parquet": b"PAR1" + os.urandom(2000) + b"PAR1",
        "footer.parquet": b"PAR1" + b"x" * 100 + struct.pack("<I", 2**31 - 1) + b"PAR1",
        "empty.parquet": b"",
        "short.parquet": b"PAR1PAR1",
    }
    for name, content in files.items():
        (folder / "texts" / name).write_bytes(content)
    os.mkfifo(folder / "texts" / "pipe.csv")
    (folder / "texts" / "loop.csv").symlink_to(folder / "texts" / "loop.csv")
    (folder / "texts" / "zero.csv").symlink_to("/dev/zero")
    (folder / "texts" / "folder.csv").mkdir()
    names = [*files, "pipe.csv", "loop.csv", "zero.csv", "folder.csv"]
    return [(name, [*PLAIN, "--data", str(folder / "texts" / name)]) for name in names]


def _archives(folder: Path) -> list[tuple[str, list[str]]]:
    place = folder / "archives"
    place.mkdir()
    with zipfile.ZipFile(place / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("a", bytes(50 * 2**20))
    with zipfile.ZipFile(place / "up.zip", "w") as out:
        out.writestr("../../a", b"x")
    with tarfile.open(place / "link.tgz", "w:gz") as file:
        info = tarfile.TarInfo("a")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        file.addfile(info)
    with tarfile.open(place / "device.tgz", "w:gz") as file:
        info = tarfile.TarInfo("a")
        info.type = tarfile.CHRTYPE
        file.addfile(info)
    (place / "cut.tgz").write_bytes((place / "link.tgz").read_bytes()[:40])
    (place / "noise.zip").write_bytes(b"PK\x03\x04" + os.urandom(500))
    return [(path.name, ["extract", str(path)]) for path in sorted(place.iterdir())]


def _models(folder: Path) -> list[tuple[str, list[str]]]:
    place = folder / "models"
    place.mkdir()
    config = {"model_type": "bert", "hidden_size": 8, "num_attention_heads": 2, "vocab_size": 9}
    config |= {"num_hidden_layers": 1, "intermediate_size": 8, "max_position_embeddings": 16}

    def model(name: str, change: Callable[[Path], Any], **settings: Any) -> None:
        made = place / name
        made.mkdir()
        (made / "config.json").write_text(json.dumps(config | settings))
        (made / "tokenizer.json").write_text("{}")
        (made / "model.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}")
        change(made)

    def nothing(made: Path) -> None:
        pass

    def write(name: str, content: bytes) -> Callable[[Path], Any]:
        return lambda made: (made / name).write_bytes(content)

    def index(target: str) -> Callable[[Path], Any]:
        def change(made: Path) -> None:
            (made / "model.safetensors").unlink()
            document = {"weight_map": {"a": target}}
            (made / "model.safetensors.index.json").write_text(json.dumps(document))
            (made / "weights.bin").write_bytes(pickle.dumps({"a": 1}))

        return change

    def pipe(made: Path) -> None:
        (made / "model.safetensors").unlink()
        os.mkfifo(made / "model.safetensors")

    model("no weights", nothing)
    model("layers", nothing, num_hidden_layers=10**7)
    model("own code", nothing, auto_map={"AutoModel": "evil.Evil"}, model_type="evil")
    model("kernel", nothing, _attn_implementation="somebody/kernel")
    model("header", write("model.safetensors", struct.pack("<Q", 2**62)))
    model("garbage", write("model.safetensors", os.urandom(300)))
    model("deep config", write("config.json", b"[" * 100_000))
    model("no config", write("config.json", b""))
    model("tokenizer", write("tokenizer.json", os.urandom(300)))
    model("pickle index", index("weights.bin"))
    model("outside index", index("../no weights/model.safetensors"))
    model("pipe", pipe)
    return [
        (path.name, ["words", "a b c", "--model", str(path), "--json"])
        for path in sorted(place.iterdir())
    ]


def _stores(folder: Path) -> list[tuple[str, list[str]]]:
    study = folder / "study.toml"
    study.write_text("[[grid]]\nmap = 'raf'\nn = 3\nd = 3\n")
    key = "0" * 64

    def pipe(path: Path) -> None:
        os.mkfifo(path)

    entries: dict[str, Callable[[Path], Any]] = {
        "folder": lambda path: path.mkdir(),
        "pipe": pipe,
        "loop": lambda path: path.symlink_to(path),
        "zero": lambda path: path.symlink_to("/dev/zero"),
        "sum": lambda path: path.write_text("0" * 64 + " {}\n"),
        "deep": lambda path: path.write_text("0" * 64 + " " + "[" * 100_000 + "\n"),
        "cut": lambda path: path.write_bytes(b"\xff\xfe"),
    }
    cases = []
    for name, make in entries.items():
        segments = folder / f"store-{name}" / "store" / "segments"
        segments.mkdir(parents=True)
        make(segments / f"{key}.log")
        line = ["sweep", str(study), "--out", str(folder / f"store-{name}"), "--workers", "1"]
        cases.append((f"store with {name}", line))
    return cases
