"""`wordsway swap`: the real words that move a pretrained model most."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordsway.cli.probing import HTML_HELP, OUT_HELP, deliver, files_of, text_of
from wordsway.cli.waiting import waiting
from wordsway.errors import InputError


def swap_command(
    text: Annotated[str | None, typer.Argument(help="A sentence; - reads it from standard input.", metavar="TEXT")] = None,
    word: Annotated[str | None, typer.Option("--word", help="The word to replace, by number or spelling; the last one by default.")] = None,
    model: Annotated[str, typer.Option("--model", help="minilm, mpnet, smollm2, bert-base, a hub id or a folder.")] = "minilm",
    target: Annotated[str, typer.Option("--target", "--layer", help="A layer's number, last, pooled, or a classifier's logits.")] = "last",
    top: Annotated[int, typer.Option("--top", help="Words to show.")] = 10,
    kind: Annotated[str, typer.Option("--kind", help="words (whole and alphabetic) or all whole pieces of the vocabulary.")] = "words",
    keep_case: Annotated[bool, typer.Option("--keep-case/--any-case", help="Capitalise as the word in the text is.")] = True,
    among: Annotated[Path | None, typer.Option("--among", help="A file with candidates of yours, one per line.")] = None,
    exhaustive: Annotated[bool, typer.Option("--exhaustive", help="Evaluate every candidate exactly: minutes.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same numbers.")] = 0,
    memory: Annotated[float, typer.Option("--memory", help="Memory budget, in GiB.")] = 2.0,
    device: Annotated[str, typer.Option("--device", help="cpu, cuda, mps.")] = "cpu",
    dtype: Annotated[str, typer.Option("--dtype", help="float32, bfloat16, float16 or float64.")] = "float32",
    remote_code: Annotated[bool, typer.Option("--trust-remote-code", help="Run Python that comes with the model.")] = False,
    html: Annotated[Path | None, typer.Option("--html", help=HTML_HELP)] = None,
    out: Annotated[Path | None, typer.Option("--out", help=OUT_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
) -> None:
    """Which real word, in the place of another, moves the model most?

    Example: wordsway swap "I love her much" --word much
    """
    from wordsway.probe.model import Probe
    from wordsway.probe.swap import swap

    files = files_of(html, out)
    sentence = text_of(text)
    if not 0 < memory < 2**20:
        raise InputError("a memory budget in GiB", memory, "leave it at 2")
    mine = None
    if among is not None:
        try:
            mine = among.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError("a text file with one word per line", f"{among} ({error})", "check the path and its encoding") from None
    with waiting("loading the model") as line:
        probe = Probe(
            model, device=device, dtype=dtype, trust_remote_code=remote_code, progress=lambda d, t: line(f"fetching {model}", d, t)
        )
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
            memory=int(memory * 2**30),
            progress=line,
        )
    deliver(result, files, result.to_dict() if as_json else None)
