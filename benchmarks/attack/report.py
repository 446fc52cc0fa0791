"""`python -m benchmarks attack [PART …] [COUNT]`: attacks, and what they found as sections of
docs/hardening.md.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.attack.files import open_hostile
from benchmarks.attack.kills import GRID, SIGNALS, Struck, strike_main, strike_workers
from benchmarks.attack.requests import fuzz

#: Signals of each kind, and requests for each of them.
STRIKES, REQUESTS = 20, 50
Found = tuple[str, list[str]]


def main_process(folder: Path, strikes: int) -> Found:
    """Signals to the process that was started."""
    study = _study(folder)
    return _table([strike_main(study, folder, name, strikes) for name in SIGNALS])


def workers(folder: Path, strikes: int) -> Found:
    """Signals to the processes that it starts."""
    study = _study(folder)
    return _table([strike_workers(study, folder, name, strikes) for name in SIGNALS])


def dask(folder: Path, strikes: int) -> Found:
    """Deaths of Dask workers."""
    study = _study(folder)
    return _table([strike_workers(study, folder, "KILL", strikes, cluster="local:3")])


def files(folder: Path, strikes: int) -> Found:
    """Files that somebody else wrote."""
    found = open_hostile(folder)
    lines = [
        "| hostile files | refused in one line | read | at fault | longest answer |",
        "|---|---|---|---|---|",
        f"| {found.tried} | {found.refused} | {found.read} | {len(found.faults)} | "
        f"{found.longest:.1f} s |",
    ]
    return "\n".join(lines), found.faults


def requests(folder: Path, strikes: int) -> Found:
    """Fuzzed requests against a brute force of its own."""
    found = fuzz(strikes * REQUESTS)
    lines = [
        "| fuzzed requests | figure |",
        "|---|---|",
        f"| good ones, of them of the attention family | {found.good:,}, {found.families:,} |",
        f"| bad ones, each refused in one line | {found.bad:,} |",
        f"| certified end ÷ brute force, smallest | {found.least_upper:.9f} |",
        f"| attained end ÷ brute force, smallest | {found.least_lower:.6f} |",
        f"| a witness against its attained end, by the brute force's own definition | off by at "
        f"most {found.most_off:.1g} |",
        f"| at fault | {len(found.faults)} |",
    ]
    return "\n".join(lines), found.faults


#: By name: the heading of its section, and the attack.
ATTACKS: dict[str, tuple[str, Callable[[Path, int], Found]]] = {
    "main": ("Signals to a run", main_process),
    "workers": ("Signals to its workers", workers),
    "dask": ("Deaths of Dask workers", dask),
    "files": ("Hostile files", files),
    "requests": ("Fuzzed requests", requests),
}


def attack(
    parts: Sequence[str], write: Callable[[str, str], None], strikes: int = STRIKES
) -> list[str]:
    """Run the parts (all of them by default), write each as a section, and return all faults."""
    unknown = [part for part in parts if part not in ATTACKS]
    if unknown:
        sys.exit(f"parts of attack are {', '.join(ATTACKS)}, not {', '.join(unknown)}")
    faults = []
    for part in parts or ATTACKS:
        heading, run = ATTACKS[part]
        with tempfile.TemporaryDirectory() as folder:
            table, wrong = run(Path(folder), strikes)
        write(heading, f"`python -m benchmarks attack {part}`\n\n{table}")
        faults += wrong
        print(f"{heading}\n{table}\n{len(wrong)} at fault", file=sys.stderr, flush=True)
    return faults


def _study(folder: Path) -> Path:
    study = folder / "grid.toml"
    study.write_text(GRID)
    return study


def _table(struck: Sequence[Struck]) -> Found:
    head = (
        "| signal | times | tables the same after going on | alive after 5 s | longest silence | "
        "longest end |\n|---|---|---|---|---|---|"
    )
    faults = [fault for one in struck for fault in one.faults]
    faults += [f"{one.what}: not held" for one in struck if not (one.held or one.faults)]
    return "\n".join([head, *map(_row, struck)]), faults


def _row(struck: Struck) -> str:
    return (
        f"| {struck.what} | {struck.hits} | {struck.same} of {struck.tables} | {struck.orphans} | "
        f"{struck.longest_silence:.1f} s | {struck.longest_end:.1f} s |"
    )
