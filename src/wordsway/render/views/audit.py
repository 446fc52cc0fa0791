"""An audit: is a rewording closer than the change? Scores of every model, and its blind spots."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from wordsway.auditing.blind_spots import BlindSpot
from wordsway.auditing.differences import Difference
from wordsway.auditing.edits.edit import Edit
from wordsway.auditing.encoder import OVERLAP
from wordsway.auditing.flips import FlipScore
from wordsway.auditing.result import EXPLAINED, Audit, ModelAudit
from wordsway.auditing.retrieval import same_answers
from wordsway.auditing.scores import FEW, LevelScore
from wordsway.core.chart import Chart, Panel, PointSeries, ReferenceLine
from wordsway.core.escape import shortened
from wordsway.core.format import count, format_seconds, rounded
from wordsway.probing.targets import NAMED
from wordsway.render import blocks as b
from wordsway.render.numbers import small, whole_percent
from wordsway.render.views.common import band, models_facts, provenance, refused_rows
from wordsway.render.views.pairs import in_place, marked_change

#: The colour of baselines.
GREY = "grey"
#: Blind spots per model, edits per kind, and characters of a document.
SPOTS, EXAMPLES, DOCUMENT = 3, 5, 160
#: Texts that a point of a chart, or a row of numbers of a kind, rests on, at least.
POINT = 5
#: The roles of edits, as they are called outside of JSON.
ROLE_NAMES = {"turning": "meaning-changing", "keeping": "meaning-preserving"}
LABEL_ROLES = {"turning": "may change the label", "keeping": "should not change the label"}
#: What a score of each level is called in tables and on axes, and what it means.
LEVEL_NAMES = {
    "rewording": "rewording",
    "light": "light",
    "heavy": "heavy",
    "small": "harmless edit",
    "several": "several",
}
LEVEL_MEANINGS = {
    "small": EXPLAINED["auc"],
    "several": "The same against all harmless edits that a text allows, at once.",
    "light": "The same against rewordings of 1 to 4 words (in your table: and at most half of the "
    "text).",
    "heavy": "The same against rewordings of most words.",
    "rewording": EXPLAINED["rewording"],
}
TITLE = "Is a rewording closer than a change of meaning?"
LABEL_TITLE = "Which edits change the label?"
DISTANCES = "Distances: do edits that may change the label move the class scores more?"
AXIS = {
    "rewording": "rewording closer than change",
    "small": "reacts more than to a harmless edit",
}
WHAT = (
    "Each text has a small change that alters its meaning (is → is not, 5 mg → 50 mg) and edits "
    "that preserve it, from one harmless word (film → movie) to a rewording of the whole text. The "
    "score is the share of comparisons in which the change moves the model more (1: always, 0: "
    "never)."
)
WHAT_LABELS = (
    "What is expected of each kind is below. Accuracy is not measured. Scores compare distances of "
    "class scores, not labels: the share of comparisons in which edits that may change the label "
    "move them more than those that should not (1: always, 0: never)."
)
SWAPPED = (
    "Most changes share fewer words with their texts than the rewordings do: are the columns "
    "rewording and change swapped?"
)
NO_THRESHOLD = {
    False: "No threshold works for all of these rewordings: none keeps both errors below 50 %.",
    None: "These texts do not show that a threshold works: the interval of the sum includes 1, "
    "that of a coin toss.",
}
ACROSS = (
    "The score compares a change with rewordings of the same text. A threshold is one number for "
    "all texts, so it may fail where the score is high."
)
UNEXPECTED = "Edits whose label is not as expected"
EXPECTED = {"flip": "change", "stay": "no change"}
CHOICE = (
    "What is expected of a kind is a choice, by default for sentiment; an edit such as big → small "
    "need not change the label. Choose kinds (--should-flip, --should-stay), or test your own "
    "pairs."
)
CHANCE = (
    "{:,} differences were tested at 95 % each: of those that are truly 0, about 1 in 20 is listed."
)
SEPARATING = "From the first to the last layer that separates both kinds of edits (0: the input)."
LINE = "Line: the score of every layer, from the input to the last one, with its 95 % band."


def audit_view(audit: Audit) -> b.ResultView:
    """The sentence about every model, scores by level and kind, thresholds, and blind spots."""
    about = f"{audit.draws} random words per edit · seed {audit.seed}"
    unused = f" · {audit.unused:,} sentences without a wanted edit" if audit.unused else ""
    profiles = _profiles(audit)
    layers: list[b.Block] = [b.soft(LINE), Chart(profiles, shared_key=True)]
    flips = _flips(audit)
    few = few_texts(audit)
    labels = audit.target == "logits"
    scores: list[b.Block] = [_levels(audit), _by_kind(audit)] if audit.kinds else []
    blocks: list[b.Block] = [
        b.headline(_heading(audit)),
        b.soft(
            f"{edit_counts(audit.texts, [one.flips for one in audit.models])} {WHAT_LABELS}"
            if flips
            else WHAT
        ),
        *(b.failure(line) for line in audit.gate),
        *(b.plain(b.Span(one.name, "bold"), f" {audit.verdict(one)}") for one in audit.models),
        *(flips or [b.plain(str(one)) for one in audit.differences]),
        *([b.Fold(DISTANCES, scores, open=False)] if flips and scores else scores),
        *(b.warning(line) for line in audit.left_out),
        *([b.warning(few)] if few else []),
        *([b.warning(SWAPPED)] if _swapped(audit) else []),
        *_paired(audit),
        *([] if labels else _thresholds(audit)),
        *(_spots(audit, model) for model in audit.models if model.blind_spots and not labels),
        *_numbers(audit),
        *([b.Fold("Scores of every kind by layer", layers, terminal=False)] if profiles else []),
        *_overlap(audit),
        *_ranks(audit),
        b.Fold("Edits that were used", [_examples(audit)], open=False, terminal=False),
        *refused_rows(audit.refused),
        *([b.warning(repeated_rows(audit.repeated))] if audit.repeated else []),
        b.source(f"{about}{unused} · {format_seconds(audit.seconds)}"),
    ]
    facts = {"texts": f"{audit.texts:,} ({audit.data})", "random words": str(audit.draws)}
    facts |= models_facts([model.about for model in audit.models])
    return b.ResultView(
        LABEL_TITLE if flips else TITLE,
        blocks,
        provenance(audit, facts),
        lambda: _picture(audit),
    )


def _heading(audit: Audit) -> str:
    """The number of texts and kinds, and the target."""
    known = NAMED.get(audit.target)
    target = f"the relative change of layer {audit.target}" if known is None else known.distance
    target = "the label" if any(model.flips for model in audit.models) else target
    of_changes = f", {count(len(audit.kinds), 'kind')} of changes" if audit.kinds else ""
    # IMDb's reviews are read sentence by sentence.
    unit = "sentence" if audit.data == "imdb" else "text"
    return f"{count(audit.texts, unit)} ({audit.data}){of_changes}, by {target}"


def _swapped(audit: Audit) -> bool:
    """Whether the changes of triples share fewer words with the texts than the rewordings do."""
    texts = audit.models[0].measured if audit.models else ()
    kept = [e.overlap for text in texts for e in text.edits if e.kind == "rewording"]
    turned = [e.overlap for text in texts for e in text.edits if e.role == "turning"]
    known = audit.triples and audit.target != "logits" and kept and turned
    return bool(known) and sorted(kept)[len(kept) // 2] > sorted(turned)[len(turned) // 2]


def few_texts(audit: Audit) -> str:
    """Kinds with too few texts for informative intervals; "" if none."""
    counts = {
        score.kind: score.texts
        for model in audit.models
        for score in model.kinds
        if not model.flips
    }
    few = [f"{kind} ({texts})" for kind, texts in counts.items() if texts < FEW]
    if not few:
        return ""
    return f"Kinds with fewer than {FEW} texts, not named in the sentences above: {', '.join(few)}."


def repeated_rows(rows: int) -> str:
    """
    >>> repeated_rows(2)
    '2 rows repeat an earlier row and are not counted again.'
    """
    repeat, are = ("repeats", "is") if rows == 1 else ("repeat", "are")
    return f"{count(rows, 'row')} {repeat} an earlier row and {are} not counted again."


# Tables


def _score(score: LevelScore | None) -> b.Cell:
    """The score with its interval: orange above one half, blue below, without colour and with
    their number for few texts.
    """
    if score is None:
        return "–"
    shown = f"{rounded(score.score)} ({rounded(score.low)}–{rounded(score.high)})"
    if score.texts < POINT:
        return f"{shown}, {count(score.texts, 'text')}"
    return b.Span(shown, shade=max(-1.0, min(1.0, 2 * score.score - 1)))


def _levels(audit: Audit) -> b.Table:
    """Every model and baseline at every level that has texts."""
    every = (*audit.models, *audit.baselines)
    present = [level for level in LEVEL_NAMES if any(level in model.levels for model in every)]
    flips, labels = any(model.flips for model in audit.models), audit.target == "logits"
    several = len(audit.models) > 1 and not flips
    middles = [
        b.Column(f"cosine: {one}", meaning=EXPLAINED[f"cosine_{one}"], optional=True)
        for one in ([] if labels else ["change", "rewording"])
    ]
    columns = [
        *([b.Column("rank", meaning=EXPLAINED["rank"])] if several else []),
        b.Column("model", "text"),
        *(
            b.Column(LEVEL_NAMES[one], meaning=LEVEL_MEANINGS[one], optional=True)
            for one in present
        ),
        *middles,
        b.Column("matched overlap", meaning=EXPLAINED["matched"], optional=True),
    ]
    rows: list[Sequence[b.Cell]] = []
    for model in every:
        ours = model in audit.models
        middle = [rounded(one) for one in model.cosines] if model.cosines else ["–", "–"]
        rows.append(
            [
                *([str(audit.ranks[model.name]) if ours else ""] if several else []),
                model.name if ours else b.Span(model.name, "soft"),
                *(_score(model.levels.get(level)) for level in present),
                *middle[: len(middles)],
                _score(model.matched),
            ]
        )
    texts = [
        f"{LEVEL_NAMES[level]} {score.texts:,} (median overlap {rounded(score.overlap)})"
        for level in present
        if (score := audit.models[0].levels.get(level)) is not None
    ]
    title = "" if flips else "Is the edit that preserves the meaning closer than the change?"
    notes = {"texts": "; ".join(texts)}
    if any(model.name == OVERLAP and model.cosines for model in audit.baselines) and not labels:
        notes[OVERLAP] = "Its cosines are Jaccard indices: common words divided by all words."
    return b.Table(columns, rows, title, shown=100, notes=notes)


def _by_kind(audit: Audit) -> b.Table:
    """The headline's score of every kind."""
    every = (*audit.models, *audit.baselines)
    rows: list[Sequence[b.Cell]] = [
        [_kind(audit, kind), *(_score(model.score(audit.level, kind)) for model in every)]
        for kind in audit.kinds
    ]
    columns = [b.Column(shortened(model.name, 28), optional=True) for model in every]
    reworded = audit.level == "rewording" and audit.target != "logits"
    title = "By kind: is a rewording closer?" if reworded else "By kind"
    return b.Table([b.Column("kind", "text"), *columns], rows, title, shown=100)


