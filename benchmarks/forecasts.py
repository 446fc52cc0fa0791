"""How accurate forecasts are: `--forecast` against the real run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

FORECASTS = (
    "measure --map raf --n 250 --d 768",
    "measure --map raf --n 120 --d 768 --positions all",
    "measure --map relu-raf --n 100 --d 384 --trials 5",
    "measure --map rf --n 150 --d 768",
    "measure --map rf --n 90 --d 192 --positions all",
    "measure --map rf --n 20 --d 32 --positions all",
    "measure --map drf --depth 2 --n 50 --d 768 --positions 0,1,2,3",
    "measure --map drf --depth 8 --n 80 --d 768",
    "learn --map raf --n 40 --d 384 --train 400 --trials 3",
    "learn --map rf --n 40 --d 384 --train 200 --update retrain",
    "learn --map relu-raf --n 20 --d 192 --train 100 --positions all",
)


def page(requests: Sequence[str] = FORECASTS) -> str:
    """The table of some requests."""
    lines = [
        "| request | forecast: time, peak | real: time, peak | ratio of time | of memory |",
        "|---|---|---|---|---|",
    ]
    for line in requests:
        command = [sys.executable, "-m", "wordsway.cli.app", *line.split(), "--json"]
        estimate, real = (
            json.loads(
                subprocess.run([*command, *more], capture_output=True, text=True, check=True).stdout
            )
            for more in (["--forecast"], [])
        )
        seconds, peak = estimate["forecast_seconds"], estimate["forecast_peak_mb"]
        lines.append(
            f"| `{line}` | {seconds:.2f} s, {peak:.0f} MB | {real['seconds']:.2f} s, "
            f"{real['peak_mb']:.0f} MB "
            f"| {seconds / real['seconds']:.2f} | {peak / real['peak_mb']:.2f} |"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(
        [
            "The estimate of `--forecast` and the time and memory of the run, each in a "
            "fresh process. A ratio above 1 is a forecast that was too high.",
            "",
            *lines,
        ]
    )
