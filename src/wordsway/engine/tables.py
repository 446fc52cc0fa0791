"""Tables of jobs as files."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from wordsway.core.atomic import atomic
from wordsway.core.errors import InputError
from wordsway.core.escape import csv_frame
from wordsway.engine.store import refusal

if TYPE_CHECKING:
    import pandas

#: Columns that depend on when and where a job was run.
VERSIONS = ("wordsway", "torch", "transformers", "python")
FACTS = ("seconds", "peak_mb", "host", "finished", *VERSIONS)
#: A name with one of these is taken for a file.
ENDINGS = (".html", ".svg", ".png", ".pdf", ".json", ".csv", ".parquet", ".toml", ".txt", ".md")


def writable(out: Path) -> Path:
    """The output folder, checked before any work."""
    if out.suffix.lower() in ENDINGS and not out.is_dir():
        remedy = f"pass a folder, such as --out {out.with_suffix('')}"
        raise InputError("a folder for results", f"the file name {out.name}", remedy)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            "a folder that can be written",
            f"{out} ({error.strerror})",
            "choose another one with --out",
        ) from None
    return out


def without_facts(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The columns of a table that are the same for every run."""
    return frame.drop(columns=list(FACTS), errors="ignore")


def export(facts: pandas.DataFrame, folder: Path, name: str = "cells") -> list[Path]:
    """``name``.csv, the same for every run, and, if pyarrow is installed, ``name``.parquet with the
    facts of each run.
    """
    tables = [save_table(without_facts(facts), folder / f"{name}.csv")]
    if find_spec("pyarrow"):
        tables.append(save_table(facts, folder / f"{name}.parquet"))
    return tables


def save_table(table: pandas.DataFrame, path: Path) -> Path:
    """Write a table atomically, as .csv or .parquet by its suffix."""
    try:
        with atomic(path) as partial:
            if path.suffix == ".csv":
                csv_frame(table).to_csv(partial, index=False)
            else:
                table.to_parquet(partial, index=False)
    except OSError as error:
        raise refusal(path.parent, error) from None
    return path
