"""Pictures: S against n with theory curves. The only place that plots."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from wordsway.atomic import atomic
from wordsway.experiments.trials import Measurement
from wordsway.theory import infinite_width, wide_relu_rf

#: Okabe and Ito's colours, safe for colour-blind readers; one marker each, so that grey prints work
#: too.
LOOKS = {
    "rf": ("#0072B2", "o", "RF"),
    "drf": ("#009E73", "s", "DRF"),
    "raf": ("#D55E00", "^", "RAF (softmax)"),
    "relu-raf": ("#CC79A7", "D", "ReLU-RAF"),
}
FORMATS = ("png", "svg", "pdf")
STYLE: Any = {
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "wordsway",
    "pdf.fonttype": 42,
}


def sensitivity_against_n(
    results: Sequence[Measurement], path: Path, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Attained means (± sd) and certified ends against n, one colour per map, with the theory
    curves; log–log.

    Files are written under temporary names and renamed, so that an interruption leaves no half
    picture.
    """
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(9.2, 5.2), layout="constrained")
        for name, (colour, marker, label) in LOOKS.items():
            rows = sorted(
                (r for r in results if r.request.map == name and r.mean is not None),
                key=lambda r: r.request.n,
            )
            if not rows:
                continue
            n = [r.request.n for r in rows]
            mean = [r.mean or 0.0 for r in rows]
            layers = rows[0].request.layers
            label += f", L = {layers}" if layers else ""
            axes.errorbar(
                n,
                mean,
                yerr=[r.sd or 0.0 for r in rows],
                color=colour,
                marker=marker,
                markersize=6,
                capsize=3,
                label=label,
            )
            certified = [
                (r.request.n, r.mean, r.mean_upper) for r in rows if r.mean_upper is not None
            ]
            if certified:
                at, low, high = zip(*certified, strict=True)
                axes.fill_between(at, low, high, color=colour, alpha=0.13, linewidth=0)
        _theory(axes, results)
        axes.set_xscale("log")
        axes.set_yscale("log")
        ticks = sorted({r.request.n for r in results})
        axes.set_xticks(ticks, [str(t) for t in ticks])
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.minorticks_off()
        d = sorted({r.request.d for r in results})
        axes.set_xlabel("number of tokens n")
        axes.set_ylabel("word sensitivity S")
        axes.set_title(
            f"How far one word can move each layer (d = {', '.join(map(str, d))}): attained, and certified (shaded)",
            fontsize=11,
        )
        legend(axes, fontsize=9.5, loc="center left", bbox_to_anchor=(1.0, 0.5))
        written = save(figure, path.with_suffix(""), formats)
        plt.close(figure)
    return written


def _theory(axes: Axes, results: Sequence[Measurement]) -> None:
    """The infinite-width limits of RF and DRF, what the worst Δ adds to RF at finite width, and a
    constant for RAF.
    """
    n = sorted({r.request.n for r in results})
    if len(n) < 2:
        return
    fine = [n[0] * (n[-1] / n[0]) ** (step / 60) for step in range(61)]
    rf = next((r.request for r in results if r.request.map == "rf"), None)
    drf = next((r.request for r in results if r.request.map == "drf"), None)
    if rf is not None:
        if rf.k is None:
            axes.plot(
                fine,
                [wide_relu_rf(v, rf.d) for v in fine],
                "--",
                color=LOOKS["rf"][0],
                linewidth=1.2,
                label="RF theory, (1 + √(2/n))/√n",
            )
        axes.plot(
            n,
            [infinite_width(v) for v in n],
            ":",
            color=LOOKS["rf"][0],
            linewidth=1.2,
            label="RF, infinite width",
        )
    if drf is not None:
        deep = [infinite_width(v, depth=drf.layers or 2) for v in n]
        axes.plot(
            n,
            deep,
            ":",
            color=LOOKS["drf"][0],
            linewidth=1.2,
            label=f"DRF, L = {drf.layers}, infinite width",
        )
    raf = [r.mean for r in results if r.request.map == "raf" and r.mean is not None]
    if raf:
        axes.axhline(
            sum(raf) / len(raf),
            color=LOOKS["raf"][0],
            linestyle=":",
            linewidth=1.0,
            label="constant, Ω(1)",
        )


def legend(axes: Axes, **look: Any) -> None:
    """Measurements (those with error bars) first, then theory."""
    handles, labels = axes.get_legend_handles_labels()
    order = sorted(
        range(len(labels)), key=lambda at: not isinstance(handles[at], ErrorbarContainer)
    )
    axes.legend([handles[at] for at in order], [labels[at] for at in order], **look)


def save(figure: Figure, path: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write ``path``.png and so on, each whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = []
    for kind in formats:
        target = path.with_name(f"{path.name}.{kind}")
        with atomic(target) as partial:
            write(figure, partial, kind)
        written.append(target)
    return written


def write(figure: Figure, path: Path, kind: str) -> None:
    """One file, without the hour, so that equal numbers give equal files."""
    stamp = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message=".*[Gg]lyph.*"
        )  # a box is drawn; an SVG's reader brings the fonts that are missing here
        figure.savefig(path, format=kind, dpi=160, metadata=stamp)
