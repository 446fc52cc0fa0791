"""A result as a file: the view or the table that its ending names, whole or not at all, the same
bytes for the same result.

Views are loaded when they are asked for: a command checks the endings before it loads anything
heavy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from wordsway.atomic import atomic
from wordsway.errors import InputError
from wordsway.result import Result
from wordsway.text.clean import STRAY


def ending_of(path: Path) -> str:
    """The ending of a name, if it is one that can be written."""
    kind = path.suffix.lower()
    if kind not in WRITERS:
        raise InputError(
            f"a name that ends in {', '.join(WRITERS)}",
            repr(path.name),
            "choose one of these endings",
        )
    return kind


def save(result: Result, path: Path) -> Path:
    """Write ``result`` to ``path``: .html, .svg, .png, .pdf (views), .json (everything), .csv,
    .parquet (the rows of ``frame()``).
    """
    kind = ending_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic(path) as unfinished:
            WRITERS[kind](result, unfinished)
    except OSError as error:
        raise InputError(
            f"a place to write {path.name}",
            f"{path.parent} ({error.strerror or error})",
            "choose a folder that you may write to",
        ) from error
    return path


def _html(result: Result, path: Path) -> None:
    from wordsway.render.views import view_of

    path.write_bytes(view_of(result).page(result).encode())


def _picture(kind: str, result: Result, path: Path) -> None:
    from wordsway.render.views import view_of

    view_of(result).draw(result, path, kind)


def _json(result: Result, path: Path) -> None:
    path.write_bytes(
        STRAY.sub(lambda half: f"\\u{ord(half[0]):04x}", result.to_json(indent=1) + "\n").encode()
    )


def _csv(result: Result, path: Path) -> None:
    path.write_bytes(result.frame().to_csv(index=False, lineterminator="\n").encode())


def _parquet(result: Result, path: Path) -> None:
    result.frame().to_parquet(path, index=False)


WRITERS: dict[str, Callable[[Result, Path], None]] = {
    ".html": _html,
    ".svg": partial(_picture, "svg"),
    ".png": partial(_picture, "png"),
    ".pdf": partial(_picture, "pdf"),
    ".json": _json,
    ".csv": _csv,
    ".parquet": _parquet,
}
