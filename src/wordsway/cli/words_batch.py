"""`wordsway words --data …`: the words of many texts, and what they have in common; resumes per
text.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from wordsway.cli.progress import echo_json
from wordsway.cli.running import folder, run_cells, tell, tell_forecast
from wordsway.cli.waiting import waiting
from wordsway.errors import InputError, positive

if TYPE_CHECKING:
    import pandas

    from wordsway.experiments.sweep import Swept
    from wordsway.experiments.text_cells import TextCell
    from wordsway.text import Text

OUT = Path("out/words")


@dataclass(frozen=True)
class Batch:
    """What to read, how to search it, and where to run and write it; None leaves a choice to its
    default.
    """

    data: str
    limit: int | None = None
    text_column: str | None = None
    label_column: str | None = None
    encoding: str | None = None
    model: str = "minilm"
    layer: str = "last"
    reach: float = 1.0
    at: str = "words"
    effort: float | None = None
    tokens: int | None = None
    seed: int = 0
    out: Path | None = None
    workers: int | None = None
    cluster: str | None = None
    memory: float | None = None
    retry_failed: bool = False
    forecast: bool = False
    as_json: bool = False


def refuse(options: Mapping[str, object], expected: str, remedy: str) -> None:
    """An error that names the first option that was given (is neither None nor False) and has no
    meaning here.
    """
    for name, value in options.items():
        if value is not None and value is not False:
            raise InputError(expected, f"also {name}", remedy)


def run_batch(batch: Batch) -> None:
    """Run what the store does not have yet, write the tables, and tell what the corpus says."""
    from wordsway.experiments.budget import cell_bytes
    from wordsway.experiments.store import Store
    from wordsway.experiments.text_cells import probe_of

    texts = chosen_texts(batch)
    cells = _cells(batch, texts)
    out = folder(batch.out or OUT)
    store = Store(out / "store")
    if batch.forecast:
        tell_forecast(cells, store, batch.workers, as_json=batch.as_json, what="texts")
        return
    cell_bytes(cells[0])  # counted while the model is here; the workers load it for themselves
    probe_of.cache_clear()
    swept = run_cells(
        cells,
        store,
        workers=batch.workers,
        cluster=batch.cluster,
        memory=batch.memory,
        retry_failed=batch.retry_failed,
        what="texts",
    )
    from wordsway.experiments.batches import aggregates, words_frame, write_batch

    done = [cell.key for cell in cells if cell.key in store]
    facts = words_frame(store, done, facts=True)
    kinds = {text.sha256: text.kind for text in texts}
    if any(kind is not None for kind in kinds.values()):
        facts.insert(
            list(facts.columns).index("text_sha256") + 1, "label", facts["text_sha256"].map(kinds)
        )
    found = aggregates(facts)
    tables = write_batch(facts, found, out)
    if batch.as_json:
        echo_json(_document(cells, len(done), swept, found, tables))
    else:
        from rich.console import Console

        from wordsway.render.terminal.batch import batch_panel

        Console().print(batch_panel(found, batch.model, cells[0].layer, len(done), cells[0].tokens))
        typer.echo()
        tell(swept, store, _again(batch), "texts")
        typer.echo(f"tables: {', '.join(str(path) for path in tables)}")
    if swept.interrupted or swept.failed or swept.skipped:
        raise typer.Exit(1)


def chosen_texts(batch: Batch) -> list[Text]:
    """Texts of the corpus, each once: all of them, or as many as asked for, drawn by seed. Labels
    are read only where they are named.
    """
    from wordsway.text import corpus, draw

    limit = None if batch.limit is None else positive("limit", batch.limit)
    columns = {"text_column": batch.text_column, "label_column": batch.label_column or ""}
    with waiting(f"reading {batch.data}") as line:
        reviews = corpus(
            batch.data,
            **columns,
            encoding=batch.encoding,
            progress=lambda d, t: line(f"fetching {batch.data}", d, t),
        )
        first: dict[str, Text] = {}
        for text in reviews:
            first.setdefault(text.sha256, text)
            if limit is not None and len(first) > limit:
                return draw(reviews, limit, batch.seed)
    return list(first.values())


def _cells(batch: Batch, texts: list[Text]) -> list[TextCell]:
    """The cells of the texts; the model is loaded here, so that a wrong request is told before any
    work.
    """
    from wordsway.experiments.text_cells import EFFORT, TOKENS, probe_of, text_cells
    from wordsway.models.files import locate

    with waiting("loading the model") as line:
        files = locate(batch.model, lambda d, t: line(f"fetching {batch.model}", d, t))
        probe = probe_of(batch.model, files.digest)
        return text_cells(
            texts,
            probe,
            batch.model,
            layer=batch.layer,
            tokens=TOKENS if batch.tokens is None else batch.tokens,
            reach=batch.reach,
            at=batch.at,
            effort=EFFORT if batch.effort is None else batch.effort,
            seed=batch.seed,
        )


def _document(
    cells: list[TextCell],
    done: int,
    swept: Swept,
    found: dict[str, pandas.DataFrame],
    tables: list[Path],
) -> dict[str, Any]:
    """Everything in one document; what has no value is null."""
    one, ids = cells[0], {cell.key: cell.id for cell in cells}
    failed = {
        ids[key]: error
        for key, error in sorted(
            (swept.failed | swept.skipped).items(), key=lambda item: ids[item[0]]
        )
    }
    fields: dict[str, Any] = {
        "model": one.model,
        "model_sha256": one.model_sha256,
        "layer": one.layer,
        "reach": one.reach,
        "at": one.at,
    }
    fields |= {"effort": one.effort, "tokens": one.tokens, "seed": one.seed}
    fields |= {
        "texts": swept.total,
        "probed": done,
        "done": swept.done,
        "before": swept.before,
        "failed": failed,
    }
    fields |= {"interrupted": swept.interrupted, "tables": [str(path) for path in tables]}
    return fields | {
        name: table.astype(object).where(table.notna(), None).to_dict("records")
        for name, table in found.items()
    }


def _again(batch: Batch) -> str:
    """The command as it was given; texts are the same ones only with the same options."""
    ours = Path(sys.argv[0]).name.startswith(("wordsway", "__main__"))
    given = (
        [word for word in sys.argv[1:] if word != "--retry-failed"]
        if ours
        else ["words", "--data", batch.data]
    )
    return shlex.join(["wordsway", *given])
