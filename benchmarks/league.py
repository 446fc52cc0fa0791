"""The tables of docs/audit.md, read off a finished audit.

    wordsway audit --model minilm --model minilm:random --model mpnet --model smollm2 --draws 0 \\
        --local 4 --out out/league
    python -m benchmarks.league out/league          # prints them
    python -m benchmarks.league out/league --write  # and puts them into docs/audit.md
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "docs" / "audit.md"
BEGIN, END = "<!-- league: python -m benchmarks.league -->", "<!-- end of league -->"
#: Layers of a profile that are written at most.
LAYERS = 7


def row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def league(audit: Mapping[str, Any]) -> list[str]:
    """The score with its interval and the share of blind edits, a column per model."""
    models = audit["models"]
    kinds = list(dict.fromkeys(one["kind"] for model in models for one in model["kinds"]))
    lines = [row(["kind", *(model["name"] for model in models)]), "|---" * (len(models) + 1) + "|"]
    for kind in kinds:
        found = [_of(model, kind) for model in models]
        lines.append(row([kind, *(_cell(one) for one in found)]))
    return [*lines, row(["mean", *(f"{model['mean_auc']:.2f}" for model in models)])]


def profiles(audit: Mapping[str, Any]) -> list[str]:
    """The score from the input to the last layer, and local sensitivity in the last, per model."""
    told = f"score in {LAYERS} layers, evenly from the input to the last"
    lines = [row(["kind", "model", told, "local, last layer"])]
    lines.append("|---|---|---|---|")
    for model in audit["models"]:
        for one in model["kinds"]:
            depth = len(one["layers"]) - 1
            steps = min(depth, LAYERS - 1)
            layers = [round(depth * step / steps) for step in range(steps + 1)]
            profile = " ".join(f"{one['layers'][layer]['auc']:.2f}" for layer in layers)
            last = one["local"][-1] if one["local"] else None
            heard = f"{last['share']:.2f} ({last['low']:.2f}–{last['high']:.2f})" if last else "–"
            lines.append(row([one["kind"], model["name"], profile, heard]))
    return lines


def _of(model: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    return next((one for one in model["kinds"] if one["kind"] == kind), None)


def _cell(one: Mapping[str, Any] | None) -> str:
    if one is None:
        return "–"
    return f"{one['auc']:.2f} ({one['low']:.2f}–{one['high']:.2f}), {100 * one['blind']:.0f} %"


def text(audit: Mapping[str, Any]) -> str:
    """Both tables with what they are of."""
    names = " ".join(f"--model {model['name']}" for model in audit["models"])
    counts = [one["texts"] for model in audit["models"] for one in model["kinds"]]
    least, most = min(counts), max(counts)
    number = str(most) if least == most else f"{least} to {most}"
    about = (
        f"`wordsway audit {names}`: {audit['texts']:,} sentences ({audit['data']}), "
        f"{number} of a kind, seed {audit['seed']}. Reacts more than to a "
        "harmless edit, with its 95 % interval, and the share of "
        "blind edits."
    )
    return "\n".join([about, "", *league(audit), "", *profiles(audit)])


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
