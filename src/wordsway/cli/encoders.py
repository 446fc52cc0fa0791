"""`wordsway pairs`, `audit` and `length`: how encoders respond to changed texts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordsway.cli import options as opt
from wordsway.cli.output import echo_json, echo_usage, print_result, progress_line
from wordsway.core.errors import InputError

if TYPE_CHECKING:
    from wordsway.auditing.running import EncoderRequest


@opt.grouped
def pairs_command(
    first: Annotated[
        str, typer.Argument(help="A text, or a table of pairs.", metavar="TEXT_A|FILE.csv")
    ],
    encoders: opt.EncoderOptions,
    output: opt.OutputOptions,
    second: Annotated[str | None, typer.Argument(help="The other text.", metavar="TEXT_B")] = None,
    draws: int = opt.option(100, "Number of random real words to compare each edit with."),
    forecast: bool = opt.FORECAST,
) -> None:
    """How different are two similar texts to a model?

    A table has the columns a, b or text, word, replacement, and optionally kind.

    Example: wordsway pairs "The drug is safe." "The drug is unsafe." --model minilm --model mpnet
    """
    if second is None and not Path(first).suffix:
        raise InputError(
            "two texts, or a table of pairs", repr(first[:40]), 'pass both: "It is." "It is not."'
        )
    models, how = encoders.models, encoders.how | {"draws": draws}
    with progress_line("loading the model") as progress:
        from wordsway.auditing.pairs import forecast_pairs, pairs
        from wordsway.core.result import fields_of

        if forecast:
            costs = forecast_pairs(first, second, models, **how)
        else:
            result = pairs(first, second, models, **how, progress=progress)
    if not forecast:
        echo_usage(models)
        output.deliver(result)
    elif output.as_json:
        echo_json({"models": [fields_of(one) for one in costs]})
    else:
        typer.echo("\n".join(map(str, costs)))


@dataclass(frozen=True)
class AuditOptions:
    """The fields of an `AuditRequest`."""

    data: str = opt.option(
        "gold",
        "gold (triples that come with wordsway), one of its domains (everyday, medical, legal, "
        "finance, support), imdb (sentences of reviews), or a file of triples (columns text, "
        "rewording, change, kind), pairs (a, b, kind), queries (query, document, query2, "
        "document2) or texts.",
    )
    kinds: list[str] | None = opt.option(
        None, "A kind of meaning-changing edit; all by default; may be repeated.", "--kind"
    )
    texts: int | None = opt.option(None, "Texts per kind; 200 by default, 40 with --quick.")
    quick: bool = opt.flag("--quick", "At most 40 texts per kind instead of 200.")
    target: str = opt.option(
        "cosine",
        "Output to measure: cosine, pooled, a layer's number, logits (of a classifier) or "
        "next-token.",
    )
    draws: int = opt.option(2, "Number of random real words to compare each edit with.")
    local: int | None = opt.deprecated("--local", "it has no effect; use wordsway words")
    threshold: list[float] | None = opt.option(
        None, "Also report the errors at this cosine threshold; may be repeated."
    )
    should_flip: list[str] | None = opt.option(
        None,
        "With --target logits: a kind of edit that should change the label. Replaces the default, "
        "negation and antonyms; may be repeated.",
        "--should-flip",
    )
    should_stay: list[str] | None = opt.option(
        None,
        "With --target logits: a kind of edit that should not change the label. Replaces the "
        "default, names, numbers and units; edits that preserve the meaning are always "
        "included. May be repeated.",
        "--should-stay",
    )
    baselines: bool = opt.flag(
        "--baselines/--no-baselines",
        "Also measure the baselines: word overlap, mean of word vectors, twin with random weights.",
        default=True,
    )


@dataclass(frozen=True)
class AuditRun(opt.RunOptions):
    out: Path = opt.folder(Path("out/audit"))


@opt.grouped
def audit_command(
    encoders: opt.EncoderOptions,
    run: AuditRun,
    audited: AuditOptions,
    documents: str | None = opt.option(
        None, "File of documents; also report how edits of a query change their ranks."
    ),
    fail_under: list[str] | None = opt.option(
        None,
        "Gate LEVEL=X or LEVEL.KIND=X, such as rewording.negation=0.5: exit with 1 if the score "
        "is below X, or if a row is refused. With --target logits also flips.KIND=X and "
        "stays.KIND=X: the share of edits that change, or do not change, the label. May be "
        "repeated.",
    ),
) -> None:
    """Is a rewording of a text closer to it than a change of its meaning?

    Also reports the effect of harmless edits, cosine thresholds, and blind spots.

    An interrupted audit resumes with the same command.

    Example: wordsway audit --model minilm --model mpnet
    """
    from wordsway.auditing.audit import AuditRequest, audit
    from wordsway.auditing.result import parse_gate, passed
    from wordsway.auditing.retrieval import documents_of

    names, asked = encoders.models, opt.given(audited) | encoders.how
    gate = fail_under or ()
    if run.forecast:
        if documents is not None:
            documents_of(documents, encoders.encoding)
        _print_forecast(AuditRequest(names, **asked), run)
        return
    with progress_line() as progress:
        more = run.options | {"documents": documents, "fail_under": gate}
        result = audit(names, **asked, **more, progress=progress)
    echo_usage(names)
    failures = [*result.gate, *(f"{name}: {one.reason}" for name, one in result.failed)]
    if not run.as_json:
        for line in passed(parse_gate(gate), result.models):
            typer.echo(f"gate passed: {line}", err=True)
    _report(result, run.as_json, failures)


def _print_forecast(request: EncoderRequest, run: AuditRun | LengthRun) -> None:
    """Print what would be sent to each endpoint, or else time and memory on this machine."""
    from wordsway.auditing.running import forecast_endpoints, forecast_request
    from wordsway.core.result import fields_of

    with progress_line() as progress:
        sent = forecast_endpoints(request, progress)
        if not sent:
            cost = forecast_request(request, out=run.out, workers=run.workers, progress=progress)
    if not sent:
        print_result(cost, run.as_json)
    for name, what in sent.items():
        if run.as_json:
            echo_json({"name": name, **fields_of(what)})
        else:
            typer.echo(f"{name}: {what}")


def _report(result: Any, as_json: bool, failures: list[str]) -> None:
    """Print the result and its files, then failures; exit with 1 if there are any."""
    print_result(result, as_json)
    if not as_json:
        typer.echo(f"written: {', '.join(str(path) for path in result.files)}")
    for line in failures:
        typer.echo(line, err=True)
    if failures or result.failed or result.interrupted:
        raise typer.Exit(1)


@dataclass(frozen=True)
class LengthOptions:
    """The fields of a `LengthRequest`."""

    data: str = opt.option(
        "imdb",
        "Source of the sentences: imdb (reviews), gold (triples that come with wordsway), one of "
        "its domains, or a file of documents, triples (text, rewording, change) or pairs (a, b, "
        "kind).",
    )
    kinds: list[str] | None = opt.option(
        None,
        "A kind of meaning-changing edit; may be repeated. Default: negation, or all kinds of a "
        "file of triples or pairs.",
        "--kind",
    )
    windows: str | None = opt.option(
        None, "Lengths of the texts, in sentences; 1,2,4,8,16 by default, fewer for small tables."
    )
    texts: int | None = opt.option(None, "Number of texts; 200 by default, 40 with --quick.")
    quick: bool = opt.flag("--quick", "40 texts instead of 200.")
    host: str | None = opt.option(
        None,
        "Text around the sentence: own (its document), filler (other texts of the data) or a file "
        "of documents.",
    )
    place: str = opt.option(
        "own", "Place of the sentence in the text: own, beginning, middle or end."
    )
    target: str = opt.option("pooled", "Output to measure: pooled, last-token or a layer's number.")
    level: float = opt.option(0.05, "Cosine distance below which a change is invisible.")
    baselines: bool = opt.flag(
        "--baselines/--no-baselines",
        "Also measure the baselines: twin with random weights, mean of word vectors, random maps.",
        default=True,
    )


@dataclass(frozen=True)
class LengthRun(opt.RunOptions):
    out: Path = opt.folder(Path("out/length"))


@opt.grouped
def length_command(
    encoders: opt.EncoderOptions,
    run: LengthRun,
    measured: LengthOptions,
) -> None:
    """How long can a text be before one word is invisible?

    Edits one sentence, lets the text around it grow, and reports how the effect of the edit decays.

    An interrupted run resumes with the same command.

    Example: wordsway length --model minilm --quick
    """
    from wordsway.lengths.length import LengthRequest, length

    windows = None if measured.windows is None else _sizes(measured.windows)
    models, asked = encoders.models, opt.given(measured) | encoders.how | {"windows": windows}
    if run.forecast:
        _print_forecast(LengthRequest(models, **asked), run)
        return
    with progress_line() as progress:
        found = length(models, **asked, **run.options, progress=progress)
    echo_usage(models)
    _report(found, run.as_json, [])


def _sizes(windows: str) -> tuple[int, ...]:
    try:
        return tuple(int(one) for one in windows.split(","))
    except ValueError:
        raise InputError(
            "numbers of sentences such as 1,4,16", repr(windows), "use commas"
        ) from None
