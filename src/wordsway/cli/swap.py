"""`wordsway swap`: the real words that move a pretrained model most."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordsway.cli.probing import (
    AsJson,
    Cut,
    Device,
    Dtype,
    Html,
    Model,
    Out,
    RemoteCode,
    Seed,
    Text,
    bytes_of,
    deliver,
    files_of,
    gone,
    probe_of,
    text_of,
    word_of,
)
from wordsway.cli.progress import progress_line
from wordsway.core.errors import InputError


def swap_command(
    text: Text = None,
    word: Annotated[
        str | None,
        typer.Option(
            "--word", help="The word to replace, by spelling or number; the last one by default."
        ),
    ] = None,
    index: Annotated[int | None, gone("--index", "use --word NUMBER")] = None,
    model: Model = "minilm",
    target: Annotated[
        str,
        typer.Option(
            "--target",
            "--layer",
            help="A layer's number, last, all, pooled, cosine, logits or next-token.",
        ),
    ] = "last",
    top: Annotated[int, typer.Option("--top", help="Words to show.")] = 10,
    kind: Annotated[
        str,
        typer.Option(
            "--kind", help="words (whole and alphabetic) or all whole pieces of the vocabulary."
        ),
    ] = "words",
    any_case: Annotated[bool | None, gone("--any-case", "Python has keep_case=False")] = None,
    among: Annotated[
        Path | None, typer.Option("--among", help="A file with candidates of yours, one per line.")
    ] = None,
    exhaustive: Annotated[
        bool, typer.Option("--exhaustive", help="Evaluate every candidate exactly: minutes.")
    ] = False,
    flip: Annotated[
        bool,
        typer.Option("--flip", help="With --target logits: only words that flip the label."),
    ] = False,
    plausible: Annotated[
        bool,
        typer.Option(
            "--plausible",
            help="Only words likely there, by a language model (the model's own head, or smollm2), "
            "else by their part of speech.",
        ),
    ] = False,
    cut: Cut = False,
    seed: Seed = 0,
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
    sentence = text_of(text)
    budget = bytes_of(memory)
    mine = None if among is None else _lines(among)
    chosen = word_of(word, index)
    from wordsway.probing.swap import check_request, swap
    from wordsway.probing.targets import check_target

    check_request(top, kind, mine, flip, target)
    check_target(target)
    with progress_line("loading the model") as line:
        probe = probe_of(model, device, dtype, remote_code, line)
        result = swap(
            sentence,
            chosen,
            probe,
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
            progress=line,
        )
    deliver(result, files, result.to_dict() if as_json else None)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            "a text file with one word per line",
            f"{path} ({error})",
            "check the path and its encoding",
        ) from None
