"""Measurements over several n as a chart: attained means, certified ends, theory."""

from __future__ import annotations

from collections.abc import Sequence

from wordsway.chart import Chart, Curve, Panel, Reference
from wordsway.experiments.trials import Measurement
from wordsway.theory import infinite_width, wide_relu_rf

#: Colour of the palette and name of each map.
STYLES = {
    "rf": (0, "RF"),
    "drf": (2, "DRF"),
    "raf": (1, "RAF (softmax)"),
    "relu-raf": (3, "ReLU-RAF"),
}


def sensitivity_against_n(results: Sequence[Measurement]) -> Chart:
    """S against n, one curve per map, with the theory; log–log."""
    curves = []
    for name, (colour, title) in STYLES.items():
        rows = sorted(
            (row for row in results if row.request.map == name and row.mean is not None),
            key=lambda row: row.request.n,
        )
        if rows:
            layers = rows[0].request.layers
            curves.append(
                Curve(
                    title + (f", L = {layers}" if layers else ""),
                    [row.request.n for row in rows],
                    [row.mean or 0.0 for row in rows],
                    [row.sd or 0.0 for row in rows],
                    [row.mean_upper for row in rows],
                    colour,
                )
            )
    widths = ", ".join(str(d) for d in sorted({row.request.d for row in results}))
    title = f"How far one word can move each layer (d = {widths}): attained, and certified (shaded)"
    panel = Panel(title, curves, _theory(results), logarithmic=True)
    return Chart([panel], shared_key=True)


def _theory(results: Sequence[Measurement]) -> list[Reference]:
    """The infinite-width limits of RF and DRF, what the worst Δ adds to RF at finite width, and a
    constant for RAF.
    """
    n = sorted({row.request.n for row in results})
    if len(n) < 2:
        return []
    lines = []
    rf = next((row.request for row in results if row.request.map == "rf"), None)
    if rf is not None:
        if rf.k is None:
            fine = [n[0] * (n[-1] / n[0]) ** (step / 60) for step in range(61)]
            values = [wide_relu_rf(x, rf.d) for x in fine]
            lines.append(Reference("RF theory, (1 + √(2/n))/√n", fine, values, 0, "--"))
        lines.append(Reference("RF, infinite width", n, [infinite_width(x) for x in n], 0))
    drf = next((row.request for row in results if row.request.map == "drf"), None)
    if drf is not None:
        deep = [infinite_width(x, depth=drf.layers or 2) for x in n]
        lines.append(Reference(f"DRF, L = {drf.layers}, infinite width", n, deep, 2))
    raf = [row.mean for row in results if row.request.map == "raf" and row.mean is not None]
    if raf:
        mean = sum(raf) / len(raf)
        lines.append(Reference("constant, Ω(1)", [n[0], n[-1]], [mean, mean], 1))
    return lines
