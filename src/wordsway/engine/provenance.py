"""Versions and data that all jobs of a run have in common.

The content of a cell names "imdb", but not the bytes of that corpus on a machine. Every stored cell
records the hashes of its corpus and its model. A run requires the same hashes of this machine and
of its workers, which get them with every job and compare them before it runs.
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


class ProvenanceMismatch(WordswayError):
    """Versions or data that differ from those of the run."""


@dataclass
class Provenance:
    """The versions of a run, and the hashes of its sources as far as they are known."""

    versions: dict[str, str] = field(default_factory=versions)
    sources: dict[str, Hashes] = field(default_factory=dict)

    def for_job(self, job: Job) -> Provenance:
        """What the worker that runs this job has to have."""
        known = {name: hashes for name, hashes in self.sources.items() if name == job.source}
        return Provenance(self.versions, known)

    def check(self, job: Job) -> None:
        """Refuse to run the job here where versions or data differ."""
        compare_versions(self.versions, versions(), "this worker")
        if job.source in self.sources:
            compare_hashes(self.sources[job.source], job.fingerprint(), "this worker")

    def record(self, source: str, hashes: Hashes, where: str) -> None:
        """Record the hashes of a source; refuse them where others are known."""
        known = self.sources.get(source, {})
        compare_hashes(known, hashes, where)
        self.sources[source] = {**hashes, **known}


def compare_versions(ours: Mapping[str, str], theirs: Mapping[str, str], who: str) -> list[str]:
    """Refuse another wordsway; other differences are returned, to be reported.

    >>> compare_versions({"wordsway": "1", "torch": "2.1"}, {"wordsway": "1", "torch": "2.2"}, "w")
    ['w has torch 2.2, this run 2.1']
    """
    if ours.get("wordsway") != theirs.get("wordsway"):
        raise ProvenanceMismatch(
            f"{who} has wordsway {theirs.get('wordsway')}, this run {ours.get('wordsway')}: "
            "install the same version everywhere; what was stored is safe"
        )
    return [
        f"{who} has {name} {theirs[name]}, this run {version}"
        for name, version in ours.items()
        if name in theirs and theirs[name] != version
    ]


def compare_hashes(known: Hashes, found: Hashes, where: str) -> None:
    """Refuse data that differs from that of earlier cells, naming both."""
    for name, value in known.items():
        other = found.get(name, value)
        if other != value:
            what = name.removesuffix("_sha256")
            raise ProvenanceMismatch(
                f"{where} has {'other' if what == 'labels' else 'another'} {what} (SHA-256 "
                f"{other[:12]}…) than the cells stored so far "
                f"({value[:12]}…): use the same {what} everywhere and for the whole run, or "
                "another --out; what was stored is safe"
            )


def provenance_of(jobs: Sequence[Job], store: Store) -> Provenance:
    """The provenance of a run: the hashes that stored cells record, compared with the data of this
    machine. Where only workers have the data, the first of them decides.
    """
    provenance = Provenance()
    by_source: dict[str, list[Job]] = {}
    for job in jobs:
        if job.source is not None:
            by_source.setdefault(job.source, []).append(job)
    for source, some in by_source.items():
        stored = {job.key: job for job in some if job.key in store}
        for key, record in store.records(stored):
            provenance.record(source, stored[key].hashes_in(record.outputs), "the store")
        if some[0].source_is_here():
            provenance.record(source, some[0].fingerprint(), "this machine")
    return provenance
