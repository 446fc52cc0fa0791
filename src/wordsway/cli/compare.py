"""`wordsway compare`: a causal language model on two prompts that differ in a word."""

from __future__ import annotations

from typing import Annotated

import typer

from wordsway.cli.probing import AsJson, Device, Dtype, Html, Out, RemoteCode, deliver, files_of
from wordsway.cli.progress import progress_line


def compare_command(
    a: Annotated[str, typer.Argument(metavar="PROMPT_A", help="The first prompt.")],
    b: Annotated[
        str, typer.Argument(metavar="PROMPT_B", help="The second prompt, which differs in a word.")
    ],
    model: Annotated[
        str,
        typer.Option("--model", help="A causal language model: smollm2, a folder, or a hub id."),
    ] = "smollm2",
    tokens: Annotated[
        int, typer.Option("--tokens", help="The most tokens that an answer may have.")
    ] = 48,
    chat: Annotated[
        bool,
        typer.Option(
            "--chat/--no-chat", help="Put prompts in the model's chat template, if it has one."
        ),
    ] = True,
    device: Device = "cpu",
    dtype: Dtype = "float32",
    remote_code: RemoteCode = False,
    html: Html = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Ask a language model two prompts that differ in a word: both answers, the change of every
    layer, the next token's divergence.

    Answers take the likeliest token each time, so that they are the same on every run.

    Example: wordsway compare "The capital of France is" "The capital of Italy is"
    """
    files = files_of(html, out)
    with progress_line("loading libraries") as say:
        from wordsway.probing.compare import compare

        result = compare(
            a,
            b,
            model,
            tokens=tokens,
            chat=chat,
            device=device,
            dtype=dtype,
            trust_remote_code=remote_code,
            progress=say,
        )
    deliver(result, files, result.to_dict() if as_json else None)