def _kind(audit: Audit, kind: str) -> b.Cell:
    """A kind with an edit of it that was used."""
    return (kind, "  ", *_example(audit, kind))


def _example(audit: Audit, kind: str) -> list[b.Inline]:
    """An edit of a kind that was used."""
    edits = (e for model in audit.models for text in model.measured for e in text.edits)
    ends = next(((edit.before, edit.after) for edit in edits if edit.kind == kind), ("", ""))
    return marked_change(*(shortened(part.strip(), 20) for part in ends))


def _paired(audit: Audit) -> list[b.Block]:
    """The accuracy of pairs of queries, where the table had them."""
    return [
        b.plain(
            b.Span(model.name, "bold"),
            f": both queries of a pair find their own document in {percent(one.auc)} of the pairs "
            f"({rounded(100 * one.low, 0)}–{rounded(100 * one.high, 0)}; 25 % by chance).",
        )
        for model in audit.models
        if (one := model.paired) is not None
    ]


def _thresholds(audit: Audit) -> list[b.Block]:
    """What a threshold of the cosine lets through, and what it stops."""
    models = [model for model in audit.models if model.thresholds]
    if not models:
        return []
    columns = [
        b.Column("threshold", meaning=EXPLAINED["threshold"]),
        b.Column("model", "text"),
        b.Column("changes accepted", meaning=EXPLAINED["accepted_changes"]),
        b.Column("rewordings rejected", meaning=EXPLAINED["rejected_rewordings"]),
    ]
    levels = [
        name
        for name in ("light", "heavy")
        if all(name in one.levels and one.levels[name].texts >= POINT for one in models)
    ]
    columns += [b.Column(name, meaning=EXPLAINED[f"rejected_{name}"]) for name in levels]
    rows: list[Sequence[b.Cell]] = [
        [
            f"{one.threshold:g}" if at == 0 else "",
            model.name,
            percent(one.accepted_changes, one.accepted_low, one.accepted_high),
            percent(one.rejected_rewordings, one.rejected_low, one.rejected_high),
            *(percent(share) for share in model.rejected(one.threshold, levels)),
        ]
        for each in zip(*(model.thresholds for model in models), strict=True)
        for at, (model, one) in enumerate(zip(models, each, strict=True))
    ]
    lines = [
        b.plain(b.Span(model.name, "bold"), f": {threshold_sentences(model.to_dict())}")
        for model in models
        if model.best_threshold is not None
    ]
    table = b.Table(columns, rows, shown=100)
    return [b.Fold("Which cosine means “the same”?", [b.soft(ACROSS), *lines, table])]


