"""The place *Audit*: the leaderboard and the blind spots of an audit folder, or a new audit.

Folders are named below one root. Every path goes through `confined`, so that nothing outside of
the root is read or written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from wordsway.auditing.audit import audit
from wordsway.auditing.differences import Difference
from wordsway.auditing.edits import RULES, TURNING
from wordsway.auditing.flips import FlipScore
from wordsway.auditing.result import EXPLAINED
from wordsway.core.errors import InputError, WordswayError, first_line
from wordsway.models.files import ModelName, labels_of
from wordsway.page.commands import call, line
from wordsway.page.worker import WorkerState
from wordsway.render.views.audit import (
    CHOICE,
    LABEL_TITLE,
    LEVEL_MEANINGS,
    LEVEL_NAMES,
    POINT,
    TITLE,
    WHAT,
    WHAT_LABELS,
    closer_sentence,
    edit_counts,
    flip_lines,
    flip_table,
    threshold_sentences,
)

#: Limits: the depth of folders below the root, bytes of a file.
DEPTH, MOST = 3, 64 * 2**20
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}(/[A-Za-z0-9][A-Za-z0-9._-]{0,60}){0,2}")

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0, lt=2**53)]


class _Stored(BaseModel):
    """The part of audit.json that the page shows; other fields are left out."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class StoredLevel(_Stored):
    texts: Count
    score: Share
    low: Share
    high: Share
    overlap: Share


class StoredKind(_Stored):
    kind: str
    levels: dict[str, StoredLevel]


class StoredSpot(_Stored):
    kind: str
    text: str
    start: Count
    before: str
    after: str
    change: float
    keeping: str
    keeping_text: str
    keeping_change: float


class StoredThreshold(_Stored):
    threshold: float
    accepted_changes: Share
    accepted_low: Share | None = None
    accepted_high: Share | None = None
    rejected_rewordings: Share
    rejected_low: Share | None = None
    rejected_high: Share | None = None
    rejected_light: Share | None = None
    rejected_heavy: Share | None = None


class StoredEqualError(StoredThreshold):
    texts: Count
    works: bool | None
    light: StoredThreshold | None = None


class StoredBest(StoredEqualError):
    sum: float
    sum_low: float
    sum_high: float


class StoredCloser(_Stored):
    count: Count
    of: Count
    different: Count | None = None


class StoredModel(_Stored):
    name: str
    levels: dict[str, StoredLevel]
    kinds: list[StoredKind]
    matched: StoredLevel | None = None
    thresholds: list[StoredThreshold] = []
    equal_error: StoredEqualError | None = None
    best_threshold: StoredBest | None = None
    strict_threshold: StoredThreshold | None = None
    closer_changes: StoredCloser | None = None
    blind_spots: list[StoredSpot] = []
    flips: list[FlipScore] = []
    verdict: str = ""
    rank: Count = 0


class StoredDifference(_Stored):
    said: str


class StoredAudit(_Stored):
    models: list[StoredModel]
    baselines: list[StoredModel] = []
    differences: list[StoredDifference] = []
    flip_differences: list[Difference] = []
    level: str
    data: str
    texts: Count
    target: str = "cosine"
    seed: int = 0
    draws: Count = 0


