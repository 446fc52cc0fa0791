"""An audit: the scores of every model, from layer to layer, and the worst blind spots."""

from __future__ import annotations

from collections.abc import Sequence

from wordsway.auditing.edits import RULES
from wordsway.auditing.edits.edit import Edit
from wordsway.auditing.result import EXPLAINED, REWORDING, Audit, ModelAudit
from wordsway.auditing.retrieval import same_answers
from wordsway.auditing.scores import FEW, BlindSpot, KindScore
from wordsway.core.chart import Chart, Curve, Panel, PointSeries, ReferenceLine
from wordsway.core.escape import shortened
from wordsway.core.format import format_seconds
from wordsway.render.blocks import (
    Block,
    Cell,
    Column,
    Fold,
    Inline,
    Span,
    Table,
    View,
    failure,
    headline,
    plain,
    soft,
    source,
    warning,
)
from wordsway.render.numbers import small
from wordsway.render.views.common import models_facts, provenance
from wordsway.render.views.pairs import marked_change

#: Blind spots per model, edits per kind, rows that were refused, and characters of a document.
SPOTS, EXAMPLES, REFUSED, DOCUMENT = 3, 5, 5, 160
#: The score's name at the head of a column.
REACTS = "reacts more"
AUC = f"{EXPLAINED['auc']} In brackets: the 95 % interval over texts."
BLIND = f"Blind: {EXPLAINED['blind']}"
WHAT = (
    "One word of a sentence is changed. Some edits turn its meaning (is → is not, 5 mg → 50 mg), "
    "others are harmless (film → movie, do not → don't). The score is how often the model reacts "
    "more to the first than to the second."
)
LINE = "Line: the score of every layer, from the input to the last one, with its 95 % band."
DOTTED = f"{LINE} Dotted: how sensitive the layer is to the word at all (local, below)."
TARGETS = {
    "cosine": "the cosine distance of the pooled embedding",
    "pooled": "the relative change of the pooled embedding",
    "logits": "the relative change of the logits",
    "next-token": "the distance ‖√p − √q‖ of next-token distributions",
}


def audit_view(audit: Audit) -> View:
    """The scores, a curve per kind, and the worst blind spots."""
    about = f"{audit.draws} random words beside each edit · seed {audit.seed}"
    unused = f" · {audit.unused:,} more sentences read" if audit.unused else ""
    chart = Chart(_profiles(audit), shared_key=True)
    layers: list[Block] = [soft(DOTTED if _local(audit) else LINE), chart]
    refused = [warning(str(one)) for one in audit.refused[:REFUSED]]
    if (more := len(audit.refused) - REFUSED) > 0:
        refused.append(warning(f"… and {more:,} more rows refused"))
    few = few_texts(audit)
    blocks: list[Block] = [
        headline(_heading(audit)),
        soft(WHAT),
        *(failure(line) for line in audit.gate),
        *(plain(Span(model.name, "bold"), f": {verdict(model)}") for model in audit.models),
        *([_leaderboard(audit)] if len(audit.models) > 1 else []),
        *([warning(few)] if few else []),
        _numbers(audit),
        Fold("Every kind, from layer to layer", layers, terminal=False),
        *(_spots(model) for model in audit.models if model.blind_spots),
        *_ranks(audit),
        Fold("edits that were used", [_examples(audit)], open=False, terminal=False),
        *refused,
        source(f"{about}{unused} · {format_seconds(audit.seconds)}"),
    ]
    facts = {"texts": f"{audit.texts:,} ({audit.data})", "random words": str(audit.draws)}
    facts |= models_facts([model.about for model in audit.models])
    return View(
        "Does the model react to the word that matters?",
        blocks,
        provenance(audit, facts),
        lambda: _picture(audit),
    )


def _heading(audit: Audit) -> str:
    """The number of texts and kinds, and the target."""
    kinds = len(audit.kinds)
    target = TARGETS.get(audit.target, f"the relative change of layer {audit.target}")
    return (
        f"{audit.texts:,} texts ({audit.data}), {kinds} {'kind' if kinds == 1 else 'kinds'} of "
        f"turning edits, by {target}"
    )


def verdict(model: ModelAudit) -> str:
    """A model's scores in one sentence; kinds of few texts are left out."""
    ordered = sorted(
        (score for score in model.kinds if score.texts >= FEW),
        key=lambda score: (-score.auc, score.kind),
    )
    if not ordered:
        return f"fewer than {FEW} texts of every kind, too few for a statement."
    best, worst = ordered[0], ordered[-1]
    mean = round(100 * sum(score.auc for score in ordered) / len(ordered))
    said = f"reacts more than to a harmless edit in {mean} of 100 comparisons"
    if len(ordered) == 1:
        return f"{said} ({best.kind}{_doubt(best)}). {REWORDING}"
    said = f"{said} (mean of {len(ordered)} kinds)."
    if f"{best.auc:.2f}" != f"{worst.auc:.2f}":
        said += (
            f" Most often: {best.kind} ({best.auc:.2f}); least often: "
            f"{worst.kind} ({worst.auc:.2f}{_doubt(worst)})."
        )
    return f"{said} {REWORDING}"