def threshold_sentences(model: Mapping[str, Any]) -> str:
    """The thresholds of a model in words, from its JSON; earlier versions lack some of them."""
    equal, best, strict = (
        model.get(name) for name in ("equal_error", "best_threshold", "strict_threshold")
    )
    works = (best or equal or {"works": True})["works"]
    light, heavy = (model["levels"].get(name, {"texts": 0})["texts"] for name in ("light", "heavy"))
    if min(light, heavy) < FEW:  # too few for shares of each
        apart = {"rejected_light": None, "rejected_heavy": None, "light": None}
        equal, strict = (one and {**one, **apart} for one in (equal, strict))
    return " ".join(
        [
            *([equal_sentence(equal, light)] if equal else []),
            *([best_sentence(best)] if best else []),
            *([] if works else [NO_THRESHOLD[works]]),
            *([strict_sentence(strict, works)] if strict else []),
        ]
    )


def equal_sentence(equal: Mapping[str, Any], light_texts: int) -> str:
    """The threshold with equal errors in words, from ``equal_error`` of a model's JSON;
    ``light_texts`` is the number of texts with a light rewording.
    """
    wrong = (equal["accepted_changes"] + equal["rejected_rewordings"]) / 2
    levels = _by_level(equal)
    depends = f" It rejects{levels}, so it depends on how many of each the table has."
    if levels and (light := equal.get("light")):
        wrong_light = (light["accepted_changes"] + light["rejected_rewordings"]) / 2
        depends += (
            f" Against light rewordings alone ({count(light_texts, 'text')}), "
            f"{percent(wrong_light)} of either kind are wrong at {light['threshold']:.10g}."
        )
    return (
        f"both errors are equal at a threshold of {equal['threshold']:.10g}, where "
        f"{percent(wrong)} of either kind are wrong (50 %: a coin toss), on "
        f"{count(equal['texts'], 'text')}.{depends if levels else ''}"
    )


