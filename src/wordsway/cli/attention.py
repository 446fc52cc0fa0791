"""`wordsway attention` and `wordsway attract`: attention, and a Δ that changes it."""

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
    model: opt.Model = "minilm",
    layer: Annotated[str, typer.Option("--layer", help="Layer: 1 to L, or last.")] = "1",
    head: Annotated[str, typer.Option("--head", help="Head, from 0, or mean.")] = "mean",
    special: Annotated[
        bool, opt.flag("--special/--no-special", help="Include special tokens such as [CLS].")
    ] = False,
    attract: Annotated[
        str | None, opt.deprecated("--attract", "use wordsway attract TEXT --word WORD")
    ] = None,
    reach: Annotated[
        float | None, opt.deprecated("--reach", "use wordsway attract TEXT --reach RHO")
    ] = None,
    seed: Annotated[
        int | None, opt.deprecated("--seed", "use wordsway attract TEXT --seed SEED")
    ] = None,
) -> None:
    """Show how much every token attends to every other.

    Prints a matrix for each text and, if both have the same number of tokens, their difference.

    Example: wordsway attention "I love her much" "I love her smile" --out attention.png
    """
    if attract is not None:
        if text_b is not None or layer != "1":
            expected, got = "one text and layer 1 with --attract", f"two texts, or layer {layer}"
            raise InputError(expected, got, "leave them out")
        attract_command(
            text=text_a,
            word=attract,
            model=model,
            head="all" if head == "mean" else head,
            reach=1.0 if reach is None else reach,
            seed=seed or 0,
            **vars(loading),
            **vars(output),
        )
        return
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
    word: Annotated[
        str | None,
        typer.Option("--word", help="Word whose embedding to change, by spelling or number."),
    ] = None,
    index: opt.Index = None,
    model: opt.Model = "minilm",
    head: Annotated[
        str,
        typer.Option("--head", help="Head of the first layer to attract, from 0, or all."),
    ] = "all",
    show_layer: Annotated[
        str, typer.Option("--show-layer", help="Layer to show: 1 to L, or last.")
    ] = "1",
    show_head: Annotated[
        str | None,
        typer.Option("--show-head", help="Head to show, or all; by default that of --head."),
    ] = None,
    reach: Annotated[
        float, typer.Option("--reach", help="Length of Δ relative to the word's embedding.")
    ] = 1.0,
    draws: Annotated[
        int,
        typer.Option("--draws", help="Number of random Δ of the same length to compare with."),
    ] = 8,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the noise.")] = 0,
) -> None:
    """Change a word's embedding so that the first layer attends to it.

    Prints attention before and after, and the change of every layer compared with random changes.

    Example: wordsway attract "I love her much" --word her
    """
    sentence = opt.text_of(text)
    chosen = opt.word_of(word, index)
    if chosen is None:
        raise InputError("a word to move", "none", "name it with --word")
    from wordsway.probing.attract import attract

    with progress_line("loading the model") as say:
        result = attract(
            sentence,
            chosen,
            model,
            head=head,
            show_layer=show_layer,
            show_head=show_head,
            reach=reach,
            seed=seed,
            draws=draws,
            progress=say,
            **vars(loading),
        )
    output.deliver(result)
