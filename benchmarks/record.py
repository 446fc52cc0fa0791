"""The performance note: a dated measurement, all of it from one run.

`make bench` measures part after part into a record, docs/notes/performance.json, with the version,
the source and the day of the run; docs/notes/performance.md is written from the record alone. An
interrupted run resumes as long as the source is the same, byte for byte; otherwise it starts again.
A test compares page, pictures and record.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

import torch

from wordsway.core.atomic import atomic
from wordsway.core.format import format_seconds
from wordsway.version import __version__

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
NOTES = DOCS / "notes"
#: An unfinished run and its pictures, until all of its parts are there.
UNFINISHED = ROOT / "out" / "bench" / "unfinished.json"
PICTURES = ("performance.png",)

INTRODUCTION = """\
# Performance

One run of `make bench` measured everything on this page and wrote it, with the version and on the
day given below. The line at the end of a section is the command that measures and prints that
section alone; a number at its end is the number of draws or texts. `make bench-quick` measures a
small part of it in five minutes, into out/bench/quick.md. Certificates of later versions can be
smaller, as those of DRF are since 0.3.0: [certificates](../certificates.md) has their ratios.

`wordsway measure … --forecast` estimates the time and memory of a request on your machine.
"""


@dataclass(frozen=True)
class Part:
    """A section of the page: its heading, what measures it, with how many draws or texts, and what
    `python -m benchmarks` calls it, if not by its name.
    """

    heading: str
    call: Callable[..., str]
    count: int | None = None
    own: str = ""

    def measure(self, count: int | None = None) -> str:
        """The section's text, with another count where one is given."""
        chosen = self.count if count is None else count
        return (self.call() if chosen is None else self.call(chosen)).rstrip()

    def command(self, name: str) -> str:
        """What measures this part alone."""
        count = [] if self.count is None else [str(self.count)]
        return " ".join(["python -m benchmarks", self.own or name, *count])


@dataclass(frozen=True)
class Section:
    """A part that was measured: Markdown, the command that does it alone, and its seconds."""

    heading: str
    body: str
    command: str
    seconds: float

    def markdown(self) -> str:
        footer = f"*`{self.command}`, {format_seconds(self.seconds)}*"
        return f"## {self.heading}\n\n{self.body}\n\n{footer}\n"


@dataclass(frozen=True)
class Stamp:
    """The versions that a run measured, and the day it began (a resumed run may end later)."""

    wordsway: str
    source: str
    torch: str
    python: str
    threads: int
    date: str = field(compare=False)

    @classmethod
    def now(cls) -> Stamp:
        return cls(
            wordsway=__version__,
            source=source_hash(),
            torch=str(torch.__version__),
            python=platform.python_version(),
            threads=torch.get_num_threads(),
            date=date.today().isoformat(),
        )


@dataclass
class Record:
    """The sections of one run by name, and the SHA-256 of its pictures."""

    stamp: Stamp
    sections: dict[str, Section] = field(default_factory=dict)
    pictures: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Record | None:
        """The record in a file, or None where there is none."""
        if not path.is_file():
            return None
        found = json.loads(path.read_text("utf-8"))
        sections = {name: Section(**section) for name, section in found["sections"].items()}
        return cls(Stamp(**found["stamp"]), sections, found["pictures"])

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic(path) as partial:
            partial.write_text(
                json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", "utf-8"
            )

    def page(self) -> str:
        """The whole page."""
        stamp = self.stamp
        seconds = sum(section.seconds for section in self.sections.values())
        footer = (
            f"*wordsway {stamp.wordsway} (source {stamp.source}), torch {stamp.torch}, "
            f"Python {stamp.python}, {stamp.threads} threads; measured on {stamp.date} in "
            f"{format_seconds(seconds)}.*"
        )
        sections = [section.markdown() for section in self.sections.values()]
        return "\n".join([INTRODUCTION, f"{footer}\n", *sections])

    def publish(self, docs: Path = NOTES, pictures: Path = UNFINISHED.parent) -> None:
        """Record, page and pictures of a whole run into ``docs``."""
        for name in PICTURES:
            shutil.copyfile(pictures / name, docs / name)
            self.pictures[name] = hashlib.sha256((docs / name).read_bytes()).hexdigest()
        self.write(docs / "performance.json")
        (docs / "performance.md").write_text(self.page(), "utf-8")


def source_hash() -> str:
    """Twelve digits of the SHA-256 of all that is measured and of what measures."""
    digest = hashlib.sha256()
    for folder in (ROOT / "src", ROOT / "benchmarks"):
        for path in sorted(folder.rglob("*.py")):
            digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def _unfinished(path: Path, stamp: Stamp) -> Record | None:
    """The run to go on with: one of the same stamp. Another may have had another form."""
    try:
        found = Record.read(path)
    except (KeyError, TypeError, ValueError):
        return None
    return found if found is not None and found.stamp == stamp else None


def measure(
    parts: Mapping[str, Part], tell: Callable[[str], None], unfinished: Path = UNFINISHED
) -> Record:
    """One run over all parts, kept after each of them; it goes on with an unfinished one."""
    stamp = Stamp.now()
    record = _unfinished(unfinished, stamp) or Record(stamp)
    unfinished.parent.mkdir(parents=True, exist_ok=True)  # parts draw their pictures there
    for name, part in parts.items():
        if name in record.sections:
            tell(f"{name}: measured before, by the same source")
            continue
        started = time.perf_counter()
        body = part.measure()
        seconds = round(time.perf_counter() - started, 1)
        record.sections[name] = Section(part.heading, body, part.command(name), seconds)
        record.write(unfinished)
        tell(f"{name}: {format_seconds(seconds)}")
    return record
