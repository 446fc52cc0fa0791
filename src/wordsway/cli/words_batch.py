"""`wordsway words --data …`: the words of many texts, and what they have in common; resumes per
text.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from wordsway.cli.progress import echo_json, progress_line
from wordsway.cli.running import report_failures
from wordsway.core.errors import InputError

if TYPE_CHECKING:
    from wordsway.engine.run import Machines
    from wordsway.studies.texts import TextOptions


def refuse(options: Mapping[str, object], expected: str, remedy: str) -> None:
    """An error that names the first option that was given (is neither None nor False) and has no
    meaning here.
    """
    for name, value in options.items():
        if value is not None and value is not False:
            raise InputError(expected, f"also {name}", remedy)


def run_batch(
    data: str,
    model: str,
    how: dict[str, Any],
    *,
    limit: int | None,
    options: TextOptions,
    out: Path | None,
    machines: Machines,
    retry_failed: bool,
    forecast: bool,
    as_json: bool,
) -> None:
    """Probe what the store does not have yet; ``how`` is layer, target, tiers and so on
    (None leaves a choice to its default).
    """
    from wordsway.studies.corpus_words import (
        OUT,
        corpus_jobs,
        corpus_texts,
        forecast_corpus,
        probe_corpus,
    )

    given = {name: value for name, value in how.items() if value is not None}
    folder = out or OUT
    with progress_line(f"reading {data}") as progress:
        texts = corpus_texts(
            data, limit=limit, options=options, seed=how["seed"], progress=progress
        )
        jobs = corpus_jobs(texts, model, progress=progress, **given)
        if not forecast:
            result = probe_corpus(
                texts,
                jobs,
                folder,
                machines=machines,
                retry_failed=retry_failed,
                progress=progress,
            )
    if forecast:
        cost = forecast_corpus(jobs, folder, workers=machines.workers)
        echo_json(cost.to_dict()) if as_json else cost.show()
        return
    echo_json(result.to_dict()) if as_json else result.show()
    if not as_json:
        report_failures(result.tally, ["words", "--data", data])
    if not result.tally.complete:
        raise typer.Exit(1)
