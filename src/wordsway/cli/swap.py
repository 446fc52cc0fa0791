"""`wordsway swap`: the real words that move a pretrained model most."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordsway.cli import options as opt
from wordsway.cli.output import progress_line
from wordsway.core.errors import InputError


@opt.grouped
def swap_command(
    loading: opt.LoadingOptions,
    sent: opt.EndpointOptions,
    output: opt.OutputOptions,
    text: opt.Text = None,
    word: Annotated[
        str | None,
        typer.Option(
            "--word", help="Word to replace, by spelling or number; the last word by default."
        ),
    ] = None,
    index: opt.Index = None,
    model: opt.Model = "minilm",
    target: Annotated[
        str,
        typer.Option(
            "--target",
            "--layer",
            help="Output to measure: a layer's number, last, all (all layers), pooled, "
            "cosine, logits or next-token.",
        ),
    ] = "last",
    top: Annotated[int, typer.Option("--top", help="Number of words to show.")] = 10,
    kind: Annotated[
        str,
        typer.Option(
            "--kind", help="Candidates: words (alphabetic) or all (every whole-word token)."
        ),
    ] = "words",
    any_case: Annotated[
        bool | None, opt.deprecated("--any-case", "use keep_case=False in Python")
    ] = None,
    among: Annotated[
        Path | None,
        typer.Option("--among", help="File of candidates to use instead, one per line."),
    ] = None,
    exhaustive: Annotated[
        bool,
        opt.flag("--exhaustive", help="Evaluate every candidate exactly, which takes minutes."),
    ] = False,
    flip: Annotated[
        bool,
        opt.flag("--flip", help="With --target logits: only words that flip the label."),
    ] = False,
    plausible: Annotated[
        bool,
        opt.flag(
            "--plausible",
            help="Only words that fit the context: likely under a language model (the model's own "
            "head, or smollm2) or, without one, of the same part of speech.",
        ),
    ] = False,
    cut: opt.Cut = False,
    seed: opt.Seed = 0,
    memory: opt.Memory = 2.0,
) -> None:
    """Which real word, in place of another, moves the model most?

    Example: wordsway swap "I love her much" --word much
    """
    sentence = opt.text_of(text)
    budget = opt.bytes_of(memory)
    mine = None if among is None else _lines(among)
    chosen = opt.word_of(word, index)
    from wordsway.probing.request import SwapRequest
    from wordsway.probing.swap import swaps_of

    request = SwapRequest(
        target=target,
        top=top,
        kind=kind,
        keep_case=not any_case,
        among=mine,
        exhaustive=exhaustive,
        flip=flip,
        plausible=plausible,
        cut=cut,
        seed=seed,
        memory=budget,
    )
    with progress_line("loading the model") as line:
        probe = sent.opened(model, loading, line)
        result = swaps_of(sentence, chosen, probe, request, line)
    output.deliver(result)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            "a text file with one word per line",
            f"{path} ({error})",
            "check the path and its encoding",
        ) from None