def _by_level(threshold: Mapping[str, Any]) -> str:
    """The rejected shares of light and of heavy rewordings, if there are both."""
    light, heavy = threshold.get("rejected_light"), threshold.get("rejected_heavy")
    if light is None or heavy is None:
        return ""
    return f" {percent(light)} of the light rewordings and {percent(heavy)} of the heavy ones"


def best_sentence(best: Mapping[str, Any]) -> str:
    """The threshold with the least sum of errors in words, from ``best_threshold`` of the JSON."""
    if best["accepted_changes"] == 1 and not best["rejected_rewordings"]:
        return "No threshold has a smaller sum of both errors than one that accepts everything."
    return (
        f"The sum of both errors is smallest at {best['threshold']:.10g}: "
        f"{percent(best['accepted_changes'])} of changes accepted and "
        f"{percent(best['rejected_rewordings'])} of rewordings rejected, a sum of "
        f"{rounded(best['sum'])} ({rounded(best['sum_low'])}–{rounded(best['sum_high'])}; "
        "a coin toss: 1)."
    )


def strict_sentence(strict: Mapping[str, Any], works: bool | None) -> str:
    """The strict threshold in words, from ``strict_threshold`` of a model's JSON."""
    start = "For a cache, the" if works else "The"
    accepted = (strict[f"accepted_{name}"] for name in ("changes", "low", "high"))
    levels = _by_level(strict)
    return (
        f"{start} smallest threshold that accepts at most 5 % of these changes is "
        f"{strict['threshold']:.4g}: {percent(*accepted)} of changes accepted and "
        f"{percent(strict['rejected_rewordings'])} of rewordings rejected"
        f"{levels and f' ({levels.strip()})'}."
    )


