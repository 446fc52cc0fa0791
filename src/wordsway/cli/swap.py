"""`wordsway swap`: the real words that move a pretrained model most."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordsway.cli.probing import (
    AsJson,
    Device,
    Dtype,
    Html,
    Model,
    Out,
    RemoteCode,
    Text,
    bytes_of,
    deliver,
    files_of,
    probe_of,
    text_of,
)
from wordsway.cli.waiting import waiting
from wordsway.errors import InputError


def swap_command(
    text: Text = None,
    word: Annotated[
        str | None,
        typer.Option(
            "--word", help="The word to replace, by number or spelling; the last one by default."
        ),
    ] = None,
    model: Model = "minilm",
    target: Annotated[
        str,
        typer.Option(
            "--target", "--layer", help="A layer's number, last, pooled, or a classifier's logits."
        ),
    ] = "last",
    top: Annotated[int, typer.Option("--top", help="Words to show.")] = 10,
    kind: Annotated[
        str,
        typer.Option(
            "--kind", help="words (whole and alphabetic) or all whole pieces of the vocabulary."
        ),
    ] = "words",
    keep_case: Annotated[
        bool, typer.Option("--keep-case/--any-case", help="Capitalise as the word in the text is.")
    ] = True,
    among: Annotated[
        Path | None, typer.Option("--among", help="A file with candidates of yours, one per line.")
    ] = None,
    exhaustive: Annotated[
        bool, typer.Option("--exhaustive", help="Evaluate every candidate exactly: minutes.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same numbers.")] = 0,
    memory: Annotated[float, typer.Option("--memory", help="Memory budget, in GiB.")] = 2.0,
    device: Device = "cpu",
    dtype: Dtype = "float32",
    remote_code: RemoteCode = False,
    html: Html = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Which real word, in the place of another, moves the model most?

    Example: wordsway swap "I love her much" --word much
    """
    files = files_of(html, out)
    sentence, budget = text_of(text), bytes_of(memory)
    mine = None
    if among is not None:
        try:
            mine = among.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                "a text file with one word per line",
                f"{among} ({error})",
                "check the path and its encoding",
            ) from None
    with waiting("loading the model") as line:
        from wordsway.probing.swap import swap

        probe = probe_of(model, device, dtype, remote_code, line)
        result = swap(
            sentence,
            word,
            probe,
            target=target,
            top=top,
            kind=kind,
            keep_case=keep_case,
            among=mine,
            exhaustive=exhaustive,
            seed=seed,
            memory=budget,
            progress=line,
        )
    deliver(result, files, result.to_dict() if as_json else None)
