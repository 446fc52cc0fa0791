"""What `sweep`, `reproduce` and batches of `words` share: failures, and how to go on."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from wordsway.engine.run import Tally


def command_line(fallback: Sequence[str]) -> str:
    """The command as it was given, or ``fallback`` where Python called it."""
    ours = Path(sys.argv[0]).name.startswith(("wordsway", "__main__"))
    given = [word for word in sys.argv[1:] if word != "--retry-failed"] if ours else fallback
    return shlex.join(["wordsway", *given])


def report_failures(tally: Tally, fallback: Sequence[str]) -> None:
    """What failed or is left, on standard error, and how to go on."""
    reasons: dict[str, int] = {}
    for error in tally.failures.values():
        reasons[error] = reasons.get(error, 0) + 1
    for error, count in sorted(reasons.items(), key=lambda item: -item[1])[:5]:
        typer.echo(f"  {count} failed: {error}", err=True)
    if reasons:
        typer.echo(f"  run them again with: {command_line(fallback)} --retry-failed", err=True)
    if tally.interrupted:
        typer.echo(
            f"interrupted with {tally.left:,} {tally.what} left: run the same command again to "
            "go on",
            err=True,
        )
