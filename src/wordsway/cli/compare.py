"""`wordsway compare`: a causal language model on two prompts that differ in a word."""

from __future__ import annotations

from typing import Annotated

import typer

from wordsway.cli import options as opt
from wordsway.cli.output import progress_line


@opt.grouped
def compare_command(
    a: Annotated[str, typer.Argument(metavar="PROMPT_A", help="The first prompt.")],
    b: Annotated[str, typer.Argument(metavar="PROMPT_B", help="A prompt that differs in a word.")],
    loading: opt.LoadingOptions,
    output: opt.OutputOptions,
    model: Annotated[
        str,
        typer.Option("--model", help="A causal language model: smollm2, a folder, or a hub id."),
    ] = "smollm2",
    tokens: Annotated[int, typer.Option("--tokens", help="Maximum tokens per answer.")] = 48,
    chat: Annotated[
        bool,
        opt.flag("--chat/--no-chat", help="Use the model's chat template, if it has one."),
    ] = True,
) -> None:
    """Compare the answers of a language model to two prompts that differ in a word.

    Prints both answers, the change of every layer and the divergence of the next token.

    Decoding is greedy: every run gives the same answers.

    Example: wordsway compare "The capital of France is" "The capital of Italy is"
    """
    with progress_line("loading libraries") as say:
        from wordsway.probing.compare import compare

        how = vars(loading)
        result = compare(a, b, model, tokens=tokens, chat=chat, **how, progress=say)
    output.deliver(result)