def audits_steps(request: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    """The stored audits, newest first, and the kinds of edits that a new one may use."""
    yield {
        "kind": "audits",
        "audits": folders(state.audits),
        "kinds": [{"name": name, "about": RULES[name].about} for name in TURNING],
        "wording": {
            "meaning": {"title": TITLE, "what": WHAT},
            "label": {"title": LABEL_TITLE, "what": WHAT_LABELS},
            "matched": EXPLAINED["matched"],
            "point": POINT,
            "levels": [
                {"name": name, "title": short, "about": LEVEL_MEANINGS[name]}
                for name, short in LEVEL_NAMES.items()
            ],
        },
    }


def audit_steps(request: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    folder = inside(state.audits, request["folder"])
    result = read(state.audits, request["folder"])
    commands = _commands(asked_for(result, state) | {"out": str(folder)})
    yield {"kind": "audit", "folder": request["folder"], "result": result, **commands}
    yield {"kind": "done"}


def start_steps(request: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    """Run a new audit, or resume one that was interrupted."""
    root = state.audits
    folder = inside(root, request["folder"])
    check_links(root, folder)
    for name in request["models"]:
        state.checked(name)
    if request["table"] is not None:
        folder.mkdir(parents=True, exist_ok=True)
        own = confined(root, request["folder"], "own.csv")
        own.write_text(request["table"], "utf-8")
        request = request | {"data": str(own)}
    yield {"kind": "started", **_commands(request | {"out": str(folder)})}
    found = audit(
        request["models"],
        request["data"],
        kinds=request["kinds"],
        texts=request["texts"],
        out=folder,
        seed=request["seed"],
        workers=1,
        progress=state.progress,
    )
    if found.interrupted:
        raise WordswayError("the audit was interrupted: start it again to resume")
    yield {"kind": "audit", "folder": request["folder"], "result": read(root, request["folder"])}
    yield {"kind": "done"}


def asked_for(result: dict[str, Any], state: WorkerState) -> dict[str, Any]:
    """The arguments of a stored audit; models that the server offers are named by folder."""
    offered = {label: name for name, label in labels_of(state.allowed).items()}
    models = [ModelName.of(model["name"]) for model in result["models"]]
    scores = [score for model in result["models"] for score in model["kinds"]]
    kinds = list(dict.fromkeys(score["kind"] for score in scores))
    return {
        "models": [str(one._replace(model=offered.get(one.model, one.model))) for one in models],
        "data": result["data"],
        "kinds": None if set(kinds) >= set(TURNING) else kinds,
        "texts": max(
            (one["texts"] for score in scores for one in score["levels"].values()), default=0
        ),
    } | {name: result[name] for name in ("target", "draws", "seed") if name in result}


def confined(root: Path, *parts: str) -> Path:
    """The path below the root, all links followed; a path that leads out of the root is refused.

    >>> confined(Path("/srv/out"), "audit", "audit.csv").name
    'audit.csv'
    """
    try:
        base = root.resolve()
        path = base.joinpath(*parts).resolve()
        if path.is_relative_to(base):
            return path
    except (OSError, RuntimeError, ValueError):  # links in a circle, a name with a NUL
        pass
    raise InputError(
        "a path inside the folder of audits",
        repr("/".join(parts)),
        "move the file there, or start the page with another --audits folder",
    )


def inside(root: Path, name: str) -> Path:
    """A folder below the root by its name."""
    if NAME.fullmatch(name):
        return confined(root, name)
    raise InputError(
        "a folder name of letters, digits, dots, dashes and underscores, with at most two slashes",
        repr(name),
        "such as audit",
    )


def check_links(root: Path, folder: Path) -> None:
    """Refuse a folder in which a link leads out of the root: an audit writes to its subfolders."""
    for place, folders_in, files_in in os.walk(folder):
        for name in (*folders_in, *files_in):
            if os.path.islink(os.path.join(place, name)):
                confined(root, os.path.relpath(place, root.resolve()), name)


def folders(root: Path) -> list[dict[str, Any]]:
    """Folders below the root that hold an audit."""
    found: list[dict[str, Any]] = []
    for depth in range(1, DEPTH + 1):
        for path in root.glob("/".join(["*"] * depth) + "/audit.json"):
            name = path.parent.relative_to(root).as_posix()
            try:
                real = confined(root, name, "audit.json")
                if NAME.fullmatch(name) and real.is_file():
                    found.append({"folder": name, "when": real.stat().st_mtime})
            except (InputError, OSError):  # it leads out, or was removed in the meantime
                continue
    return sorted(found, key=lambda one: -one["when"])[:100]


def read(root: Path, name: str) -> dict[str, Any]:
    """The audit of a folder, validated."""
    path = confined(root, name, "audit.json")
    if not path.is_file():
        raise InputError("a folder with an audit", repr(name), "start one, or choose another")
    try:
        stored = StoredAudit.model_validate_json(text_of(path, name))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise _unreadable(path, name, f"{where}: {first['msg']}") from None
    found = stored.model_dump(exclude_unset=True)
    for model in found["models"]:
        if said := threshold_sentences(model):
            model["equal_sentence"] = said
        if closer := model.get("closer_changes"):
            model["closer_sentence"] = closer_sentence(closer)
    flips = flip_table((model.name, model.flips) for model in stored.models)
    if flips.rows:
        found["flips"] = {
            "counts": edit_counts(stored.texts, [model.flips for model in stored.models]),
            "said": flip_lines(stored.flip_differences),
            "choice": CHOICE,
            "heads": [
                {"title": one.name, "about": one.meaning, "text": one.kind == "text"}
                for one in flips.columns
            ],
            "rows": flips.rows,
        }
    return found


def audit_file(request: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    """A file that the audit wrote next to its page."""
    root, name = state.audits, f"audit.{request['ending']}"
    inside(root, request["folder"])
    path = confined(root, request["folder"], name)
    if not path.is_file():
        raise WordswayError(f"this audit has no {name}: run it again")
    yield {"kind": "file", "name": name, "text": text_of(path, request["folder"])}


TASKS = {
    "audits": audits_steps,
    "audit": audit_steps,
    "audit/start": start_steps,
    "audit/file": audit_file,
}


def _commands(asked: dict[str, Any]) -> dict[str, str]:
    """The command and the lines of Python that run the same audit."""
    models, data = list(asked["models"]), asked["data"]
    options = {name: asked.get(name) for name in ("texts", "kinds", "target", "draws", "seed")}
    options |= {"out": asked["out"]}
    python = call("audit", [models, data], options)
    return {
        "command": line("audit", [], {"models": models, "data": data} | options),
        "python": f"import wordsway as ws\n\nfound = {python}\nfound.show()",
    }


def text_of(path: Path, folder: str) -> str:
    try:
        if path.stat().st_size > MOST:
            raise ValueError(f"it has more than {MOST:,} bytes")
        return path.read_text("utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else first_line(error)
        raise _unreadable(path, folder, reason or type(error).__name__) from None


def _unreadable(path: Path, folder: str, reason: str) -> WordswayError:
    return WordswayError(
        f"{path.name} of {folder} cannot be used ({reason}): run this audit again, or remove it"
    )
