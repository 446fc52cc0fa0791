"""What an audit says: how well each model notices each kind of turning word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wordsway.auditing.explained import EXPLAINED
from wordsway.auditing.local import LocalScore
from wordsway.auditing.retrieval import RankMove, Retrieval, same_answers
from wordsway.auditing.scores import BlindSpot, KindScore, Measured
from wordsway.auditing.table import Refused
from wordsway.core.result import SequenceResult, fields_of

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class KeepingScore:
    """One kind of keeping edits in one model: the median change, and the mean percentile."""

    kind: str
    edits: int
    median: float
    percentile: float | None


@dataclass(frozen=True)
class ModelAudit:
    """One model: its scores, its ten worst blind spots, how rankings of documents moved, and for
    every kind how sensitive layers are to the words that are edited (``local``); ``moves`` has the
    ranking of every edit.
    """

    name: str
    about: dict[str, Any]
    kinds: tuple[KindScore, ...]
    keeping: tuple[KeepingScore, ...]
    blind_spots: tuple[BlindSpot, ...]
    retrieval: tuple[Retrieval, ...]
    measured: tuple[Measured, ...]
    failed: tuple[Refused, ...] = ()
    local: Mapping[str, tuple[LocalScore, ...]] = field(default_factory=dict)
    moves: tuple[RankMove, ...] = ()

    @property
    def mean_auc(self) -> float:
        """The mean over kinds: what the league is ordered by."""
        return float(np.mean([score.auc for score in self.kinds]))

    def kind(self, name: str) -> KindScore | None:
        return next((score for score in self.kinds if score.kind == name), None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "mean_auc": self.mean_auc,
            "kinds": [
                fields_of(score)
                | {"layers": [fields_of(one) for one in score.layers]}
                | {"local": [fields_of(one) for one in self.local.get(score.kind, ())]}
                for score in self.kinds
            ],
            "keeping": [fields_of(one) for one in self.keeping],
            "blind_spots": [fields_of(one) for one in self.blind_spots],
            "retrieval": [fields_of(one) for one in self.retrieval],
            "same_answers": [move.to_dict() for move in same_answers(self.moves)],
            "failed": [fields_of(one) for one in self.failed],
            "about": self.about,
        }


@dataclass(frozen=True)
class Audit(SequenceResult[ModelAudit], items="models", brief="data texts target"):
    """A league: every model on the same edits, best first.

    ``data`` are the texts, ``texts`` how many of them, ``target`` what was compared, ``draws`` the
    random words beside each edit, ``refused`` rows that could not be used, ``gate`` what
    ``fail_under`` found wanting.
    """

    models: tuple[ModelAudit, ...]
    data: str
    texts: int
    unused: int
    target: str
    draws: int
    seed: int
    refused: tuple[Refused, ...]
    gate: tuple[str, ...]
    interrupted: bool
    seconds: float
    versions: dict[str, str]
    files: tuple[Path, ...] = ()

    @property
    def failed(self) -> list[tuple[str, Refused]]:
        """Texts that failed, each with the model."""
        return [(model.name, one) for model in self.models for one in model.failed]

    @property
    def kinds(self) -> list[str]:
        """The kinds of turning edits, in the order of the rules."""
        return list(dict.fromkeys(score.kind for model in self.models for score in model.kinds))

    def to_dict(self) -> dict[str, Any]:
        return fields_of(self) | {
            "models": [model.to_dict() for model in self.models],
            "refused": [fields_of(one) for one in self.refused],
            "gate": list(self.gate),
            "files": [path.name for path in self.files],
            "explained": EXPLAINED,
        }

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per model and kind."""
        import pandas

        left_out = ("layers",)
        rows = [
            {"model": model.name}
            | {name: value for name, value in fields_of(score).items() if name not in left_out}
            for model in self.models
            for score in model.kinds
        ]
        return pandas.DataFrame(rows).astype({"heard": "Int64", "lost": "Int64"})

    def edits_frame(self) -> pandas.DataFrame:
        """A data frame with one row per model and edit: the texts that were used, what each edit
        changed, and how the ranks of documents moved.
        """
        import pandas

        ranks = {
            (model.name, move.edit): {"stays": move.stays, "first_rank": move.first_rank}
            for model in self.models
            for move in model.moves
        }

        rows = [
            {
                "model": model.name,
                "id": text.id,
                "kind": edit.kind,
                "role": edit.role,
                "text": edit.text,
                "edited": edit.edited,
                "before": edit.before,
                "after": edit.after,
                "change": change.value,
                "percentile": change.percentile,
                "cosine": change.cosine,
            }
            | ranks.get((model.name, edit), {})
            for model in self.models
            for text in model.measured
            for edit, change in zip(text.edits, text.changes, strict=True)
        ]
        return pandas.DataFrame(rows)


def keeping_scores(measured: Sequence[Measured]) -> tuple[KeepingScore, ...]:
    """What the keeping edits of each kind do."""
    found: dict[str, list[tuple[float, float | None]]] = {}
    for text in measured:
        for edit, change in text.with_role("keeping"):
            found.setdefault(edit.kind, []).append((change.value, change.percentile))
    scores = []
    for kind, values in sorted(found.items(), key=lambda item: -len(item[1])):
        shares = [share for _, share in values if share is not None]
        middle = float(np.median([value for value, _ in values]))
        share = float(np.mean(shares)) if shares else None
        scores.append(KeepingScore(kind, len(values), middle, share))
    return tuple(scores)
