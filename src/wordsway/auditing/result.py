"""The result of an audit: how well each model notices each kind of meaning-changing edit."""

from __future__ import annotations

import hashlib
import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wordsway.auditing.blind_spots import BlindSpot, closer_changes
from wordsway.auditing.differences import Difference, difference
from wordsway.auditing.flips import FlipScore
from wordsway.auditing.retrieval import RankMove, Retrieval, same_answers
from wordsway.auditing.scores import (
    FEW,
    LEVELS,
    KindScore,
    LevelScore,
    Measured,
    OverlapBin,
    Score,
    Share,
    cosines,
    median_cosine,
)
from wordsway.auditing.table import OWN, RETRIEVAL, RefusedRow
from wordsway.auditing.thresholds import (
    Threshold,
    best_threshold,
    equal_error,
    rejected_shares,
    separates,
    strict_threshold,
)
from wordsway.core.errors import InputError
from wordsway.core.format import count, rounded
from wordsway.core.result import SequenceResult, json_fields, json_value

if TYPE_CHECKING:
    import pandas


#: Median overlaps that differ by this much can explain a score alone (gold triples: 0.38).
APART = 0.5
MORE_TEXTS = f"{FEW} texts or more are needed for a firm statement."


@dataclass(frozen=True)
class ModelAudit:
    """One model: its scores over all texts (``levels``) and per kind, the score at ``matched``
    overlap and against the difference of overlaps, ``thresholds`` of the cosine with the one where
    both errors are ``equal``, labels that change (``flips``, of classifiers), its ten worst blind
    spots, and how rankings of documents moved; ``paired`` is the accuracy in a table of queries in
    pairs, and ``moves`` has the ranking of every edit. A baseline with the word vectors or the
    architecture of a model names it in ``of``.
    """

    name: str
    about: dict[str, Any]
    kinds: tuple[KindScore, ...]
    levels: Mapping[str, LevelScore]
    matched: LevelScore | None
    overlap: tuple[OverlapBin, ...]
    thresholds: tuple[Threshold, ...]
    equal: Threshold | None
    blind_spots: tuple[BlindSpot, ...]
    measured: tuple[Measured, ...] = field(repr=False, compare=False)
    retrieval: tuple[Retrieval, ...] = ()
    failed: tuple[RefusedRow, ...] = ()
    moves: tuple[RankMove, ...] = field(default=(), compare=False)
    flips: tuple[FlipScore, ...] = ()
    paired: Score | None = None
    of: str | None = None

    _derived: ClassVar[tuple[str, ...]] = ("mean_auc", "data_sha256")

    @property
    def mean_auc(self) -> float | None:
        """The mean score against harmless edits over the kinds that have them."""
        found = [score.small.score for score in self.kinds if score.small is not None]
        return float(np.mean(found)) if found else None

    @cached_property
    def data_sha256(self) -> str:
        """The SHA-256 of the texts and edits that were measured, whatever their order."""
        rows = sorted(
            [one.text, [[edit.kind, edit.edited] for edit in one.edits]] for one in self.measured
        )
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()

    @property
    def cosines(self) -> tuple[float, float] | None:
        """The median cosine of changed and of reworded texts."""
        changed, kept = map(median_cosine, cosines(self.measured))
        return None if changed is None or kept is None else (changed, kept)

    @property
    def equal_error(self) -> dict[str, Any] | None:
        """The threshold with equal errors, its number of texts, whether any threshold works, and
        the one with equal errors against light rewordings alone.
        """
        best = self.best_threshold
        if self.equal is None or best is None:
            return None
        light = equal_error(*some) if (some := cosines(self.measured, level="light"))[0] else None
        found = self._with_levels(self.equal) | {"light": light and vars(light)}
        return found | {"texts": best["texts"], "works": best["works"]}

    @cached_property
    def best_threshold(self) -> dict[str, Any] | None:
        """The threshold with the least sum of both errors, and whether it works."""
        changed, kept = cosines(self.measured)
        if not changed:
            return None
        best = best_threshold(changed, kept)
        works = separates(self.equal, best)
        return self._with_levels(best) | {"texts": len(changed), "works": works}

    @cached_property
    def strict_threshold(self) -> dict[str, Any] | None:
        """The smallest threshold that accepts at most 5 % of the changes; None if there is none."""
        changed, kept = cosines(self.measured)
        strict = strict_threshold(changed, kept) if changed else None
        return None if strict is None else self._with_levels(strict)

    def rejected(self, threshold: float, levels: Sequence[str]) -> list[float]:
        """The shares of rewordings of these levels below a threshold."""
        shares = rejected_shares(self.measured, threshold)
        return [share for level in levels if (share := shares[f"rejected_{level}"]) is not None]

    def _with_levels(self, found: Threshold) -> dict[str, Any]:
        """A threshold, with the shares of light and of heavy rewordings that it rejects."""
        return vars(found) | rejected_shares(self.measured, found.threshold)

    @cached_property
    def closer_changes(self) -> dict[str, int]:
        """The number of changes that move the model less than an edit with the same meaning."""
        return dict(zip(("count", "of", "different"), closer_changes(self.measured), strict=True))

    def kind(self, name: str) -> KindScore | None:
        return next((score for score in self.kinds if score.kind == name), None)

    def score(self, level: str, kind: str | None = None) -> LevelScore | None:
        """The score of a level, of all kinds together or of one."""
        if kind is None:
            return self.levels.get(level)
        found = self.kind(kind)
        return None if found is None else found.levels.get(level)

    @property
    def only_label(self) -> str | None:
        """The label of all texts and edits; None if there are several, or none."""
        labels = {label for one in self.flips for label in one.before}
        return labels.pop() if len(labels) == 1 and not any(s.changed for s in self.flips) else None

    def flip(self, kind: str) -> FlipScore | None:
        """How often edits of a kind change the label."""
        return next((one for one in self.flips if one.kind == kind), None)

    def to_dict(self) -> dict[str, Any]:
        found = json_fields(self)
        del found["equal"]
        cosines = self.cosines
        return found | {
            "cosines": cosines and {"change": cosines[0], "rewording": cosines[1]},
            "equal_error": self.equal_error,
            "best_threshold": self.best_threshold,
            "strict_threshold": self.strict_threshold,
            "closer_changes": self.closer_changes,
            "same_answers": json_value(same_answers(self.moves)),
        }


