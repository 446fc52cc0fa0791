"""How far one word moves models as texts grow: curves, laws, and layers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from wordsway.auditing.result import MORE_TEXTS
from wordsway.auditing.scores import FEW
from wordsway.core.chart import Chart, Curve, Panel, ReferenceLine
from wordsway.core.escape import shortened
from wordsway.core.format import count, format_seconds
from wordsway.core.laws import Laws
from wordsway.lengths.result import Length, LengthCurve, LengthPoint, ModelLength
from wordsway.lengths.windows import LIGHT, MIXED, ROLES, YOURS
from wordsway.render import blocks as b
from wordsway.render.numbers import number, percent
from wordsway.render.views.common import band, provenance

#: Read-outs that are drawn over layers, in tables and pictures that only the page shows.
DRAWN = ("rows", "mean", "last")
MEANINGS = {
    "change": "‖v′ − v‖/‖v‖ of the output: how far the edit moves it, relative to its size. Means "
    "are geometric; intervals are 95 % over texts.",
    "word": "The word alone: the same between two texts of equal length, with the word and with a "
    "random word in its place. An inserted or removed word also shifts all later positions, and "
    "some models respond to that shift at any length.",
    "reworded": "A rewording with the same meaning (light: of a few words, heavy: of most words; "
    "yours, heavy: your rewording of most words, in texts where another edit is nearer in size to "
    "the change and is the one called reworded).",
    "random": "A random real word in the place of the change.",
    "law": "power: n^e. floor: n^e plus a constant, which is the larger part from the n in the "
    "column “floor from n” on. logarithm: linear in log n. best: the law that predicts held-out "
    "texts better than the others with 95 % confidence; otherwise –.",
    "invisible": "The share of changed texts whose cosine with the original is above 1 − level.",
    "discrimination": "The share of texts that the change of meaning moves farther than a "
    "rewording does. 0.5 is chance. A rewording that replaces more words than the change moves "
    "most models farther for that reason alone. A change that shifts positions (negation) has an "
    "advantage over a rewording that does not; antonyms have none.",
    "rows": "The root mean square of the relative changes of the other words' rows.",
    "mean": "The relative change of the mean of all rows, which most embeddings are.",
    "last": "The relative change of the last row, from which a decoder predicts.",
}
NOT_SHORT = "On these texts, no measured length is short enough."
SHIFTED = (
    " The floor is the response to shifted positions, not to the word: the change by the word "
    "alone keeps falling."
)


def length_view(found: Length) -> b.ResultView:
    """A sentence per model, tables of curves and laws, layers, and the picture."""
    blocks: list[b.Block] = [
        b.headline(f"How long can a text be before one word is invisible? {_subject(found)}")
    ]
    blocks.append(b.plain(_measured(found)))
    blocks += [b.plain(sentence) for model in found.models for sentence in said(model, found)]
    if (fewest := min(model.curve().texts for model in found.models)) < FEW:
        blocks.append(b.warning(f"{count(fewest, 'text')}: {MORE_TEXTS}"))
    blocks.append(_invisible(found))
    blocks += [
        b.soft(f"{one.name}, the word alone: {fall(one.curve('word'))}") for one in found.baselines
    ]
    blocks.append(_curves(found))
    if any(model.discrimination for model in found.models):
        blocks.append(_discrimination(found))
        blocks += [b.soft(_overlaps(found))] if found.overlaps else []
    blocks.append(b.Fold("Laws", [_laws(found)], open=False))
    for model in found.models:
        if model.layers:
            read_outs = b.Explanation({one: MEANINGS[one] for one in DRAWN})
            inside: list[b.Block] = [_layers(model), read_outs]
            blocks.append(b.Fold(f"Layers of {model.name}", inside, open=False, terminal=False))
    blocks.append(picture(found))
    blocks.append(b.Explanation({name: one for name, one in MEANINGS.items() if name not in DRAWN}))
    if found.too_long:
        blocks.append(b.soft(f"too long for a model and left out: {count(found.too_long, 'text')}"))
    blocks += [b.warning(f"{name}: {reason}") for name, reason in found.failed[:5]]
    if found.interrupted:
        blocks.append(b.warning("interrupted: run the same command again to resume"))
    where = "" if found.place == "own" else f" · sentence at the {found.place}"
    about = f"target {found.target}{where} · seed {found.seed} · {format_seconds(found.seconds)}"
    facts = {
        "windows": ", ".join(map(str, found.windows)) + " sentences",
        "level": f"cosine distance {found.level:g}",
    }
    facts |= {f"model {model.name}": model.sha256 for model in found.models if model.sha256}
    return b.ResultView(
        "How long can a text be before one word is invisible?",
        [*blocks, b.source(about)],
        provenance(found, facts),
        lambda: picture(found),
    )


def _subject(found: Length) -> str:
    """What was changed in which texts, and what surrounds it."""
    given = found.rewording in (YOURS, MIXED)
    around = {
        "own": "inside their own documents",
        "filler": f"surrounded by other {'rows of the file' if given else 'texts of the data'}",
    }.get(found.host, f"surrounded by sentences of {PurePath(found.host).name}")
    return (
        f"{_kinds(found)} in {count(found.texts, 'text')} of {PurePath(found.data).name}, {around}"
    )


def _kinds(found: Length) -> str:
    return ", ".join("your changes" if kind == "own" else kind for kind in found.kinds)


def _measured(found: Length) -> str:
    """The kinds of changes with their numbers of texts, and the unit of lengths."""
    kinds = Counter(text.kind for text in found.models[0].measured)
    changes = ", ".join(
        f"{'your changes' if kind == 'own' else kind} ({count(texts, 'text')})"
        for kind, texts in kinds.items()
    )
    mixed = ""
    if len({model.unit for model in found.models}) > 1:
        mixed = " Lengths and exponents of models with different units are not comparable."
    return f"Kinds of changes: {changes}. Unit of length: {_units(found)}.{mixed}"


def _units(found: Length) -> str:
    return " or ".join(dict.fromkeys(model.unit for model in found.models))


def _edit(found: Length, role: str) -> str:
    """The role of an edit in tables, short enough for narrow ones."""
    light, heavy = ("light", "heavy") if found.rewording == LIGHT else ("reworded", "yours, heavy")
    return {"rewording": light, "heavy rewording": heavy}.get(role, role)


def _overlaps(found: Length) -> str:
    """The median word overlap of the change and of the rewordings with the text."""
    roles = [role for role in ROLES if role != "random" and role in found.overlaps]
    rules = " (in some texts an edit by a rule, nearer in size to the change)"
    named = {"rewording": found.rewording + rules * (found.rewording == MIXED)}
    named |= (
        {}
        if found.rewording == LIGHT
        else {"heavy rewording": "your heavy rewording in those texts"}
    )
    shares = ", ".join(f"{named.get(role, role)} {found.overlaps[role]:.2f}" for role in roles)
    return f"Median word overlap with the sentence: {shares}"


def said(model: ModelLength, found: Length) -> list[str]:
    """When half of the changes are invisible, then how far they move the model."""
    change, word = model.curve(), model.curve("word")
    # Most changes shift positions, and the word alone has no floor.
    floor = change.laws.best == "floor" and word.laws.best != "floor"
    shifted = SHIFTED if floor and found.moves_positions > 0.5 else ""
    return [
        f"{model.name}: {_visibility(change, found.level)}",
        f"  The word alone: {_ends(word)}: {fall(word)}.",
        f"  The whole change: {_ends(change)}: {fall(change)}.{shifted}",
    ]


def _ends(curve: LengthCurve) -> str:
    first, last = curve.points[0], curve.points[-1]
    return (
        f"{_change(first)} in texts of {first.tokens:.0f} {curve.unit}, {_change(last)} at "
        f"{last.tokens:.0f}"
    )


def _change(point: LengthPoint) -> str:
    ends = f" [{number(point.low)}, {number(point.high)}]"
    return number(point.change) + ("" if math.isnan(point.low) else ends)


def fall(curve: LengthCurve) -> str:
    """The law of a curve, in words."""
    if curve.laws.best == "floor":
        law = curve.laws["floor"]
        level = number(float(law.at([1e9])[0]))
        return (
            f"it falls towards a floor of {level}, more than half of the change from about "
            f"{law.begins:.0f} {curve.unit} on"
        )
    if curve.laws.best == "logarithm":
        return "it falls with log n"
    preferred = "" if curve.laws.best else " (no law is preferred)"
    return f"it falls like n^{curve.laws['power'].exponent:.2f}{preferred}"


def _visibility(curve: LengthCurve, level: float) -> str:
    above = f"a cosine above {1 - level:g} with the original"
    claim, tokens = curve.invisible.claim, curve.invisible.tokens
    short = "" if any(one.below < 0.5 for one in curve.points) else f" {NOT_SHORT}"
    if claim == "always":
        return f"at least half of the changed texts have {above} at every length.{short}"
    if claim == "never":
        last = f"{curve.points[-1].tokens:.0f} {curve.unit}"
        return f"fewer than half of the changed texts have {above} up to {last}."
    if claim == "from" and tokens is not None:
        half = f"at least half of the changed texts have {above} from {tokens:.0f} {curve.unit} on"
        return f"{half}; {_around_half(curve)}."
    interval = (
        " The 95 % interval of the length from which half of them do reaches beyond the measured "
        "lengths."
    )
    shares = f"changed texts with {above}: {_around_half(curve)}."
    return shares + (short or (interval if curve.texts >= FEW else ""))


def _around_half(curve: LengthCurve) -> str:
    """The share of invisible changes, with its 95 % interval, at the last window where it is below
    one half, and at the next one.
    """
    longer = max((at + 1 for at, one in enumerate(curve.points) if one.below < 0.5), default=0)
    return ", ".join(
        f"{percent(one.below)} ({percent(one.below_low)} to {percent(one.below_high)}) at "
        f"{one.tokens:.0f} {curve.unit}"
        for one in curve.points[max(0, longer - 1) : longer + 1]
    )


def _invisible(found: Length) -> b.Table:
    """The share of invisible changes of every model and window."""
    columns = [
        b.Column("model", "text", cell=lambda row: row[0].name),
        b.Column("sentences", cell=lambda row: str(row[2].window)),
        b.Column("length", cell=lambda row: f"{row[2].tokens:.0f} {row[1].unit}"),
        b.Column("texts", cell=lambda row: str(row[1].texts)),
        b.Column("invisible", cell=lambda row: percent(row[2].below)),
        b.Column(
            "95 % interval",
            cell=lambda row: f"{percent(row[2].below_low)} to {percent(row[2].below_high)}",
        ),
    ]
    rows = [
        (model, model.curve(), point) for model in found.models for point in model.curve().points
    ]
    title = f"Share of invisible changes (cosine above {1 - found.level:g})"
    return b.table_of(rows, columns, title=title, shown=40)


def _curves(found: Length) -> b.Table:
    rows = [
        [
            model.name,
            _edit(found, curve.role),
            str(curve.texts),
            *(f"{number(point.change)} ({point.tokens:.0f})" for point in curve.points),
        ]
        for model, curve in _shown(found)
    ]
    return _by_window(found, "edit", rows, f"Relative change ({_units(found)})", 40)


def _shown(found: Length) -> list[tuple[ModelLength, LengthCurve]]:
    """Every curve of the models, and the first two of the baselines."""
    return [
        (model, curve)
        for model in found.every
        for curve in (model.curves if model in found.models else model.curves[:2])
    ]


def _by_window(
    found: Length, second: str, rows: list[list[str]], title: str, shown: int
) -> b.Table:
    """A table over windows; rows start with the model, ``second`` and the number of texts, which is
    shown if it differs between rows.
    """
    columns = [b.Column("model", "text"), b.Column(second, "text")]
    if len({row[2] for row in rows}) > 1:
        columns.append(b.Column("texts"))
    else:
        rows = [[*row[:2], *row[3:]] for row in rows]
    columns += [b.Column(f"{size} sent.") for size in found.windows]
    return b.Table(columns, rows, title, shown=shown)


def _discrimination(found: Length) -> b.Table:
    rows = []
    for model in found.every:
        for against in dict.fromkeys(one.against for one in model.discrimination):
            scores = [one for one in model.discrimination if one.against == against]
            cells = [f"{one.auc:.2f} [{one.low:.2f}, {one.high:.2f}]" for one in scores]
            texts = str(model.curve(against).texts)
            rows.append([model.name, _edit(found, against), texts, *cells])
    return _by_window(found, "against", rows, "Change of meaning farther than rewording", 20)


def _laws(found: Length) -> b.Table:
    def floor(laws: Laws) -> str:
        return f"{laws['floor'].exponent:.2f}" if "floor" in laws else "–"

    def begins(laws: Laws) -> str:
        return f"{laws['floor'].begins:.0f}" if laws.best == "floor" else "–"

    def errors(laws: Laws) -> str:
        return ", ".join(f"{one.law} {one.error:.3f}" for one in laws.laws if one.error)

    columns = [
        b.Column("model", "text", cell=lambda row: row[0].name),
        b.Column("edit", "text", cell=lambda row: _edit(found, row[1].role)),
        b.Column("best", "text", cell=lambda row: row[1].laws.best or "–"),
        b.Column("power: e", cell=lambda row: f"{row[1].laws['power'].exponent:.2f}"),
        b.Column("floor: e", cell=lambda row: floor(row[1].laws)),
        b.Column("floor from n", cell=lambda row: begins(row[1].laws)),
        b.Column("errors", "text", optional=True, cell=lambda row: errors(row[1].laws)),
    ]
    return b.table_of(_shown(found), columns, shown=60)


def _layers(model: ModelLength) -> b.Table:
    columns = [
        b.Column("layer", cell=lambda one: str(one.layer)),
        b.Column("read-out", "text", cell=lambda one: one.read_out),
        b.Column("short texts", cell=lambda one: number(one.short)),
        b.Column("long texts", cell=lambda one: number(one.long)),
        b.Column("exponent", cell=lambda one: f"{one.exponent:.2f}"),
        b.Column("floor from n", cell=lambda one: f"{one.floor:.0f}" if one.floor else "–"),
    ]
    return b.table_of(model.layers, columns, on_page=200)


def picture(found: Length) -> Chart:
    """Change, discrimination and visibility against n, and rates by layer."""
    panels = [_moves(found, "word"), _moves(found, "change")]
    if any(model.discrimination for model in found.models):
        panels.append(_separation(found))
    panels.append(_seen(found))
    panels += [_by_layer(model) for model in found.models[:3] if model.layers]
    return Chart(panels, columns=3 if len(panels) > 4 else 2, shared_key=True)


def _tokens(points: Iterable[Any]) -> list[float]:
    return [float(round(one.tokens)) for one in points]


def _moves(found: Length, role: str) -> Panel:
    colours = {model.name: place for place, model in enumerate(found.models)}
    curves: list[Curve] = []
    references: list[ReferenceLine] = []
    for model in found.every:
        points = model.curve(role).points
        own = model.name if model.name in colours else model.name.partition(":")[0]
        if own in colours:
            ends = [(one.change, one.low, one.high) for one in points]
            look = {"colour": colours[own], "dashed": own != model.name}
            curves.append(band(model.name, _tokens(points), ends, **look))
        else:
            values = [one.change for one in points]
            style = _STYLES[len(references) % len(_STYLES)]
            references.append(
                ReferenceLine(shortened(model.name, 40), _tokens(points), values, style=style)
            )
    negated = found.kinds == ("negation",)
    return Panel(
        _NEGATION[role] if negated else f"{_kinds(found)}: {_TITLES[role]}",
        curves,
        references,
        logarithmic=True,
        x_label=f"{_units(found)} n",
        y_label="relative change",
    )


_TITLES = {"word": "the word against a random word, equal length", "change": "the whole change"}
_NEGATION = {
    "word": "“not” against a random word, equal length",
    "change": "the whole negation (positions shift)",
}
_STYLES: tuple[Any, ...] = (":", "--", "-.", "-", (0, (1, 3)), (0, (6, 3)))


def _separation(found: Length) -> Panel:
    curves = []
    for colour, model in enumerate(found.models):
        for against in dict.fromkeys(one.against for one in model.discrimination):
            some = [one for one in model.discrimination if one.against == against]
            label = (
                model.name if against == "rewording" else f"{model.name}, {_edit(found, against)}"
            )
            ends = [(one.auc, one.low, one.high) for one in some]
            look = {"colour": colour, "dashed": against != "rewording"}
            curves.append(band(label, _tokens(some), ends, **look))
    points = _tokens(found.models[0].curve().points)
    chance = ReferenceLine("chance", [points[0], points[-1]], [0.5, 0.5])
    return Panel(
        "texts moved farther by the change than by a rewording",
        curves,
        [chance],
        x_label=f"{_units(found)} n",
        y_label="share of texts",
        top=1.0,
    )


def _seen(found: Length) -> Panel:
    curves = []
    for colour, model in enumerate(found.models):
        points = model.curve().points
        ends = [(one.below, one.below_low, one.below_high) for one in points]
        curves.append(band(model.name, _tokens(points), ends, colour=colour))
    return Panel(
        f"changed texts with a cosine above {1 - found.level:g}",
        curves,
        x_label=f"{_units(found)} n",
        y_label="share of texts",
        top=1.05,
    )


def _by_layer(model: ModelLength) -> Panel:
    curves = []
    for colour, name in enumerate(DRAWN, 3):
        some = [one for one in model.layers if one.read_out == name]
        if some:
            ends = [(one.exponent.value, one.exponent.low, one.exponent.high) for one in some]
            curves.append(band(name, [one.layer for one in some], ends, colour=colour))
    last = max(one.layer for one in model.layers)
    return Panel(
        f"{shortened(model.name, 30)}: change ∝ n^e, by layer and read-out",
        curves,
        [ReferenceLine("a mean of unrelated rows: e = −1", [0, last], [-1.0, -1.0])],
        x_label="layer",
        y_label="e (0 keeps the word)",
    )
