"""`make bench`: the naive procedure against ours, how tight the certificates are, how true
forecasts are, learning, real models, the page: one run, one record, docs/performance.md.

    python -m benchmarks                 all parts, into docs/performance.md (`make bench`)
    python -m benchmarks --quick         a small share of them, into out/bench/quick.md
    python -m benchmarks tightness …     some parts, printed: no page changes
    python -m benchmarks cost FOLDER     reads docs/cost.md off a finished `wordsway reproduce`
    python -m benchmarks studies FOLDER  the same for docs/explanation/ingredients.md
    python -m benchmarks bounds          the table of docs/bounds.md
    python -m benchmarks effect          the paper's effect on IMDb reviews, for docs/data.md
    python -m benchmarks attack [PART]   kills, fuzzes, feeds hostile files, into docs/hardening.md
    python -m benchmarks run CASE WHO    one measurement in this process, as JSON
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from benchmarks import (
    bounds,
    comparison,
    cost,
    effect,
    embedding,
    forecasts,
    layer_alone,
    learning,
    page,
    playground,
    probing,
    record,
    studies,
    tightness,
    zoo,
)
from benchmarks.attack.report import attack
from benchmarks.cases import CASES, run
from benchmarks.fresh import fresh

DOCS = record.ROOT / "docs"


def probed(names: tuple[str, ...]) -> str:
    """Pretrained models, each measurement in a fresh process."""
    return probing.page({name: fresh(name, "ours", "probe") for name in names})


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "compare": ("The naive procedure against ours", comparison.comparison),
    "tightness": ("How tight the certificates are", tightness.page),
    "zoo": ("The attention family", zoo.page),
    "forecasts": ("How true forecasts are", forecasts.page),
    "learning": ("Learning", learning.page),
    "probing": (
        "Pretrained models",
        partial(probed, ("command", "long", "determined", "curve", "ceiling", "prefix", "swaps")),
    ),
    "layer-alone": ("One attention layer alone", layer_alone.page),
    "embedding": ("Embedding and reading back", embedding.page),
    "page": ("The page", page.table),
    "playground": ("The playground", playground.table),
}
#: The same parts where a few minutes must do; those that are not here are left out.
QUICK: dict[str, Callable[[], str]] = {
    "compare": partial(
        comparison.comparison, ("relu-raf-one", "rf-small", "drf-small", "rf-paper"), 1, None
    ),
    "tightness": partial(tightness.page, 2, 50),
    "forecasts": partial(forecasts.page, forecasts.FORECASTS[:4]),
    "learning": partial(learning.page, ("raf",), (), 5),
    "probing": partial(probed, ("command",)),
    "embedding": partial(embedding.page, ("minilm",)),
}


def renew(page: Path, heading: str, body: str) -> None:
    """Replace the section under ``heading``, or append it."""
    head, _, rest = page.read_text().partition(f"## {heading}\n")
    after = rest[rest.index("\n## ") + 1 :] if "\n## " in rest else ""
    page.write_text(
        f"{head.rstrip()}\n\n## {heading}\n\n{body.rstrip()}\n" + (f"\n{after}" if after else "")
    )


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    if sys.argv[1:2] == ["run"]:
        print(json.dumps(run(CASES[sys.argv[2]], sys.argv[3])))
        return
    if sys.argv[1:2] == ["lesson"]:
        print(json.dumps(learning.run(sys.argv[2], sys.argv[3])))
        return
    if sys.argv[1:2] == ["probe"]:
        print(json.dumps(probing.run(sys.argv[2])))
        return
    if sys.argv[1:2] == ["embed"]:
        print(embedding.embed(sys.argv[2]))
        return
    if sys.argv[1:2] == ["cost"]:
        renew(
            DOCS / "cost.md",
            "Measured",
            f"{cost.page(Path(sys.argv[2]))}\n\n*torch {torch.__version__}, one thread per cell, "
            "two workers.*",
        )
        renew(DOCS / "cost.md", "Each figure", cost.by_figure(Path(sys.argv[2])))
        return
    if sys.argv[1:2] == ["studies"]:
        for heading, body in studies.tables(Path(sys.argv[2])).items():
            renew(DOCS / "explanation" / "ingredients.md", heading, body)
        for name in studies.PICTURES:
            shutil.copy(Path(sys.argv[2]) / f"{name}.svg", DOCS / "explanation")
        return
    if sys.argv[1:2] == ["attack"]:
        parts = [word for word in sys.argv[2:] if not word.isdecimal()]
        counts = [int(word) for word in sys.argv[2:] if word.isdecimal()]
        faults = attack(parts, DOCS / "hardening.md", *counts[:1])
        if faults:
            sys.exit("\n".join(faults))
        return
    if sys.argv[1:2] == ["bounds"]:
        table = f"`python -m benchmarks bounds`\n\n{bounds.page()}\n\n*torch {torch.__version__}.*"
        renew(DOCS / "bounds.md", "Measured", table)
        return
    if sys.argv[1:2] == ["effect"]:
        effect.run(DOCS)
        return
    if sys.argv[1:] == ["--quick"]:
        quick = {name: (PARTS[name][0], part) for name, part in QUICK.items()}
        target = record.UNFINISHED.with_name("quick.json")
        found = record.measure(quick, tell, target)
        target.unlink()
        target.with_suffix(".md").write_text(found.page())
        tell(f"written to {target.with_suffix('.md').relative_to(record.ROOT)}")
        return
    if sys.argv[1:]:
        for name in sys.argv[1:]:
            print(PARTS[name][1](), flush=True)
        return
    found = record.measure(PARTS, tell)
    found.write(record.RECORD)
    record.PAGE.write_text(found.page())
    record.UNFINISHED.unlink()


if __name__ == "__main__":
    main()