def closer_sentence(closer: Mapping[str, int]) -> str:
    """The number of blind spots in words, from ``closer_changes`` of a model's JSON."""
    different = closer.get("different")
    which = "" if different is None else f" ({different:,} different edits)"
    return (
        f"{closer['count']:,} of {closer['of']:,} changes move the model less than an edit that "
        f"preserves the meaning{which}; at most ten are shown"
    )


def _flips(audit: Audit) -> list[b.Block]:
    """How often the labels of classifiers change, how far models differ, and changed labels."""
    kinds = dict.fromkeys(one.kind for model in audit.models for one in model.flips)
    examples = {kind: _example(audit, kind) for kind in kinds}
    table = flip_table(
        ((model.name, model.flips) for model in audit.models), examples, _directions(audit)
    )
    if not table.rows:
        return []
    if len(audit.models) == 1:
        table = replace(table, columns=table.columns[1:], rows=[row[1:] for row in table.rows])
    wrong, changed = _labelled(audit, expected=False), _labelled(audit, expected=True)
    return [
        *map(b.plain, flip_lines(audit.flip_differences)),
        b.Fold("Labels that change", [b.soft(CHOICE), table]),
        *([b.Fold(f"{UNEXPECTED}: {len(wrong.rows):,}", [wrong])] if wrong.rows else []),
        *([b.Fold("Other edits that change the label", [changed], open=False, terminal=False)]
          if changed.rows else []),
    ]  # fmt: skip


def _labelled(audit: Audit, expected: bool) -> b.Table:
    """Edits with their labels: those that change the label where this is expected or no kind is, or
    those that should and do not, or should not and do.
    """
    rows = []
    for model in audit.models:
        should = {one.kind: "" if one.assumed else one.should for one in model.flips}
        for text in model.measured:
            for edit, one in zip(text.edits, text.changes, strict=True):
                wanted = should.get(edit.kind, "")
                wrong = bool(wanted) and one.flips is (wanted == "stay")
                if one.flips is not None and (one.flips and not wrong if expected else wrong):
                    labels = f"{one.label} → {one.edited_label}"
                    rows.append((model.name, edit.kind, _in_place(edit), labels))
    columns = [b.Column("model", "text"), b.Column("kind", "text")]
    columns += [b.Column("edit", "prose"), b.Column("label", "text")]
    return b.Table(columns, rows, shown=EXAMPLES, on_page=500)


def edit_counts(texts: int, models: Sequence[Sequence[FlipScore]]) -> str:
    """The numbers of texts, and of edits and their kinds by what is expected of the label."""
    found: dict[str, list[int]] = defaultdict(list)
    for one in next(flips for flips in models if flips):
        does = {"flip": "should", "stay": "should not"}.get(one.should, "may")
        found["may" if one.assumed else does].append(one.texts)
    edits = [
        f"{sum(some):,} {'' if at else 'edits '}that {does}{'' if at else ' change the label'} "
        f"({count(len(some), 'kind')})"
        for at, (does, some) in enumerate(found.items())
    ]
    return f"{count(texts, 'text')}; {', '.join(edits)}."


