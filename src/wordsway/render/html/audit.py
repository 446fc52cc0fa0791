"""An audit as HTML: the league, a picture per kind, the worst blind spots, the edits used."""

from __future__ import annotations

from wordsway.auditing.edits import RULES
from wordsway.auditing.edits.edit import Edit
from wordsway.auditing.result import Audit, ModelAudit
from wordsway.auditing.retrieval import same_answers
from wordsway.auditing.scores import BlindSpot
from wordsway.core.escape import html_line, html_name, shortened
from wordsway.core.format import format_seconds
from wordsway.render.html import elements, fragments, pages
from wordsway.render.html.audit_chart import colour, profile_chart
from wordsway.render.html.blocks import inline_html
from wordsway.render.html.page import page_around
from wordsway.render.numbers import small
from wordsway.render.views.pairs import marked_change, models_facts
from wordsway.render.views.provenance import provenance
from wordsway.render.wording.audit import (
    COLUMNS,
    RANKS,
    REACTS,
    WHAT,
    above,
    few_texts,
    heading,
    interval,
    layers,
    listening,
    percent,
    verdict,
)

#: Edits of each kind that are shown as examples, refused rows, and characters of a document.
EXAMPLES, REFUSED, DOCUMENT = 5, 50, 160
LINE = (
    "Line: the score by what each layer says, from the input to the last layer, with its 95 % band."
)
DOTTED = f"{LINE} Dotted: how much the layer listens to the word at all (local, below)."


@fragments.register(Audit)
def audit_fragment(audit: Audit) -> str:
    """The league, a picture per kind, and the worst blind spots."""
    parts = [elements.soft(WHAT), elements.heading(f"<b>{html_line(heading(audit))}</b>")]
    parts += [*_gate(audit), *_verdicts(audit)]
    parts += [
        elements.heading("<b>League</b>"),
        _league(audit),
        elements.explained({REACTS: COLUMNS[REACTS]}),
    ]
    if few := few_texts(audit):
        parts.append(elements.soft(few))
    parts += [elements.heading("<b>Every kind, from layer to layer</b>"), _key(audit)]
    heard = any(model.local for model in audit.models)
    parts += [elements.soft(DOTTED if heard else LINE), _pictures(audit)]
    parts += [elements.heading("<b>In numbers</b>"), _details(audit)]
    others = {name: said for name, said in COLUMNS.items() if name != REACTS}
    parts.append(elements.explained(others))
    for model in audit.models:
        if model.blind_spots:
            title = f"blind spots of <b>{html_name(model.name)}</b>"
            parts.append(elements.folded(title, _spots(model)))
    parts += _ranks(audit)
    parts.append(elements.folded("edits that were used", _examples(audit)))
    parts += [elements.soft(str(one)) for one in audit.refused[:REFUSED]]
    about = f"{audit.draws} random words beside each edit · seed {audit.seed}"
    return elements.frame([*parts, elements.source(f"{about} · {format_seconds(audit.seconds)}")])


@pages.register(Audit)
def audit_page(audit: Audit) -> str:
    more = {"texts": f"{audit.texts:,} ({audit.data})", "random words": str(audit.draws)}
    facts = provenance(audit, more | models_facts([model.about for model in audit.models]))
    title = "Does the model react to the word that matters?"
    return page_around(title, audit_fragment(audit), facts, audit.to_dict())


def _gate(audit: Audit) -> list[str]:
    look = "color:#b3401b;font-weight:600"
    return [f'<div style="{look}">{html_line(line)}</div>' for line in audit.gate]


def _verdicts(audit: Audit) -> list[str]:
    return [
        elements.paragraph(f"<b>{html_name(model.name)}</b>: {html_line(verdict(model))}")
        for model in audit.models
    ]


def _league(audit: Audit) -> str:
    heads = [("kind", f"{elements.LEFT};min-width:15em")]
    heads += [(html_name(model.name), elements.RIGHT) for model in audit.models]
    rows = [
        (_named(audit, kind), *(_cell(model, kind) for model in audit.models))
        for kind in audit.kinds
    ]
    means = (f"<b>{model.mean_auc:.3f}</b>" for model in audit.models)
    rows.append(("<b>mean</b>", *means))
    return elements.table(heads, rows)


def _named(audit: Audit, kind: str) -> str:
    """A kind with an edit of it that was used."""
    edits = (e for model in audit.models for text in model.measured for e in text.edits)
    example = next((edit for edit in edits if edit.kind == kind), None)
    shown = (
        ""
        if example is None
        else inline_html(*marked_change(example.before.strip(), example.after.strip()))
    )
    return f'{html_line(kind)} <span style="{elements.SOFT};margin-left:.6em">{shown}</span>'


def _cell(model: ModelAudit, kind: str) -> str:
    """The score on a ground that is orange above one half and blue below."""
    score = model.kind(kind)
    if score is None:
        return "–"
    part = min(1.0, abs(score.auc - 0.5) * 2)
    ground = elements.tint(part, elements.HEAT if score.auc >= 0.5 else elements.COLD)
    return f'<span style="{ground};padding:.1em .4em;border-radius:.25em">{interval(score)}</span>'


def _key(audit: Audit) -> str:
    """The colours of the models."""
    marks = []
    for at, model in enumerate(audit.models):
        dot = f'<span style="color:{colour(at)};font-size:1.3em">●</span>'
        marks.append(f'<span style="margin-right:1.2em">{dot} {html_name(model.name)}</span>')
    return elements.paragraph("".join(marks))