def _doubt(score: KindScore) -> str:
    if score.high < 0.5:
        return ", less than by chance"
    return ", which may be chance" if score.low <= 0.5 else ""


def few_texts(audit: Audit) -> str:
    """Kinds with too few texts for informative intervals; "" if none."""
    counts = {score.kind: score.texts for model in audit.models for score in model.kinds}
    few = [f"{kind} ({count})" for kind, count in counts.items() if count < FEW]
    if not few:
        return ""
    return f"Fewer than {FEW} texts, left out of the sentence above: {', '.join(few)}."


# Tables


def _score(score: KindScore | None) -> Cell:
    """The score with its interval: orange above one half, blue below."""
    if score is None:
        return "–"
    shown = f"{score.auc:.3f} ({score.low:.2f}–{score.high:.2f})"
    return Span(shown, shade=max(-1.0, min(1.0, 2 * score.auc - 1)))


def _leaderboard(audit: Audit) -> Table:
    rows: list[Sequence[Cell]] = [
        [_kind(audit, kind), *(_score(model.kind(kind)) for model in audit.models)]
        for kind in audit.kinds
    ]
    rows.append(
        [Span("mean", "bold"), *(Span(f"{one.mean_auc:.3f}", "bold") for one in audit.models)]
    )
    models = [Column(shortened(model.name, 28), optional=True) for model in audit.models]
    return Table([Column("kind", "text"), *models], rows, "Leaderboard", shown=100)


def _kind(audit: Audit, kind: str) -> Cell:
    """A kind with an edit of it that was used."""
    edits = (e for model in audit.models for text in model.measured for e in text.edits)
    example = next((edit for edit in edits if edit.kind == kind), None)
    if example is None:
        return kind
    return (kind, "  ", *marked_change(example.before.strip(), example.after.strip()))


def _numbers(audit: Audit) -> Table:
    columns = [
        Column("kind", "text"),
        Column("model", "text"),
        Column(REACTS, meaning=AUC),
        Column("turning", meaning=EXPLAINED["median_turning"]),
        Column("keeping", meaning=EXPLAINED["median_keeping"]),
        Column("blind", meaning=EXPLAINED["blind"]),
        Column("above", meaning=EXPLAINED["percentile"], optional=True),
        Column(
            "layers",
            meaning="From the first to the last layer that separates turning from keeping edits "
            "(0: the input).",
            optional=True,
        ),
        Column("above, keeping", meaning=EXPLAINED["percentile_keeping"], optional=True),
        Column("texts", meaning=EXPLAINED["texts"], optional=True),
    ]
    columns += [Column("local", meaning=EXPLAINED["local"], optional=True)] * _local(audit)
    rows = [
        [
            kind if at == 0 else "",
            model.name,
            _score(score),
            small(score.median_turning),
            small(score.median_keeping),
            percent(score.blind),
            _above(score),
            _layers(score),
            _share(score.percentile_keeping),
            f"{score.texts:,}",
            *([_sensitive(model, kind)] if _local(audit) else []),
        ]
        for kind in audit.kinds
        for at, model in enumerate(audit.models)
        if (score := model.kind(kind)) is not None
    ]
    return Table(columns, rows, "In numbers", shown=500, on_page=500)


def percent(share: float | None) -> str:
    """A share, 0 to 1, in percent."""
    return "–" if share is None else f"{100 * share:.0f} %"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f} %"


def _above(score: KindScore) -> str:
    """The mean percentile of turning edits, with its interval."""
    if score.percentile is None or score.percentile_low is None or score.percentile_high is None:
        return "–"
    ends = f"{score.percentile_low:.0f}–{score.percentile_high:.0f}"
    return f"{score.percentile:.0f} % ({ends})"


def _layers(score: KindScore) -> str:
    """The first and the last layer that separates turning from keeping edits."""
    if score.heard is None:
        return "none"
    return f"{score.heard}–{len(score.layers) - 1 if score.lost is None else score.lost - 1}"


def _local(audit: Audit) -> bool:
    return any(model.local for model in audit.models)


def _sensitive(model: ModelAudit, kind: str) -> str:
    """The place of the edited word among the others of its text, in the last layer."""
    found = model.local.get(kind)
    return f"{found[-1].share:.2f} ({found[-1].low:.2f}–{found[-1].high:.2f})" if found else "–"


def _spots(model: ModelAudit) -> Fold:
    """The edits that turn the meaning and move the model less than one that keeps it."""
    columns = [
        Column("turning edit", "prose"),
        Column("moves it"),
        Column("keeping edit of the same text", "prose"),
        Column("moves it"),
        Column("times further"),
    ]
    rows = [
        (
            (*_in_place(_edit(found)), Span(f"  {found.kind}", "soft")),
            small(found.change),
            (
                *marked_change(found.keeping_before.strip(), found.keeping_after.strip()),
                Span(f"  {found.keeping}", "soft"),
            ),
            small(found.keeping_change),
            f"{found.ratio:.1f}" if found.ratio < 1000 else "≥ 1000",
        )
        for found in model.blind_spots
    ]
    return Fold(f"blind spots of {model.name}", [Table(columns, rows, shown=SPOTS)])


