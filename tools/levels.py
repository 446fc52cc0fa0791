"""The first picture of README and docs: how often three models, and baselines, place a rewording
closer to a text than a change of its meaning.

python -m tools.levels        the leaderboard of docs/notes/audit.md, drawn as docs/audit.png
"""

from __future__ import annotations

import re

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from tools.pages import DOCS

ROWS = {
    "mpnet": "MPNet",
    "minilm": "MiniLM",
    "smollm2": "SmolLM2",
    "word overlap": "common words alone",
    "minilm: mean of word vectors": "MiniLM's word vectors, averaged",
    "minilm:random": "MiniLM, random weights",
}
LEVELS = {
    "light": ("light rewordings (1 to 4 words)", "#0072b2", "o"),
    "heavy": ("heavy rewordings (most words)", "#d55e00", "s"),
}


def leaderboard() -> dict[str, dict[str, tuple[float, float, float]]]:
    """Score, low and high of every model at every level."""
    note = (DOCS / "notes" / "audit.md").read_text("utf-8")
    table = re.search(r"^\| model \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", note, flags=re.MULTILINE)
    assert table is not None
    names = [cell.strip() for cell in table[0].splitlines()[0].strip("|").split("|")]
    found = {}
    for line in table[1].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        numbers = {level: re.findall(r"\d\.\d+", cells[names.index(level)]) for level in LEVELS}
        found[cells[0]] = {
            level: (float(score), float(low), float(high))
            for level, (score, low, high) in numbers.items()
        }
    return found


def draw() -> None:
    scores = leaderboard()
    figure, axes = plt.subplots(figsize=(8.2, 3.1), layout="constrained")
    for at, name in enumerate(ROWS):
        alpha = 1.0 if at < 3 else 0.45
        for level, (legend, colour, marker) in LEVELS.items():
            score, low, high = scores[name][level]
            axes.plot([low, high], [at, at], color=colour, alpha=alpha, linewidth=2)
            shown = None if at else legend
            axes.plot([score], [at], marker, color=colour, alpha=alpha, markersize=7, label=shown)
    axes.axvline(0.5, color="#555", linestyle="--", linewidth=1)
    axes.annotate("coin toss", (0.51, -0.35), fontsize=9)
    axes.set_yticks(range(len(ROWS)), list(ROWS.values()))
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(5.6, -0.6)
    axes.set_xlabel("share of comparisons in which the rewording is closer than the change")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", alpha=0.25)
    axes.legend(frameon=False, loc="center right", bbox_to_anchor=(1, 0.35))
    figure.savefig(DOCS / "audit.png", dpi=160)


if __name__ == "__main__":
    draw()
