"""The paper's figures: grids as cells, with a quick subset of the very same ones.

Figures 2 and 3.1–3.2 are curves of S against n, Figures 4 and 5 scatters of the error against γ;
Figures 1, 3.3 and 3.4 are about pretrained models (`wordsway.paper.model_figures`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from wordsway.errors import InputError
from wordsway.experiments.cells import Cell
from wordsway.experiments.texts import TextOptions
from wordsway.learning.problem import UPDATES
from wordsway.paper.model_figures import MODEL_FIGURES
from wordsway.paper.sources import WIDTHS, Sources, sources

#: Trials of the first row, of all rows (a hundred times the work), and of the quick subset.
TRIALS, TRIALS_EVERYWHERE, QUICK_TRIALS = 10, 5, 3
#: The quick subset searches all rows of texts up to this length only.
QUICK_EVERYWHERE = 100
#: The quick subset learns at this width, from reviews where there are any.
QUICK_WIDTH = 384
#: A search of all rows of RF stops earlier: the sup moves by 0.2 %, the time by half.
EFFORT_EVERYWHERE = {"rf": 0.6}
PAPER = TextOptions(padding="paper")


class Figure(Protocol):
    """What `reproduce` needs of a figure: its cells; `wordsway.paper.drawing` draws them."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...

    def cells(self, available: Sources, *, quick: bool = False, seed: int = 0) -> list[Cell]:
        """All cells of the figure; the quick ones are some of the same."""


@dataclass(frozen=True)
class Curves:
    """S against n: a map over the paper's n, for each width (or depth), first row and, where
    affordable, all rows.
    """

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

    def cells(self, available: Sources, *, quick: bool = False, seed: int = 0) -> list[Cell]:
        cells = []
        for d, name, depth, n in self._points(available, quick):
            options = TextOptions() if name == "gaussian" else PAPER
            common: dict[str, Any] = {
                "map": self.map,
                "n": n,
                "d": d,
                "depth": depth,
                "data": name,
                "seed": seed,
                "texts": options,
            }
            for trial in range(QUICK_TRIALS if quick else TRIALS):
                cells.append(Cell(**common, trial=trial, positions=(0,)))
                if (
                    self.everywhere
                    and trial < TRIALS_EVERYWHERE
                    and not (quick and n > QUICK_EVERYWHERE)
                ):
                    effort = EFFORT_EVERYWHERE.get(self.map, 1.0)
                    cells.append(
                        Cell(
                            **common, trial=trial, positions="all", certificate=False, effort=effort
                        )
                    )
        return cells

    def _points(
        self, available: Sources, quick: bool
    ) -> Iterator[tuple[int, str, int | None, int]]:
        for d in self.quick_widths if quick else self.widths:
            for name in available.by_width[d][: 1 if quick and self.depths != (None,) else None]:
                for depth in self.depths:
                    for n in self.quick_n if quick else self.n:
                        yield d, name, depth, n


@dataclass(frozen=True)
class Scatter:
    """The error after a one-word change against γ: maps with their n, numbers of training texts,
    losses with their penalties.
    """

    name: str
    title: str
    data: str
    d: int
    panels: tuple[tuple[str, int], ...]
    trains: tuple[int, ...]
    losses: tuple[tuple[str, float], ...]
    quick_panels: tuple[tuple[str, int], ...]
    quick_trains: tuple[int, ...]

    def cells(self, available: Sources, *, quick: bool = False, seed: int = 0) -> list[Cell]:
        known = available.by_width.get(self.d, [])
        if self.data not in known or (
            quick and (self.d, self.data) != (QUICK_WIDTH, available.preferred(QUICK_WIDTH))
        ):
            return []
        return [
            Cell(
                map_name,
                n,
                self.d,
                trial,
                data=self.data,
                seed=seed,
                texts=TextOptions() if self.data == "gaussian" else PAPER,
                train=train,
                update=update,
                loss=loss,
                penalty=penalty or None,
            )
            for map_name, n in (self.quick_panels if quick else self.panels)
            for train in (self.quick_trains if quick else self.trains)
            for update in UPDATES
            for loss, penalty in self.losses
            for trial in range(QUICK_TRIALS if quick else TRIALS)
        ]


#: Where Figures 4 and 5 are measured: the names behind "4-", what to call it, data and width.
LEARNED_ON = (
    ("gaussian", "Gaussian texts, a linear teacher, d = 384", "gaussian", 384),
    ("minilm", "IMDb through MiniLM, d = 384", "imdb:minilm", 384),
    ("mpnet", "IMDb through MPNet, d = 768", "imdb:mpnet", 768),
    ("bert-base", "IMDb through BERT-Base, d = 768", "imdb:bert-base", 768),
)


def _scatters() -> Iterator[Scatter]:
    for short, where, data_name, d in LEARNED_ON:
        yield Scatter(
            f"4-{short}",
            f"Figure 4: learning that one word flips the label · {where}",
            data_name,
            d,
            panels=(("rf", 40), ("raf", 40), ("raf", 120), ("relu-raf", 120)),
            trains=(100, 700, 1300),
            losses=(("align", 0.0), ("direct", 0.0)),
            quick_panels=(("rf", 40), ("raf", 40), ("raf", 120), ("relu-raf", 120)),
            quick_trains=(100,),
        )
    for short, where, data_name, d in LEARNED_ON:
        yield Scatter(
            f"5-{short}",
            f"Figure 5: the same, with a penalty on γ · {where}",
            data_name,
            d,
            panels=(("raf", 40), ("raf", 120), ("relu-raf", 40), ("relu-raf", 120)),
            trains=(400,),
            losses=(("penalised", 1.0), ("penalised", 0.1), ("penalised", 0.01)),
            quick_panels=(("raf", 40), ("relu-raf", 40)),
            quick_trains=(400,),
        )


_ALL: tuple[Figure, ...] = (
    *MODEL_FIGURES[:2],
    Curves(
        "2-left",
        "Figure 2, left: random features",
        "rf",
        tuple(range(90, 151, 10)),
        (90, 120, 150),
        rate=True,
    ),
    Curves(
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
    Curves(
        "3.1",
        "Figure 3.1: random attention features (softmax)",
        "raf",
        (10, 20, 50, 100, 150, 200, 250),
        (10, 50, 100, 250),
    ),
    Curves(
        "3.2",
        "Figure 3.2: random attention features (ReLU)",
        "relu-raf",
        (10, 20, 50, 100, 150, 200, 250),
        (10, 50, 100, 250),
    ),
    *MODEL_FIGURES[2:],
    *_scatters(),
)
FIGURES = {figure.name: figure for figure in _ALL}


def choose(names: list[str]) -> list[Figure]:
    """Figures by name: "2-left", "2" for both of Figure 2, "3" for 3.1 to 3.4, "4" for Figure 4 on
    all data, "all".
    """
    chosen: dict[str, Figure] = {}
    for name in names or ["all"]:
        found = [
            figure
            for key, figure in FIGURES.items()
            if name in ("all", key) or key.startswith((f"{name}-", f"{name}."))
        ]
        if not found:
            raise InputError(
                f"figures among {', '.join(FIGURES)}, 1, 2, 3, 4, 5, all",
                repr(name),
                "leave it out for all of them",
            )
        chosen |= {figure.name: figure for figure in found}
    return list(chosen.values())


__all__ = ["FIGURES", "Curves", "Figure", "Scatter", "Sources", "choose", "sources"]
