"""Stored cells as data frames and files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from wordsway.engine.store import Record, Store
from wordsway.engine.tables import FACTS
from wordsway.intervals import CONVERGED
from wordsway.studies.functions import rows_of
from wordsway.studies.pairing import DRAW
from wordsway.studies.texts import TextOptions

if TYPE_CHECKING:
    import pandas

#: Columns of cells that learn; others leave them out.
LEARNING = ("train", "update", "loss", "penalty")
LEARNED = (
    "error",
    "gamma",
    "alignment",
    "bound",
    "before_original",
    "before_changed",
    "after_original",
    "after_changed",
)
OUTPUTS = (
    "lower",
    "upper",
    "position",
    "word",
    "certificate",
    "status",
    "sample_seed",
    "map_seed",
    "search_seed",
)
#: Columns that identify the text a cell was measured on.
TEXT = ("text_id", "text_sha256", "label")
#: Columns by which repetitions of one setting differ; every other column is part of the setting.
REPETITIONS = ("key", *DRAW, "measured", *OUTPUTS, *LEARNED, *TEXT, *FACTS)


def cells_frame(
    store: Store, keys: Iterable[str] | None = None, *, facts: bool = False
) -> pandas.DataFrame:
    """A data frame, a row per cell of a grid in the order of their keys; without ``facts`` it is
    the same for every run.

    Calls of users' functions are among them only by their ``keys``: there may be outdated ones.
    Other kinds of jobs have tables of their own: `wordsway.probing.corpus.words_frame`.
    """
    import pandas

    rows = [
        row | ({name: record.facts.get(name) for name in FACTS} if facts else {})
        for key, record in store.records(keys)
        if "kind" not in record.content and (keys is not None or "function" not in record.content)
        for row in _rows(key, record)
    ]
    frame = pandas.DataFrame(rows)
    if keys is None and "objective" in frame:  # contents leave the default out
        frame["objective"] = frame["objective"].fillna("frobenius")
    return frame


def _rows(key: str, record: Record) -> Iterator[dict[str, Any]]:
    """The rows of a record: one for each number of a user's function or learning setting."""
    content, outputs = dict(record.content), record.outputs
    if "function" in content:
        yield from ({"key": key} | row for row in rows_of(content, outputs))
    elif "flips" in content:
        for setting, one in zip(content.pop("flips"), outputs["flips"], strict=True):
            yield _row(key, content | setting, one | {"lower": one["error"]})
    else:
        yield _row(key, content, outputs)


def _row(key: str, content: Mapping[str, Any], outputs: Mapping[str, Any]) -> dict[str, Any]:
    row = {"key": key} | {name: content[name] for name in content if name != "certificate"}
    rows = row["positions"]
    row["positions"] = rows if isinstance(rows, str) else ",".join(map(str, rows))
    if "pair_by" in row:
        row["pair_by"] = ",".join(row["pair_by"])
    row["texts"] = _changed(content.get("texts", {}))
    row["certify"] = content["certificate"]  # ``certificate`` is the kind of the upper end
    row |= {name: outputs.get(name) for name in OUTPUTS}
    if "train" in content:
        row |= {name: content.get(name) for name in LEARNING}
        row |= {name: outputs.get(name) for name in LEARNED}
    text = outputs.get("text") or {}
    about = (text.get("id"), text.get("sha256"), text.get("label"))
    return row | dict(zip(TEXT, about, strict=True))


def _changed(texts: Mapping[str, Any]) -> str:
    """Options of a corpus that are not at their default, in one cell of a table.

    >>> _changed(TextOptions(padding="paper").content)
    'padding=paper'
    """
    default = TextOptions().content
    found = {name: value for name, value in texts.items() if value != default.get(name)}
    return ", ".join(f"{name}={value}" for name, value in found.items())


def text_of(outputs: Mapping[str, Any]) -> Any:
    """The text of a cell: its id, or the seed of a Gaussian one."""
    return (outputs.get("text") or {}).get("id", outputs["sample_seed"])


def texts_of(cells: pandas.DataFrame) -> list[Any] | None:
    """`text_of` every cell of a table; None if it is not recorded."""
    if "sample_seed" not in cells:
        return None
    seeds = cells["sample_seed"].astype(object)
    return (cells["text_id"].fillna(seeds) if "text_id" in cells else seeds).tolist()


def not_converged(cells: pandas.DataFrame) -> pandas.Series[bool]:
    """Which cells have a search that did not converge; a function's numbers have none."""
    import pandas

    if "status" not in cells:
        return pandas.Series(False, cells.index)
    return cells["status"].notna() & (cells["status"] != CONVERGED)


def setting_columns(frame: pandas.DataFrame) -> list[str]:
    """Map and n, then every column that varies and is neither a seed, a trial nor an outcome."""
    always = [name for name in ("map", "n") if name in frame]
    others = [str(name) for name in frame.columns if name not in (*REPETITIONS, *always)]
    return always + [name for name in others if frame[name].nunique(dropna=False) > 1]
