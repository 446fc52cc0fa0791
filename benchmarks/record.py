"""A page of figures that tells the truth about itself: all of it comes from one run.

`make bench` measures part after part into a record, docs/performance.json, which names the version
and the source it was measured with; docs/performance.md is written from the record and from nothing
else. A run that was interrupted goes on where it stopped, as long as the source is the same, byte
for byte; else it starts anew. A test compares page, record and version.
"""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from wordsway.atomic import atomic
from wordsway.format import format_seconds
from wordsway.version import __version__

ROOT = Path(__file__).resolve().parent.parent
RECORD, PAGE = ROOT / "docs" / "performance.json", ROOT / "docs" / "performance.md"
#: An unfinished run, until all of its parts are there.
UNFINISHED = ROOT / "out" / "bench" / "unfinished.json"

INTRODUCTION = """\
# Performance

Everything on this page was measured by one run of `make bench` and is written by it; a part alone,
`python -m benchmarks learning`, is printed and changes no page. `make bench-quick` measures a small
share of it in five minutes, into out/bench/quick.md.

The *naive procedure* is what a first script would do: a full forward pass of the whole text,
autograd, float64, one random start, one word, plain gradient ascent projected on the ball: 50·n
steps for attention, 300 for fully connected maps, with the best of five step sizes. Both procedures
see the same weights and the same text; speed is their ratio.

`wordsway measure … --forecast` tells the time and memory of a request on your machine before it is
run.
"""


@dataclass(frozen=True)
class Stamp:
    """With what a run was made."""

    wordsway: str
    source: str
    torch: str
    python: str
    threads: int

    @classmethod
    def now(cls) -> Stamp:
        return cls(
            wordsway=__version__,
            source=source_hash(),
            torch=str(torch.__version__),
            python=platform.python_version(),
            threads=torch.get_num_threads(),
        )


@dataclass
class Record:
    """The parts of one run, as Markdown, under their headings, and the seconds each one took."""

    stamp: Stamp
    sections: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Record | None:
        """The record in a file, or None where there is none."""
        if not path.is_file():
            return None
        found = json.loads(path.read_text("utf-8"))
        return cls(Stamp(**found["stamp"]), found["sections"], found["seconds"])

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic(path) as partial:
            partial.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n")

    def page(self) -> str:
        """The whole page."""
        stamp = self.stamp
        told = (
            f"*wordsway {stamp.wordsway} (source {stamp.source}), torch {stamp.torch}, "
            f"Python {stamp.python}, {stamp.threads} threads; measured in "
            f"{format_seconds(sum(self.seconds.values()))}.*"
        )
        sections = [f"## {heading}\n\n{body}\n" for heading, body in self.sections.items()]
        return "\n".join([INTRODUCTION, f"{told}\n", *sections])


def source_hash() -> str:
    """Twelve digits of the SHA-256 of all that is measured and of what measures."""
    digest = hashlib.sha256()
    for folder in (ROOT / "src", ROOT / "benchmarks"):
        for path in sorted(folder.rglob("*.py")):
            digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def measure(
    parts: Mapping[str, tuple[str, Callable[[], str]]],
    tell: Callable[[str], None],
    unfinished: Path = UNFINISHED,
) -> Record:
    """One run over all parts, kept after each of them; it goes on with an unfinished one."""
    stamp = Stamp.now()
    record = Record.read(unfinished)
    if record is None or record.stamp != stamp:
        record = Record(stamp)
    for name, (heading, part) in parts.items():
        if heading in record.sections:
            tell(f"{name}: measured before, by the same source")
            continue
        started = time.perf_counter()
        body = part().rstrip()
        record.seconds[heading] = round(time.perf_counter() - started, 1)
        record.sections[heading] = body
        record.write(unfinished)
        tell(f"{name}: {format_seconds(record.seconds[heading])}")
    return record
