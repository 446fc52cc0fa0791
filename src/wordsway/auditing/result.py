"""The result of an audit: how well each model notices each kind of meaning-changing edit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wordsway.auditing.jobs import LocalScore
from wordsway.auditing.retrieval import RankMove, Retrieval, same_answers
from wordsway.auditing.scores import BlindSpot, KindScore, Measured
from wordsway.auditing.table import RefusedRow
from wordsway.core.errors import InputError
from wordsway.core.result import SequenceResult, fields_of

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class KeepingScore:
    """One kind of meaning-preserving edits in one model: median change and mean percentile."""

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
    failed: tuple[RefusedRow, ...] = ()
    local: Mapping[str, tuple[LocalScore, ...]] = field(default_factory=dict)
    moves: tuple[RankMove, ...] = ()

    @property
    def mean_auc(self) -> float:
        """The mean over kinds, by which the leaderboard is ordered."""
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
    """A leaderboard: every model on the same edits, best first.

    ``data`` are the texts, ``texts`` how many of them, ``target`` what was compared, ``draws`` the
    number of random words per edit, ``refused`` rows that could not be used, ``gate`` the scores
    below ``fail_under``.
    """

    models: tuple[ModelAudit, ...]
    data: str
    texts: int
    unused: int
    target: str
    draws: int
    seed: int
    refused: tuple[RefusedRow, ...]
    gate: tuple[str, ...]
    interrupted: bool
    seconds: float
    versions: dict[str, str]
    files: tuple[Path, ...] = ()

    @property
    def failed(self) -> list[tuple[str, RefusedRow]]:
        """Texts that failed, each with the model."""
        return [(model.name, one) for model in self.models for one in model.failed]

    @property
    def kinds(self) -> list[str]:
        """The kinds of meaning-changing edits, in the order of the rules."""
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
    """Summarise the meaning-preserving edits of each kind."""
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


#: What the score of an audit does not answer; shown wherever the score is.
REWORDING = (
    "Whether it also reacts more than to a rewording with the same meaning is another question."
)
#: By the name of the field.
EXPLAINED = {
    "auc": "Reacts more than to a harmless edit: the share of comparisons in which an edit that "
    "changes the meaning of a text moves the model more than a small edit that preserves it "
    "(1: always; 0.5: the model does not separate them). " + REWORDING,
    "low": "The lower end of the 95 % interval of auc over texts.",
    "high": "The upper end of the 95 % interval of auc over texts.",
    "mean_auc": "The mean of auc over the kinds; the table is ordered by it.",
    "texts": "The number of texts with an edit of this kind.",
    "median_turning": "The median change by meaning-changing edits (0: none).",
    "median_keeping": "The median change by meaning-preserving edits of the same texts.",
    "blind": "The share of meaning-changing edits that move the model less than the median "
    "meaning-preserving edit: words that it overlooks.",
    "percentile": "The percentage of random real words in the same place that move the model less "
    "than the meaning-changing edit.",
    "percentile_low": "The lower end of the 95 % interval of percentile.",
    "percentile_high": "The upper end of the 95 % interval of percentile.",
    "percentile_keeping": "The same percentage for the meaning-preserving edits of these texts.",
    "layers": "The same auc for every layer, from 0, the input, to the last.",
    "heard": "The first layer that separates meaning-changing from meaning-preserving edits (its "
    "interval lies above 0.5).",
    "lost": "The layer behind the last one that separates them; empty if the last layer does.",
    "local": "Move each word of a text a little: the share of the other words to which the layer "
    "responds less than to the edited one (0.5: a word like any other).",
    "stays": "Of the ten documents that a text finds first, the share that its edited twin finds "
    "among its first ten, too (100 %: the search does not notice the edit).",
    "first_stays": "How often the document that comes first for a text comes first for its edited "
    "twin, too.",
    "cosine": "The cosine similarity of the pooled embeddings of both texts.",
    "change": "How far the embedding moves, relative to its own length.",
    "parts": "The layer in which that change grows most.",
    "first_rank": "The middle place of that document in the ranking for the edited twin.",
}


def parse_gate(fail_under: Mapping[str, float] | Sequence[str]) -> dict[str, float]:
    """Return the least score per kind of {"negation": 0.7}, or of "negation=0.7" as a command line
    has it; "all" stands for every kind that is not named.

    >>> parse_gate(["negation=0.7", "all=0.5"])
    {'negation': 0.7, 'all': 0.5}
    """
    given = fail_under.items() if isinstance(fail_under, Mapping) else ()
    texts = [f"{kind}={floor}" for kind, floor in given] or list(fail_under)
    floors: dict[str, float] = {}
    for text in texts:
        kind, _, floor = text.partition("=")
        try:
            value = float(floor)
        except ValueError:
            value = -1.0
        if not kind.strip() or not 0 <= value <= 1:
            raise InputError("KIND=X with X between 0 and 1", repr(text), "as negation=0.7")
        floors[kind.strip()] = value
    return floors


def check_gate(floors: Mapping[str, float], kinds: Sequence[str]) -> None:
    """Refuse a gate for kinds that are not measured."""
    for kind in floors:
        if kind not in (*kinds, "all"):
            raise InputError(
                f"a kind that is measured ({', '.join(kinds)}) or all", repr(kind), "check its name"
            )


def below(floors: Mapping[str, float], models: Sequence[ModelAudit]) -> Iterator[str]:
    """Yield one line for every score below its floor."""
    for model in models:
        for score in model.kinds:
            floor = floors.get(score.kind, floors.get("all"))
            if floor is not None and score.auc < floor:
                interval = f"{score.low:.3f} to {score.high:.3f}"
                yield f"{model.name}: {score.kind} {score.auc:.3f} ({interval}) is below {floor:g}"
