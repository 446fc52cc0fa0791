"""The tables of docs/notes/ingredients.md say what the cells say."""

from __future__ import annotations

import math

import pandas

from benchmarks import studies
from wordsway.paper.ingredients import INGREDIENTS


def cells(power: float, certified: float | None, **more: object) -> list[dict[str, object]]:
    """S = 3(1 ± 1 %)·n^power for three n and ten trials, certified at so many times that."""
    return [
        {
            "map": "raf",
            "data": "gaussian",
            "n": n,
            "d": 256,
            "trial": trial,
            "lower": (2.97 + 0.06 * trial / 9) * n**power,
            "upper": math.nan if certified is None else certified * 3 * n**power,
            "scores": None,
            "residual": None,
        }
        | more
        for n in (16, 64, 256)
        for trial in range(10)
    ]


def test_slopes_and_ends() -> None:
    frame = pandas.DataFrame(
        cells(-0.3, 1.5)
        + cells(0.0, None, map="attention", scores="qk-norm")
        + cells(-0.5, 0.5, residual=True)
    )
    table = studies.comparison(INGREDIENTS, frame)
    softmax, norm, residual = [line for line in table.splitlines() if "gaussian" in line]
    assert softmax.endswith("| −0.30 [−0.30, −0.30] |")
    assert "| – | −0.00 [" in norm
    assert residual.startswith("| X + RAF | gaussian | 10 | 0.75 (n = 16), 0.188 (n = 256) |")
    assert "60 certified cells, 30 of them attained more" in table


def test_the_phase_table_has_a_row_per_ratio() -> None:
    table = studies.phase(pandas.DataFrame(cells(-0.5, 2.0)))
    # The first three draws, which are the phase diagram's: 2.977 of the ten's 3.
    assert "| 1/16 | 0.74, ≤ 1.50 | 2.02 |" in table
    assert "| 1 | 0.19, ≤ 0.38 | 2.02 |" in table
    assert "9 cells, 0 of them attained more" in table
