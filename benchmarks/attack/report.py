"""`python -m benchmarks attack [COUNT]`: all attacks, and what they found as a section of docs."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.attack.files import open_hostile
from benchmarks.attack.kills import GRID, SIGNALS, Struck, strike_main, strike_workers
from benchmarks.attack.requests import fuzz

#: Signals of each kind, and requests for each of them.
STRIKES, REQUESTS = 20, 50


def attack(strikes: int = STRIKES) -> tuple[str, list[str]]:
    """Signals of each kind, requests in proportion, all files; a page, and everything at fault."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        study = folder / "grid.toml"
        study.write_text(GRID)
        struck = [strike_workers(study, folder, name, strikes) for name in SIGNALS]
        struck += [strike_main(study, folder, name, strikes) for name in SIGNALS]
        struck.append(strike_workers(study, folder, "KILL", strikes, cluster="local:3"))
        _tell("signals are done")
        (folder / "files").mkdir()
        files = open_hostile(folder / "files")
        _tell("files are done")
        asked = fuzz(strikes * REQUESTS)
    faults = [fault for one in struck for fault in one.faults] + files.faults + asked.faults
    faults += [f"{one.what}: not held" for one in struck if not (one.held or one.faults)]
    lines = [
        "| signal | times | tables the same after going on | alive after 5 s | longest silence | "
        "longest end |",
        "|---|---|---|---|---|---|",
        *map(_row, struck),
        "",
        f"{files.tried} hostile files: {files.refused} refused in one line, {files.read} read, "
        f"{len(files.faults)} at fault; the longest took {files.longest:.1f} s.",
        f"{asked.good + asked.bad:,} fuzzed requests: {asked.good:,} good ones, whose certified "
        f"end was at least {asked.least_upper:.9f} times a brute force of its own and whose "
        f"attained end at least {asked.least_lower:.6f} times; {asked.bad:,} bad ones; "
        f"{len(asked.faults)} at fault.",
    ]
    return "\n".join(lines), faults


def _row(struck: Struck) -> str:
    return (
        f"| {struck.what} | {struck.hits} | {struck.same} of {struck.tables} | {struck.orphans} | "
        f"{struck.longest_silence:.1f} s | {struck.longest_end:.1f} s |"
    )


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
