"""What a place shows, as a file: the same writers as those of the command line."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wordsway.core.result import Result
from wordsway.page.attending import asked_for
from wordsway.page.auditing import file_of
from wordsway.page.desk import Desk
from wordsway.page.theory import chart_of
from wordsway.page.words import answer, words_steps
from wordsway.render.files import save


def model_file_steps(ask: dict[str, Any], desk: Desk) -> Iterator[dict[str, Any]]:
    """One event with the file's text; what is not remembered any more is computed again."""
    if ask["attention"] is not None:
        yield file_event(asked_for(ask["attention"], desk), ask["ending"], "attention")
        return
    found = answer(ask["words"], desk)
    if found is None:
        for _ in words_steps(ask["words"] | {"other": None}, desk):
            again = {"stage": "measuring again", "done": 0, "total": 0, "note": ""}
            yield {"kind": "progress"} | again
        found = answer(ask["words"], desk)
    assert found is not None
    yield file_event(found, ask["ending"], "words")


def theory_file_steps(ask: dict[str, Any], desk: Desk) -> Iterator[dict[str, Any]]:
    """The curves that the store has."""
    yield file_event(chart_of(ask["theory"], desk), ask["ending"], "theory")


def audit_file_steps(ask: dict[str, Any], desk: Desk) -> Iterator[dict[str, Any]]:
    """The file that the audit wrote."""
    yield {"kind": "file"} | file_of(ask["audit"] | {"ending": ask["ending"]}, desk)


def file_event(result: Result, ending: str, name: str) -> dict[str, Any]:
    """A result as the text of a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = save(result, Path(folder) / f"{name}.{ending}")
        return {"kind": "file", "name": path.name, "text": path.read_text("utf-8")}
