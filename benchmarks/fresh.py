"""One measurement in a fresh process, so that peak memory is that of the measurement."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def fresh(case: str, who: str, what: str = "run") -> dict[str, Any]:
    """`python -m benchmarks WHAT CASE WHO`, and what it printed."""
    command = [sys.executable, "-m", "benchmarks", what, case, who]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return dict(json.loads(done.stdout.splitlines()[-1]))
