"""`wordsway words`: which word moves a pretrained model, and in which layer."""

from __future__ import annotations

from typing import Annotated

import typer

from wordsway.cli.probing import (
    AsJson,
    At,
    Cut,
    Deltas,
    Device,
    Draws,
    Dtype,
    Effort,
    Forecast,
    Html,
    Layer,
    Model,
    Out,
    Passes,
    Reach,
    RemoteCode,
    Scaling,
    Seed,
    Target,
    Text,
    Tier,
    bytes_of,
    deliver,
    files_of,
    given,
    gone,
    probe_of,
    text_of,
)
from wordsway.cli.progress import echo_json, progress_line
from wordsway.core.errors import InputError


def words_command(
    text: Text = None,
    model: Model = "minilm",
    layer: Layer = "last",
    target: Target = "layer",
    tier: Tier = None,
    colour: Annotated[
        str | None,
        typer.Option(
            "--colour",
            "--color",
            help="The tier that names, colours and orders the words; mean-local by default.",
        ),
    ] = None,
    word: Annotated[
        list[str] | None,
        typer.Option("--word", help="Only this word, by its spelling or number; may be repeated."),
    ] = None,
    index: Annotated[list[int] | None, gone("--index", "use --word NUMBER")] = None,
    reach: Reach = None,
    scaling: Scaling = None,
    draws: Draws = None,
    passes: Passes = None,
    cut: Cut = False,
    at: At = None,
    twin: Annotated[
        bool, typer.Option("--twin", help="Also measure a twin of the model with random weights.")
    ] = False,
    swaps: Annotated[
        int,
        typer.Option("--swaps", help="Number of words for which to find the worst real words."),
    ] = 0,
    effort: Effort = None,
    memory: Annotated[
        float, typer.Option("--memory", help="Memory in addition to the model, in GiB.")
    ] = 2.0,
    seed: Seed = 0,
    device: Device = "cpu",
    dtype: Dtype = "float32",
    remote_code: RemoteCode = False,
    html: Html = None,
    out: Out = None,
    deltas: Deltas = False,
    forecast: Forecast = False,
    as_json: AsJson = False,
) -> None:
    """How far does changing each word of a text move a pretrained model?

    Example: wordsway words "I love her much" --out words.html
    """
    from wordsway.core.format import format_bytes, format_seconds
    from wordsway.probing.forecasting import forecast as forecast_words
    from wordsway.probing.request import WordsRequest
    from wordsway.probing.words import measure, with_swaps

    files = files_of(html, out)
    sentence = text_of(text)
    request = WordsRequest(
        **given(
            layer=layer,
            target=target,
            tiers=tier or None,
            colour=colour,
            word=[*(word or ()), *(index or ())] or None,
            reach=reach,
            at=at,
            scaling=scaling,
            passes=passes,
            draws=draws,
            twin=twin,
            cut=cut,
            seed=seed,
            effort=effort,
            memory=bytes_of(memory),
        )
    )
    if swaps < 0:
        raise InputError("swaps ≥ 0", swaps, "leave it out for none")
    with progress_line("loading the model") as line:
        probe = probe_of(model, device, dtype, remote_code, line)
        if forecast:
            cost = forecast_words(sentence, probe, request, swaps=swaps)
        else:
            *_, result = measure(sentence, probe, request, line)
            result = with_swaps(result, probe, swaps, request.memory, line)
    if not forecast:
        deliver(result, files, result.to_dict(deltas=deltas) if as_json else None)
    elif as_json:
        costs = {"forecast_seconds": cost.seconds, "forecast_peak_mb": cost.bytes / 1e6}
        echo_json({"words": cost.words, "tokens": cost.tokens} | costs)
    else:
        typer.echo(
            f"{cost.words} words, {cost.tokens} tokens: about {format_seconds(cost.seconds)}, "
            f"{format_bytes(cost.bytes)} in addition to the model"
        )
