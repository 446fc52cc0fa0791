"""Install packages with pip and report progress: `python tools/install.py --editable '.[all]'`.

Prints every package above 1 MB as pip gets it, then a line while packages are unpacked. Warnings
and errors of pip are passed on. It needs Python alone: it runs before anything is installed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time

_ARCHIVE = re.compile(
    r"\s*(Downloading|Using cached) \S*?([\w.]+)-(\d[\w.+%]*)-\S*\.whl\S* \((\d\S* [MG]B)\)"
)
PIP = ("-m", "pip", "install", "--disable-pip-version-check")
#: Seconds between two lines while packages are unpacked.
BEAT = 15


def progress(line: str) -> str | None:
    """What to print for a line of pip's output, if anything."""
    found = _ARCHIVE.match(line)
    if found is None:
        return None
    how, name, version, size = found.groups()
    kept = ", in pip's cache" if how == "Using cached" else ""
    return f"  {name} {version.replace('%2B', '+')}, {size}{kept}"


def _beat(done: threading.Event, packages: int) -> None:
    started = time.monotonic()
    while not done.wait(BEAT):
        print(f"  unpacking {packages} packages: {time.monotonic() - started:.0f} s", flush=True)


def main(arguments: list[str]) -> int:
    pip = subprocess.Popen([sys.executable, *PIP, *arguments], stdout=subprocess.PIPE, text=True)
    done = threading.Event()
    assert pip.stdout is not None
    for line in pip.stdout:
        shown = progress(line)
        if shown:
            print(shown, flush=True)
        elif line.startswith("Installing collected packages:"):
            packages = line.count(",") + 1
            print(f"  unpacking {packages} packages", flush=True)
            threading.Thread(target=_beat, args=(done, packages), daemon=True).start()
    done.set()
    return pip.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
