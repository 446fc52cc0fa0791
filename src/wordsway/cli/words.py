"""`wordsway words`: which word moves a pretrained model, and in which layer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from wordsway.cli.options import machines_of
from wordsway.cli.probing import (
    AsJson,
    Device,
    Dtype,
    Html,
    Model,
    RemoteCode,
    Text,
    bytes_of,
    deliver,
    files_of,
    probe_of,
    text_of,
)
from wordsway.cli.progress import echo_json, progress_line
from wordsway.cli.words_batch import refuse, run_batch
from wordsway.cli.words_request import Request, with_swaps
from wordsway.core.errors import InputError


def words_command(
    text: Text = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data", help="Many texts instead of one: imdb, or a file or folder of texts."
        ),
    ] = None,
    model: Model = "minilm",
    layer: Annotated[
        str, typer.Option("--layer", help="The layer that is judged: 0 (input) to L, or last.")
    ] = "last",
    target: Annotated[
        str,
        typer.Option(
            "--target",
            help="What moves: layer (see --layer), all, pooled, cosine, logits or next-token.",
        ),
    ] = "layer",
    tier: Annotated[
        list[str] | None,
        typer.Option(
            "--tier",
            help="What to measure: mean-local, local, real-words, curve; may be repeated. "
            "By default the first three on short texts, the first on long ones and with --data.",
        ),
    ] = None,
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
        typer.Option("--word", help="Only this word, by its spelling; may be repeated."),
    ] = None,
    index: Annotated[
        list[int] | None,
        typer.Option("--index", help="Only this word, by its number, from 0; may be repeated."),
    ] = None,
    reach: Annotated[
        float | None,
        typer.Option(
            "--reach",
            help="ρ: follow S(ρ) up to a Δ so many times as long as the word's embedding.",
        ),
    ] = None,
    scaling: Annotated[
        str,
        typer.Option(
            "--scaling", help="Rows count by their norm (frobenius) or alike (rows); auto chooses."
        ),
    ] = "auto",
    draws: Annotated[
        int | None, typer.Option("--draws", help="Real words per place; 32 by default.")
    ] = None,
    passes: Annotated[
        int | None, typer.Option("--passes", help="Backward passes of mean local; 32 by default.")
    ] = None,
    cut: Annotated[
        bool, typer.Option("--cut", help="Keep the beginning of a text that is too long.")
    ] = False,
    at: Annotated[
        str,
        typer.Option(
            "--at",
            help="What moves: words (rows of the embedding matrix) or input (hidden_states[0]).",
        ),
    ] = "words",
    twin: Annotated[
        bool, typer.Option("--twin", help="Also look at a twin of the model with random weights.")
    ] = False,
    swaps: Annotated[
        int, typer.Option("--swaps", help="Also find the worst real words for so many words.")
    ] = 0,
    effort: Annotated[
        float | None,
        typer.Option("--effort", help="How long to search S(ρ); 1 by default."),
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option(
            "--memory",
            help="Memory beside the model, in GiB, 2 by default; with --data of all workers.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same numbers.")] = 0,
    device: Device = "cpu",
    dtype: Dtype = "float32",
    remote_code: RemoteCode = False,
    html: Html = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Also write a view: .html .svg .png .pdf .json .csv .parquet; with --data a "
            "folder, out/words by default.",
        ),
    ] = None,
    deltas: Annotated[
        bool, typer.Option("--deltas", help="Put the witnesses Δ into the JSON.")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option("--limit", help="With --data: so many texts, drawn by seed; all by default."),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option("--tokens", help="With --data: of each text the first so many tokens; 64."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", help="With --data: processes; one per core by default."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster", help="With --data: a Dask scheduler, tcp://host:port or local:COUNT."
        ),
    ] = None,
    text_column: Annotated[
        str | None, typer.Option("--text-column", help="With --data: the column of texts.")
    ] = None,
    label_column: Annotated[
        str | None, typer.Option("--label-column", help="With --data: a column of labels to keep.")
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option("--encoding", help="With --data: the file's encoding; UTF-8 by default."),
    ] = None,
    retry_failed: Annotated[
        bool,
        typer.Option("--retry-failed", help="With --data: run texts again that failed before."),
    ] = False,
    forecast: Annotated[
        bool, typer.Option("--forecast", help="Say what it would cost, without running it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """How far does changing each word of a text move a pretrained model? With --data: of many
    texts, which words in common?

    Example: wordsway words "I love her much" --html words.html

    Example: wordsway words --data reviews.csv --limit 100 --out out/words
    """
    many = {
        "--limit": limit,
        "--tokens": tokens,
        "--workers": workers,
        "--cluster": cluster,
        "--text-column": text_column,
    }
    many |= {"--label-column": label_column, "--encoding": encoding, "--retry-failed": retry_failed}
    if data is not None:
        one = {
            "a TEXT": text,
            "--word": word or None,
            "--index": index or None,
            "--colour": colour,
            "--cut": cut,
            "--twin": twin,
            "--swaps": swaps or None,
            "--html": html,
            "--deltas": deltas,
        }
        one |= {"--dtype": dtype if dtype != "float32" else None}
        one |= {"--trust-remote-code": remote_code}
        refuse(one, "many texts, by --data", "leave it out, or ask about one text")
        from wordsway.studies.texts import TextOptions

        search: dict[str, Any] = {"layer": layer, "target": target, "tiers": tuple(tier or ())}
        search |= {"reach": reach, "at": at, "effort": effort, "tokens": tokens}
        search |= {"scaling": scaling, "passes": passes, "draws": draws}
        run_batch(
            data,
            model,
            search | {"seed": seed, "device": device},
            limit=limit,
            options=TextOptions(
                text_column=text_column, label_column=label_column, encoding=encoding
            ),
            out=out,
            machines=machines_of(workers, cluster, memory),
            retry_failed=retry_failed,
            forecast=forecast,
            as_json=as_json,
        )
        return
    refuse(many, "one text", "name many texts with --data, or leave it out")
    from wordsway.core.format import format_bytes, format_seconds

    files = files_of(html, out)
    sentence = text_of(text)
    budget = bytes_of(2.0 if memory is None else memory)
    request = Request(
        layer=layer,
        target=target,
        tiers=tuple(tier or ()) or None,
        colour=colour,
        only=[*(word or ()), *(index or ())] or None,
        reach=reach,
        at=at,
        scaling=scaling,
        passes=passes,
        draws=draws,
        twin=twin,
        cut=cut,
        effort=1.0 if effort is None else effort,
        memory=budget,
    )
    request.check()
    if swaps < 0:
        raise InputError("swaps ≥ 0", swaps, "leave it out for none")
    with progress_line("loading the model") as line:
        probe = probe_of(model, device, dtype, remote_code, line)
        if forecast:
            cost = request.forecast(sentence, probe, swaps)
        else:
            result = request.words(sentence, probe, seed, line)
            result = with_swaps(result, probe, swaps, seed, budget, line)
    if not forecast:
        deliver(result, files, result.to_dict(deltas=deltas) if as_json else None)
        return
    if as_json:
        echo_json(
            {
                "words": cost.words,
                "tokens": cost.tokens,
                "forecast_seconds": cost.seconds,
                "forecast_peak_mb": cost.bytes / 1e6,
            }
        )
    else:
        typer.echo(
            f"{cost.words} words, {cost.tokens} tokens: about {format_seconds(cost.seconds)}, "
            f"{format_bytes(cost.bytes)} beside the model"
        )
