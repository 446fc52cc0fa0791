"""What a search engineer sees: does a turned query still find the same documents?"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from wordsway.auditing.edits import RULES
from wordsway.auditing.edits.edit import Edit
from wordsway.auditing.encoder import Encoder
from wordsway.auditing.scores import Measured, intervals
from wordsway.auditing.table import LONGEST, read_table
from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, silent
from wordsway.models.cache import Cache

#: Documents at the top of a ranking.
TOP = 10
#: Texts that are embedded, and kept, at a time.
SHARD = 64


@dataclass(frozen=True)
class RankMove:
    """A query and its edited twin: the share of the top ten that stays, the document that came
    first, and its rank for the twin.
    """

    edit: Edit
    stays: float
    first_rank: int
    first: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.edit.kind,
            "role": self.edit.role,
            "text": self.edit.text,
            "edited": self.edit.edited,
            "stays": self.stays,
            "first_rank": self.first_rank,
            "first": self.first,
        }


@dataclass(frozen=True)
class Retrieval:
    """Queries and their edited twins of one kind: the mean share of the top ten that stays with its
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
    table = read_table(path, encoding)
    texts = list(dict.fromkeys(text for _, text in table.texts))
    if len(texts) <= TOP:
        raise InputError(
            f"more than {TOP} documents in {path}",
            f"{len(texts)} that can be used",
            f"one per line, of at most {LONGEST:,} characters",
        )
    return texts


def rank_moves(
    encoder: Encoder,
    measured: Sequence[Measured],
    documents: Sequence[str],
    progress: Progress = silent,
) -> tuple[RankMove, ...]:
    """Rank the documents by cosine for every text and every edited text."""
    found = embedded(encoder, documents, progress)
    moves = []
    for count, text in enumerate(measured):
        texts = [text.text, *(edit.edited for edit in text.edits)]
        scores = _unit(_last(encoder, texts)) @ found.T
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
    """What the moves say of each kind: those that turn the meaning first."""
    rows: dict[tuple[str, str], list[RankMove]] = {}
    for move in moves:
        rows.setdefault((move.edit.role, move.edit.kind), []).append(move)
    order = list(RULES)
    found = []
    for (role, kind), some in sorted(
        rows.items(),
        key=lambda item: (
            item[0][0] != "turning",
            order.index(item[0][1]) if item[0][1] in order else len(order),
        ),
    ):
        (score,) = intervals(np.array([[one.stays] for one in some]))
        found.append(
            Retrieval(
                kind,
                role,
                len(some),
                score.auc,
                float(np.mean([one.first_rank == 1 for one in some])),
                float(np.median([one.first_rank for one in some])),
                score.low,
                score.high,
            )
        )
    return tuple(found)


def same_answers(moves: Sequence[RankMove], count: int = 10) -> tuple[RankMove, ...]:
    """Turned queries that find the same documents: those whose top ten stays most, one per text
    and per pair of words.
    """
    turned = [move for move in moves if move.edit.role == "turning"]
    turned.sort(key=lambda move: (-move.stays, move.first_rank))
    chosen: list[RankMove] = []
    seen: set[object] = set()
    for move in turned:
        words = (move.edit.before.lower(), move.edit.after.lower())
        if move.edit.text not in seen and words not in seen:
            chosen.append(move)
        seen |= {move.edit.text, words}
    return tuple(chosen[:count])


def embedded(
    encoder: Encoder, documents: Sequence[str], progress: Progress = silent
) -> torch.Tensor:
    """Unit vectors (N, d) of documents, cut to what the model reads; kept on disk."""
    probe = encoder.probe
    twin = "" if probe.options.twin is None else f"-twin-{probe.options.twin}"
    cache = Cache(probe.files.digest[:32], f"pooled-{probe.pooling}{twin}")
    keys = [hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() for text in documents]
    found = {key: rows[0] for key, rows in cache.read(keys).items()}
    missing = [number for number, key in enumerate(keys) if key not in found]
    for start in range(0, len(missing), SHARD):
        some = missing[start : start + SHARD]
        limit = min(probe.limit or 512, 512)
        vectors = _last(encoder, [probe.cut(documents[number], limit) for number in some])
        fresh = {keys[n]: v.numpy() for n, v in zip(some, vectors.float(), strict=True)}
        cache.write({key: vector[None] for key, vector in fresh.items()})
        found |= fresh
        progress("embedding documents", start + len(some), len(missing))
    return _unit(torch.from_numpy(np.stack([found[key] for key in keys])).double())


def _last(encoder: Encoder, texts: Sequence[str]) -> torch.Tensor:
    return encoder.pooled(encoder.tokens(texts))[:, -1]


def _unit(x: torch.Tensor) -> torch.Tensor:
    return x / x.norm(dim=-1, keepdim=True).clamp_min(1e-300)
