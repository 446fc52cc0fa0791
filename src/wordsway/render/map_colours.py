"""The colour of each map, in charts of the page."""

from __future__ import annotations

#: Okabe and Ito's colours first: colour-blind readers can distinguish them.
MAP_COLOURS = {
    "rf": "#0072B2",
    "drf": "#009E73",
    "raf": "#D55E00",
    "relu-raf": "#CC79A7",
    "sigmoid": "#56B4E9",
    "gpt-block": "#E69F00",
    "bert-block": "#4D4D4D",
    "attention": "#000000",
    "sink": "#B8860B",
    "multi-head": "#882255",
    "linear-attention": "#999933",
}


def map_colour(name: str) -> str:
    """The colour of a map; grey for a map without its own.

    >>> map_colour("raf"), map_colour("a new map")
    ('#D55E00', '#999999')
    """
    return MAP_COLOURS.get(name, "#999999")
