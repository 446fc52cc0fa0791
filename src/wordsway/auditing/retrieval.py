"""Rankings of documents: does a query with another meaning still find the same ones?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from wordsway.auditing.blind_spots import distinct
from wordsway.auditing.edits import RULES
from wordsway.auditing.edits.edit import Edit
from wordsway.auditing.encoder import AnyEncoder, BlackBoxEncoder
from wordsway.auditing.scores import Measured, Score, intervals, text_shares
from wordsway.auditing.table import LONGEST, read_table
from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, silent
from wordsway.core.vectors import unit
from wordsway.models.cache import Cache

#: Documents at the top of a ranking.
TOP = 10
#: Texts that are embedded, and kept, at a time.
SHARD = 64


@dataclass(frozen=True)
class RankMove:
    """An edited query: the share of the top ten that stays, and the first document's new rank."""

    edit: Edit
    stays: float
    first_rank: int
    first: str

    def to_dict(self) -> dict[str, Any]:
        edit = {name: getattr(self.edit, name) for name in ("kind", "role", "text", "edited")}
        return edit | {"stays": self.stays, "first_rank": self.first_rank, "first": self.first}


@dataclass(frozen=True)
class Retrieval:
    """Queries edited by one kind of edit: the mean share of the top ten that stays with its
    95 % interval, the share of queries whose first document stays, and the median rank that this
    document has then.
    """

    kind: str
    role: str
    queries: int
    stays: float
    first_stays: float
    first_rank: float
    stays_low: float
    stays_high: float


def documents_of(path: str, encoding: str | None = None) -> list[str]:
    """The documents of a file: one per row or line."""
    table = read_table(path, encoding, "texts")
    texts = list(dict.fromkeys(text for _, text in table.texts))
    if len(texts) <= TOP:
        raise InputError(
            f"more than {TOP} documents in {path}",
            f"{len(texts)} that can be used",
            f"one per line, of at most {LONGEST:,} characters",
        )
    return texts


def rank_moves(
    encoder: AnyEncoder,
    measured: Sequence[Measured],
    documents: Sequence[str],
    progress: Progress = silent,
) -> tuple[RankMove, ...]:
    """Rank the documents by cosine for every text and every edited text."""
    found = embedded(encoder, documents, progress)
    moves = []
    for count, text in enumerate(measured):
        texts = [text.text, *(edit.edited for edit in text.edits)]
        scores = unit(_last(encoder, texts)) @ found.T
        # Ties go to the document that comes first, so that a ranking is the same everywhere.
        order = torch.argsort(-scores, dim=1, stable=True)
        top = set(order[0, :TOP].tolist())
        first = int(order[0, 0])
        for number, edit in enumerate(text.edits, 1):
            ranking = order[number].tolist()
            stays = len(top & set(ranking[:TOP])) / TOP
            moves.append(RankMove(edit, stays, ranking.index(first) + 1, documents[first]))
        progress("ranking documents", count + 1, len(measured))
    return tuple(moves)


def retrieval(moves: Sequence[RankMove]) -> tuple[Retrieval, ...]:
    """Summarise the moves per kind, meaning-changing edits first."""
    rows: dict[tuple[str, str], list[RankMove]] = {}
    for move in moves:
        rows.setdefault((move.edit.role, move.edit.kind), []).append(move)
    order = {kind: number for number, kind in enumerate(RULES)}
    found = []
    for role, kind in sorted(rows, key=lambda one: (one[0] != "turning", order.get(one[1], 99))):
        some = rows[role, kind]
        by_text: dict[str, list[float]] = {}
        for one in some:
            by_text.setdefault(one.edit.text, []).append(one.stays)
        (score,) = intervals(np.array([[np.mean(stays)] for stays in by_text.values()]))
        found.append(
            Retrieval(
                kind,
                role,
                len(by_text),
                score.auc,
                float(np.mean([one.first_rank == 1 for one in some])),
                float(np.median([one.first_rank for one in some])),
                score.low,
                score.high,
            )
        )
    return tuple(found)


def same_answers(moves: Sequence[RankMove]) -> tuple[RankMove, ...]:
    """Return the ten queries with a changed meaning whose top ten stays most."""
    changed = [move for move in moves if move.edit.role == "turning"]
    changed.sort(key=lambda move: (-move.stays, move.first_rank))
    return tuple(distinct(changed, lambda move: move.edit, 10))


def embedded(
    encoder: AnyEncoder, documents: Sequence[str], progress: Progress = silent
) -> torch.Tensor:
    """Unit vectors (N, d) of documents, cut to what the model reads; kept on disk."""
    if isinstance(encoder, BlackBoxEncoder):
        return unit(_last(encoder, documents))
    probe = encoder.probe
    twin = "" if probe.options.twin is None else f"-twin-{probe.options.twin}"
    cache = Cache(probe.files.digest[:32], f"pooled-{probe.pooling}{twin}")
    found = cache.read(documents)
    missing = [text for text in documents if text not in found]
    limit = min(probe.limit or 512, 512)
    for start in range(0, len(missing), SHARD):
        some = missing[start : start + SHARD]
        vectors = _last(encoder, [probe.cut(text, limit) for text in some]).float()
        fresh = dict(zip(some, vectors[:, None].numpy(), strict=True))
        cache.write(fresh)
        found |= fresh
        progress("embedding documents", start + len(some), len(missing))
    return unit(torch.from_numpy(np.concatenate([found[text] for text in documents])).double())


def _last(encoder: AnyEncoder, texts: Sequence[str]) -> torch.Tensor:
    vectors: torch.Tensor = encoder.pooled(encoder.tokens(texts))  # type: ignore[arg-type]
    return vectors[:, -1]


def paired_accuracy(measured: Sequence[Measured]) -> Score | None:
    """The share of pairs of queries that both find their own document, as NevIR counts it."""
    rows: dict[str, list[bool]] = {}
    for (name, _), (share, *_) in text_shares(measured, "rewording").items():
        row, _, query = name.partition(" query ")
        if query:
            rows.setdefault(row, []).append(share == 1.0)
    pairs = [[float(all(both))] for both in rows.values() if len(both) == 2]
    return intervals(np.array(pairs))[0] if pairs else None
