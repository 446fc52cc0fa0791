"""`wordsway attract`: a Δ that draws the first layer's attention to a word."""

from __future__ import annotations

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
    deliver,
    files_of,
    probe_of,
    text_of,
    word_of,
)
from wordsway.cli.progress import progress_line
from wordsway.core.errors import InputError


def attract_command(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A text.")],
    word: Annotated[
        str | None, typer.Option("--word", help="The word that moves, by its spelling.")
    ] = None,
    index: Annotated[
        int | None, typer.Option("--index", help="The word that moves, by its number, from 0.")
    ] = None,
    model: Model = "minilm",
    head: Annotated[
        str, typer.Option("--head", help="Of the first layer, counted from 0, or all.")
    ] = "all",
    show_layer: Annotated[
        str,
        typer.Option("--show-layer", help="The layer whose attention is shown: 1 to L, or last."),
    ] = "1",
    show_head: Annotated[
        str | None,
        typer.Option(
            "--show-head",
            help="The head of that layer, or all for their mean; as --head by default.",
        ),
    ] = None,
    reach: Annotated[
        float,
        typer.Option("--reach", help="Δ may be so many times as long as the word's embedding."),
    ] = 1.0,
    draws: Annotated[
        int, typer.Option("--draws", help="Draws of noise of the same length beside it.")
    ] = 8,
    seed: Annotated[int, typer.Option("--seed", help="Of the noise.")] = 0,
    html: Html = None,
    out: Out = None,
    device: Device = "cpu",
    dtype: Dtype = "float32",
    remote_code: RemoteCode = False,
    as_json: AsJson = False,
) -> None:
    """Move a word so that the first layer looks at it: attention before and after, and how far
    every layer moves beside noise of the same length.

    Example: wordsway attract "I love her much" --word her
    """
    files = files_of(html, out)
    sentence = text_of(text)
    chosen = word_of(word, index)
    if chosen is None:
        raise InputError("the word that moves", "none", "name it with --word, or --index")
    from wordsway.probing.attract import attract, check_request

    check_request(head, reach, draws, show_head)
    with progress_line("loading the model") as say:
        probe = probe_of(model, device, dtype, remote_code, say, eager=True)
        say("moving the word", 0, 0)
        result = attract(
            sentence,
            chosen,
            probe,
            head=head,
            show_layer=show_layer,
            show_head=show_head,
            reach=reach,
            seed=seed,
            draws=draws,
        )
    deliver(result, files, result.to_dict() if as_json else None)
