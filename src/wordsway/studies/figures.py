"""The paper's Figures 2 and 3.1–3.2 as cells: its grids, and a quick subset of the very same cells."""

from __future__ import annotations

from dataclasses import dataclass, field

from wordsway import data
from wordsway.errors import InputError
from wordsway.studies.cells import Cell
from wordsway.studies.texts import TextOptions

#: Trials of the first row, of all rows (a hundred times the work), and of the quick subset.
TRIALS, TRIALS_EVERYWHERE, QUICK_TRIALS = 10, 5, 3
#: The quick subset searches all rows of texts up to this length only.
QUICK_EVERYWHERE = 100
#: A search of all rows of RF stops earlier: the sup moves by 0.2 %, the time by half.
EFFORT_EVERYWHERE = {"rf": 0.6}
WIDTHS = (192, 384, 768)
PAPER = TextOptions(padding="paper")


@dataclass(frozen=True)
class FigureSpec:
    """One figure: a map over the paper's n, for each width (or depth), first row and, where affordable, all rows."""

    name: str
    title: str
    map: str
    n: tuple[int, ...]
    quick_n: tuple[int, ...]
    widths: tuple[int, ...] = WIDTHS
    quick_widths: tuple[int, ...] = (192,)
    depths: tuple[int | None, ...] = (None,)
    everywhere: bool = True
    rate: bool = False


FIGURES = {
    figure.name: figure
    for figure in (
        FigureSpec("2-left", "Figure 2, left: random features", "rf", tuple(range(90, 151, 10)), (90, 120, 150), rate=True),
        FigureSpec(
            "2-right",
            "Figure 2, right: deep random features, d = 768",
            "drf",
            (50, 60, 70, 80),
            (50, 80),
            widths=(768,),
            quick_widths=(768,),
            depths=(2, 4, 8),
            everywhere=False,
            rate=True,
        ),
        FigureSpec("3.1", "Figure 3.1: random attention features (softmax)", "raf", (10, 20, 50, 100, 150, 200, 250), (10, 50, 100, 250)),
        FigureSpec("3.2", "Figure 3.2: random attention features (ReLU)", "relu-raf", (10, 20, 50, 100, 150, 200, 250), (10, 50, 100, 250)),
    )
}


@dataclass
class Sources:
    """Which data each width is measured on, and what is left out and why."""

    by_width: dict[int, list[str]]
    missing: list[str] = field(default_factory=list)


def sources(fetch: bool, progress: object = None) -> Sources:
    """Gaussian always; IMDb through MiniLM (192, 384), MPNet and BERT-Base (768) where they are.

    ``fetch`` gets the reviews and MiniLM where they are missing; the large models are the user's choice.
    """
    found = Sources({width: ["gaussian"] for width in WIDTHS})
    for name in ("imdb", "minilm"):
        if data.present(name) is None and fetch:
            try:
                data.get(name, progress=progress)  # type: ignore[arg-type]
            except data.DataError as error:
                found.missing.append(f"IMDb panels: {error}")
    if data.present("imdb") is None or data.present("minilm") is None:
        found.missing = found.missing or ["IMDb panels: run `wordsway data get imdb minilm` first"]
        return found
    for width in (192, 384):
        found.by_width[width].append("imdb:minilm")
    for name, title in (("mpnet", "MPNet"), ("bert-base", "BERT-Base")):
        if data.present(name) is not None:
            found.by_width[768].append(f"imdb:{name}")
        else:
            found.missing.append(f"IMDb through {title}, d = 768: not present; run `wordsway data get {name}` first")
    return found


def figure_cells(figure: FigureSpec, available: Sources, *, quick: bool = False, seed: int = 0) -> list[Cell]:
    """All cells of a figure; the quick ones are some of the same."""
    cells = []
    for d in figure.quick_widths if quick else figure.widths:
        for name in available.by_width[d][: 1 if quick and figure.depths != (None,) else None]:
            for depth in figure.depths:
                for n in figure.quick_n if quick else figure.n:
                    for trial in range(QUICK_TRIALS if quick else TRIALS):
                        options = TextOptions() if name == "gaussian" else PAPER
                        common = {
                            "map": figure.map,
                            "n": n,
                            "d": d,
                            "depth": depth,
                            "data": name,
                            "trial": trial,
                            "seed": seed,
                            "texts": options,
                        }
                        cells.append(Cell(**common, positions=(0,)))  # type: ignore[arg-type]
                        if figure.everywhere and trial < TRIALS_EVERYWHERE and not (quick and n > QUICK_EVERYWHERE):
                            effort = EFFORT_EVERYWHERE.get(figure.map, 1.0)
                            cells.append(Cell(**common, positions="all", certificate=False, effort=effort))  # type: ignore[arg-type]
    return cells


def choose(names: list[str]) -> list[FigureSpec]:
    """Figures by name: "2-left", "2" for both of Figure 2, "3" for 3.1 and 3.2, "all"."""
    chosen: dict[str, FigureSpec] = {}
    for name in names or ["all"]:
        found = [figure for key, figure in FIGURES.items() if name in ("all", key) or key.startswith((f"{name}-", f"{name}."))]
        if not found:
            raise InputError(f"figures among {', '.join(FIGURES)}, 2, 3, all", repr(name), "leave it out for all of them")
        chosen |= {figure.name: figure for figure in found}
    return list(chosen.values())
