"""`wordsway attention`: the attention of one layer, for a text or for two that differ in a word."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordsway.cli.progress import echo_json
from wordsway.cli.waiting import waiting


def attention_command(
    text_a: Annotated[str, typer.Argument(metavar="TEXT_A", help="A text.")],
    text_b: Annotated[str | None, typer.Argument(metavar="TEXT_B", help="Another one, which differs in a word.")] = None,
    model: Annotated[str, typer.Option("--model", help="minilm, mpnet, a folder, or a hub id.")] = "minilm",
    layer: Annotated[str, typer.Option("--layer", help="Counted from 1, or last.")] = "1",
    head: Annotated[str, typer.Option("--head", help="Counted from 1, or mean.")] = "mean",
    special: Annotated[
        bool, typer.Option("--special/--no-special", help="Keep special tokens such as [CLS]. Cutting them changes no other number.")
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Also write a .png, .svg, .pdf, .csv or .json file.")] = None,
    device: Annotated[str, typer.Option("--device", help="Where to run: cpu, cuda, mps.")] = "cpu",
    dtype: Annotated[str, typer.Option("--dtype", help="float32, bfloat16, float16 or float64.")] = "float32",
    remote_code: Annotated[bool, typer.Option("--trust-remote-code", help="Run Python code that comes with the model.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
) -> None:
    """Show how much every token looks at every other: a matrix for each text, and their difference where they line up.

    Example: wordsway attention "I love her much" "I love her smile" --out attention.png
    """
    with waiting("loading libraries") as say:
        from wordsway.probe.attention import attention, ending_of

        if out is not None:
            ending_of(out)
        result = attention(text_a, text_b, model, layer, head, special, device=device, dtype=dtype, remote_code=remote_code, progress=say)
        if out is not None:
            say("writing the file", 0, 0)
            result.save(out)
    if as_json:
        echo_json(result.to_dict())
        return
    result.show()
    if out is not None:
        typer.echo(f"written: {out}")