def _directions(audit: Audit) -> dict[tuple[str, str], str]:
    """The most frequent change of the label by edits of each kind in each model."""
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for model in audit.models:
        for text in model.measured:
            for edit, one in zip(text.edits, text.changes, strict=True):
                if one.flips:
                    found[model.name, edit.kind][f"{one.label} → {one.edited_label}"] += 1
    return {
        key: f"{change} ({times} of {counts.total()})"
        for key, counts in found.items()
        for change, times in counts.most_common(1)
    }


def flip_table(
    models: Iterable[tuple[str, Sequence[FlipScore]]],
    examples: Mapping[str, b.Cell] | None = None,
    directions: Mapping[tuple[str, str], str] | None = None,
) -> b.Table:
    """How often edits of each kind change the labels of each classifier, and in which direction."""
    columns = [
        b.Column("model", "text"),
        b.Column("kind", "text"),
        *([b.Column("example", "text", optional=True)] if examples else []),
        b.Column("expected", "text"),
        b.Column("edits"),
        b.Column("flips", meaning=EXPLAINED["flips"]),
        b.Column("95 %"),
        *([b.Column("most often", "text", optional=True)] if directions is not None else []),
        b.Column("labels before", "text", meaning=EXPLAINED["before"], optional=True),
    ]
    rows = [
        (name, one.kind, *([examples[one.kind]] if examples else []),
         "may change" if one.assumed else EXPECTED.get(one.should, "–"),
         f"{one.texts:,}{' by rule' * one.by_rule}", percent(one.flips),
         f"{rounded(100 * one.low, 0)}–{rounded(100 * one.high, 0)} %",
         *([] if directions is None else [directions.get((name, one.kind), "–")]),
         ", ".join(f"{label} in {texts:,}" for label, texts in one.before.items()) or "–")
        for name, flips in models
        for one in flips
    ]  # fmt: skip
    return b.Table(columns, rows, shown=100)


def flip_lines(differences: Sequence[Difference]) -> list[str]:
    """How far classifiers differ in the labels that edits change."""
    lines = [str(one) for one in differences if one.certain]
    if lines and len(differences) > 1:
        lines.append(CHANCE.format(len(differences)))
    elif not lines and differences:
        counts = [one.texts for one in differences]
        ends = " to ".join(f"{one:,}" for one in sorted({min(counts), max(counts)}))
        lines = [f"flips: the models cannot be told apart on any kind ({ends} texts per kind)."]
    return lines


def _numbers(audit: Audit) -> list[b.Block]:
    """Every number of the comparison with harmless edits."""
    labels = audit.target == "logits"
    medians = {"change of meaning": "median_turning", "harmless edit": "median_keeping"}
    medians = {} if labels else medians
    columns = [
        b.Column("kind", "text"),
        b.Column("model", "text"),
        b.Column("reacts more", meaning=f"{EXPLAINED['auc']} In brackets: the 95 % interval."),
        *(b.Column(name, meaning=EXPLAINED[field]) for name, field in medians.items()),
        b.Column("blind", meaning=EXPLAINED["blind"]),
        b.Column("percentile", meaning=EXPLAINED["percentile"], optional=True),
        *([] if labels else [b.Column("layers", meaning=SEPARATING, optional=True)]),
        b.Column("percentile (harmless)", meaning=EXPLAINED["percentile_keeping"], optional=True),
        b.Column("texts", meaning=EXPLAINED["texts"], optional=True),
    ]
    rows = [
        [
            kind if at == 0 else "",
            model.name,
            _score(score.small),
            *(small(getattr(score, field)) for field in medians.values()),
            percent(score.blind),
            whole_percent(score.percentile, score.percentile_low, score.percentile_high),
            *([] if labels else [_layers(score.small)]),
            whole_percent(score.percentile_keeping),
            f"{score.small.texts:,}",
        ]
        for kind in audit.kinds
        for at, model in enumerate(audit.models)
        if (score := model.kind(kind)) is not None
        and score.small is not None
        and score.small.texts >= POINT
    ]
    table = b.Table(columns, rows, shown=500, on_page=500)
    few = b.soft(f"Kinds with fewer than {POINT} texts are left out.")
    title = "Against harmless edits, in numbers"
    return [b.Fold(title, [few, table], open=not labels)] if rows else []