@dataclass(frozen=True)
class Audit(SequenceResult[ModelAudit], items="models", brief="data texts target", derived="level"):
    """A leaderboard: every model on the same edits, best first.

    The order rests on the score over all texts at ``level``: against rewordings, or against
    harmless edits where there is no rewording. ``baselines`` are models without understanding,
    ``data`` are the texts, ``texts`` how many of them, ``target`` what was compared, ``draws`` the
    number of random words per edit, ``refused`` rows that could not be used, ``gate`` the scores
    below ``fail_under`` and the refused rows, ``left_out`` a line for every baseline without
    results, ``repeated`` the number of rows that repeat an earlier one and are not counted again,
    ``triples`` whether the data are a table of triples.
    """

    models: tuple[ModelAudit, ...]
    baselines: tuple[ModelAudit, ...]
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
    left_out: tuple[str, ...] = ()
    repeated: int = 0
    triples: bool = False

    @property
    def failed(self) -> list[tuple[str, RefusedRow]]:
        """Texts that failed, each with the model."""
        return [(model.name, one) for model in self.models for one in model.failed]

    @property
    def level(self) -> str:
        """The level of the headline: "rewording", or "small" where no text has a rewording."""
        return headline_level(self.models)

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """The paired difference of every two models, in the order of the table."""
        return self._differences([self.level])

    @cached_property
    def flip_differences(self) -> tuple[Difference, ...]:
        """The same of classifiers in the share of labels that edits of each kind change."""
        every = [one for model in self.models for one in model.flips]
        should = {f"flips.{one.kind}": "" if one.assumed else one.should for one in every}
        return tuple(replace(d, should=should[d.score]) for d in self._differences(list(should)))

    def _differences(self, scores: Sequence[str]) -> tuple[Difference, ...]:
        found = [
            difference((one.name, one.measured), (two.name, two.measured), score)
            for one, two in itertools.combinations(self.models, 2)
            for score in scores
        ]
        return tuple(one for one in found if one is not None)

    @cached_property
    def ranks(self) -> dict[str, int]:
        """One more than the number of models that are better beyond their interval."""
        worse = [one.second for one in self.differences if one.low > 0]
        worse += [one.first for one in self.differences if one.high < 0]
        return {model.name: 1 + worse.count(model.name) for model in self.models}

    def verdict(self, model: ModelAudit) -> str:
        """The sentences to read first about a model."""
        if _labels_sentence(model):
            return verdict(model)
        own = [one for one in self.baselines if one.of in (None, model.name)]
        if unseparated := self._unseparated(model):
            return f"{unseparated} {self._overlaps(model, 0.0)}".rstrip()
        return f"{verdict(model, own)} {self._overlaps(model, APART)}".rstrip()

    def _unseparated(self, model: ModelAudit) -> str:
        """Why the texts say nothing about a model: all scores are at 0, or all at 1; "" else."""
        every = [one.score(self.level) for one in (*self.models, *self.baselines)]
        known = [score for score in every if score is not None]
        mine = model.score(self.level)
        floor = all(score.low <= 0 for score in known)
        if not self.baselines or mine is None or not (floor or all(s.high >= 1 for s in known)):
            return ""
        return (
            f"scores {mine:.2f}, and the intervals of all models and baselines include "
            f"{0 if floor else 1}: this table cannot separate models."
            + ("" if mine.texts >= FEW else f" {MORE_TEXTS}")
        )

    def _overlaps(self, model: ModelAudit, apart: float) -> str:
        """The median overlaps of both edits with the text, and the remedy, if they differ by at
        least ``apart``; "" else.
        """
        mine = model.score(self.level)
        changes = [e.overlap for text in model.measured for e in text.edits if e.role == "turning"]
        if mine is None or not changes or abs(mine.overlap - (changed := median(changes))) < apart:
            return ""
        remedy = "keep more words" if mine.overlap < changed else "change more words"
        return (
            f"The median overlap with the text is {rounded(mine.overlap)} for edits that preserve "
            f"the meaning and {rounded(changed)} for changes. Add rewordings that {remedy}."
        )

    @property
    def kinds(self) -> list[str]:
        """The kinds of meaning-changing edits, in the order of the rules."""
        return list(dict.fromkeys(score.kind for model in self.models for score in model.kinds))

    def to_dict(self) -> dict[str, Any]:
        found = super().to_dict()
        for one, model in zip(found["models"], self.models, strict=True):
            one |= {"rank": self.ranks[model.name], "verdict": self.verdict(model)}
        for name in ("differences", "flip_differences"):
            found[name] = [json_fields(one) | {"said": str(one)} for one in getattr(self, name)]
        return found | {
            "files": [path.name for path in self.files],
            "explained": EXPLAINED,
        }

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per model and kind."""
        import pandas

        left_out = ("layers", "levels", "matched")
        rows = [
            {"model": model.name}
            | {name: value for name, value in score.to_dict().items() if name not in left_out}
            | {
                f"{level}_{name}": getattr(score.levels[level], name)
                for level in LEVELS
                if level != "small" and level in score.levels
                for name in ("texts", "score", "low", "high", "overlap")
            }
            for model in (*self.models, *self.baselines)
            for score in model.kinds
        ]
        frame = pandas.DataFrame(rows)
        return frame.astype({name: "Int64" for name in ("heard", "lost") if name in frame})

    def edits_frame(self) -> pandas.DataFrame:
        """A data frame with one row per model and edit, with the ranks of documents."""
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
                "strength": edit.strength if edit.role == "keeping" else "",
                "overlap": edit.overlap,
                "share_changed": edit.share_changed,
                "text": edit.text,
                "edited": edit.edited,
                "before": edit.before,
                "after": edit.after,
                "change": change.value,
                "percentile": change.percentile,
                "cosine": change.cosine,
            }
            | ({"label": change.label, "edited_label": change.edited_label} if model.flips else {})
            | ranks.get((model.name, edit), {})
            for model in self.models
            for text in model.measured
            for edit, change in zip(text.edits, text.changes, strict=True)
        ]
        return pandas.DataFrame(rows)


def verdict(model: ModelAudit, baselines: Sequence[ModelAudit] = ()) -> str:
    """What a model's scores say, in two sentences; kinds of few texts are left out. Of a
    classifier, only the labels: logits can move far while the label never changes.
    """
    if labels := _labels_sentence(model):
        return labels
    first, level = _first_sentence(model, baselines)
    ordered = sorted(
        (
            (found.score, score.kind)
            for score in model.kinds
            if (found := score.levels.get(level)) is not None and found.texts >= FEW
        ),
        key=lambda one: (-one[0], one[1]),
    )
    if len(ordered) > 1 and rounded(ordered[0][0]) != rounded(ordered[-1][0]):
        (best, name), (worst, other) = ordered[0], ordered[-1]
        first += f" Most often: {name} ({rounded(best)}); least often: {other} ({rounded(worst)})."
    return first


def _first_sentence(model: ModelAudit, baselines: Sequence[ModelAudit]) -> tuple[str, str]:
    """The sentence that is read first, and the level that it rests on."""
    harmless, reworded = (_enough(model.score(level)) for level in ("small", "rewording"))
    if harmless is None and reworded is None:
        return _few_sentence(model, baselines), "rewording"
    said, reacts = "", False
    if harmless is not None:
        scored = f"{rounded(harmless.score)} against harmless edits"
        reacts = harmless.low > 0.5 and _exceeds(model, baselines)
        if reacts:
            said = f"reacts to the word ({scored})"
        elif harmless.low > 0.5:
            others = _range("small", baselines)
            said = "reacts to the word, but not clearly more than the baselines do "
            said += f"({scored}; {others})"
        else:
            said = f"does not react more to the word than to a harmless edit ({scored})"
    if reworded is None:
        if "rewording" in model.levels:
            return f"{said} and {_few_sentence(model, baselines)}", "small"
        return f"{said}. No text has a rewording, so this says little about meaning.", "small"
    times = rounded(100 * reworded.score, 0)
    share = f"in {{}}{times} of 100 comparisons" if times != "0" else "in none of 100 comparisons"
    closer = f"a rewording is closer than the change {share}"
    if reworded.high < 0.5:
        tracks = f"does not track the meaning: {closer.format('only ')}"
    elif reworded.low > 0.5:
        tracks = f"tracks the meaning more often than not: {closer.format('')}"
    else:
        tracks = f"may or may not track the meaning: {closer.format('')}, which may be chance"
    found = [one.score("rewording") for one in baselines]
    beside = sorted(score.score for score in found if score is not None)
    ends = " to ".join(dict.fromkeys(rounded(100 * one, 0) for one in (*beside[:1], *beside[-1:])))
    strengths = [
        f"{name} rewordings {rounded(100 * score.score, 0)} of 100"
        for name in ("light", "heavy")
        if (score := _enough(model.score(name))) is not None
    ]
    facts = [*strengths, *([f"baselines {ends} of 100"] if beside else [])]
    without = f" ({', '.join(facts)})" if facts else ""
    link = " but " if reacts and reworded.high < 0.5 else " and " if said else ""
    return f"{said}{link}{tracks}{without}.", "rewording"


def _labels_sentence(model: ModelAudit) -> str:
    """The labels that change, where they are expected to and where not; "" without any."""
    flip, stay = ([one for one in model.flips if one.should == what] for what in ("flip", "stay"))
    worst = sorted((one for one in stay if one.changed), key=lambda one: -one.flips)[:STAYING]
    others = [one for one in stay if one not in worst]
    if len(others) > 1:
        changed, texts = sum(one.changed for one in others), sum(one.texts for one in others)
        kinds = f"{len(others)} {'other ' * bool(worst)}kinds"
        others = [FlipScore(kinds, "stay", texts, changed / texts, 0.0, 1.0)]
    said = [
        f"{where}: " + ", ".join(f"{one.kind} {one.changed:,} of {one.texts:,}" for one in scores)
        for where, scores in ((" where expected", flip), (" where not expected", [*worst, *others]))
        if scores
    ]
    if flip and flip[0].assumed:
        said[0] = f"{said[0].removeprefix(' where expected')} ({NEED_NOT})"
    if (label := model.only_label) is not None:
        both = len(model.measured) + sum(one.texts for one in model.flips)
        said[-1] += f". All {both:,} texts and edits have label {label}: stays.* shows nothing"
    return f"labels that change{';'.join(said)}." if said else ""


def _few_sentence(model: ModelAudit, baselines: Sequence[ModelAudit]) -> str:
    """The score with its interval where texts are too few for more."""
    level = headline_level([model])
    score = model.score(level)
    if score is None:
        return "has no text with a change and an edit that preserves the meaning."
    does = "places a rewording closer than the change"
    if level == "small":
        does = "reacts more to the change than to a harmless edit"
    others = _range(level, baselines)
    return (
        f"{does} in {score:.2f} of comparisons on {count(score.texts, 'text')}"
        f"{f' ({others})' if others else ''}. {MORE_TEXTS}"
    )


def _exceeds(model: ModelAudit, baselines: Sequence[ModelAudit]) -> bool:
    """Whether a model's score against harmless edits exceeds those of all baselines, by the 95 %
    interval of the paired difference.
    """
    mine = (model.name, model.measured)
    found = [difference(mine, (one.name, one.measured), "small") for one in baselines]
    return all(one.low > 0 for one in found if one is not None)


def _range(level: str, baselines: Sequence[ModelAudit]) -> str:
    """The least and the largest score of the baselines; "" if none has any."""
    found = [score.score for one in baselines if (score := one.score(level)) is not None]
    return f"baselines {rounded(min(found))} to {rounded(max(found))}" if found else ""


def _enough(score: LevelScore | None) -> LevelScore | None:
    return score if score is not None and score.texts >= FEW else None


def headline_level(models: Sequence[ModelAudit]) -> str:
    """The level that models are ordered by: "rewording" if any model has one."""
    return "rewording" if any("rewording" in model.levels for model in models) else "small"


#: Gates on labels: the share of edits of a kind that change the label, or that do not.
LABELS = ("flips", "stays")
#: Kinds that should not change the label, named in a verdict; the others are added up.
STAYING = 3
NEED_NOT = "many of these edits need not change a label"
#: What each number means, by the name of its field.
EXPLAINED: dict[str, str] = tomllib.loads(
    files("wordsway.auditing").joinpath("explained.toml").read_text("utf-8")
)


def parse_gate(fail_under: Mapping[str, float] | Sequence[str]) -> dict[str, float]:
    """Return the least score per level and kind of {"rewording.negation": 0.5}, or of
    "rewording.negation=0.5" as a command line has it; a level alone stands for all texts together,
    "all" for every kind that is not named, and a kind without a level for the level small. Of a
    classifier "flips.KIND" is the share of edits that change the label, "stays.KIND" the share of
    those that do not; "all" are there the kinds that should flip, or stay.

    >>> parse_gate(["rewording=0.4", "rewording.negation=0.5", "rewording.all=0.3", "modals=0.7"])
    {'rewording': 0.4, 'rewording.negation': 0.5, 'rewording.all': 0.3, 'small.modals': 0.7}
    """
    given = fail_under.items() if isinstance(fail_under, Mapping) else ()
    texts = [f"{kind}={floor}" for kind, floor in given] or list(fail_under)
    floors: dict[str, float] = {}
    for text in texts:
        name, _, floor = text.lower().partition("=")
        try:
            value = float(floor)
        except ValueError:
            value = -1.0
        if not name.strip() or not 0 <= value <= 1:
            raise InputError(
                "LEVEL.KIND=X with X between 0 and 1", repr(text), "as rewording.negation=0.5"
            )
        level, _, kind = name.strip().partition(".")
        known = level in LEVELS or (level in LABELS and kind)
        floors[name.strip() if known else f"small.{name.strip()}"] = value
    return floors


def check_gate(
    floors: Mapping[str, float], kinds: Sequence[str], labelled: Sequence[str] | None = None
) -> None:
    """Refuse a gate for kinds that are not measured; ``labelled`` are the kinds of edits whose
    labels are compared, None without a classifier's labels.
    """
    for name, floor in floors.items():
        level, _, kind = name.partition(".")
        if level in LABELS:
            check_labelled([] if kind == "all" else [kind], labelled, name)
        elif kind not in (*kinds, "all", *([""] if name in LEVELS else [])):
            remedy = "check its name"
            if tuple(kinds) in ((OWN,), (RETRIEVAL,)):
                remedy = (
                    f"the table has no column kind, so its changes are of kind {kinds[0]}: use "
                    f"{level}={floor:g}, or add a column kind"
                )
            raise InputError(
                f"a level ({', '.join(LEVELS)}), or LEVEL.KIND with a kind that is measured "
                f"({', '.join(kinds)}) or all{', or flips.KIND, stays.KIND' if labelled else ''}",
                repr(name.removeprefix("small.")),
                remedy,
            )


def check_labelled(kinds: Sequence[str], labelled: Sequence[str] | None, name: str) -> None:
    """Refuse kinds whose labels are not compared; ``name`` is the option that lists them."""
    if labelled is None:
        raise InputError(f"target logits for {name}", "another target", "add --target logits")
    for kind in kinds:
        if kind not in labelled:
            expected = f"a kind of edit for {name} among {', '.join(labelled)}"
            remedy = "repeat the option for several kinds" if "," in kind else "check its name"
            raise InputError(expected, repr(kind), remedy)


def below(
    floors: Mapping[str, float], models: Sequence[ModelAudit], refused: Sequence[RefusedRow] = ()
) -> Iterator[str]:
    """Yield one line for every score below its floor, for every floor without texts, and for rows
    that are missing from the scores.
    """
    if floors and refused:
        rows = f"{len(refused):,} {'row was' if len(refused) == 1 else 'rows were'} refused"
        yield f"gate failed: {rows}; fix or remove them ({refused[0]})"
    for model, where, floor, score in _gated(floors, models):
        if score is None and where.startswith(LABELS) and not model.flips:
            yield f"gate failed: {model.name}: {where} needs {floor:g}, but it has no single label"
        elif score is None:
            levels = ", ".join(model.levels)
            yield (
                f"gate failed: {model.name}: {where} has no texts, needs {floor:g}: use a level "
                f"and a kind that have texts (levels: {levels}), or add texts with such edits"
            )
        elif score.score < floor:
            texts = count(score.texts, "text")
            yield f"gate failed: {model.name}: {where} {score:.3f} < {floor:g} ({texts})"


def passed(floors: Mapping[str, float], models: Sequence[ModelAudit]) -> Iterator[str]:
    """Yield one line for every score that is not below its floor."""
    for model, where, floor, score in _gated(floors, models):
        if score is not None and score.score >= floor:
            said = f"{model.name}: {where} {score:.3f} ≥ {floor:g} ({count(score.texts, 'text')})"
            if where.startswith("stays") and model.only_label is not None:
                said += f"; shows nothing: all texts and edits have label {model.only_label}"
            level, _, kind = where.partition(".")
            flip = model.flip(kind) if level in LABELS else None
            if flip is not None and flip.should and level != f"{flip.should}s":
                wanted = "change" if flip.should == "flip" else "not change"
                said += f"; {kind} should {wanted} the label: use {flip.should}s.{kind}"
            yield said


def _gated(
    floors: Mapping[str, float], models: Sequence[ModelAudit]
) -> Iterator[tuple[ModelAudit, str, float, Share | None]]:
    """Yield the model, the level and kind, the floor and the score; None if it has no texts."""
    for model in models:
        for name, floor in floors.items():
            level, _, kind = name.partition(".")
            own = {other.partition(".")[2] for other in floors if other.startswith(f"{level}.")}
            every = [one.kind for one in model.kinds]
            if level in LABELS:
                every = [one.kind for one in model.flips if f"{one.should}s" == level]
            chosen = [kind] if kind != "all" else [one for one in every if one not in own]
            for one in chosen:
                score: Share | None = model.score(level, one or None)
                if level in LABELS and (flip := model.flip(one)) is not None:
                    score = flip.share(level)
                if score is not None or kind != "all":
                    yield model, f"{level}.{one}" if one else level, floor, score
