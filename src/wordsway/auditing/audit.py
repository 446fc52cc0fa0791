"""The verb `audit`: does a model react to the word that matters?"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from wordsway.auditing.cases import QUICK, TEXTS, Cases, collect
from wordsway.auditing.changes import changes_of, tokens_of
from wordsway.auditing.encoder import AnyEncoder, encoder_for
from wordsway.auditing.jobs import (
    CHUNK,
    LOCAL_TEXTS,
    AuditJob,
    LocalPlan,
    LocalScore,
    jobs_of,
    measured_of,
    places_of,
)
from wordsway.auditing.result import (
    Audit,
    ModelAudit,
    below,
    check_gate,
    keeping_scores,
    parse_gate,
)
from wordsway.auditing.retrieval import documents_of, rank_moves, retrieval
from wordsway.auditing.scores import Measured, blind_spots, kind_score
from wordsway.auditing.table import RefusedRow
from wordsway.core.checks import Count, FilePath, Natural, Seed, Several, check_fields, validated
from wordsway.core.errors import InputError, WordswayError, first_line
from wordsway.core.escape import csv_frame
from wordsway.core.progress import Progress, silent
from wordsway.core.result import versions
from wordsway.core.runtime import checked_device
from wordsway.engine.forecast import SweepForecast, forecast_jobs
from wordsway.engine.job import Job
from wordsway.engine.run import Machines, Tally, run_jobs
from wordsway.engine.store import Store
from wordsway.engine.tables import save_table, writable
from wordsway.models.encoders import AnyModel, listed, names_a_model, opened
from wordsway.models.endpoint import Endpoint, EndpointForecast
from wordsway.models.files import ModelName, labels_of, locate
from wordsway.text.files import Encoding

#: Random real words that each edit is compared with.
DRAWS = 2
Texts = str | Path | Several[str]


@dataclass(frozen=True)
class AuditRequest:
    """What an audit measures; see `audit`."""

    models: Any = "minilm"
    data: Texts = "imdb"
    kinds: Several[str] | None = None
    texts: Count | None = None
    quick: bool = False
    target: int | str = "cosine"
    draws: Natural = DRAWS
    local: Natural = LOCAL_TEXTS
    seed: Seed = 0
    encoding: Encoding | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_fields(self)
        checked_device(self.device)

    @cached_property
    def encoders(self) -> list[ModelName | AnyModel]:
        """The models, each once: names, and encoders passed as objects."""
        given = {str(one) if names_a_model(one) else id(one): one for one in listed(self.models)}
        return [
            ModelName.of(key) if isinstance(key, str) else opened(one) for key, one in given.items()
        ]

    @property
    def names(self) -> list[ModelName]:
        """The models that were named; only these run in worker processes."""
        return [one for one in self.encoders if isinstance(one, ModelName)]

    def cases(self, progress: Progress = silent) -> Cases:
        """The texts and their edits."""
        return collect(
            self.data,
            kinds=self.kinds,
            texts=self.texts if self.texts is not None else QUICK if self.quick else TEXTS,
            seed=self.seed,
            encoding=self.encoding,
            progress=progress,
        )

    def jobs(self, name: ModelName, cases: Cases) -> tuple[list[AuditJob], LocalPlan]:
        """The jobs of one model: what edits change, and the local part."""
        files, rest = (name, locate(name.model).digest), (self.seed, self.device)
        jobs = jobs_of(cases.cases, *files, str(self.target), self.draws, *rest)
        return jobs, LocalPlan(cases.cases, cases.kinds, *files, self.local, *rest)


@validated
def audit(
    models: Any = "minilm",
    data: Texts = "imdb",
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
    """Rank models by how well they notice words that change the meaning of a text.

    Parameters
    ----------
    models : one or several encoders: names, hub ids or folders ("minilm:random" is the twin with
        random weights), functions ``list[str] → array``, `Endpoint`s, or objects that encode texts
        (`models.encoders`); the latter run in this process
    data : "imdb", "everyday", "medical", "legal", "packaged", a file of texts or of pairs, or a
        list of texts
    kinds : kinds of meaning-changing edits; all by default. ``texts`` per kind: 200, 40 if
        ``quick``
    target : "cosine" (of the pooled embedding), "pooled", a layer, "logits" or "next-token"
    draws : random real words in the place of each edit
    local : texts per kind whose edited word's local sensitivity is measured in every layer
    documents : a file of documents: how do their ranks move when a query is edited?
    fail_under : {"negation": 0.7} or ["negation=0.7"]; lower scores are listed in the result's gate
    device : the device that the models run on
    out : a folder for the store: the same call resumes there
    """
    started = time.perf_counter()
    request = AuditRequest(
        models, data, kinds, texts, quick, target, draws, local, seed, encoding, device
    )
    floors = parse_gate(fail_under)
    archive = documents_of(documents, encoding) if documents is not None else None
    chosen = request.cases(progress)
    check_gate(floors, chosen.kinds)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory()) if out is None else out
        store = Store(writable(Path(folder)) / "store")
        machines = Machines(workers, cluster, memory)
        leaderboard, interrupted = [], False
        labels = labels_of(name.model for name in request.names)
        for name in request.encoders:  # one after the other: a worker holds one model at a time
            local_scores: Mapping[str, tuple[LocalScore, ...]] = {}
            if isinstance(name, ModelName):
                jobs, plan = request.jobs(name, chosen)
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
                encoder = encoder_for(name.model, target, device=device, twin=name.twin)
                done = [job.key for job in plan.jobs if job.key in store]
                local_scores = plan.scores(
                    {key: record.outputs for key, record in store.records(done)}
                )
                label = str(name._replace(model=labels[name.model]))
            else:
                encoder, label = encoder_for(name, target), name.name
                measured, failed = _measured_here(encoder, label, chosen, draws, seed, progress)
            moves = () if archive is None else rank_moves(encoder, measured, archive, progress)
            scores = [kind_score(measured, kind) for kind in chosen.kinds]
            leaderboard.append(
                ModelAudit(
                    label,
                    encoder.describe(),
                    tuple(score for score in scores if score is not None),
                    keeping_scores(measured),
                    blind_spots(measured),
                    retrieval(moves),
                    tuple(measured),
                    tuple(failed),
                    local_scores,
                    moves,
                )
            )
    leaderboard.sort(key=lambda model: (-model.mean_auc, model.name))
    result = Audit(
        tuple(leaderboard),
        chosen.source,
        len(chosen.cases),
        chosen.unused,
        str(target),
        draws,
        seed,
        chosen.refused,
        tuple(below(floors, leaderboard)),
        interrupted,
        time.perf_counter() - started,
        versions(),
    )
    return result if out is None else write(result, Path(out))


def write(found: Audit, folder: Path) -> Audit:
    """Write the page, a picture and the tables; return the result with its files."""
    names = ("index.html", "audit.svg", "audit.csv", "edits.csv", "edits.parquet", "audit.json")
    full = replace(found, files=tuple(folder / name for name in names))
    edits = full.edits_frame()
    save_table(csv_frame(edits), folder / "edits.csv")
    save_table(edits, folder / "edits.parquet")
    for name in ("index.html", "audit.svg", "audit.csv", "audit.json"):
        full.save(folder / name)
    return full


def forecast_audit(
    request: AuditRequest,
    *,
    out: Path | None = None,
    workers: int | None = None,
    progress: Progress = silent,
) -> SweepForecast:
    """Time and memory of the unfinished part of an audit on this machine."""
    chosen = request.cases(progress)
    every = [request.jobs(name, chosen) for name in request.names]
    jobs: list[Job] = [job for own, plan in every for job in (*own, *plan.jobs)]
    machines = Machines(workers)
    left = jobs
    if out is not None and out.exists():
        store = Store(out / "store")
        left = [job for job in jobs if job.key not in store]
    return forecast_jobs(left, workers=machines.count, memory=machines.limit, total=len(jobs))


def forecast_endpoint(
    request: AuditRequest, endpoint: Endpoint, progress: Progress = silent
) -> EndpointForecast:
    """What an audit would send to an endpoint; nothing is sent."""
    places = places_of(request.cases(progress).cases)
    encoder = encoder_for(endpoint, request.target)
    tokens = tokens_of(encoder, places, draws=request.draws, seed=request.seed)
    return endpoint.forecast([text for (text,) in tokens])


def _measured_here(
    encoder: AnyEncoder, name: str, chosen: Cases, draws: int, seed: int, progress: Progress
) -> tuple[list[Measured], list[RefusedRow]]:
    """The texts through an encoder that lives in this process, and those that failed."""
    measured: list[Measured] = []
    failed: list[RefusedRow] = []
    for start in range(0, len(chosen.cases), CHUNK):
        some = chosen.cases[start : start + CHUNK]
        effects = changes_of(encoder, places_of(some), draws=draws, seed=seed)
        for number, (case, found) in enumerate(zip(some, effects, strict=True), start + 1):
            if isinstance(found, InputError):
                failed.append(RefusedRow(number, f"{case.id}: {first_line(found)}"))
            else:
                measured.append(Measured(case.id, case.text, case.edits, tuple(found)))
        progress(f"texts through {name}", start + len(some), len(chosen.cases))
    if not measured:
        raise WordswayError(f"{name} has no results ({failed[0].reason})")
    return measured, failed


def _measured(
    name: ModelName, chosen: Cases, jobs: Sequence[AuditJob], store: Store, tally: Tally
) -> tuple[list[Measured], list[RefusedRow]]:
    """The texts whose jobs are done, and those that failed."""
    records = dict(store.records([job.key for job in jobs if job.key in store]))
    measured: list[Measured] = []
    failed: list[RefusedRow] = []
    for number, case in enumerate(chosen.cases):
        key = jobs[number // CHUNK].key
        error = tally.failures.get(key)
        if key in records:
            output = records[key].outputs["texts"][number % CHUNK]
            error = output.get("error")
            if error is None:
                measured.append(measured_of(case, output))
        if error is not None:
            failed.append(RefusedRow(number + 1, f"{case.id}: {error}"))
    if not measured:
        reason = failed[0].reason if failed else "interrupted before the first text was done"
        raise WordswayError(f"{name} has no results ({reason}): run the same command again")
    return measured, failed
