"""A sweep: its forecast, means over trials, what was done, and where the tables are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wordsway.core.chart import Chart, Curve, Panel
from wordsway.core.format import count, format_bytes, format_seconds
from wordsway.core.laws import FOLDS
from wordsway.data import entry
from wordsway.engine.forecast import SweepForecast
from wordsway.engine.run import Tally
from wordsway.intervals import NOT_COMPARED, not_converged_line
from wordsway.render import blocks as b
from wordsway.render.numbers import at_least, at_most
from wordsway.render.views.common import frame_table, provenance
from wordsway.render.views.random_maps import rows_line
from wordsway.studies.sweep import CURVED, Sweep
from wordsway.studies.tables import not_converged, setting_columns

if TYPE_CHECKING:
    import pandas

#: Curves that can be distinguished in one panel.
MOST = 12
#: Columns of the means that are not part of a curve's name.
LEFT_OUT = ("n", "measured", "trials", "mean", "sd", "upper", "not_converged")
#: What the columns of slopes mean.
SLOPE_NOTES = {
    "certified": "has the 95 % interval for all S between both ends: loose certificates widen it",
    "line_p": "p-value of a line; a large one means that no bend was detected, not that S has none",
}
LABELS = {"S": "word sensitivity S", "error": "error after the change"}


def sweep_view(result: Sweep) -> b.ResultView:
    tables = ", ".join(str(path) for path in result.tables)
    means = _short(result.means())
    bases, name, measured = _bases(result.cells), _named(result), means["measured"].unique()
    what = f" of {measured[0]}" if len(measured) == 1 else ""
    columns = (
        means if result.not_converged else means.drop(columns="not_converged", errors="ignore")
    )
    return b.ResultView(
        "Sweep",
        [
            b.headline(f"{name}: means{what} over trials{_part(result)}"),
            _table(columns, ""),
            *([b.soft(f"certified: {', '.join(bases)}")] if bases else []),
            *_searches(result),
            *_comparisons(result),
            b.soft(tally_line(result.tally, result.folder / "store")),
            b.source(f"tables: {tables}"),
        ],
        provenance(result),
        lambda: _chart(name, means, f" · certified: {', '.join(bases)}" if bases[1:] else ""),
    )


def _short(table: pandas.DataFrame) -> pandas.DataFrame:
    """Maps of users by the name of their function or class."""
    return table.assign(map=[str(name).rpartition(":")[2] for name in table["map"]])


def _named(result: Sweep) -> str:
    """The name of the study, with the map, d and the rows that move if all cells have the same."""
    cells, parts = result.cells, [result.study.name]
    if cells.empty:
        return parts[0]
    spelled: dict[str, Any] = {"map": str, "d": "d = {:g}".format, "positions": rows_line}
    if "positions" not in cells:  # of a user's function, where it is known only what was attained
        spelled["position"] = "attained at row {:g}".format
    for name, spell in spelled.items():
        if name in cells and cells[name].nunique() == 1:
            parts.append(spell(_short(cells)[name].dropna().iloc[0]))
    return ", ".join(dict.fromkeys(parts))


def _bases(cells: pandas.DataFrame) -> list[str]:
    """The bases of certificates, each with its number of cells and where they are."""
    bases: list[str] = []
    if cells.empty:
        return bases
    known = _short(cells[cells["upper"].notna()] if "upper" in cells else cells)
    for basis, rows in known.groupby("certificate"):
        where = []
        for name, some in rows.groupby("map", sort=False):
            place = [str(name)] if known["map"].nunique() > 1 else []
            where.append(", ".join([*place, *([f"n = {_span(some['n'])}"] if "n" in some else [])]))
        bases.append(f"{basis} in {count(len(rows), 'cell')} ({'; '.join(where)})")
    return bases


def _span(n: pandas.Series[int]) -> str:
    return f"{n.min():g} … {n.max():g}" if n.nunique() > 1 else f"{n.min():g}"


def _searches(result: Sweep) -> Iterator[b.Block]:
    """How many searches did not converge, and how many could not."""
    if not result.not_converged:
        return
    cells, certified = result.cells, bool(result.cells["upper"].notna().any())
    which = cells[not_converged(cells)]
    alone = int((which["status"] == NOT_COMPARED).sum())
    used = float(which["effort"].fillna(1.0).max()) if "effort" in cells else 1.0
    effort = "effort = 4 in the grid"
    yield b.soft(not_converged_line(len(which), len(cells), effort, certified=certified, used=used))
    if alone:
        yield b.soft(
            f"{alone:,} of these had one group of starts, as searches for weights drawn on demand "
            "have at effort 1: they cannot converge; the gap to the certified end says more"
        )


def _part(result: Sweep) -> str:
    """The number of cells behind a table, where some are missing."""
    tally = result.tally
    return "" if result.complete else f": {tally.stored:,} of {tally.total:,} cells"


def _laws_note(slopes: pandas.DataFrame) -> str | None:
    """Why laws are missing, if they are."""
    if slopes["law"].notna().all():
        return None
    errors = [name for name in slopes if name in ("power_error", "logarithm_error")]
    if errors and slopes[errors].notna().all(axis=None):
        return "–: the trials do not decide between the laws"
    return f"–: undecided, or (without errors) fewer than {FOLDS} trials have every n"


def _comparisons(result: Sweep) -> Iterator[b.Block]:
    """Paired differences, and how S falls with n, of a study that has them."""
    if result.cells.empty:
        return
    if result.study.pair_by and not (found := result.differences()).empty:
        names = result.study.pair_by
        firsts = [found[f"{name}_first"].unique() for name in names]
        paired = ", ".join(
            f"{name} {values[0]}" if len(values) == 1 else f"the first {name}"
            for name, values in zip(names, firsts, strict=True)
        )
        yield b.headline(f"differences from {paired}, paired{_part(result)}")
        yield _table(found, "certified, these draws", *(f"{name}_first" for name in names))
    if result.has_slopes and not (found := result.slopes()).empty:
        yield b.headline(f"slopes of attained log S on log n{_part(result)}")
        over = f"average over the measured n ({_span(result.cells['n'])}), not a rate"
        notes = SLOPE_NOTES | {"slope": f"{over}: it may differ in longer texts"}
        notes["law"] = _laws_note(found) or ""
        table = _table(found, "certified")
        shown = [column.name for column in table.columns if notes.get(column.name)]
        yield replace(table, notes={name: notes[name] for name in shown})
        if bent := int((found["line_p"] < CURVED).sum()):
            yield b.warning(
                f"line_p < {CURVED:g} in {bent} of {len(found)} rows (1 in 20 by chance): log S is "
                "not a line in log n there"
            )


def _table(table: pandas.DataFrame, certified: str, *names: str) -> b.Table:
    """Without the map, the quantity and these columns where all rows have one value; both ends of
    an interval in one column, which a narrow terminal shows or leaves out.
    """
    same = [name for name in ("measured", "map", *names) if table[name].nunique() == 1]
    table, shown = _short(table).drop(columns=same), {"95 % interval": "", certified: "certified_"}
    for name, prefix in shown.items():
        low, high = f"{prefix}low", f"{prefix}high"
        if low in table:
            pairs = zip(table[low], table[high], strict=True)
            ends = [f"[{at_least(one, 3)}, {at_most(other, 3)}]" for one, other in pairs]
            at, table = list(table).index(low), table.drop(columns=[low, high])
            table.insert(at, name, ends)
    return frame_table(table, 30, list(shown))


def sweep_forecast_view(cost: SweepForecast) -> b.ResultView:
    left = b.Span(f"{cost.left:,} of {cost.total:,} {cost.what} left", "bold")
    time = f"about {format_seconds(cost.seconds)} with {cost.workers} workers on an idle machine"
    memory = f"peak memory {format_bytes(cost.bytes)} in total"
    sizes = [f"{name} ({format_bytes(entry(name).bytes)})" for name in cost.downloads]
    notes = [f"downloads first, not in this time: {', '.join(sizes)}"] if sizes else []
    notes += [f"not included: {reason}" for reason in cost.missing]
    lines = [b.plain(left, f": {time}, {memory}"), *map(b.warning, notes)]
    return b.ResultView("Forecast of a sweep", lines)


def tally_line(tally: Tally, store: object) -> str:
    """How much was done, now and before, and where it is stored."""
    parts = [f"{tally.done:,} {tally.what} done now", f"{tally.before:,} before"]
    parts += [f"{tally.elsewhere:,} by other runs"] if tally.elsewhere else []
    spent = format_seconds(tally.seconds)
    return f"{', '.join(parts)}, of {tally.total:,}; {spent}; stored in {store}"


def _chart(name: str, table: pandas.DataFrame, bases: str) -> Chart | None:
    """Means over trials against n, one curve per setting; one panel for S and one for errors."""
    if table.empty or "n" not in table:
        return None
    panels = [_panel(name, bases, str(what), rows) for what, rows in table.groupby("measured")]
    return Chart(panels)


def _panel(name: str, bases: str, measured: str, table: pandas.DataFrame) -> Panel:
    settings = [column for column in setting_columns(table) if column not in LEFT_OUT]
    if len(settings) > 1 and table["map"].nunique() == 1:
        settings.remove("map")
    curves = []
    for colour, (setting, rows) in enumerate(table.groupby(settings, dropna=False, sort=False)):
        values = setting if isinstance(setting, tuple) else (setting,)
        curves.append(
            Curve(
                _label(dict(zip(settings, values, strict=True))),
                rows["n"].tolist(),
                rows["mean"].tolist(),
                rows["sd"].fillna(0.0).tolist(),
                [None if math.isnan(end) else end for end in rows["upper"]],
                colour,
                dashed=colour >= 6,
            )
        )
    more = "" if len(curves) <= MOST else f", the first {MOST} of {len(curves)} settings"
    return Panel(
        f"{name}: mean ± sd over trials{more}{bases if measured == 'S' else ''}",
        curves[:MOST],
        logarithmic=measured == "S" and bool((table["mean"] > 0).all()),
        y_label=LABELS.get(measured, measured),
    )


def _label(setting: dict[str, Any]) -> str:
    """The map and its settings; options that it does not have are left out.

    >>> _label({"map": "raf", "heads": 8, "mask": float("nan")})
    'raf, heads 8'
    """
    return ", ".join(
        str(value) if name in ("map", "data") else f"{name} {value}"
        for name, value in setting.items()
        if value is not None and value == value and value != ""
    )
