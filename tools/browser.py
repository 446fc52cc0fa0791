"""A Chromium for the tests of the page: find one, or let the system's package manager install it.

`make browser` runs this. It never fails: where there is none and none may be installed, it says
which tests will be skipped, and how to enable them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

#: A path of your own wins.
VARIABLE = "WORDSWAY_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
#: What a test says that is skipped.
REMEDY = (
    "tests/page needs Chromium: install it (Debian: apt-get install chromium), "
    f"or set {VARIABLE} to its path"
)


def find() -> str | None:
    """The path of a browser that is here."""
    own = os.environ.get(VARIABLE)
    if own:
        return own if os.access(own, os.X_OK) else None
    return next((path for path in map(shutil.which, NAMES) if path), None)


def install() -> str | None:
    """Install one where that is allowed: as root, where there is apt-get."""
    manager = shutil.which("apt-get")
    if manager is None or os.geteuid() != 0:
        return None
    quiet = dict(os.environ) | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-qq", "-y", "chromium"]):
        done = subprocess.run(
            [manager, *command], env=quiet, stdout=subprocess.DEVNULL, timeout=900
        )
        if done.returncode:
            break
    return find()


if __name__ == "__main__":
    found = find() or install()
    print(f"browser: {found}" if found else f"skipped: {REMEDY}", file=sys.stderr)
