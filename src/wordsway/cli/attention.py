"""`wordsway attention`: the attention of one layer, for a text or for two that differ in a word."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordsway.cli.probing import HTML_HELP, OUT_HELP, deliver, files_of
from wordsway.cli.waiting import waiting
from wordsway.errors import InputError

if TYPE_CHECKING:
    from wordsway.probe.shown import Shown


def attention_command(
    text_a: Annotated[str, typer.Argument(metavar="TEXT_A", help="A text.")],
    text_b: Annotated[str | None, typer.Argument(metavar="TEXT_B", help="Another one, which differs in a word.")] = None,
    model: Annotated[str, typer.Option("--model", help="minilm, mpnet, a folder, or a hub id.")] = "minilm",
    layer: Annotated[str, typer.Option("--layer", help="Counted from 1, or last.")] = "1",
    head: Annotated[str, typer.Option("--head", help="Counted from 1, or mean.")] = "mean",
    special: Annotated[
        bool, typer.Option("--special/--no-special", help="Keep special tokens such as [CLS]. Cutting them changes no other number.")
    ] = False,
    attract: Annotated[
        str | None,
        typer.Option("--attract", help="Move this word, by number or spelling, so that the first layer looks at it."),
    ] = None,
    reach: Annotated[float, typer.Option("--reach", help="With --attract: Δ may be so many times as long as the word's embedding.")] = 1.0,
    seed: Annotated[int, typer.Option("--seed", help="With --attract: of the noise that it is compared with.")] = 0,
    html: Annotated[Path | None, typer.Option("--html", help=HTML_HELP)] = None,
    out: Annotated[Path | None, typer.Option("--out", help=OUT_HELP)] = None,
    device: Annotated[str, typer.Option("--device", help="Where to run: cpu, cuda, mps.")] = "cpu",
    dtype: Annotated[str, typer.Option("--dtype", help="float32, bfloat16, float16 or float64.")] = "float32",
    remote_code: Annotated[bool, typer.Option("--trust-remote-code", help="Run Python code that comes with the model.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
) -> None:
    """Show how much every token looks at every other: a matrix for each text, and their difference where they line up.

    Example: wordsway attention "I love her much" "I love her smile" --out attention.png
    """
    files = files_of(html, out)
    with waiting("loading libraries") as say:
        if attract is None:
            from wordsway.probe.attention import attention

            how: dict[str, Any] = {"device": device, "dtype": dtype, "remote_code": remote_code, "progress": say}
            result: Shown = attention(text_a, text_b, model, layer, head, special, **how)
        elif text_b is not None or layer != "1":
            raise InputError("one text and layer 1 with --attract", f"two texts, or layer {layer}", "leave them out")
        else:
            result = _attracted(text_a, attract, model, "all" if head == "mean" else head, reach, seed, device, dtype, remote_code, say)
    deliver(result, files, result.to_dict() if as_json else None)


def _attracted(
    text: str,
    word: str,
    model: str,
    head: str,
    reach: float,
    seed: int,
    device: str,
    dtype: str,
    remote_code: bool,
    say: Callable[[str, int, int], None],
) -> Shown:
    """Attention before and after a word moved, and every layer's change beside noise."""
    from wordsway.probe.attract import attract
    from wordsway.probe.model import Probe

    say("loading the model", 0, 0)
    probe = Probe(model, device=device, dtype=dtype, eager=True, trust_remote_code=remote_code)
    row = probe.read(text, "input").word(word).rows[0]
    say("moving the word", 0, 0)
    return attract(text, row, probe, head=head, reach=reach, seed=seed)
