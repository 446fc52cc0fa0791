"""The place *Audit*: the league and the blind spots of an audit folder, or a new audit.

Folders are named below one root; nothing outside of it is read or written: every path goes through
`confined`.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from wordsway.auditing.audit import audit
from wordsway.auditing.edits import RULES, TURNING
from wordsway.auditing.result import REWORDING
from wordsway.auditing.scores import FEW
from wordsway.core.errors import InputError, WordswayError, first_line
from wordsway.models.files import ModelName, labels_of
from wordsway.page.commands import audit_command, audit_python
from wordsway.page.desk import Desk
from wordsway.page.stored_audit import StoredAudit
from wordsway.render.wording.audit import AUC, BLIND

#: How deep below the root audits are looked for; how large their files, and how deep their JSON may
#: be.
DEPTH, MOST, NESTED = 3, 64 * 2**20, 16
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}(/[A-Za-z0-9][A-Za-z0-9._-]{0,60}){0,2}")


def audits_steps(ask: dict[str, Any], desk: Desk) -> Iterator[dict[str, Any]]:
    """The audits that are here, the newest first, and the kinds that a new one may ask about."""
    yield {
        "kind": "audits",
        "audits": folders(root_of(desk)),
        "kinds": [{"name": name, "about": rule.about} for name, rule in RULES.items()],
        "wording": {"auc": AUC, "blind": BLIND, "rewording": REWORDING},
        "few": FEW,
    }


def audit_steps(ask: dict[str, Any], desk: Desk) -> Iterator[dict[str, Any]]:
    """One audit as it was written."""
    root = root_of(desk)
    folder = inside(root, ask["folder"])
    result = read(root, ask["folder"])
    known = asked_for(result, desk) | {"out": str(folder)}
    yield {
        "kind": "audit",
        "folder": ask["folder"],
        "result": result,
        "command": audit_command(known),
        "python": audit_python(known),
    }
    yield {"kind": "done"}


def start_steps(ask: dict[str, Any], desk: Desk) -> Iterator[dict[str, Any]]:
    """A new audit, or the rest of one: leaving the page stops it, asking again goes on."""
    root = root_of(desk)
    folder = inside(root, ask["folder"])
    check_links(root, folder)
    for name in ask["models"]:
        desk.checked(name)
    known = ask | {"out": str(folder)}
    yield {"kind": "started", "command": audit_command(known), "python": audit_python(known)}
    found = audit(
        ask["models"],
        ask["data"],
        kinds=ask["kinds"],
        texts=ask["texts"],
        out=folder,
        seed=ask["seed"],
        workers=1,
        progress=desk.progress,
    )
    if found.interrupted:
        raise WordswayError("the audit was interrupted: ask again, and it goes on")
    yield {"kind": "audit", "folder": ask["folder"], "result": read(root, ask["folder"])}
    yield {"kind": "done"}


def asked_for(result: dict[str, Any], desk: Desk) -> dict[str, Any]:
    """What an audit was asked for, as far as its result says. A model that the server was started
    with by its folder is named by its folder.
    """
    offered = {label: name for name, label in labels_of(desk.allowed).items()}
    models = [ModelName.of(model["name"]) for model in result["models"]]
    scores = [score for model in result["models"] for score in model["kinds"]]
    kinds = list(dict.fromkeys(score["kind"] for score in scores))
    return {
        "models": [str(one._replace(model=offered.get(one.model, one.model))) for one in models],
        "data": result["data"],
        "kinds": None if set(kinds) >= set(TURNING) else kinds,
        "texts": max((score["texts"] for score in scores), default=0),
    } | {name: result[name] for name in ("target", "draws", "seed") if name in result}


def root_of(desk: Desk) -> Path:
    if desk.audits is None:
        raise WordswayError("this server shows no audits")
    return desk.audits


def confined(root: Path, *parts: str) -> Path:
    """The path below the root, all links followed; refused where it leads out of the root.

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
        "the name of a folder of letters, digits, dots and dashes", repr(name), "such as audit"
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
            except (InputError, OSError):  # it leads out, or was removed meanwhile
                continue
    return sorted(found, key=lambda one: -one["when"])[:100]


def read(root: Path, name: str) -> dict[str, Any]:
    """The audit that was written to a folder, checked for what the page shows of it."""
    path = confined(root, name, "audit.json")
    if not path.is_file():
        raise InputError("a folder with an audit", repr(name), "start one, or choose another")
    text = text_of(path, name)
    try:
        plain = json.loads(text, parse_float=_finite, parse_constant=_finite)
        _check_depth(plain)
        StoredAudit.model_validate(plain)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise _unreadable(path, name, f"{where}: {first['msg']}") from None
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, name, first_line(error)) from None
    result: dict[str, Any] = plain
    return result


def file_of(ask: dict[str, Any], desk: Desk) -> dict[str, Any]:
    """The file that the audit wrote beside its page: its name and its text."""
    root, name = root_of(desk), f"audit.{ask['ending']}"
    inside(root, ask["folder"])
    path = confined(root, ask["folder"], name)
    if not path.is_file():
        raise WordswayError(f"this audit has no {name}: run it again")
    return {"name": name, "text": text_of(path, ask["folder"])}


def text_of(path: Path, folder: str) -> str:
    """The text of a file that an audit wrote."""
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


def _finite(spelling: str) -> float:
    value = float(spelling)
    if not math.isfinite(value):
        raise ValueError(f"{spelling} is no finite number")
    return value


def _check_depth(plain: Any) -> None:
    level = [plain]
    for _ in range(NESTED):
        level = [
            child
            for one in level
            for child in (
                one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
            )
        ]
    if level:
        raise ValueError(f"it is nested more than {NESTED} deep")
