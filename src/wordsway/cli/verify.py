"""`wordsway verify`: verify a proof from its file alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordsway.cli import options as opt
from wordsway.cli.output import print_result


def verify_command(
    file: Annotated[Path, typer.Argument(help="A proof, as measure --proof writes it.")],
    as_json: opt.AsJson = False,
) -> None:
    """Verify a proof in ball arithmetic, and print the bound that it proves.

    Exit status 0: every inequality holds. 1: the first that fails is named.

    Example: wordsway verify raf.proof
    """
    from wordsway.maps.proof import verify

    print_result(verify(file), as_json)
