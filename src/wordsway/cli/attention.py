"""`wordsway attention`: the attention of one layer, for a text or for two that differ in a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

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
)
from wordsway.cli.progress import progress_line
from wordsway.core.errors import InputError

if TYPE_CHECKING:
    from wordsway.core.result import Result


def attention_command(
    text_a: Annotated[str, typer.Argument(metavar="TEXT_A", help="A text.")],
    text_b: Annotated[
        str | None, typer.Argument(metavar="TEXT_B", help="Another one, which differs in a word.")
    ] = None,
    model: Model = "minilm",
    layer: Annotated[str, typer.Option("--layer", help="1 to L, or last; 0 is the input.")] = "1",
    head: Annotated[str, typer.Option("--head", help="Counted from 0, or mean.")] = "mean",
    special: Annotated[
        bool,
        typer.Option(
            "--special/--no-special",
            help="Keep special tokens such as [CLS]. Cutting them changes no other number.",
        ),
    ] = False,
    attract: Annotated[
        str | None,
        typer.Option(
            "--attract",
            help="Move this word, by number or spelling, so that the first layer looks at it.",
        ),
    ] = None,
    reach: Annotated[
        float,
        typer.Option(
            "--reach",
            help="With --attract: Δ may be so many times as long as the word's embedding.",
        ),
    ] = 1.0,
    seed: Annotated[
        int, typer.Option("--seed", help="With --attract: of the noise that it is compared with.")
    ] = 0,
    html: Html = None,
    out: Out = None,
    device: Device = "cpu",
    dtype: Dtype = "float32",
    remote_code: RemoteCode = False,
    as_json: AsJson = False,
) -> None:
    """Show how much every token looks at every other: a matrix for each text, and their difference
    where they line up.

    Example: wordsway attention "I love her much" "I love her smile" --out attention.png
    """
    files = files_of(html, out)
    if attract is not None and (text_b is not None or layer != "1"):
        raise InputError(
            "one text and layer 1 with --attract", f"two texts, or layer {layer}", "leave them out"
        )
    text_a, text_b = text_of(text_a), None if text_b is None else text_of(text_b)
    from wordsway.probing.attention import attention, check_request
    from wordsway.probing.attract import attract as attracted
    from wordsway.probing.attract import check_request as check_attraction

    if attract is None:
        check_request(layer, head)
    else:
        check_attraction("all" if head == "mean" else head, reach)
    with progress_line("loading the model") as say:
        probe = probe_of(model, device, dtype, remote_code, say, eager=True)
        if attract is None:
            result: Result = attention(text_a, text_b, probe, layer, head, special, progress=say)
        else:
            say("moving the word", 0, 0)
            result = attracted(
                text_a,
                attract,
                probe,
                head="all" if head == "mean" else head,
                reach=reach,
                seed=seed,
            )
    deliver(result, files, result.to_dict() if as_json else None)
