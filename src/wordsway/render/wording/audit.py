"""What every medium says of an audit."""

from __future__ import annotations

from wordsway.auditing.result import EXPLAINED, REWORDING, Audit, ModelAudit
from wordsway.auditing.scores import FEW, BlindSpot, KindScore
from wordsway.render.numbers import small

AUC = f"{EXPLAINED['auc']} In brackets: the 95 % interval over texts."
#: The score's name at the head of a column.
REACTS = "reacts more"
BLIND = f"Blind: {EXPLAINED['blind']}"
#: Every column of the tables, with the sentence that explains it.
COLUMNS = {
    REACTS: AUC,
    "turning": EXPLAINED["median_turning"],
    "keeping": EXPLAINED["median_keeping"],
    "blind": EXPLAINED["blind"],
    "above": f"{EXPLAINED['percentile']} Behind the stroke: that of the keeping edits.",
    "heard": f"{EXPLAINED['heard']} Lost: {EXPLAINED['lost'][0].lower()}{EXPLAINED['lost'][1:]}",
    "local": EXPLAINED["local"],
}
RANKS = {
    "top ten stays": EXPLAINED["stays"],
    "first stays": EXPLAINED["first_stays"],
    "its rank then": EXPLAINED["first_rank"],
}
WHAT = (
    "One word of a sentence is changed. Some edits turn its meaning (is → is not, 5 mg → 50 mg), "
    "others are harmless (film → movie, do not → don't). The score is how often the model reacts "
    "more to the first than to the second."
)


def heading(audit: Audit) -> str:
    """What was asked, of how many texts."""
    kinds = len(audit.kinds)
    return (
        f"{audit.texts:,} texts ({audit.data}), {kinds} {'kind' if kinds == 1 else 'kinds'} of "
        f"turning edits, by {target(audit)}"
    )


def target(audit: Audit) -> str:
    """The target in words."""
    named = {
        "cosine": "the cosine distance of the pooled embedding",
        "pooled": "the relative change of the pooled embedding",
        "logits": "the relative change of the logits",
        "next-token": "the divergence of the next token (nats)",
    }
    return named.get(audit.target, f"the cosine distance of layer {audit.target}")


def verdict(model: ModelAudit) -> str:
    """What a model's scores say, in plain words; kinds of few texts are left out."""
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


def few_texts(audit: Audit) -> str:
    """Kinds of which there are too few texts for their intervals to say much; "" if none."""
    counts = {score.kind: score.texts for model in audit.models for score in model.kinds}
    few = [f"{kind} ({count})" for kind, count in counts.items() if count < FEW]
    if not few:
        return ""
    return f"Fewer than {FEW} texts, left out of the sentence above: {', '.join(few)}."


def _doubt(score: KindScore) -> str:
    if score.high < 0.5:
        return ", less than by chance"
    return ", which may be chance" if score.low <= 0.5 else ""


def interval(score: KindScore | None) -> str:
    """The score and its interval."""
    if score is None:
        return "–"
    return f"{score.auc:.3f} ({score.low:.2f}–{score.high:.2f})"


def percent(share: float | None) -> str:
    """A share, 0 to 1, in percent."""
    return "–" if share is None else f"{100 * share:.0f} %"


def above(score: KindScore) -> str:
    """Mean percentiles: of turning edits with the interval, and of keeping ones."""
    if score.percentile is None or score.percentile_keeping is None:
        return "–"
    between = f"({score.percentile_low:.0f}–{score.percentile_high:.0f})"
    return f"{score.percentile:.0f} {between} / {score.percentile_keeping:.0f} %"


def among(score: KindScore) -> str:
    """The mean percentile of turning edits, for a narrow column."""
    return "–" if score.percentile is None else f"{score.percentile:.0f} %"


def listening(model: ModelAudit, kind: str) -> str:
    """Where the edited word stands among the others of its text, in the last layer."""
    found = model.local.get(kind)
    return f"{found[-1].share:.2f} ({found[-1].low:.2f}–{found[-1].high:.2f})" if found else "–"


def layers(score: KindScore) -> str:
    """Where a kind is heard, and where it is lost."""
    if score.heard is None:
        return "not heard"
    lost = "" if score.lost is None else f", lost in {score.lost}"
    return f"from layer {score.heard}{lost}"


def layers_short(score: KindScore) -> str:
    """The same for a narrow column: the first layer that hears, to the last."""
    if score.heard is None:
        return "no"
    return f"{score.heard}–{len(score.layers) - 1 if score.lost is None else score.lost - 1}"


def spot(found: BlindSpot) -> str:
    """What a blind spot is, in numbers."""
    return (
        f"{small(found.change)}, while “{change(found.keeping_before, found.keeping_after)}” "
        f"({found.keeping}) moves it by {small(found.keeping_change)}"
    )


def change(before: str, after: str) -> str:
    """
    >>> change("good", "bad"), change("", "not "), change("not ", "")
    ('good → bad', '+ not', '− not')
    """
    gone, come = before.strip(), after.strip()
    if gone and come:
        return f"{gone} → {come}"
    return f"+ {come}" if come else f"− {gone}"
