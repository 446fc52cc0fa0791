"""The tables of docs/notes/audit.md, read off a finished audit.

wordsway audit --model minilm --model mpnet --model smollm2 --out out/leaderboard
python -m benchmarks.leaderboard out/leaderboard          # prints them
python -m benchmarks.leaderboard out/leaderboard --write  # and puts them into docs/notes/audit.md
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "docs" / "notes" / "audit.md"
BEGIN, END = "<!-- leaderboard: python -m benchmarks.leaderboard -->", "<!-- end of leaderboard -->"
LEVELS = ("small", "several", "light", "heavy", "rewording")
#: Layers of a profile that are written at most.
LAYERS = 7


def row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def levels(audit: Mapping[str, Any]) -> list[str]:
    """Every model and baseline: the score with its interval at every level, and median cosines."""
    every = [*audit["models"], *audit["baselines"]]
    names = [name for name in LEVELS if any(name in model["levels"] for model in every)]
    heads = ["model", *names, "matched overlap", "cosine: change", "rewording", "equal error"]
    lines = [row(heads), "|---" * len(heads) + "|"]
    for model in every:
        middle = model["cosines"] or {}
        equal = model["equal_error"]
        lines.append(
            row(
                [
                    model["name"],
                    *(_cell(model["levels"].get(name)) for name in names),
                    _cell(model["matched"]),
                    *(f"{middle[side]:.2f}" if middle else "–" for side in ("change", "rewording")),
                    f"{100 * equal['accepted_changes']:.0f} % at {equal['threshold']:.2f}"
                    if equal
                    else "–",
                ]
            )
        )
    return lines


def kinds(audit: Mapping[str, Any], level: str) -> list[str]:
    """The score of every kind at one level, a column per model."""
    every = [*audit["models"], *audit["baselines"]]
    found = list(dict.fromkeys(one["kind"] for model in every for one in model["kinds"]))
    lines = [row(["kind", *(model["name"] for model in every)]), "|---" * (len(every) + 1) + "|"]
    for kind in found:
        scores = [next((k for k in model["kinds"] if k["kind"] == kind), None) for model in every]
        cells = [_cell(one["levels"].get(level) if one else None) for one in scores]
        lines.append(row([kind, *cells]))
    return lines


def profiles(audit: Mapping[str, Any]) -> list[str]:
    """The headline's score over all kinds, from the input to the last layer, per model."""
    heading = f"score in {LAYERS} layers, evenly from the input to the last"
    lines = [row(["model", heading]), "|---|---|"]
    for model in audit["models"]:
        layers = model["levels"][audit["level"]]["layers"]
        steps = min(len(layers) - 1, LAYERS - 1)
        chosen = [layers[round((len(layers) - 1) * step / steps)] for step in range(steps + 1)]
        lines.append(row([model["name"], " ".join(f"{one['auc']:.2f}" for one in chosen)]))
    return lines


def thresholds(audit: Mapping[str, Any]) -> list[str]:
    """Changes accepted and rewordings rejected at every threshold, a column per model."""
    models = audit["models"]
    heads = ["cosine at least", *(model["name"] for model in models)]
    lines = [row(heads), "|---" * len(heads) + "|"]
    for each in zip(*(model["thresholds"] for model in models), strict=True):
        cells = [
            f"{100 * one['accepted_changes']:.0f} % / {100 * one['rejected_rewordings']:.0f} %"
            for one in each
        ]
        lines.append(row([f"{each[0]['threshold']:g}", *cells]))
    return lines


def _cell(one: Mapping[str, Any] | None) -> str:
    return f"{one['score']:.2f} ({one['low']:.2f}–{one['high']:.2f})" if one else "–"


def text(audit: Mapping[str, Any]) -> str:
    """All tables with what they are of."""
    names = " ".join(f"--model {model['name']}" for model in audit["models"])
    about = (
        f"`wordsway audit {names}`: {audit['texts']:,} texts ({audit['data']}), seed "
        f"{audit['seed']}. The share of comparisons in which the change moves the model more than "
        "the edit that preserves the meaning, with its 95 % interval."
    )
    apart = " ".join(one["said"] for one in audit["differences"])
    by_kind = (
        f"By kind, against {audit['level']}s:" if audit["level"] == "rewording" else "By kind:"
    )
    accepts = "Changes accepted / rewordings rejected:"
    return "\n".join(
        [
            *(about, "", *levels(audit), "", apart, "", by_kind, ""),
            *(*kinds(audit, audit["level"]), "", accepts, "", *thresholds(audit), ""),
            *profiles(audit),
        ]
    )


def main(arguments: Sequence[str]) -> None:
    audit = json.loads((Path(arguments[0]) / "audit.json").read_text("utf-8"))
    found = text(audit)
    print(found)
    if "--write" in arguments:
        page = PAGE.read_text("utf-8")
        head, _, rest = page.partition(BEGIN)
        _, _, tail = rest.partition(END)
        PAGE.write_text(f"{head}{BEGIN}\n{found}\n{END}{tail}", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
