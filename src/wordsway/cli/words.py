"""`wordsway words`: which word moves a pretrained model, and in which layer."""

from __future__ import annotations

from typing import Annotated

import typer

from wordsway.cli import options as opt
from wordsway.cli.output import echo_json, progress_line
from wordsway.core.errors import InputError


@opt.grouped
def words_command(
    loading: opt.LoadingOptions,
    sent: opt.EndpointOptions,
    output: opt.OutputOptions,
    probed: opt.ProbeOptions,
    text: opt.Text = None,
    colour: Annotated[
        str | None,
        typer.Option(
            "--colour",
            "--color",
            help="Tier by which words are ordered and coloured; mean-local by default.",
        ),
    ] = None,
    word: Annotated[
        list[str] | None,
        typer.Option(
            "--word", help="Measure only this word, by spelling or number; may be repeated."
        ),
    ] = None,
    index: Annotated[list[int] | None, opt.deprecated("--index", "use --word NUMBER")] = None,
    cut: opt.Cut = False,
    twin: Annotated[
        bool,
        opt.flag("--twin", help="Also measure the same architecture with random weights."),
    ] = False,
    swaps: Annotated[
        int,
        typer.Option(
            "--swaps", help="Number of words for which to search the worst real replacements."
        ),
    ] = 0,
    memory: Annotated[
        float, typer.Option("--memory", help="Memory budget in addition to the model, in GiB.")
    ] = 2.0,
    deltas: opt.Deltas = False,
    forecast: opt.Forecast = False,
) -> None:
    """How far does changing each word of a text move a pretrained model?

    Example: wordsway words "I love her much" --out words.html
    """
    from wordsway.core.format import format_bytes, format_seconds
    from wordsway.models.encoders import with_layers
    from wordsway.probing.forecasting import forecast as forecast_words
    from wordsway.probing.request import WordsRequest
    from wordsway.probing.words import measure, with_swaps

    sentence = opt.text_of(text)
    request = WordsRequest(
        **probed.given,
        colour=colour,
        word=[*(word or ()), *(index or ())] or None,
        twin=twin,
        cut=cut,
        memory=opt.bytes_of(memory),
    )
    if swaps < 0:
        raise InputError("swaps ≥ 0", swaps, "leave it out for none")
    with progress_line("loading the model") as line:
        probe = sent.opened(probed.model, loading, line)
        if forecast:
            cost = forecast_words(sentence, with_layers(probe, "a forecast"), request, swaps=swaps)
        else:
            *_, result = measure(sentence, probe, request, line)
            result = with_swaps(result, probe, swaps, request.memory, line)
    if not forecast:
        output.deliver(result, **({"deltas": True} if deltas else {}))
    elif output.as_json:
        costs = {"forecast_seconds": cost.seconds, "forecast_peak_mb": cost.bytes / 1e6}
        echo_json({"words": cost.words, "tokens": cost.tokens} | costs)
    else:
        typer.echo(
            f"{cost.words} words, {cost.tokens} tokens: about {format_seconds(cost.seconds)}, "
            f"{format_bytes(cost.bytes)} in addition to the model"
        )
