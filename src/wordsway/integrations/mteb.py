"""An audit in the JSON format of MTEB's results (`mteb.TaskResult`), one per kind and model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wordsway.auditing.result import Audit
from wordsway.auditing.scores import LevelScore
from wordsway.core.atomic import atomic
from wordsway.version import __version__


def task_results(found: Audit) -> dict[str, list[dict[str, Any]]]:
    """The results of each model by its name, one document per kind of edit.

    ``main_score`` is the score at the audit's ``level``, with its 95 % interval in ``low`` and
    ``high``.
    """
    return {
        str(model.name): [
            _document(found, kind.kind, kind.levels[found.level])
            for kind in model.kinds
            if found.level in kind.levels
        ]
        for model in found.models
    }


def _document(found: Audit, kind: str, score: LevelScore) -> dict[str, Any]:
    about = {"hf_subset": "default", "languages": ["eng-Latn"], "main_score": score.score}
    own = {"level": found.level, "low": score.low, "high": score.high, "texts": score.texts}
    return {
        "task_name": f"Wordsway{kind.title().replace('-', '')}",
        "dataset_revision": __version__,
        "mteb_version": None,
        "scores": {"test": [about | own]},
        "evaluation_time": found.seconds,
        "kg_co2_emissions": None,
    }


def save_task_results(found: Audit, folder: str | Path) -> list[Path]:
    """Write ``FOLDER/MODEL/REVISION/TASK.json`` for every model and kind, as MTEB does."""
    paths = []
    for model, documents in task_results(found).items():
        for document in documents:
            place = Path(folder) / model.replace("/", "__") / "no_revision_available"
            place.mkdir(parents=True, exist_ok=True)
            path = place / f"{document['task_name']}.json"
            with atomic(path) as partial:
                partial.write_text(json.dumps(document, indent=2, ensure_ascii=False), "utf-8")
            paths.append(path)
    return paths
