"""`python -m benchmarks attack [PART …] [COUNT]`: attacks, and what they found as rows of tables
in docs/notes/hardening.md. A part is a row; `main` means every part whose name begins with it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.attack.files import open_hostile
from benchmarks.attack.kills import GRID, SIGNALS, Struck, strike_main, strike_workers
from benchmarks.attack.requests import fuzz

#: Signals of each kind, and requests for each of them.
STRIKES, REQUESTS = 20, 50
#: The heading of each table, and its columns.
TABLES = {
    "Signals": "signal | times | identical tables after resuming | processes left after 5 s | "
    "longest silence | longest shutdown",
    "Hostile files": "files | refused in one line | read | at fault | longest answer",
    "Fuzzed requests": "good, of them attention family | bad, each refused in one line | certified "
    "÷ brute force, at least | attained ÷ brute force, at least | witness off by at most | at "
    "fault",
}
#: A heading, a row of its table, and what went wrong.
Found = tuple[str, str, list[str]]


def signals(
    strike: Callable[[Path, Path, str, int], Struck], name: str, folder: Path, strikes: int
) -> Found:
    """Signals of one name to the main process, or to workers."""
    study = folder / "grid.toml"
    study.write_text(GRID)
    found = strike(study, folder, name, strikes)
    row = (
        f"{found.what} | {found.hits} | {found.same} of {found.tables} | {found.orphans} | "
        f"{found.longest_silence:.1f} s | {found.longest_end:.1f} s"
    )
    faults = found.faults or ([] if found.held else [f"{found.what}: not held"])
    return "Signals", row, faults


def files(folder: Path, strikes: int) -> Found:
    """Untrusted files."""
    found = open_hostile(folder)
    row = (
        f"{found.tried} | {found.refused} | {found.read} | {len(found.faults)} | "
        f"{found.longest:.1f} s"
    )
    return "Hostile files", row, found.faults


def requests(folder: Path, strikes: int) -> Found:
    """Fuzzed requests against an independent brute force."""
    found = fuzz(strikes * REQUESTS)
    row = (
        f"{found.good:,}, {found.families:,} | {found.bad:,} | {found.least_upper:.9f} | "
        f"{found.least_lower:.6f} | {found.most_off:.1g} | {len(found.faults)}"
    )
    return "Fuzzed requests", row, found.faults


_dask = partial(strike_workers, cluster="local:3")
ATTACKS: dict[str, Callable[[Path, int], Found]] = {
    **{f"main-{name.lower()}": partial(signals, strike_main, name) for name in SIGNALS},
    **{f"workers-{name.lower()}": partial(signals, strike_workers, name) for name in SIGNALS},
    "dask": partial(signals, _dask, "KILL"),
    "files": files,
    "requests": requests,
}


def attack(parts: Sequence[str], page: Path, strikes: int = STRIKES) -> list[str]:
    """Run the parts (all of them by default), write their rows, and return all faults."""
    chosen = [name for name in ATTACKS if not parts or name.startswith(tuple(parts))]
    if not chosen:
        sys.exit(f"parts of attack are {', '.join(ATTACKS)}, not {', '.join(parts)}")
    faults = []
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            heading, row, wrong = ATTACKS[name](Path(folder), strikes)
        page.write_text(with_row(page.read_text(), heading, row))
        faults += wrong
        print(f"{name}: {row}; {len(wrong)} at fault", file=sys.stderr, flush=True)
    return faults


def with_row(page: str, heading: str, row: str) -> str:
    """The page with a row in the table under ``heading``: in the place of the one that begins like
    it, in a table of only one row in that one's place, or as the last.
    """
    columns = TABLES[heading]
    before, _, rest = page.partition(f"\n## {heading}\n")
    section, further, after = rest.partition("\n## ")
    old = [line for line in section.splitlines() if line.startswith("| ")][1:]
    begins = f"| {row.split(' | ')[0]} |"
    at = next((k for k, line in enumerate(old) if line.startswith(begins)), len(old))
    at = at if heading == "Signals" else 0
    rows = [*old[:at], f"| {row} |", *old[at + 1 :]]
    rule = "|" + "---|" * (columns.count(" | ") + 1)
    table = "\n".join([f"| {columns} |", rule, *rows])
    return f"{before.rstrip()}\n\n## {heading}\n\n{table}\n{further}{after}"
