"""`wordsway audit`: is a rewording closer than a change of meaning?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from wordsway.cli import options as opt
from wordsway.cli.output import echo_json, print_result, progress_line

OUT = Path("out/audit")


@opt.grouped
def audit_command(
    encoders: opt.EncoderOptions,
    running: opt.RunningOptions,
    data: Annotated[
        str,
        typer.Option(
            "--data",
            help="gold (triples that come with wordsway), one domain of gold (everyday, medical, "
            "legal, finance, support), imdb, or a file of triples (columns "
            "text,rewording,change,kind), pairs (a,b,kind), queries "
            "(query,document,query2,document2) or texts.",
        ),
    ] = "gold",
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", help="A kind of meaning-changing edit; may be repeated."),
    ] = None,
    texts: Annotated[
        int | None,
        typer.Option("--texts", help="Texts per kind; default 200, or 40 with --quick."),
    ] = None,
    quick: Annotated[
        bool,
        opt.flag("--quick", help="Use a fifth of the texts: under two minutes with minilm."),
    ] = False,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            help="Output to measure: cosine, pooled, a layer's number, logits (of a classifier) or "
            "next-token.",
        ),
    ] = "cosine",
    draws: Annotated[
        int,
        typer.Option("--draws", help="Number of random real words to compare each edit with."),
    ] = 2,
    local: Annotated[int | None, opt.deprecated("--local", "use local= in Python")] = None,
    documents: Annotated[
        str | None,
        typer.Option(
            "--documents",
            help="File of documents; also report how edits of a text change their ranks.",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", help="Also report the errors at this cosine threshold."),
    ] = None,
    flip: Annotated[
        list[str] | None,
        typer.Option(
            "--should-flip", help="A kind of edit that should change a classifier's label."
        ),
    ] = None,
    stay: Annotated[
        list[str] | None,
        typer.Option(
            "--should-stay", help="A kind of edit that should not change a classifier's label."
        ),
    ] = None,
    baselines: Annotated[
        bool,
        typer.Option(
            "--baselines/--no-baselines",
            help="Also measure word overlap, mean word vectors and random weights.",
        ),
    ] = True,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-under",
            help="LEVEL.KIND=X, such as rewording.negation=0.5: exit with 1 if a score is below X.",
        ),
    ] = None,
    seed: opt.Seed = 0,
    encoding: opt.Encoding = None,
    device: opt.Device = "cpu",
    out: opt.Folder = OUT,
    forecast: opt.Forecast = False,
    as_json: opt.AsJson = False,
) -> None:
    """Is a rewording of a text closer to it than a small change of its meaning?

    Also reports the effect of harmless edits and word overlap, cosine thresholds and blind spots.

    An interrupted audit resumes with the same command.

    Example: wordsway audit --model minilm --model mpnet
    """
    from wordsway.auditing.audit import AuditRequest, audit, forecast_audit, forecast_endpoint
    from wordsway.core.result import fields_of

    names = encoders.models
    asked: dict[str, Any] = {
        "kinds": kind,
        "texts": texts,
        "quick": quick,
        "target": target,
        "draws": draws,
        **({} if local is None else {"local": local}),
        "threshold": threshold,
        **({} if flip is None else {"flip": flip}),
        **({} if stay is None else {"stay": stay}),
        "baselines": baselines,
        "seed": seed,
        "encoding": encoding,
        "device": device,
    }
    with progress_line() as progress:
        if forecast and encoders.endpoint is not None:
            request = AuditRequest(names, data, **asked)
            sent = [(one, forecast_endpoint(request, one, progress)) for one in names]
        elif forecast:
            request = AuditRequest(names, data, **asked)
            cost = forecast_audit(request, out=out, workers=running.workers, progress=progress)
        else:
            result = audit(
                names,
                data,
                **asked,
                out=out,
                documents=documents,
                fail_under=fail_under or (),
                **running.options,
                progress=progress,
            )
    if forecast and encoders.endpoint is not None:
        for one, what in sent:
            if as_json:
                echo_json({"name": one.name, **fields_of(what)})
            else:
                typer.echo(f"{one.name}: {what}")
        return
    if forecast:
        print_result(cost, as_json)
        return
    print_result(result, as_json)
    if not as_json:
        typer.echo(f"written: {', '.join(str(path) for path in result.files)}")
    for line in result.gate:
        typer.echo(line, err=True)
    for name, one in result.failed:
        typer.echo(f"{name}: {one.reason}", err=True)
    if result.gate or result.failed or result.interrupted:
        raise typer.Exit(1)
