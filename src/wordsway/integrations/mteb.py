"""An audit in the JSON format of MTEB's results (`mteb.TaskResult`), one per kind and model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wordsway.auditing.result import Audit, ModelAudit
from wordsway.auditing.scores import LevelScore
from wordsway.core.atomic import atomic
from wordsway.core.errors import InputError
from wordsway.version import __version__

#: The folder of a model whose revision is not known, as MTEB names it.
NO_REVISION = "no_revision_available"


def task_results(
    found: Audit, languages: Sequence[str] = ("eng-Latn",)
) -> dict[str, list[dict[str, Any]]]:
    """The results of each model and baseline by its name: one document for all texts together
    (``WordswayGoldOverall``) and one per kind of edit; the task's name has that of the data.

    ``main_score`` is the score at the audit's ``level``, with its 95 % interval in ``low`` and
    ``high``; ``hf_subset`` names the data, the target and the seed; ``dataset_revision`` is the
    SHA-256 of the texts and edits. ``evaluation_time`` is unknown per task, hence null.
    """
    return {
        str(model.name): [
            _document(found, model, kind, score, languages)
            for kind, score in (
                ("overall", model.levels.get(found.level)),
                *((kind.kind, kind.levels.get(found.level)) for kind in model.kinds),
            )
            if score is not None
        ]
        for model in (*found.models, *found.baselines)
    }


def _document(
    found: Audit, model: ModelAudit, kind: str, score: LevelScore, languages: Sequence[str]
) -> dict[str, Any]:
    subset = f"{Path(found.data).name}-{found.target}-seed{found.seed}"
    about = {"hf_subset": subset, "languages": list(languages), "main_score": score.score}
    own = {"level": found.level, "low": score.low, "high": score.high, "texts": score.texts}
    return {
        "task_name": "Wordsway" + re.sub(r"\W|_", "", f"{Path(found.data).stem} {kind}".title()),
        "dataset_revision": model.data_sha256,
        "mteb_version": None,
        "wordsway_version": __version__,
        "scores": {"test": [about | own]},
        "evaluation_time": None,
        "kg_co2_emissions": None,
    }


def save_task_results(
    found: Audit,
    folder: str | Path,
    *,
    languages: Sequence[str] = ("eng-Latn",),
    revision: str | Mapping[str, str] | None = None,
) -> list[Path]:
    """Write ``FOLDER/MODEL/REVISION/TASK.json`` for every model, baseline and kind, and the
    model_meta.json of each model: ``mteb.ResultCache(CACHE).load_results()`` reads CACHE/results.

    Parameters
    ----------
    folder : CACHE/results for MTEB, or any other
    languages : of the texts, as MTEB spells them
    revision : of the models, or a revision per name; by default the SHA-256 of a model's files if
        it is known. A file with another result is not overwritten.
    """
    written: dict[Path, str] = {}
    by_name = {str(model.name): model for model in (*found.models, *found.baselines)}
    for name, documents in task_results(found, languages).items():
        own = revision.get(name) if isinstance(revision, Mapping) else revision
        place = own or by_name[name].about.get("sha256") or NO_REVISION
        parts = Path(folder) / re.sub(r"[/\\]", "__", name).replace(" ", "_") / str(place)
        own_files = {f"{document['task_name']}.json": document for document in documents}
        own_files["model_meta.json"] = {"name": name, "revision": str(place)}
        for file, document in own_files.items():
            written[parts / file] = json.dumps(document, indent=2, ensure_ascii=False)
    for path, text in written.items():
        if path.exists() and path.read_text("utf-8") != text:
            raise InputError(
                "a new file or the same result",
                f"{path} with another result",
                "name this version of the model with revision=, or choose another folder",
            )
    for path, text in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic(path) as partial:
            partial.write_text(text, "utf-8")
    return list(written)
