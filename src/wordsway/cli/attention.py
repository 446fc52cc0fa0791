"""`wordsway attention`, `attract` and `compare`: attention, a Δ that attracts it, two prompts."""

from __future__ import annotations

from typing import Annotated

import typer

from wordsway.cli import options as opt
from wordsway.cli.output import progress_line
from wordsway.core.errors import InputError


@opt.grouped
def attention_command(
    text_a: Annotated[str, typer.Argument(metavar="TEXT_A", help="A text.")],
    loading: opt.LoadingOptions,
    output: opt.OutputOptions,
    text_b: Annotated[
        str | None, typer.Argument(metavar="TEXT_B", help="A text that differs in a word.")
    ] = None,
    model: str = opt.MODEL,
    layer: str = opt.option("1", "Layer to show: 1 to L, or last."),
    head: str = opt.option("mean", "Head to show, counted from 0, or mean."),
    special: bool = opt.flag("--special/--no-special", "Include special tokens such as [CLS]."),
) -> None:
    """Show how much every token attends to every other.

    Prints the attention of one layer to one or two texts: a matrix for each text and, if both have
    the same number of tokens, their difference.

    Example: wordsway attention "I love her much" "I love her smile" --out attention.png
    """
    text_a, text_b = opt.text_of(text_a), None if text_b is None else opt.text_of(text_b)
    from wordsway.probing.attention import attention

    with progress_line("loading the model") as say:
        result = attention(
            text_a, text_b, model, layer, head, special, progress=say, **vars(loading)
        )
    output.deliver(result)


@opt.grouped
def attract_command(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A text.")],
    loading: opt.LoadingOptions,
    output: opt.OutputOptions,
    word: str | None = opt.option(
        None, "Word whose embedding changes, by spelling or number (from 0); required."
    ),
    model: str = opt.MODEL,
    head: str = opt.option(
        "mean", "First-layer head whose attention Δ attracts, counted from 0, or mean (all heads)."
    ),
    show_layer: str = opt.option("1", "Layer to show: 1 to L, or last."),
    show_head: str | None = opt.option(None, "Head to show, or mean; by default that of --head."),
    reach: float = opt.option(1.0, "Length ρ of Δ, relative to one row of the word's embedding."),
    draws: int = opt.option(8, "Number of random Δ of the same length to compare with."),
    seed: int = opt.option(0, "Seed of the random Δ."),
) -> None:
    """Change a word's embedding so that the first layer attends to it.

    Adds a vector Δ to the embedding. Prints the attention before and after, and the change of every
    layer compared with that of random Δ.

    Example: wordsway attract "I love her much" --word her
    """
    sentence = opt.text_of(text)
    if word is None:
        raise InputError("a word to change", "none", "name it with --word")
    from wordsway.probing.attract import attract

    how = {"head": head, "show_layer": show_layer, "show_head": show_head} | vars(loading)
    with progress_line("loading the model") as say:
        found = attract(
            sentence, word, model, reach=reach, seed=seed, draws=draws, progress=say, **how
        )
    output.deliver(found)


@opt.grouped
def compare_command(
    a: Annotated[str, typer.Argument(metavar="PROMPT_A", help="The first prompt.")],
    b: Annotated[str, typer.Argument(metavar="PROMPT_B", help="A prompt that differs in a word.")],
    loading: opt.LoadingOptions,
    output: opt.OutputOptions,
    model: str = opt.option(
        "smollm2",
        "Model: smollm2, a folder, or a Hugging Face id; an encoder has no answers, only layers "
        "and embeddings.",
    ),
    tokens: int = opt.option(48, "Maximum number of tokens per answer."),
    chat: bool = opt.flag(
        "--chat/--no-chat", "Use the model's chat template, if it has one.", default=True
    ),
) -> None:
    """Compare the answers of a language model to two prompts that differ in a word.

    Prints both answers, the change of every layer and the KL divergence of the next token.

    Decoding is greedy: every run gives the same answers.

    Example: wordsway compare "The capital of France is" "The capital of Italy is"
    """
    with progress_line("loading libraries") as say:
        from wordsway.probing.compare import compare

        how = vars(loading)
        result = compare(a, b, model, tokens=tokens, chat=chat, **how, progress=say)
    output.deliver(result)
