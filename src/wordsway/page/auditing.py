"""The place *Audit*: the league and the blind spots of an audit folder, or a new audit.

Folders are named below one root; nothing outside of it is read or written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wordsway.audit.audit import audit
from wordsway.audit.edits.kinds import RULES, TURNING
from wordsway.errors import InputError, WordswayError
from wordsway.page.commands import audit_command, audit_python
from wordsway.page.desk import Desk
from wordsway.render.wording.audit import AUC, BLIND

#: How deep below the root audits are looked for, and how large their JSON may be.
DEPTH, MOST = 3, 64 * 2**20
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}(/[A-Za-z0-9][A-Za-z0-9._-]{0,60}){0,2}")


def audits_steps(ask: dict[str, Any], desk: Desk) -> Iterator[dict[str, Any]]:
    """The audits that are here, the newest first, and the kinds that a new one may ask about."""
    yield {
        "kind": "audits",
        "audits": folders(root_of(desk)),
        "kinds": [{"name": name, "about": rule.about} for name, rule in RULES.items()],
        "wording": {"auc": AUC, "blind": BLIND},
    }


def audit_steps(ask: dict[str, Any], desk: Desk) -> Iterator[dict[str, Any]]:
    """One audit as it was written."""
    folder = inside(root_of(desk), ask["folder"])
    result = read(folder)
    known = asked_for(result) | {"out": str(folder)}
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
    folder = inside(root_of(desk), ask["folder"])
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
    yield {"kind": "audit", "folder": ask["folder"], "result": read(folder)}
    yield {"kind": "done"}


def asked_for(result: dict[str, Any]) -> dict[str, Any]:
    """What an audit was asked for, as far as its result says."""
    scores = [score for model in result["models"] for score in model["kinds"]]
    kinds = list(dict.fromkeys(score["kind"] for score in scores))
    return {
        "models": [model["name"] for model in result["models"]],
        "data": result["data"],
        "kinds": None if set(kinds) >= set(TURNING) else kinds,
        "texts": max((score["texts"] for score in scores), default=0),
    } | {name: result[name] for name in ("target", "draws", "seed") if name in result}


def root_of(desk: Desk) -> Path:
    if desk.audits is None:
        raise WordswayError("this server shows no audits")
    return desk.audits


def inside(root: Path, name: str) -> Path:
    """A folder below the root by its name: no way out of it, by dots or by links.

    >>> inside(Path("/srv/out"), "audit").name
    'audit'
    """
    if NAME.fullmatch(name):
        folder = root / name
        if folder.resolve().is_relative_to(root.resolve()):
            return folder
    raise InputError(
        "the name of a folder of letters, digits, dots and dashes", repr(name), "such as audit"
    )


def folders(root: Path) -> list[dict[str, Any]]:
    """Folders below the root that hold an audit."""
    found: list[dict[str, Any]] = []
    for depth in range(1, DEPTH + 1):
        for path in root.glob("/".join(["*"] * depth) + "/audit.json"):
            name = path.parent.relative_to(root).as_posix()
            if NAME.fullmatch(name) and path.is_file():
                found.append({"folder": name, "when": path.stat().st_mtime})
    return sorted(found, key=lambda one: -one["when"])[:100]


def read(folder: Path) -> dict[str, Any]:
    """The audit that was written to a folder."""
    path = folder / "audit.json"
    if not path.is_file():
        raise InputError(
            "a folder with an audit", repr(folder.name), "start one, or choose another"
        )
    try:
        if path.stat().st_size > MOST:
            raise ValueError("it is too large")
        plain = json.loads(path.read_text("utf-8"))
        if not isinstance(plain, dict) or not isinstance(plain.get("models"), list):
            raise ValueError("it holds no models")
    except (OSError, ValueError, RecursionError) as error:
        raise WordswayError(f"audit.json of {folder.name} cannot be read ({error})") from None
    return plain


def file_of(ask: dict[str, Any], desk: Desk) -> Path:
    """The file that the audit wrote beside its page."""
    path = inside(root_of(desk), ask["folder"]) / f"audit.{ask['ending']}"
    if not path.is_file():
        raise WordswayError(f"this audit has no {path.name}: run it again")
    return path
