"""`wordsway words`, `swap` and `corpus`: which words move a pretrained model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from wordsway.cli import options as opt
from wordsway.cli.output import echo_json, echo_usage, finish, print_result, progress_line
from wordsway.core.atomic import read_text
from wordsway.core.errors import InputError
from wordsway.core.escape import one_line


@opt.grouped
def words_command(
    loading: opt.LoadingOptions,
    sent: opt.EndpointOptions,
    output: opt.OutputOptions,
    probed: opt.ProbeOptions,
    text: str | None = opt.TEXT,
    colour: str | None = opt.option(
        None,
        "Tier by which words are ordered and coloured. Default: that of --tier, else mean-local "
        "(real-words for --target logits).",
        "--colour",
        "--color",
    ),
    word: list[str] | None = opt.option(
        None, "Measure only this word, by spelling or number (from 0); may be repeated."
    ),
    cut: bool = opt.CUT,
    twin: bool = opt.flag(
        "--twin",
        "Also measure the twin, the same architecture with random weights; written to .html and "
        ".json.",
    ),
    swaps: int = opt.option(
        0, "For this many top-ranked words, also search the real words that move the model most."
    ),
    memory: float = opt.option(2.0, "Memory budget in addition to the model, in GiB."),
    deltas: bool = opt.flag(
        "--deltas", "Include the change Δ of every word in the JSON.", opt.OUTPUT
    ),
    forecast: bool = opt.FORECAST,
) -> None:
    """How far does changing each word of a text move a pretrained model?

    Example: wordsway words "I love her much" --out words.html
    """
    from wordsway.core.format import format_bytes, format_seconds
    from wordsway.models.encoders import with_layers
    from wordsway.probing.request import WordsRequest
    from wordsway.probing.words import forecast as forecast_words
    from wordsway.probing.words import measure, with_swaps

    sentence = opt.text_of(text)
    request = WordsRequest(
        **probed.given,
        colour=colour,
        word=word or None,
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
        echo_usage([probe])
        output.deliver(result, **({"deltas": True} if deltas else {}))
    elif output.as_json:
        costs = {"forecast_seconds": cost.seconds, "forecast_peak_mb": cost.bytes / 1e6}
        echo_json({"words": cost.words, "tokens": cost.tokens} | costs)
    else:
        typer.echo(
            f"{cost.words} words, {cost.tokens} tokens: about {format_seconds(cost.seconds)} on an "
            f"idle machine, {format_bytes(cost.bytes)} in addition to the model"
        )


@opt.grouped
def swap_command(
    loading: opt.LoadingOptions,
    sent: opt.EndpointOptions,
    output: opt.OutputOptions,
    text: str | None = opt.TEXT,
    word: str | None = opt.option(
        None, "Word to replace, by spelling or number (from 0); the last word by default."
    ),
    model: str = opt.MODEL,
    target: str = opt.option(
        "last",
        "Output to measure: a layer's number, last, all (all layers), pooled (the text's "
        "embedding), cosine, logits (of a classifier) or next-token.",
        "--target",
        "--layer",
    ),
    top: int = opt.option(10, "Number of words to show."),
    kind: str = opt.option(
        "words", "Candidates: words (alphabetic) or all (every whole-word token)."
    ),
    any_case: bool | None = opt.deprecated("--any-case", "use keep_case=False in Python"),
    among: Path | None = opt.option(None, "File of your own candidates, one per line."),
    exhaustive: bool = opt.flag(
        "--exhaustive", "Evaluate every candidate exactly, which may take minutes."
    ),
    flip: bool = opt.flag("--flip", "With --target logits: only words that flip the label."),
    plausible: bool = opt.flag(
        "--plausible",
        "Only words that are likely in that place, by a language model (the model's own head, "
        "bert-base or smollm2).",
    ),
    cut: bool = opt.CUT,
    seed: int = opt.SEED,
    memory: float = opt.MEMORY,
) -> None:
    """Which real word, in place of another, moves the model most?

    Example: wordsway swap "I love her much" --word much
    """
    sentence = opt.text_of(text)
    budget = opt.bytes_of(memory)
    mine = None
    if among is not None:
        mine = read_text(among, "a text file with one word per line").splitlines()
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
        result = swaps_of(sentence, word, probe, request, line)
    echo_usage([probe])
    if word is None and not output.as_json:
        typer.echo(f"No --word given: “{one_line(result.word)}”, the last word, is replaced.\n")
    output.deliver(result)


@dataclass(frozen=True)
class CorpusProbeOptions(opt.ProbeOptions):
    model: str = opt.option("minilm", f"{opt.MODEL_NAMES} or a folder.")


@dataclass(frozen=True)
class CorpusRun(opt.RunOptions):
    out: Path = opt.folder(Path("out/words"))


@opt.grouped
def corpus_command(
    data: Annotated[
        str, typer.Argument(help="imdb, or a file or folder of texts.", metavar="FILE")
    ],
    columns: opt.ColumnOptions,
    run: CorpusRun,
    probed: CorpusProbeOptions,
    limit: int | None = opt.option(None, "Number of texts to sample; all by default."),
    tokens: int = opt.option(64, "Maximum number of tokens per text; longer texts are cut."),
    device: str = opt.DEVICE,
) -> None:
    """Which words of many texts move a pretrained model most?

    An interrupted run resumes with the same command.

    Example: wordsway corpus reviews.csv --limit 100 --out out/words
    """
    from wordsway.engine.run import Machines
    from wordsway.probing.corpus import corpus_jobs, corpus_texts, forecast_corpus, probe_corpus

    machines = Machines(run.workers, run.cluster, run.options["memory"])
    how = vars(columns) | {"limit": limit, "seed": probed.seed}
    with progress_line(f"reading {data}") as progress:
        texts = corpus_texts(data, **how, progress=progress)
        jobs = corpus_jobs(
            texts, probed.model, tokens=tokens, device=device, progress=progress, **probed.given
        )
        if not run.forecast:
            again = run.retry_failed
            result = probe_corpus(
                texts, jobs, run.out, machines=machines, retry_failed=again, progress=progress
            )
    if run.forecast:
        print_result(forecast_corpus(jobs, run.out, workers=run.workers), run.as_json)
    else:
        finish(result, run.as_json, ["corpus", data])
