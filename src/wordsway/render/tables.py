"""A result as data: JSON with everything, CSV and Parquet with the rows of ``frame()``."""

from __future__ import annotations

import re
from pathlib import Path

from wordsway.core.escape import csv_frame
from wordsway.core.result import Result

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def save(result: Result, path: Path, kind: str) -> None:
    """One file."""
    if kind == "json":
        text = result.to_json(indent=1) + "\n"
        path.write_bytes(_LONE_SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text).encode())
    elif kind == "csv":
        table = csv_frame(result.frame()).to_csv(index=False, lineterminator="\n")
        path.write_bytes(table.encode(errors="replace"))
    else:
        result.frame().to_parquet(path, index=False)
