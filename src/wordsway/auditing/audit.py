"""The verb `audit`: does a model notice a change of meaning, and know a rewording?"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from wordsway.auditing.blind_spots import blind_spots
from wordsway.auditing.cases import Case, Cases, collect
from wordsway.auditing.changes import EditedText, EditEffect, changes_of, tokens_of
from wordsway.auditing.encoder import (
    MEANS,
    OVERLAP,
    AnyEncoder,
    Encoder,
    encoder_for,
    word_means,
    word_overlap,
)
from wordsway.auditing.flips import flip_scores
from wordsway.auditing.result import (
    LABELS,
    Audit,
    ModelAudit,
    below,
    check_gate,
    check_labelled,
    headline_level,
    parse_gate,
)
from wordsway.auditing.retrieval import (
    RankMove,
    documents_of,
    paired_accuracy,
    rank_moves,
    retrieval,
)
from wordsway.auditing.running import (
    EditsJob,
    Effects,
    EncoderRequest,
    effects_here,
    encoder_of,
    in_chunks,
    output_folder,
    results_store,
    stored_effects,
)
from wordsway.auditing.scores import (
    Measured,
    by_overlap,
    cosines,
    kind_score,
    level_scores,
    matched_overlap,
)
from wordsway.auditing.table import RefusedRow
from wordsway.auditing.thresholds import THRESHOLDS, equal_error, threshold_at
from wordsway.core.checks import FilePath, Natural, Several, takes, validated
from wordsway.core.errors import InputError, WordswayError
from wordsway.core.escape import csv_frame
from wordsway.core.progress import Progress, silent
from wordsway.core.reading import word_spans
from wordsway.core.result import versions
from wordsway.engine.job import Job
from wordsway.engine.run import Machines, run_jobs
from wordsway.engine.store import Store
from wordsway.engine.tables import save_table
from wordsway.models.endpoint import Endpoint
from wordsway.models.files import ModelName, locate
from wordsway.probing.targets import check_target

log = logging.getLogger("wordsway")
#: Random real words that each edit is compared with.
DRAWS = 2
#: Texts of a job: a second or two of MiniLM, more than a worker spends between two jobs.
CHUNK = 16
#: Kinds that should change, and should not change, the label of a classifier of sentiment.
FLIP, STAY = ("negation", "antonyms"), ("names", "numbers", "units")
DISTANCE_GATE = (
    "this gate compares distances of class scores, not labels, and a model whose label never "
    "changes may pass it; use flips.KIND and stays.KIND"
)


@dataclass(frozen=True)
class AuditRequest(EncoderRequest):
    """What an audit measures.

    Parameters
    ----------
    models : one or several encoders: names, hub ids or folders ("minilm:random" is the twin with
        random weights), functions ``list[str] → array``, `Endpoint`s, or objects that encode texts
        (`models.encoders`); the latter run in this process
    data : "gold" (the package's triples of text, rewording and change), one of their fields
        ("everyday", "medical", "legal", "finance", "support"), "imdb", a file of triples, pairs,
        queries or texts (`auditing.table.LAYOUTS`), or a list of texts
    kinds : kinds of meaning-changing edits; all by default. ``texts`` per kind: 200, 40 if
        ``quick``
    target : "cosine" (of the pooled embedding), "pooled", a layer, "logits" or "next-token"
    draws : random real words in the place of each edit
    threshold : one or several cosines at which texts count as the same, in addition to those from
        0.70 to 0.99
    should_flip, should_stay : kinds that should, and should not, change the label of a classifier
        (target logits); the latter count as meaning-preserving. They replace `FLIP` and `STAY`;
        edits that preserve the meaning always count among the latter
    baselines : whether to measure word overlap, the mean of word vectors, and models' twins with
        random weights, too
    device : the device that the models run on
    """

    draws: Natural = DRAWS
    local: Natural | None = None
    threshold: float | Several[float] | None = None
    should_flip: Several[str] | None = None
    should_stay: Several[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_target(self.target)
        if self.local is not None:
            warnings.warn("local has no effect: use words", DeprecationWarning, stacklevel=4)
        for one in self.own_thresholds:
            if not -1 <= one <= 1:
                raise InputError("a threshold between -1 and 1", one, "pass a cosine")
        if both := set(self.should_flip or ()) & set(self.should_stay or ()):
            raise InputError(
                "kinds that should either flip or stay", ", ".join(sorted(both)), "name each once"
            )

    @property
    def own_thresholds(self) -> Sequence[float]:
        """The cosine thresholds that were asked for."""
        if self.threshold is None:
            return ()
        return [self.threshold] if isinstance(self.threshold, (int, float)) else self.threshold

    @property
    def flipping(self) -> tuple[str, ...]:
        """Kinds that should change the label."""
        return tuple(self.should_flip or (one for one in FLIP if one not in self.staying))

    @property
    def staying(self) -> tuple[str, ...]:
        """Kinds that should not change the label."""
        return tuple(
            self.should_stay or (one for one in STAY if one not in (self.should_flip or ()))
        )

    def labelled(self, cases: Cases) -> tuple[str, ...] | None:
        """The kinds of edits whose labels are compared; None for targets without labels."""
        return cases.edit_kinds if self.target == "logits" else None

    def cases(self, progress: Progress = silent) -> Cases:
        labels = self.target == "logits"
        found = collect(
            self.data,
            kinds=self.kinds,
            texts=self.count,
            seed=self.seed,
            encoding=self.encoding,
            unpaired=labels,
            progress=progress,
        )
        for name in ("should_flip", "should_stay"):
            if (kinds := getattr(self, name)) is not None:
                check_labelled(kinds, self.labelled(found), f"--{name.replace('_', '-')}")
        return found.preserving(self.staying) if labels else found

    def jobs(self, name: ModelName, cases: Cases) -> list[AuditJob]:
        """The jobs of one model; a twin that is a baseline has no random words."""
        draws = 0 if name in self.twins or cases.retrieval else self.draws
        how = str(name), locate(name.model).digest, str(self.target), draws, self.seed, self.device
        return [AuditJob(texts, *how) for texts in in_chunks(places_of(cases.cases), CHUNK)]

    def texts_read(self, progress: Progress) -> int:
        places = places_of(self.cases(progress).cases)
        return sum(1 + len(edits) + compared * self.draws for _, edits, compared in places)

    def texts_sent(self, endpoint: Endpoint, progress: Progress) -> list[str]:
        places = places_of(self.cases(progress).cases)
        encoder = encoder_for(endpoint, self.target)
        return [text for (text,) in tokens_of(encoder, places, draws=self.draws, seed=self.seed)]

    def all_jobs(self, progress: Progress) -> list[Job]:
        chosen = self.cases(progress)
        return [job for name in (*self.names, *self.twins) for job in self.jobs(name, chosen)]


@dataclass(frozen=True)
class AuditJob(EditsJob):
    """Texts with their edits as (start, before, after) and the number of those that are compared
    with ``draws`` random words each, the model with the hash of its files, and the target.
    """

    texts: tuple[EditedText, ...]
    model: str
    model_sha256: str
    target: str
    draws: int
    seed: int
    device: str = "cpu"
    kind = "audit"
    version = 6
    effect = EditEffect

    def measure(self) -> list[list[EditEffect] | InputError]:
        encoder = encoder_of(self.model, self.model_sha256, self.target, self.device)
        return changes_of(encoder, self.texts, draws=self.draws, seed=self.seed)

    def trial(self) -> AuditJob:
        return replace(self, texts=self.texts[:1], draws=0)

    @property
    def tokens(self) -> float:
        return sum(
            (1.25 * len(word_spans(text)) + 3) * (1 + len(edits) + compared * self.draws)
            for text, edits, compared in self.texts
        )


def places_of(cases: Sequence[Case]) -> list[EditedText]:
    """Return each text with the places of its edits, and how many have random words."""
    return [(case.text, tuple(edit.place for edit in case.edits), case.compared) for case in cases]


@takes(AuditRequest)
@validated
def audit(
    models: Any = "minilm",
    data: str | Path | Several[str] = "gold",
    *,
    documents: str | None = None,
    fail_under: Mapping[str, float] | Sequence[str] = (),
    out: FilePath | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    memory: int | None = None,
    retry_failed: bool = False,
    progress: Progress = silent,
    **options: Any,
) -> Audit:
    """Rank models: is a rewording of a text closer to it than a change of its meaning?

    The models of the result are ordered by score, best first, not as passed.
    ``options`` are the other fields of `AuditRequest`, which explains them: kinds, texts, quick,
    target, draws, threshold, should_flip, should_stay, baselines, seed, encoding, device.

    Parameters
    ----------
    documents : a file of documents; the result reports how edits of a text change their ranks
    fail_under : {"rewording.negation": 0.5} or ["rewording.negation=0.5"]; lower scores, and
        refused rows, are listed in the result's gate. For a classifier {"flips.negation": 0.9,
        "stays.names": 0.9}
    out : a folder for results; the same call resumes there
    """
    started = time.perf_counter()
    request = AuditRequest(models, data, **options)
    folder = output_folder(out)
    floors = parse_gate(fail_under)
    archive = documents_of(documents, request.encoding) if documents is not None else None
    chosen = request.cases(progress)
    check_gate(floors, chosen.kinds, request.labelled(chosen))
    distances = [name for name in floors if not name.startswith(LABELS)]
    if distances and request.target == "logits":
        log.warning("%s: %s", ", ".join(distances), DISTANCE_GATE)
    machines = Machines(workers, cluster, memory)
    with results_store(folder) as store:
        run = _AuditRun(request, chosen, store, machines, retry_failed, archive, progress)
        # One after the other: a worker holds one model at a time.
        leaderboard = [run.named(name) for name in request.names]
        leaderboard += [
            run.here(encoder_for(given, request.target), name, request.draws, archive)
            for name, given in request.objects.items()
        ]
        beside = run.baselines() if request.baselines and not run.interrupted else []
    level = headline_level(leaderboard)

    def order(model: ModelAudit) -> tuple[float, str]:
        score = model.levels.get(level)
        return (-1.0 if score is None else -score.score, model.name)

    leaderboard.sort(key=order)
    result = Audit(
        tuple(leaderboard),
        tuple(beside),
        chosen.source,
        len(chosen.cases),
        chosen.unused,
        str(request.target),
        request.draws,
        request.seed,
        tuple(sorted((*chosen.refused, *chosen.unedited), key=lambda one: one.row)),
        tuple(below(floors, leaderboard, chosen.refused)),
        run.interrupted,
        time.perf_counter() - started,
        versions(),
        left_out=tuple(run.left_out),
        repeated=chosen.repeated,
        triples=chosen.triples,
    )
    if folder is None:
        return result
    progress("writing the report", 0, 0)
    return write(result, folder)


@dataclass
class _AuditRun:
    """The models of a request, one after the other, on the same texts."""

    request: AuditRequest
    chosen: Cases
    store: Store
    machines: Machines
    retry_failed: bool
    documents: Sequence[str] | None
    progress: Progress
    interrupted: bool = False
    left_out: list[str] = field(default_factory=list)
    #: The means of the word vectors of each model that has word vectors.
    means: list[ModelAudit] = field(default_factory=list)

    def named(self, name: ModelName, of: str | None = None) -> ModelAudit:
        """A model by its name, or a twin as a baseline ``of`` a model."""
        request = self.request
        jobs = request.jobs(name, self.chosen)
        tally = run_jobs(
            jobs,
            self.store,
            self.machines,
            retry_failed=self.retry_failed,
            what=f"batches of texts through {name}",
            progress=self.progress,
        )
        self.interrupted = self.interrupted or tally.interrupted
        self.progress(f"scoring {name}", 0, 0)
        measured, failed = _measured(str(name), self.chosen.cases, stored_effects(jobs, self.store))
        encoder = encoder_for(name.model, request.target, device=request.device, twin=name.twin)
        label = request.label(name)
        if request.baselines and name.twin is None and isinstance(encoder, Encoder):
            means = MEANS if len(request.names) == 1 else f"{label}: {MEANS}"
            found = self.here(encoder_for(word_means(encoder.probe)), means, 0)
            self.means.append(replace(found, of=label))
        documents = None if of else self.documents
        return replace(self._scored(label, encoder, measured, failed, documents), of=of)

    def baselines(self) -> list[ModelAudit]:
        """Word overlap, the mean of word vectors, and the twins with random weights."""
        found = [self.here(encoder_for(word_overlap()), OVERLAP, 0), *self.means]
        for twin in self.request.twins:
            if self.interrupted:
                break
            try:
                found.append(self.named(twin, of=self.request.label(twin._replace(twin=None))))
            except NoResults as error:
                self.left_out.append(f"Left out of the baselines: {error}.")
        return found

    def here(
        self, encoder: AnyEncoder, name: str, draws: int, documents: Sequence[str] | None = None
    ) -> ModelAudit:
        """An encoder that lives in this process."""
        measure = partial(changes_of, encoder, draws=draws, seed=self.request.seed)
        places = places_of(self.chosen.cases)
        effects = effects_here(measure, places, CHUNK, self.progress, name)
        measured, failed = _measured(name, self.chosen.cases, effects)
        return self._scored(name, encoder, measured, failed, documents)

    def _scored(
        self,
        label: str,
        encoder: AnyEncoder,
        measured: Sequence[Measured],
        failed: Sequence[RefusedRow],
        documents: Sequence[str] | None = None,
    ) -> ModelAudit:
        request = self.request
        moves: tuple[RankMove, ...] = ()
        if documents is not None:
            moves = rank_moves(encoder, measured, documents, self.progress)
        changed, kept = cosines(measured)
        levels = sorted({*THRESHOLDS, *request.own_thresholds})
        scores = [kind_score(measured, kind) for kind in self.chosen.kinds]
        assumed = not (request.should_flip or self.chosen.own)
        return ModelAudit(
            label,
            encoder.describe(),
            tuple(score for score in scores if score is not None),
            level_scores(measured),
            matched_overlap(measured),
            by_overlap(measured),
            tuple(threshold_at(one, changed, kept) for one in levels) if len(changed) else (),
            equal_error(changed, kept) if len(changed) else None,
            blind_spots(measured),
            tuple(measured),
            retrieval(moves),
            tuple(failed),
            moves,
            flip_scores(measured, request.flipping, request.staying, assumed),
            paired_accuracy(measured) if self.chosen.retrieval else None,
        )


class NoResults(WordswayError):
    """No text of a model was measured."""


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


def _measured(
    name: str, cases: Sequence[Case], found: Iterable[Effects]
) -> tuple[list[Measured], list[RefusedRow]]:
    """The texts whose effects were found, and those that failed, with the reason; None: not run."""
    measured: list[Measured] = []
    failed: list[RefusedRow] = []
    for number, (case, effects) in enumerate(zip(cases, found, strict=True), 1):
        if isinstance(effects, str):
            failed.append(RefusedRow(number, f"{case.id}: {effects}"))
        elif effects is not None:
            measured.append(Measured(case.id, case.text, case.edits, tuple(effects)))
    if not measured:
        reason = failed[0].reason if failed else "interrupted before the first text was done"
        again = "fix the cause and run again with --retry-failed (retry_failed=True in Python)"
        remedy = again if failed else "run the same command again"
        raise NoResults(f"{name} has no results ({reason}): {remedy}")
    return measured, failed
