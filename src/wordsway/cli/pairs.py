"""`wordsway pairs`: minimal pairs of texts in one or several models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordsway.cli.probing import AsJson, Device, Html, Out, deliver, files_of
from wordsway.cli.progress import progress_line
from wordsway.core.errors import InputError

Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        help="minilm, mpnet, smollm2, bert-base, a hub id or a folder; several times for several.",
    ),
]


def pairs_command(
    first: Annotated[
        str, typer.Argument(help="A text, or a table of pairs.", metavar="TEXT_A|FILE.csv")
    ],
    second: Annotated[
        str | None, typer.Argument(help="The other text.", metavar="[TEXT_B]")
    ] = None,
    model: Models = None,
    draws: Annotated[
        int, typer.Option("--draws", help="Random real words that a pair is compared with.")
    ] = 100,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same numbers.")] = 0,
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="Of the table, if it is not UTF-8.")
    ] = None,
    device: Device = "cpu",
    html: Html = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """How far apart do models hold two texts that differ in a few words?

    The table has columns a,b or text,word,replacement, and kind if you like.

    Example: wordsway pairs "The drug is safe." "The drug is unsafe." --model minilm --model mpnet
    """
    files = files_of(html, out)
    if second is None and not Path(first).suffix:
        raise InputError(
            "two texts, or a table of pairs", repr(first[:40]), 'write both: "It is." "It is not."'
        )
    with progress_line("loading the model") as line:
        from wordsway.auditing.pairs import pairs

        result = pairs(
            first,
            second,
            model or ["minilm"],
            draws=draws,
            seed=seed,
            encoding=encoding,
            device=device,
            progress=lambda stage, done, total, note="": line(stage, int(done), int(total)),
        )
    deliver(result, files, result.to_dict() if as_json else None)
