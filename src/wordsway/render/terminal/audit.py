"""An audit for a person at a terminal: the league, every kind, the worst blind spots."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.auditing.result import EXPLAINED, Audit, ModelAudit
from wordsway.core.escape import one_line, shortened
from wordsway.core.format import format_seconds
from wordsway.render.numbers import small
from wordsway.render.terminal import panels
from wordsway.render.terminal.tables import Fitted, bar, explained, table
from wordsway.render.terminal.tables import TerminalColumn as Column
from wordsway.render.wording.audit import (
    COLUMNS,
    RANKS,
    REACTS,
    WHAT,
    among,
    change,
    few_texts,
    heading,
    interval,
    layers_short,
    percent,
    spot,
    verdict,
)

#: Blind spots that are shown per model, rows that were refused, and columns of a bar.
SPOTS, REFUSED, BARS = 3, 5, 12
#: Columns that are explained below the table.
SHOWN = (REACTS, "turning", "keeping", "blind")
ABOVE = EXPLAINED["percentile"]
LAYERS = "From the first to the last layer that tells turning from keeping edits (0: the input)."


@panels.register(Audit)
def audit_panel(audit: Audit) -> RenderableType:
    """The league, every kind in every model, and the worst blind spots."""
    return Fitted(lambda width, colours: _audit(audit, width))


def _audit(audit: Audit, width: int) -> RenderableType:
    parts: list[RenderableType] = [Text(one_line(heading(audit)), style="bold")]
    parts += [Text(WHAT, style="dim"), Text()]
    for model in audit.models:
        name = (shortened(one_line(model.name), 40), "bold")
        parts.append(Text.assemble(name, f": {one_line(verdict(model))}", overflow="fold"))
    parts.append(Text())
    if len(audit.models) > 1:
        parts += [_league(audit), Text()]
    columns = {name: COLUMNS[name] for name in SHOWN} | {"above": ABOVE, "layers": LAYERS}
    parts.append(_kinds(audit))
    if few := few_texts(audit):
        parts.append(Text(one_line(few), style="yellow"))
    parts += [explained(columns), Text()]
    for model in audit.models:
        parts += _spots(model, width)
    parts += _ranks(audit)
    parts += [Text(one_line(line), style="bold red") for line in audit.gate]
    parts += [Text(one_line(str(one)), style="yellow") for one in audit.refused[:REFUSED]]
    if len(audit.refused) > REFUSED:
        parts.append(Text(f"… and {len(audit.refused) - REFUSED:,} more rows refused"))
    unused = f" · {audit.unused:,} more sentences read" if audit.unused else ""
    about = f"{audit.draws} random words beside each edit · seed {audit.seed}"
    time = format_seconds(audit.seconds)
    return Group(*parts, Text(f"{about}{unused} · {time}", style="dim"))


def _league(audit: Audit) -> RenderableType:
    columns = (
        Column("model", "left", width=30),
        f"{REACTS} (mean)",
        Column("", "left", least=BARS),
    )
    rows = [
        (
            model.name,
            f"{model.mean_auc:.3f}",
            Text(bar(model.mean_auc, 1.0, BARS), style="dark_orange3"),
        )
        for model in audit.models
    ]
    return table(columns, rows)


def _kinds(audit: Audit) -> RenderableType:
    columns = (
        Column("kind", "left", width=12, least=12),
        Column("model", "left", width=14),
        Column(REACTS, least=17),
        Column("turning", least=7),
        Column("keeping", least=7),
        Column("blind", least=5),
        Column("above", least=5),
        Column("layers", "left", width=6, style="dim"),
    )
    rows = []
    for kind in audit.kinds:
        name = kind
        for model in audit.models:
            score = model.kind(kind)
            if score is not None:
                turning, keeping = small(score.median_turning), small(score.median_keeping)
                blind = percent(score.blind)
                about = (model.name, interval(score), turning, keeping, blind, among(score))
                rows.append((name, *about, layers_short(score)))
                name = ""
    return table(columns, rows)


def _spots(model: ModelAudit, width: int) -> list[RenderableType]:
    if not model.blind_spots:
        return []
    title = Text.assemble("blind spots of ", (shortened(model.name, 40), "bold"))
    parts: list[RenderableType] = [title]
    for found in model.blind_spots[:SPOTS]:
        edit = one_line(change(found.before, found.after))
        parts.append(Text(f"  {shortened(found.text, 2 * width)}", overflow="fold"))
        parts.append(Text.assemble("    ", (edit, "bold"), f" moves it by {one_line(spot(found))}"))
    return [*parts, Text()]


def _ranks(audit: Audit) -> list[RenderableType]:
    rows = [
        (
            model.name,
            one.kind,
            one.role,
            one.queries,
            f"{percent(one.stays)} ({100 * one.stays_low:.0f}–{100 * one.stays_high:.0f})",
            percent(one.first_stays),
        )
        for model in audit.models
        for one in model.retrieval
    ]
    if not rows:
        return []
    columns = (
        Column("model", "left", width=20),
        Column("kind", "left", width=14),
        Column("edit", "left", width=8),
        "queries",
        "top ten stays",
        "first stays",
    )
    said = {name: RANKS[name] for name in ("top ten stays", "first stays")}
    return [table(columns, rows), explained(said), Text()]