def percent(share: float | None, *ends: float) -> str:
    """A share in percent, with its interval."""
    return whole_percent(None if share is None else 100 * share, *(100 * end for end in ends))


def _layers(score: LevelScore) -> str:
    """The first and the last layer that separates both kinds of edits."""
    if score.heard is None:
        return "none"
    return f"{score.heard}–{len(score.layers) - 1 if score.lost is None else score.lost - 1}"


def _spots(audit: Audit, model: ModelAudit) -> b.Fold:
    """Triples: a text, its change, and an edit that preserves the meaning and is further away."""

    def change(spot: BlindSpot) -> b.Cell:
        return (*_in_place(spot), b.Span(f"  {spot.kind}", "soft"))

    def keeping(spot: BlindSpot) -> b.Cell:
        return (spot.keeping_text, b.Span(f"  {spot.keeping}", "soft"))

    columns = [
        b.Column("the change", "prose", cell=change),
        b.Column("distance", cell=lambda spot: small(spot.change)),
        b.Column("the same meaning, further away", "prose", cell=keeping),
        b.Column("distance", cell=lambda spot: small(spot.keeping_change)),
        b.Column("ratio", cell=lambda spot: f"{spot.ratio:.1f}" if spot.ratio < 1000 else "≥ 1000"),
    ]
    closer = closer_sentence(model.closer_changes)
    counted = b.plain(f"{closer}{'; edits.csv has all' if audit.files else ''}:")
    table = b.table_of(model.blind_spots, columns, shown=SPOTS)
    return b.Fold(f"blind spots of {model.name}", [counted, table])


def _in_place(edit: Edit | BlindSpot) -> list[b.Inline]:
    return in_place(edit.text, edit.start, edit.before, edit.after)


def _ranks(audit: Audit) -> list[b.Block]:
    """How rankings of documents move, where a corpus of documents was searched."""
    rows = [
        [
            model.name,
            one.kind,
            ROLE_NAMES[one.role],
            f"{one.queries:,}",
            percent(one.stays, one.stays_low, one.stays_high),
            percent(one.first_stays),
            f"{one.first_rank:g}",
        ]
        for model in audit.models
        for one in model.retrieval
    ]
    if not rows:
        return []
    columns = [
        b.Column("model", "text"),
        b.Column("kind", "text"),
        b.Column("edit", "text"),
        b.Column("queries"),
        b.Column("top ten stays", meaning=EXPLAINED["stays"]),
        b.Column("first stays", meaning=EXPLAINED["first_stays"]),
        b.Column("rank after", meaning=EXPLAINED["first_rank"], optional=True),
    ]
    table = b.Table(columns, rows, shown=100)
    folds = [
        b.Fold(
            f"queries that find the same documents in {model.name} after a change of meaning",
            [_same(model)],
            open=False,
            terminal=False,
        )
        for model in audit.models
    ]
    return [b.Fold("How edits of a query change the ranks of documents", [table]), *folds]


def _same(model: ModelAudit) -> b.Table:
    """Queries whose top ten a change of meaning changes least, with their first document."""
    columns = [
        b.Column("query and its edit", "prose", cell=lambda move: _in_place(move.edit)),
        b.Column("top ten stays", cell=lambda move: percent(move.stays)),
        b.Column("first document", "prose", cell=lambda move: shortened(move.first, DOCUMENT)),
        b.Column("rank after", cell=lambda move: f"{move.first_rank:,}"),
    ]
    return b.table_of(same_answers(model.moves), columns)