def _edit(found: BlindSpot) -> Edit:
    return Edit(found.text, found.start, found.before, found.after, found.kind, "turning")


def _in_place(edit: Edit) -> list[Inline]:
    """A text with its edit in place."""
    after = edit.text[edit.end :]
    space = " " if after[:1].isalnum() else ""
    change = marked_change(edit.before.strip(), edit.after.strip())
    return [edit.text[: edit.start], *change, space + after]


def _ranks(audit: Audit) -> list[Block]:
    """How rankings of documents move, where a corpus of documents was searched."""
    rows = [
        [
            model.name,
            one.kind,
            one.role,
            f"{one.queries:,}",
            f"{percent(one.stays)} ({100 * one.stays_low:.0f}–{100 * one.stays_high:.0f})",
            percent(one.first_stays),
            f"{one.first_rank:g}",
        ]
        for model in audit.models
        for one in model.retrieval
    ]
    if not rows:
        return []
    columns = [
        Column("model", "text"),
        Column("kind", "text"),
        Column("edit", "text"),
        Column("queries"),
        Column("top ten stays", meaning=EXPLAINED["stays"]),
        Column("first stays", meaning=EXPLAINED["first_stays"]),
        Column("its rank then", meaning=EXPLAINED["first_rank"], optional=True),
    ]
    table = Table(columns, rows, shown=100)
    folds = [
        Fold(
            f"turned queries that find the same documents in {model.name}",
            [_same(model)],
            open=False,
            terminal=False,
        )
        for model in audit.models
    ]
    return [Fold("how the ranks of documents move", [table]), *folds]


def _same(model: ModelAudit) -> Table:
    """Turned queries whose top ten stays most, with the document that came first."""
    columns = [
        Column("query, and its turned twin", "prose"),
        Column("top ten stays"),
        Column("first document", "prose"),
        Column("its rank then"),
    ]
    rows = [
        (
            _in_place(move.edit),
            percent(move.stays),
            shortened(move.first, DOCUMENT),
            f"{move.first_rank:,}",
        )
        for move in same_answers(model.moves)
    ]
    return Table(columns, rows)


def _examples(audit: Audit) -> Table:
    """A few edits of every kind, turning and keeping."""
    found: dict[str, list[Edit]] = {}
    for text in audit.models[0].measured if audit.models else ():
        for edit in text.edits:
            found.setdefault(edit.kind, []).append(edit)
    columns = [Column("kind", "text"), Column("", "text"), Column("edit", "prose")]
    rows = [
        (kind, edit.role, _in_place(edit))
        for kind, edits in found.items()
        for edit in edits[:EXAMPLES]
    ]
    return Table(columns, rows, on_page=500)


# Pictures


def _profiles(audit: Audit) -> list[Panel]:
    """The score against depth, one panel per kind: a line per model with its band."""
    panels = []
    for kind in audit.kinds:
        curves, references = [], [ReferenceLine("", [0, 1], [0.5, 0.5], style="--")]
        for colour, model in enumerate(audit.models):
            score = model.kind(kind)
            if score is None:
                continue
            last = max(1, len(score.layers) - 1)
            curves.append(
                Curve(
                    shortened(model.name, 40),
                    [layer / last for layer in range(len(score.layers))],
                    [one.auc for one in score.layers],
                    lower=[one.low for one in score.layers],
                    upper=[one.high for one in score.layers],
                    colour=colour,
                    marker="",
                )
            )
            local = model.local.get(kind, ())
            x = [one.layer / last for one in local]
            references.append(ReferenceLine("", x, [one.share for one in local], colour))
        about = RULES[kind].about if kind in RULES else "your own pairs"
        panels.append(
            Panel(
                f"{kind}: {about}",
                curves,
                references,
                ticks={0.0: "input", 1.0: "last layer"},
                x_label="",
                y_label=REACTS,
                top=1.02,
            )
        )
    return panels


def _picture(audit: Audit) -> Chart:
    """The scores with their intervals in one panel, and over the layers for every kind."""
    points = []
    count = len(audit.models)
    for at, model in enumerate(audit.models):
        known = [
            (place + 0.6 * ((at + 0.5) / count - 0.5), score)
            for place, kind in enumerate(audit.kinds)
            if (score := model.kind(kind)) is not None
        ]
        points.append(
            PointSeries(
                shortened(model.name, 40),
                [score.auc for _, score in known],
                [place for place, _ in known],
                at,
                low=[score.low for _, score in known],
                high=[score.high for _, score in known],
            )
        )
    scores = Panel(
        "",
        references=[ReferenceLine("", [0.5, 0.5], [-0.5, len(audit.kinds) - 0.5], style="--")],
        points=points,
        names=audit.kinds,
        x_label="reacts more than to a harmless edit of the same text (a rewording is another "
        "question)",
        right=1.02,
    )
    return Chart([scores, *_profiles(audit)], columns=4)