def _pictures(audit: Audit) -> str:
    """The score over the layers, a picture per kind."""
    pictures = []
    for kind in audit.kinds:
        found = [(at, model.kind(kind)) for at, model in enumerate(audit.models)]
        profiles = [
            (at, score.layers, audit.models[at].local.get(kind, ()))
            for at, score in found
            if score is not None
        ]
        about = RULES[kind].about if kind in RULES else "your own pairs"
        caption = f"<b>{html_line(kind)}</b><br>{html_line(about)}"
        look = "font-size:.9em;min-height:3.2em"
        pictures.append(
            f'<div style="flex:0 1 300px"><div style="{look}">{caption}</div>'
            f"{profile_chart(profiles)}</div>"
        )
    look = "display:flex;flex-wrap:wrap;gap:1.2em 1.6em;margin:.6em 0"
    return f'<div style="{look}">{"".join(pictures)}</div>'


def _details(audit: Audit) -> str:
    whole = "white-space:nowrap"
    heads = (
        ("kind", elements.WORD),
        ("model", elements.WORD),
        ("texts", elements.RIGHT),
        ("turning", elements.RIGHT),
        ("keeping", elements.RIGHT),
        ("blind", elements.RIGHT),
        ("above", f"{elements.RIGHT};{whole}"),
        ("heard", f"{elements.LEFT};{whole}"),
        ("local", f"{elements.RIGHT};{whole}"),
    )
    rows = []
    for kind in audit.kinds:
        for model in audit.models:
            score = model.kind(kind)
            if score is not None:
                rows.append(
                    (
                        html_line(kind),
                        html_name(model.name),
                        f"{score.texts:,}",
                        small(score.median_turning),
                        small(score.median_keeping),
                        percent(score.blind),
                        above(score),
                        layers(score),
                        listening(model, kind),
                    )
                )
    return elements.table(heads, rows)


def _spots(model: ModelAudit) -> str:
    heads = (
        ("turning edit", elements.LEFT),
        ("moves it", elements.RIGHT),
        ("keeping edit of the same text", elements.LEFT),
        ("moves it", elements.RIGHT),
        ("times further", elements.RIGHT),
    )
    rows = [
        (
            f'{_in_place(found)} <span style="{elements.SOFT}">{html_line(found.kind)}</span>',
            small(found.change),
            inline_html(*marked_change(found.keeping_before.strip(), found.keeping_after.strip())),
            small(found.keeping_change),
            f"{found.ratio:.1f}" if found.ratio < 1000 else "≥ 1000",
        )
        for found in model.blind_spots
    ]
    return elements.table(heads, rows)


def _in_place(found: BlindSpot) -> str:
    edit = Edit(found.text, found.start, found.before, found.after, found.kind, "turning")
    return edited(edit)


def edited(edit: Edit) -> str:
    """A text with its edit in place, as HTML."""
    before, behind = edit.text[: edit.start], edit.text[edit.end :]
    space = " " if behind[:1].isalnum() else ""
    change = inline_html(*marked_change(edit.before.strip(), edit.after.strip()))
    return f"{html_line(before)}{change}{space}{html_line(behind)}"


def _ranks(audit: Audit) -> list[str]:
    rows = [
        (
            html_name(model.name),
            html_line(one.kind),
            html_line(one.role),
            f"{one.queries:,}",
            f"{percent(one.stays)} ({100 * one.stays_low:.0f}–{100 * one.stays_high:.0f})",
            percent(one.first_stays),
            f"{one.first_rank:g}",
        )
        for model in audit.models
        for one in model.retrieval
    ]
    if not rows:
        return []
    heads = (
        ("model", elements.WORD),
        ("kind", elements.WORD),
        ("edit", elements.WORD),
        ("queries", elements.RIGHT),
        ("top ten stays", elements.RIGHT),
        ("first stays", elements.RIGHT),
        ("its rank then", elements.RIGHT),
    )
    body = elements.table(heads, rows) + elements.explained(RANKS)
    parts = [elements.folded("how the ranks of documents move", body)]
    for model in audit.models:
        title = f"turned queries that find the same documents in <b>{html_name(model.name)}</b>"
        parts.append(elements.folded(title, _same(model), opened=False))
    return parts


def _same(model: ModelAudit) -> str:
    """Turned queries whose top ten stays most, with the document that came first."""
    heads = (
        ("query, and its turned twin", elements.LEFT),
        ("top ten stays", elements.RIGHT),
        ("first document", elements.LEFT),
        ("its rank then", elements.RIGHT),
    )
    rows = [
        (
            edited(move.edit),
            percent(move.stays),
            html_line(shortened(move.first, DOCUMENT)),
            f"{move.first_rank:,}",
        )
        for move in same_answers(model.moves)
    ]
    return elements.table(heads, rows)


def _examples(audit: Audit) -> str:
    """A few edits of every kind, turning and keeping."""
    found: dict[str, list[Edit]] = {}
    for text in audit.models[0].measured if audit.models else ():
        for edit in text.edits:
            found.setdefault(edit.kind, []).append(edit)
    heads = (("kind", elements.LEFT), ("", elements.LEFT), ("edit", elements.LEFT))
    rows = [
        (html_line(kind), html_line(edit.role), edited(edit))
        for kind, edits in found.items()
        for edit in edits[:EXAMPLES]
    ]
    return elements.table(heads, rows)
