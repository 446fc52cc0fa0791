"""`make bench`: the naive procedure and wordsway, how tight the certificates are, how accurate
forecasts are, learning, real models, the page: one run, one record, docs/notes/performance.md.

    python -m benchmarks                 all parts, into docs/notes/performance.md (`make bench`)
    python -m benchmarks --quick         a small share of them, into out/bench/quick.md
    python -m benchmarks tightness [10]  some parts, printed: no page changes; a number is how many
                                         draws or texts (parts, below, has their names)
    python -m benchmarks cost FOLDER     docs/notes/cost.md, off a finished `wordsway reproduce`
    python -m benchmarks studies FOLDER  the same for docs/notes/ingredients.md
    python -m benchmarks bounds          the table of docs/notes/bounds.md
    python -m benchmarks architectures [NAME …]  models of many architectures against transformers,
                                         for docs/notes/architectures.md; with names printed
    python -m benchmarks effort [10]     docs/notes/search.md: what more effort finds
    python -m benchmarks unconverged [24]  the same: what effort 4 gains where effort 1 did not
                                         converge
    python -m benchmarks external FILE…  published tables through `pairs` (docs/notes/audit.md)
    python -m benchmarks effect          the paper's effect on IMDb reviews, for docs/notes/imdb.md
    python -m benchmarks attack [PART]   kills, fuzzes, hostile files: docs/notes/hardening.md
    python -m benchmarks certified [5000]  adversarial instances against certificates, continued
                                         where a run was stopped (out/bench/certified.jsonl)
    python -m benchmarks pairs FILE.csv  `pairs` against plain encoding, on your own pairs
    python -m benchmarks training        fine-tunes MiniLM: the picture docs/training.svg
    python -m benchmarks proofs [10000]  the tables of docs/notes/proofs.md: kinds and sizes, and
                                         tampered proofs
    python -m benchmarks constraints [200 [5]]  the table of docs/constraints.md: draws, objectives
                                         per draw; continued where a run was stopped
    python -m benchmarks deep [500]      the table of docs/proofs-drf.md, and the calibration
    python -m benchmarks run CASE WHO    one measurement in this process, as JSON
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch

from benchmarks import (
    architectures,
    bounds,
    comparison,
    constraints,
    cost,
    deep,
    effect,
    effort,
    embedding,
    external,
    forecasts,
    layer_alone,
    learning,
    page,
    pairs,
    playground,
    probing,
    probing_page,
    proofs,
    record,
    studies,
    tightness,
    zoo,
)
from benchmarks.attack.report import attack
from benchmarks.cases import CASES, run
from benchmarks.certified import attack as certified
from benchmarks.record import DOCS, NOTES, UNFINISHED, Part


def parts(pictures: Path) -> dict[str, Part]:
    """What the page is made of, in its order; pictures are drawn into that folder."""
    compare = partial(comparison.comparison, picture=pictures / "performance.png")
    return {
        "compare": Part("The naive procedure and wordsway", compare, 3),
        "tightness": Part("How tight the certificates are", tightness.page, 3),
        "zoo": Part("The attention family", zoo.page),
        "layer-alone": Part("One attention layer of a real model", layer_alone.page, 10),
        "forecasts": Part("How accurate forecasts are", forecasts.page),
        "learning": Part("Learning", learning.page, 20),
        "commands": Part("Words of a text", probing_page.commands),
        "determined": Part("The same words from another seed", probing_page.determined, 2),
        "curve": Part("The worst change of a word", probing_page.curve, 3),
        "ceiling": Part("The ceiling of a real model", probing_page.ceiling, 3),
        "swaps": Part("Real words, screened and all of them", probing_page.swaps, 1),
        "prefix": Part("Rows before the changed word", probing_page.prefix, 16),
        "embedding": Part("Embedding and reading back", embedding.page),
        "page": Part("The page in the browser", page.table),
        "playground": Part("The playground", playground.table),
    }


#: The same parts where a few minutes must do; those that are not here are left out.
QUICK: dict[str, Callable[[], str]] = {
    "compare": partial(
        comparison.comparison, 1, ("relu-raf-one", "rf-small", "drf-small", "rf-paper")
    ),
    "tightness": partial(tightness.page, 2, 50),
    "forecasts": partial(forecasts.page, forecasts.FORECASTS[:4]),
    "learning": partial(learning.page, 5, ("raf",), ()),
    "commands": partial(probing_page.commands, False),
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
        print(json.dumps(probing.run(sys.argv[2], int(sys.argv[3]))))
        return
    if sys.argv[1:2] == ["embed"]:
        print(embedding.embed(sys.argv[2]))
        return
    if sys.argv[1:2] == ["pairs"]:
        print(pairs.table(Path(sys.argv[2]), *sys.argv[3:4]))
        return
    if sys.argv[1:2] == ["training"]:
        from benchmarks import training  # imports sentence-transformers

        print(json.dumps(training.picture(DOCS / "training.svg"), indent=1))
        return
    if sys.argv[1:2] == ["cost"]:
        cells = cost.cells(Path(sys.argv[2]))
        renew(
            NOTES / "cost.md",
            "Measured",
            f"{cost.page(cells)}\n\n*torch {torch.__version__}, one thread per cell, two workers.*",
        )
        renew(NOTES / "cost.md", "Each figure", cost.by_figure(cells))
        return
    if sys.argv[1:2] == ["studies"]:
        for heading, body in studies.tables(Path(sys.argv[2])).items():
            renew(NOTES / "ingredients.md", heading, body)
        for name in studies.PICTURES:
            shutil.copy(Path(sys.argv[2]) / f"{name}.svg", DOCS / "explanation")
        return
    if sys.argv[1:2] == ["external"]:
        external.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["attack"]:
        chosen = [word for word in sys.argv[2:] if not word.isdecimal()]
        counts = [int(word) for word in sys.argv[2:] if word.isdecimal()]
        faults = attack(chosen, NOTES / "hardening.md", *counts[:1])
        if faults:
            sys.exit("\n".join(faults))
        return
    if sys.argv[1:2] == ["bounds"]:
        table = f"`python -m benchmarks bounds`\n\n{bounds.page()}\n\n*torch {torch.__version__}.*"
        renew(NOTES / "bounds.md", "Measured", table)
        return
    if sys.argv[1:2] == ["proofs"]:
        section = f"`python -m benchmarks proofs`; {proofs.ABOUT}\n\n{proofs.table()}"
        renew(NOTES / "proofs.md", "Measured", section)
        renew(NOTES / "proofs.md", "Tampered proofs", proofs.tamper(*map(int, sys.argv[2:3])))
        return
    if sys.argv[1:2] == ["deep"]:
        section = f"`python -m benchmarks deep`: {deep.ABOUT}\n\n{deep.table()}"
        section += f"\n\n{deep.calibration(*map(int, sys.argv[2:3]))}"
        renew(DOCS / "proofs-drf.md", "Measured", section)
        return
    if sys.argv[1:2] == ["constraints"]:
        table = constraints.page(*map(int, sys.argv[2:4]))
        command = " ".join(["python -m benchmarks", *sys.argv[1:]])
        section = f"`{command}`: {constraints.ABOUT}\n\n{table}"
        renew(DOCS / "constraints.md", "Compared with brute force", section)
        return
    if sys.argv[1:2] == ["certified"]:
        certified.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["architectures"]:
        table, faults = architectures.page(sys.argv[2:])
        if sys.argv[2:]:
            print(table)
        else:
            renew(NOTES / "architectures.md", "Architectures", f"{architectures.ABOUT}\n\n{table}")
        if faults:
            sys.exit("\n".join(faults))
        return
    if sys.argv[1:2] == ["effort"]:
        command = " ".join(["python -m benchmarks", *sys.argv[1:]])
        table = f"`{command}`\n\n{effort.page(*map(int, sys.argv[2:]))}"
        renew(NOTES / "search.md", effort.HEADING, table)
        return
    if sys.argv[1:2] == ["unconverged"]:
        table = effort.unconverged(*map(int, sys.argv[2:]))
        section = f"`python -m benchmarks unconverged`\n\n{table}"
        renew(NOTES / "search.md", effort.UNCONVERGED, section)
        return
    if sys.argv[1:2] == ["effect"]:
        effect.run(DOCS)
        return
    if sys.argv[1:] == ["--quick"]:
        whole = parts(UNFINISHED.parent)
        quick = {
            name: Part(whole[name].heading, part, own="--quick") for name, part in QUICK.items()
        }
        target = UNFINISHED.with_name("quick.json")
        found = record.measure(quick, tell, target)
        target.unlink()
        target.with_suffix(".md").write_text(found.page(), "utf-8")
        tell(f"written to {target.with_suffix('.md').relative_to(record.ROOT)}")
        return
    if sys.argv[1:]:
        alone(sys.argv[1:])
        return
    found = record.measure(parts(UNFINISHED.parent), tell)
    found.publish()
    UNFINISHED.unlink()


def alone(words: Sequence[str]) -> None:
    """Some parts, printed, each with the count behind its name or the page's own."""
    folder = UNFINISHED.parent / "alone"
    known = parts(folder)
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word in known:
            folder.mkdir(parents=True, exist_ok=True)
            print(known[word].measure(int(after) if after.isdecimal() else None), flush=True)
        elif not word.isdecimal():
            sys.exit(f"expected one of {', '.join(known)}, got {word!r}")


if __name__ == "__main__":
    main()
