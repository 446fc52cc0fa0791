"""`wordsway audit`: does a model react to the word that matters?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from wordsway.cli import options as opt
from wordsway.cli.pairs import Models
from wordsway.cli.probing import Device
from wordsway.cli.progress import echo_json, progress_line

OUT = Path("out/audit")


def audit_command(
    model: Models = None,
    data: Annotated[
        str,
        typer.Option(
            "--data",
            help="imdb, everyday, medical, legal, packaged, a file of texts, or of pairs "
            "(columns a,b,kind or text,word,replacement,kind).",
        ),
    ] = "imdb",
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", help="A kind of meaning-changing edit; repeat for several."),
    ] = None,
    texts: Annotated[
        int | None, typer.Option("--texts", help="Texts per kind: 200, with --quick 40.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A fifth of the texts: under two minutes with minilm.")
    ] = False,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            help="cosine, pooled, a layer's number, logits (of a classifier), next-token.",
        ),
    ] = "cosine",
    draws: Annotated[int, typer.Option("--draws", help="Random real words beside each edit.")] = 2,
    local: Annotated[
        int,
        typer.Option(
            "--local", help="Texts per kind whose word's local sensitivity is measured, too."
        ),
    ] = 12,
    documents: Annotated[
        str | None,
        typer.Option("--documents", help="A file of documents: how do their ranks move?"),
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option("--fail-under", help="KIND=X: exit 1 if a score is below X; all=X, too."),
    ] = None,
    seed: opt.Seed = 0,
    encoding: opt.Encoding = None,
    out: Annotated[
        Path, typer.Option("--out", help="Folder for the page, the tables and the store.")
    ] = OUT,
    device: Device = "cpu",
    workers: opt.Workers = None,
    cluster: opt.Cluster = None,
    memory: opt.WorkersMemory = None,
    retry_failed: opt.RetryFailed = False,
    forecast: opt.Foretell = False,
    as_json: opt.AsJson = False,
) -> None:
    """How often does a model react more to a word that turns the meaning than to a harmless edit?

    A rewording with the same meaning is another question, which these scores do not answer.

    Kill it at any time: the same command goes on where it was.

    Example: wordsway audit --quick --model minilm --model mpnet
    """
    from wordsway.auditing.audit import AuditRequest, audit, forecast_audit

    names = model or ["minilm"]
    asked: dict[str, Any] = {
        "kinds": kind,
        "texts": texts,
        "quick": quick,
        "target": target,
        "draws": draws,
        "local": local,
        "seed": seed,
        "encoding": encoding,
        "device": device,
    }
    with progress_line() as progress:
        if forecast:
            request = AuditRequest(names, data, **asked)
            cost = forecast_audit(request, out=out, workers=workers, progress=progress)
        else:
            result = audit(
                names,
                data,
                **asked,
                out=out,
                workers=workers,
                documents=documents,
                fail_under=fail_under or (),
                cluster=cluster,
                memory=None if memory is None else opt.bytes_of(memory),
                retry_failed=retry_failed,
                progress=progress,
            )
    if forecast:
        echo_json(cost.to_dict()) if as_json else cost.show()
        return
    if as_json:
        echo_json(result.to_dict())
    else:
        result.show()
        typer.echo(f"written: {', '.join(str(path) for path in result.files)}")
    for line in result.gate:
        typer.echo(line, err=True)
    for name, one in result.failed:
        typer.echo(f"{name}: {one.reason}", err=True)
    if result.gate or result.failed or result.interrupted:
        raise typer.Exit(1)
