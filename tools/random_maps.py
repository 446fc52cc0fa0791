"""The picture of README and docs: S against n for three random maps, attained and certified.

python -m tools.random_maps        examples/random-maps.toml, drawn as docs/random-maps.png
"""

from __future__ import annotations

from typing import Any

import wordsway as ws
from tools.pages import DOCS
from wordsway.core.chart import Chart, Curve, Panel

STUDY = DOCS.parent / "examples" / "random-maps.toml"
#: Names in the picture, and colours: those of the playground for attention and random features.
NAMES = {
    "raf": ("softmax attention", 1),
    "relu-raf": ("ReLU attention", 2),
    "rf": ("random features", 0),
}


def curve(colour: int, label: str, means: Any) -> Curve:
    n, mean, sd, upper = (means[name].tolist() for name in ("n", "mean", "sd", "upper"))
    return Curve(label, n, mean, sd, upper, colour)


if __name__ == "__main__":
    found = ws.sweep(STUDY, out=DOCS.parent / "out" / "random-maps").means()
    curves = [
        curve(colour, label, found[found["map"] == name]) for name, (label, colour) in NAMES.items()
    ]
    title = "Largest relative change by the first word, d = 192"
    chart = Chart([Panel(title, curves, logarithmic=True)], shared_key=True)
    chart.save(DOCS / "random-maps.png")
