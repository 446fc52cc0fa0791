"""A result in every medium, and as a file: its suffix selects the medium, writing is atomic, and
the same result gives the same bytes.

Media are loaded when they are needed: a command checks endings before it loads anything heavy.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from wordsway.core.atomic import atomic
from wordsway.core.errors import InputError, disk_refusal, needs
from wordsway.core.result import Result

if TYPE_CHECKING:
    from rich.console import RenderableType

#: The medium that writes an ending: a module of this package with ``save(result, path, kind)``.
WRITERS = {
    ".html": "html",
    ".svg": "plot",
    ".png": "plot",
    ".pdf": "plot",
    ".json": "tables",
    ".csv": "tables",
    ".parquet": "tables",
}
#: Libraries that a medium, or an ending, needs beyond the core.
LIBRARIES = {"plot": "matplotlib", ".parquet": "pyarrow"}


def terminal(result: Result) -> RenderableType:
    """The result as rich prints it."""
    return medium("terminal").panel(result)


def fragment(result: Result) -> str:
    """The result as a piece of HTML, for a notebook."""
    return medium("html").fragment(result)


def ending_of(path: Path) -> str:
    """The ending of a name, if it is one that can be written here."""
    ending = path.suffix.lower()
    if ending not in WRITERS or "\0" in str(path):
        raise InputError(
            f"a name that ends in {', '.join(WRITERS)}",
            repr(path.name),
            "choose one of these endings",
        )
    for wanted in {ending, WRITERS[ending]} & set(LIBRARIES):
        needs("figures", LIBRARIES[wanted])
    return ending


def medium(name: str) -> ModuleType:
    """A module of this package, loaded by its name."""
    if name in LIBRARIES:
        needs("figures", LIBRARIES[name])
    return import_module(f"{__package__}.{name}")


def save(result: Result, path: Path, style: str = "") -> Path:
    """Write a file; its ending selects the medium. Pictures may have a ``style``."""
    ending = ending_of(path)
    writer = medium(WRITERS[ending])
    options = {"style": style} if style and WRITERS[ending] == "plot" else {}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic(path) as unfinished:
            writer.save(result, unfinished, ending.removeprefix("."), **options)
    except OSError as error:
        reason, remedy = disk_refusal(error)
        raise InputError(
            f"a place to write {path.name}",
            f"{path.parent} ({reason})",
            f"{remedy}, or choose another folder",
        ) from error
    return path
