"""A probed text as a file: the view or the table that its ending names, whole or not at all, the same bytes for the same result."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wordsway.errors import InputError
from wordsway.probe.results import Words
from wordsway.whole import whole

if TYPE_CHECKING:
    import pandas

#: Halves of a character that no file in UTF-8 can hold.
HALF = re.compile("[\ud800-\udfff]")


def ending_of(path: Path) -> str:
    """The ending of a name, if it is one that can be written."""
    kind = path.suffix.lower()
    if kind not in WRITERS:
        raise InputError(f"a name that ends in {', '.join(WRITERS)}", repr(path.name), "choose one of these endings")
    return kind


def save_words(words: Words, path: Path) -> Path:
    """Write ``words`` to ``path``: .html, .svg, .png, .pdf (views), .json (everything), .csv, .parquet (one row per word and layer)."""
    kind = ending_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole(path) as partial:
            WRITERS[kind](words, partial)
    except OSError as error:
        raise InputError(
            f"a place to write {path.name}", f"{path.parent} ({error.strerror or error})", "choose a folder that you may write to"
        ) from error
    return path


def _html(words: Words, path: Path) -> None:
    from wordsway.report.probe_html import words_page

    path.write_bytes(words_page(words).encode())


def _json(words: Words, path: Path) -> None:
    path.write_bytes(HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", words.to_json(indent=1) + "\n").encode())


def _frame(words: Words) -> pandas.DataFrame:
    sound = tuple(replace(word, word=HALF.sub("�", word.word)) for word in words.words)
    return replace(words, words=sound).frame().astype({"twin": float})


def _csv(words: Words, path: Path) -> None:
    path.write_bytes(_frame(words).to_csv(index=False, lineterminator="\n").encode())


def _parquet(words: Words, path: Path) -> None:
    _frame(words).to_parquet(path, index=False)


def _picture(kind: str) -> Callable[[Words, Path], None]:
    def write(words: Words, path: Path) -> None:
        import matplotlib.pyplot as plt

        from wordsway.report.probe_plot import look, words_figure

        stamp = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        with plt.rc_context(look()), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")  # an SVG's reader brings the fonts that are missing here
            words_figure(words, replace=kind != "svg").savefig(path, format=kind, dpi=160, metadata=stamp)

    return write


WRITERS: dict[str, Callable[[Words, Path], None]] = {
    ".html": _html,
    ".svg": _picture("svg"),
    ".png": _picture("png"),
    ".pdf": _picture("pdf"),
    ".json": _json,
    ".csv": _csv,
    ".parquet": _parquet,
}
