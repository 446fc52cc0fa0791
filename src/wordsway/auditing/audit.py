"""The verb `audit`: does a model react to the word that matters?"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from wordsway.auditing.cases import QUICK, TEXTS, Cases, collect
from wordsway.auditing.encoder import Encoder
from wordsway.auditing.jobs import CHUNK, LOCAL_TEXTS, AuditJob, LocalPlan, jobs_of, measured_of
from wordsway.auditing.result import Audit, ModelAudit, below, keeping_scores, parse_gate
from wordsway.auditing.retrieval import RankMove, documents_of, rank_moves, retrieval
from wordsway.auditing.scores import Measured, blind_spots, kind_score
from wordsway.auditing.table import RefusedRow
from wordsway.core.checks import Count, FilePath, Natural, Seed, Several, validated
from wordsway.core.errors import InputError, WordswayError
from wordsway.core.escape import csv_frame
from wordsway.core.progress import Progress, silent
from wordsway.core.result import versions
from wordsway.core.runtime import checked_device
from wordsway.engine.forecast import SweepForecast, forecast_jobs
from wordsway.engine.job import Job
from wordsway.engine.run import Machines, Tally, run_jobs
from wordsway.engine.store import Store
from wordsway.models.files import ModelName, labels_of, locate
from wordsway.models.probe import Probe
from wordsway.studies.sweep import writable
from wordsway.studies.tables import save_table
from wordsway.text.files import Encoding

#: Random real words that each edit is compared with.
DRAWS = 2


@validated
def audit(
    models: str | Path | Several[str | Path] = "minilm",
    data: str | Path | Several[str] = "imdb",
    *,
    kinds: Several[str] | None = None,
    texts: Count | None = None,
    quick: bool = False,
    target: int | str = "cosine",
    draws: Natural = DRAWS,
    local: Natural = LOCAL_TEXTS,
    documents: str | None = None,
    fail_under: Mapping[str, float] | Sequence[str] = (),
    out: FilePath | None = None,
    seed: Seed = 0,
    encoding: Encoding | None = None,
    device: str = "cpu",
    workers: int | None = None,
    cluster: str | None = None,
    memory: int | None = None,
    retry_failed: bool = False,
    progress: Progress = silent,
) -> Audit:
    """A league of models: how well each notices words that turn the meaning of a text.

    Parameters
    ----------
    models : names, hub ids or folders; "minilm:random" is the twin with random weights
    data : "imdb", "everyday", "medical", "legal", "packaged", a file of texts or of pairs, or a
        list of texts
    kinds : kinds of turning edits; all by default. ``texts`` per kind: 200, 40 if ``quick``
    target : "cosine" (of the pooled embedding), "pooled", a layer, "logits" or "next-token"
    draws : random real words in the place of each edit
    local : texts per kind whose edited word's local sensitivity is measured in every layer
    documents : a file of documents: how do their ranks move when a query is edited?
    fail_under : {"negation": 0.7} or ["negation=0.7"]; what falls short is in the result's gate
    device : where the models run
    out : a folder for the store: the same call goes on where it was
    """
    started = time.perf_counter()
    floors = parse_gate(fail_under)
    archive = documents_of(documents, encoding) if documents is not None else None
    names = _names(models)
    chosen = collect(
        data,
        kinds=kinds,
        texts=texts if texts is not None else QUICK if quick else TEXTS,
        seed=seed,
        encoding=encoding,
        progress=progress,
    )
    floors.check(chosen.kinds)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory()) if out is None else out
        store = Store(writable(Path(folder)) / "store")
        machines = Machines(workers, cluster, memory)
        league, interrupted = [], False
        labels = labels_of(name.model for name in names)
        for name, (jobs, plan) in _jobs(names, chosen, target, draws, local, seed, device).items():
            # A model after the other: a worker holds one at a time.
            tally = run_jobs(
                [*jobs, *plan.jobs],
                store,
                machines,
                retry_failed=retry_failed,
                what=f"parts through {name}",
                progress=progress,
            )
            interrupted = interrupted or tally.interrupted
            measured, failed = _measured(name, chosen, jobs, store, tally)
            encoder = Encoder(Probe(name.model, twin=name.twin, device=device), target)
            moved = () if archive is None else rank_moves(encoder, measured, archive, progress)
            label = str(name._replace(model=labels[name.model]))
            found = _scored(label, encoder, chosen, measured, failed, moved)
            done = [job.key for job in plan.jobs if job.key in store]
            heard = {key: record.outputs for key, record in store.records(done)}
            league.append(replace(found, local=plan.scores(heard)))
    league.sort(key=lambda model: (-model.mean_auc, model.name))
    short = tuple(below(floors, league))
    result = Audit(
        tuple(league),
        chosen.source,
        len(chosen.cases),
        chosen.unused,
        str(target),
        draws,
        seed,
        chosen.refused,
        short,
        interrupted,
        time.perf_counter() - started,
        versions(),
    )
    return result if out is None else write(result, Path(out))


def write(found: Audit, folder: Path) -> Audit:
    """The page, a picture, the league and every edit as tables; the result knows its files."""
    names = ("index.html", "audit.svg", "audit.csv", "edits.csv", "edits.parquet", "audit.json")
    full = replace(found, files=tuple(folder / name for name in names))
    edits = full.edits_frame()
    save_table(csv_frame(edits), folder / "edits.csv")
    save_table(edits, folder / "edits.parquet")
    for name in ("index.html", "audit.svg", "audit.csv", "audit.json"):
        full.save(folder / name)
    return full


@validated
def forecast_audit(
    models: str | Path | Several[str | Path] = "minilm",
    data: str | Path | Several[str] = "imdb",
    *,
    kinds: Several[str] | None = None,
    texts: Count | None = None,
    quick: bool = False,
    target: int | str = "cosine",
    draws: Natural = DRAWS,
    local: Natural = LOCAL_TEXTS,
    out: Path | str | None = None,
    seed: Seed = 0,
    encoding: Encoding | None = None,
    device: str = "cpu",
    workers: int | None = None,
    progress: Progress = silent,
) -> SweepForecast:
    """Time and memory of what is left of an audit on this machine."""
    count = texts if texts is not None else QUICK if quick else TEXTS
    chosen = collect(
        data, kinds=kinds, texts=count, seed=seed, encoding=encoding, progress=progress
    )
    every = _jobs(_names(models), chosen, target, draws, local, seed, device).values()
    jobs: list[Job] = [job for own, plan in every for job in (*own, *plan.jobs)]
    machines = Machines(workers)
    left = jobs
    if out is not None and Path(out).exists():
        store = Store(Path(out) / "store")
        left = [job for job in jobs if job.key not in store]
    return forecast_jobs(left, workers=machines.count, memory=machines.limit, total=len(jobs))


def _names(models: str | Path | Sequence[str | Path]) -> list[ModelName]:
    asked = [models] if isinstance(models, (str, Path)) else list(models)
    names = list(dict.fromkeys(ModelName.of(str(one)) for one in asked))
    if not names:
        raise InputError("a model", "none", "name one: minilm")
    return names


def _jobs(
    names: Sequence[ModelName],
    chosen: Cases,
    target: int | str,
    draws: int,
    local: int,
    seed: int,
    device: str,
) -> dict[ModelName, tuple[list[AuditJob], LocalPlan]]:
    checked_device(device)
    found = {}
    for name in names:
        sha256 = locate(name.model).digest
        jobs = jobs_of(chosen.cases, name, sha256, str(target), draws, seed, device)
        plan = LocalPlan(chosen.cases, chosen.kinds, name, sha256, local, seed, device)
        found[name] = jobs, plan
    return found


def _measured(
    name: ModelName, chosen: Cases, jobs: Sequence[AuditJob], store: Store, tally: Tally
) -> tuple[list[Measured], list[RefusedRow]]:
    """The texts whose jobs are done, and those that failed."""
    records = dict(store.records([job.key for job in jobs if job.key in store]))
    measured: list[Measured] = []
    failed: list[RefusedRow] = []
    for number, case in enumerate(chosen.cases):
        key = jobs[number // CHUNK].key
        if key in records:
            output = records[key].outputs["texts"][number % CHUNK]
            if "error" in output:
                failed.append(RefusedRow(number + 1, f"{case.id}: {output['error']}"))
            else:
                measured.append(measured_of(case, output))
        elif key in tally.failures:
            failed.append(RefusedRow(number + 1, f"{case.id}: {tally.failures[key]}"))
    if not measured:
        reason = failed[0].reason if failed else "interrupted before the first text was done"
        raise WordswayError(f"{name} has no results ({reason}): run the same command again")
    return measured, failed


def _scored(
    name: str,
    encoder: Encoder,
    chosen: Cases,
    measured: Sequence[Measured],
    failed: Sequence[RefusedRow],
    moved: tuple[RankMove, ...],
) -> ModelAudit:
    """What the finished texts say of a model."""
    scores = [kind_score(measured, kind) for kind in chosen.kinds]
    return ModelAudit(
        name,
        encoder.probe.describe() | {"pooling": encoder.probe.pooling},
        tuple(score for score in scores if score is not None),
        keeping_scores(measured),
        blind_spots(measured),
        retrieval(moved),
        tuple(measured),
        tuple(failed),
        moves=moved,
    )
