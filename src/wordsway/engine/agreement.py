"""What a worker has to have in common with the run that feeds it: versions, and the very same data.

A cell's name says "imdb", not which bytes that is on some machine. Every stored cell keeps the
hashes of its corpus and its model; a run takes them as binding, and what this machine has must be
the same. Workers get them with every job, and compare before their first one of a source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from wordsway.core.errors import WordswayError
from wordsway.core.result import versions
from wordsway.engine.job import Job
from wordsway.engine.store import Store

#: Hashes by name ("corpus_sha256", "labels_sha256", "model_sha256").
Hashes = Mapping[str, str]


class Disagreement(WordswayError):
    """Two machines, or two moments, that would put different things under one name."""


@dataclass
class Agreement:
    """The versions of the run, and the hashes of every source that is known so far."""

    versions: dict[str, str] = field(default_factory=lambda: versions("transformers"))
    sources: dict[str, Hashes] = field(default_factory=dict)

    def for_job(self, job: Job) -> Terms:
        """What the worker that gets this job has to agree with."""
        source = job.source
        hashes = self.sources.get(source) if source is not None else None
        return Terms(self.versions, dict(hashes) if hashes is not None else None)

    def learn(self, source: str, hashes: Hashes, where: str) -> None:
        """Note the hashes of a source, or refuse them where others are binding. Cells of older
        versions know fewer: what they do not tell is taken from the first that does.
        """
        known = self.sources.get(source, {})
        compare_hashes(known, hashes, where)
        self.sources[source] = {**hashes, **known}


@dataclass(frozen=True)
class Terms:
    """What goes along with a job."""

    versions: dict[str, str]
    hashes: dict[str, str] | None = None

    def check(self, job: Job) -> None:
        """Refuse to run the job here if it would mean something else."""
        compare_versions(self.versions, versions(), "this worker")
        if self.hashes is not None:
            compare_hashes(self.hashes, job.fingerprint(), "this worker")


def compare_versions(ours: Mapping[str, str], theirs: Mapping[str, str], who: str) -> list[str]:
    """Refuse another wordsway; other differences are returned, to be reported.

    >>> compare_versions({"wordsway": "1", "torch": "2.1"}, {"wordsway": "1", "torch": "2.2"}, "w")
    ['w has torch 2.2, this run 2.1']
    """
    if ours.get("wordsway") != theirs.get("wordsway"):
        raise Disagreement(
            f"{who} has wordsway {theirs.get('wordsway')}, this run {ours.get('wordsway')}: "
            "install the same version everywhere; what was stored is safe"
        )
    return [
        f"{who} has {name} {theirs[name]}, this run {version}"
        for name, version in ours.items()
        if name in theirs and theirs[name] != version
    ]


def compare_hashes(known: Hashes, found: Hashes, where: str) -> None:
    """Refuse data that is not what earlier cells were computed from, naming both."""
    for name, value in known.items():
        other = found.get(name, value)
        if other != value and value not in found.values():
            what = name.removesuffix("_sha256")
            raise Disagreement(
                f"{where} has {'other' if what == 'labels' else 'another'} {what} (SHA-256 "
                f"{other[:12]}…) than the cells stored so far "
                f"({value[:12]}…): use the same {what} everywhere and for the whole run, or "
                "another --out; what was stored is safe"
            )


def agree(jobs: Sequence[Job], store: Store) -> Agreement:
    """The agreement of a run: hashes that stored cells of these sources hold, compared with what is
    on this machine; where the data is only on the workers, the first of them decides.
    """
    agreement = Agreement()
    by_source: dict[str, list[Job]] = {}
    for job in jobs:
        if job.source is not None:
            by_source.setdefault(job.source, []).append(job)
    for source, some in by_source.items():
        stored = {job.key: job for job in some if job.key in store}
        for key, record in store.records(stored):
            agreement.learn(source, stored[key].hashes_in(record.outputs), "the store")
        if some[0].source_is_here():
            agreement.learn(source, some[0].fingerprint(), "this machine")
    return agreement
