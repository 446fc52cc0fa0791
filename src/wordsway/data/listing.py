"""The catalogue as a result: what is here, what can be fetched, from where, under which licence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wordsway.core.result import SequenceResult
from wordsway.data.catalogue import CATALOGUE, Entry
from wordsway.data.fetch import present
from wordsway.data.home import home

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Catalogue(SequenceResult[dict[str, Any]], items="entries", brief="home"):
    """Corpora and models, each with its size, licence and sources, and whether it is here."""

    home: str
    entries: tuple[dict[str, Any], ...]

    def to_dict(self) -> dict[str, Any]:
        return {"home": self.home, "entries": list(self.entries)}

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per entry."""
        import pandas

        columns = ["name", "kind", "about", "licence", "bytes", "here", "folder", "from", "sources"]
        rows = [entry | {"sources": ", ".join(entry["sources"])} for entry in self.entries]
        return pandas.DataFrame(rows, columns=columns)


def catalogue() -> Catalogue:
    """What is here, what can be fetched, from where, its licence."""
    return Catalogue(str(home()), tuple(_describe(item) for item in CATALOGUE.values()))


def _describe(item: Entry) -> dict[str, Any]:
    here = present(item.name)
    promised = {file.name: file.sha256 for source in item.sources for file in source.files}
    return {
        "name": item.name,
        "kind": item.kind,
        "about": item.about,
        "licence": item.licence,
        "bytes": item.bytes,
        "here": here is not None,
        "folder": None if here is None else str(here.folder),
        "from": None if here is None else here.source,
        "sources": [source.title for source in item.sources],
        "files": promised if here is None else dict(here.files),
    }
