"""What the commands on pretrained models share: where the text comes from, and where the result goes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from wordsway.cli.progress import echo_json
from wordsway.errors import InputError

if TYPE_CHECKING:
    from wordsway.probe.shown import Shown

HTML_HELP = "Also write one self-contained page."
OUT_HELP = "Also write a view: .html .svg .png .pdf .json .csv .parquet."


def text_of(text: str | None) -> str:
    """The text of an argument, or of standard input where it is "-" or missing and something is piped in."""
    if text is None and sys.stdin.isatty():
        raise InputError("a text", "none", 'write it behind the command: wordsway words "I love her much"')
    if text is None or text == "-":
        piped = sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\n")
        if not piped.strip():
            raise InputError("a text", "nothing on standard input", 'write it behind the command: wordsway words "I love her much"')
        return piped
    return text


def files_of(*paths: Path | None) -> list[Path]:
    """The files that were asked for, once each, with endings that can be written; checked before any work is done."""
    from wordsway.report.files import ending_of

    wanted = list(dict.fromkeys(path for path in paths if path is not None))
    for path in wanted:
        ending_of(path)
    return wanted


def deliver(result: Shown, files: Sequence[Path], document: dict[str, Any] | None) -> None:
    """Write the files; print ``document`` as JSON, or, where there is none, show the result and tell what was written."""
    written = [result.save(path) for path in files]
    if document is not None:
        echo_json(document)
        return
    result.show()
    for path in written:
        typer.echo(f"written: {path}")