def _examples(audit: Audit) -> b.Table:
    """A few edits of every kind."""
    found: dict[str, list[Edit]] = {}
    for text in audit.models[0].measured if audit.models else ():
        for edit in text.edits:
            found.setdefault(edit.kind, []).append(edit)
    names = LABEL_ROLES if audit.target == "logits" else ROLE_NAMES
    columns = [b.Column("kind", "text"), b.Column("", "text"), b.Column("edit", "prose")]
    rows = [
        (kind, names[edit.role], _in_place(edit))
        for kind, edits in found.items()
        for edit in edits[:EXAMPLES]
    ]
    return b.Table(columns, rows, on_page=500)


# Pictures


def _profiles(audit: Audit) -> list[Panel]:
    """The headline's score against depth, one panel per kind: a line per model with its band; of
    labels none, since layers are measured on embeddings.
    """
    panels: list[Panel] = []
    if audit.target == "logits":
        return panels
    for kind in audit.kinds:
        curves, half = [], ReferenceLine("", [0, 1], [0.5, 0.5], style="--")
        for colour, model in enumerate(audit.models):
            score = model.score(audit.level, kind)
            last = len(score.layers) - 1 if score else 0
            if score is None or not last:
                continue
            depth = [layer / last for layer in range(len(score.layers))]
            curves.append(band(model.name, depth, score.layers, colour=colour, marker=""))
        if not curves:
            continue
        panels.append(
            Panel(
                kind,
                curves,
                [half],
                ticks={0.0: "input", 1.0: "last layer"},
                x_label="",
                y_label=AXIS[audit.level],
                top=1.02,
            )
        )
    return panels


def _overlap(audit: Audit) -> list[b.Block]:
    """The score against how many more words the change has in common with the text."""
    curves = []
    for at, model in enumerate((*audit.models, *audit.baselines[:1])):
        bins = [one for one in model.overlap if one.texts >= POINT]
        if not bins:
            continue
        middle = [(one.least + one.most) / 2 for one in bins]
        ends = [(one.score, one.low, one.high) for one in bins]
        ours = model in audit.models
        look = {"colour": at if ours else GREY, "dashed": not ours}
        curves.append(band(model.name, middle, ends, **look))
    panel = Panel(
        "",
        curves,
        [ReferenceLine("", [-0.6, 0.8], [0.5, 0.5], style="--")],
        x_label="overlap of the change minus overlap of the rewording",
        y_label=AXIS["rewording"],
        top=1.02,
    )
    fold = b.Fold("The score and common words", [Chart([panel])], terminal=False)
    return [fold] if curves else []


def _picture(audit: Audit) -> Chart:
    """The scores with their intervals in one panel, and over the layers for every kind."""
    points = []
    lanes = len(audit.models) + bool(audit.baselines)
    for at, model in enumerate(audit.models):
        known = [
            (place + 0.6 * ((at + 0.5) / lanes - 0.5), score)
            for place, kind in enumerate(audit.kinds)
            if (score := model.score(audit.level, kind)) is not None
        ]
        points.append(
            PointSeries(
                shortened(model.name, 40),
                [score.score for _, score in known],
                [place for place, _ in known],
                at,
                low=[score.low for _, score in known],
                high=[score.high for _, score in known],
            )
        )
    ranges = [
        (place + 0.3 * (1 - 1 / lanes), [one.score for one in found if one is not None])
        for place, kind in enumerate(audit.kinds)
        if any(found := [model.score(audit.level, kind) for model in audit.baselines])
    ]
    if ranges:
        points.append(
            PointSeries(
                "baselines (minimum, mean, maximum)",
                [sum(scores) / len(scores) for _, scores in ranges],
                [place for place, _ in ranges],
                GREY,
                marker="|",
                low=[min(scores) for _, scores in ranges],
                high=[max(scores) for _, scores in ranges],
            )
        )
    scores = Panel(
        "",
        references=[ReferenceLine("", [0.5, 0.5], [-0.5, len(audit.kinds) - 0.5], style="--")],
        points=points,
        names=audit.kinds,
        x_label=f"share of comparisons: {AXIS[audit.level]}",
        right=1.02,
    )
    return Chart([scores, *_profiles(audit)], columns=4)
