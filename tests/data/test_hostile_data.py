"""Archives, hubs and tables that were made to do harm: one line each, within what was declared."""

from __future__ import annotations

import bz2
import contextlib
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

import shelf
from wordsway.core.errors import InputError
from wordsway.data import archives
from wordsway.data.archives import Budget, extract
from wordsway.data.catalogue import PackageSource
from wordsway.data.home import SourceError
from wordsway.studies.corpus_texts import stamp
from wordsway.studies.texts import TextOptions
from wordsway.text import corpus

MEGABYTE = 1 << 20


def refused(archive: Path, wanted: str = "a", declared: int = MEGABYTE) -> str:
    """What extracting one member says."""
    with pytest.raises(SourceError) as caught:
        extract(archive, {wanted: archive.parent / "out"}, Budget(declared))
    assert "\n" not in str(caught.value) and archive.name in str(caught.value) + archive.name
    return str(caught.value)


@pytest.mark.parametrize("kind", ["zip", "tgz"])
def test_a_member_stops_at_its_declared_size(tmp_path: Path, kind: str) -> None:
    content = bytes(16 * MEGABYTE)
    archive = tmp_path / f"bomb.{kind}"
    if kind == "zip":
        shelf.wheel(archive, {"a": content})
    else:
        shelf.tgz(archive, {"a": content})
    assert "larger than the 1 MB that the catalogue declares" in refused(archive)
    assert (tmp_path / "out").stat().st_size <= 4 * MEGABYTE
    extract(archive, {"a": tmp_path / "out"}, Budget(16 * MEGABYTE))
    assert (tmp_path / "out").stat().st_size == 16 * MEGABYTE


def test_members_share_one_budget(tmp_path: Path) -> None:
    archive = shelf.wheel(
        tmp_path / "two.zip", {"a": bytes(3 * MEGABYTE), "b": bytes(3 * MEGABYTE)}
    )
    targets = {"a": tmp_path / "a", "b": tmp_path / "b"}
    with pytest.raises(SourceError, match="larger than"):
        extract(archive, targets, Budget(3 * MEGABYTE))
    extract(archive, targets, Budget(6 * MEGABYTE))


def test_what_is_skipped_is_bounded_too(tmp_path: Path) -> None:
    """A member that nobody wants, and that would have to be unpacked to get past it."""
    archive = shelf.tgz(tmp_path / "long.tgz", {"huge": bytes(100 * MEGABYTE), "a": b"1"})
    assert "far more than it may" in refused(archive)


def test_odd_archives_are_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "folder.tgz"
    with tarfile.open(folder, "w:gz") as file:
        info = tarfile.TarInfo("a")
        info.type = tarfile.DIRTYPE
        file.addfile(info)
    assert "has no member a" in refused(folder)
    zipped = tmp_path / "folder.zip"
    with zipfile.ZipFile(zipped, "w") as out:
        out.mkdir("a")
    assert "has no member a/" in refused(zipped, "a/")

    plain = shelf.wheel(tmp_path / "plain.zip", {"a": b"content" * 100}).read_bytes()
    encrypted = bytearray(plain)
    for mark in (b"PK\x03\x04", b"PK\x01\x02"):
        encrypted[plain.index(mark) + (6 if mark[2] == 3 else 8)] |= 1
    (tmp_path / "locked.zip").write_bytes(encrypted)
    assert "encrypted" in refused(tmp_path / "locked.zip")
    unknown = bytearray(plain)
    for mark in (b"PK\x03\x04", b"PK\x01\x02"):
        unknown[plain.index(mark) + (8 if mark[2] == 3 else 10)] = 99
    (tmp_path / "unknown.zip").write_bytes(unknown)
    assert "compression" in refused(tmp_path / "unknown.zip").lower()
    (tmp_path / "b.tar").write_bytes(bz2.compress(b"x" * 10_000)[:-20])
    refused(tmp_path / "b.tar")
    (tmp_path / "empty.tgz").write_bytes(b"")
    refused(tmp_path / "empty.tgz")


def test_a_client_that_never_stops_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "CLIENT_SLACK", MEGABYTE)
    script = "import time\nwhile True:\n    open('x', 'ab').write(bytes(1 << 19)); time.sleep(0.02)"
    monkeypatch.setattr(archives, "_npm", lambda source, folder: [sys.executable, "-c", script])
    source = PackageSource("npm", ("endless@1",), (), 1000)
    with pytest.raises(SourceError, match="npm was stopped: endless@1 is larger than"):
        archives.fetch_packages(source, tmp_path, lambda done, total: None)
    assert (tmp_path / "x").stat().st_size < 400 * MEGABYTE


def table(path: Path, texts: list[str] | Any, **options: Any) -> Path:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"text": texts}), path, **options)
    return path


def test_row_groups_that_unpack_to_too_much_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table(tmp_path / "bomb.parquet", ["a" * 20_000_000], compression="zstd")
    assert path.stat().st_size < 1_000_000
    monkeypatch.setattr("wordsway.text.readers.LARGEST_GROUP", 10 * MEGABYTE)
    with pytest.raises(InputError, match=r"row groups of at most 10 MB in bomb.parquet, got one"):
        list(corpus(path))


@pytest.mark.parametrize("options", [
    {}, {"use_dictionary": False}, {"compression": "zstd", "data_page_version": "2.0"},
    {"row_group_size": 7, "data_page_size": 64}, {"compression": "none", "write_page_index": True},
])  # fmt: skip
def test_every_way_of_writing_a_file_is_read(tmp_path: Path, options: Any) -> None:
    texts = [f"text number {number} " + "é" * (number % 50) for number in range(5000)]
    path = table(tmp_path / "fine.parquet", texts, **options)
    assert [text.text for text in corpus(path)] == texts


def test_rows_that_no_file_of_texts_has(tmp_path: Path) -> None:
    import pyarrow

    path = table(tmp_path / "rows.parquet", pyarrow.nulls(5_000_000, pyarrow.string()))
    with pytest.raises(InputError, match=r"5,000,000 rows in [0-9,]+ bytes"):
        list(corpus(path))


def test_columns_of_the_same_name(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    twice = pyarrow.table([["a"], ["b"]], names=["text", "text"])
    pyarrow.parquet.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(InputError, match=r"one column 'text' in twice.parquet, got 2 of that name"):
        list(corpus(tmp_path / "twice.parquet"))


def test_broken_pages_are_one_line(tmp_path: Path) -> None:
    content = bytearray(table(tmp_path / "fine.parquet", ["a", "b"]).read_bytes())
    for place in range(4, 40):
        broken = bytearray(content)
        broken[place] ^= 0xFF
        path = tmp_path / "broken.parquet"
        path.write_bytes(broken)
        with contextlib.suppress(InputError):  # and nothing else
            list(corpus(path))


def test_the_root_of_all_files_is_no_corpus(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from wordsway.text import readers

    with pytest.raises(InputError, match="the root of all files: name the folder itself"):
        list(corpus("/"))
    monkeypatch.setattr(readers, "MOST_FILES", 3)
    for number in range(4):
        (tmp_path / f"{number}.txt").write_text("text")
    with pytest.raises(InputError, match="a folder of at most 3 files"):
        list(corpus(tmp_path))


@pytest.mark.parametrize("where", ["data", "model"])
def test_no_request_looks_through_all_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, where: str
) -> None:
    """The commands listed the whole of a folder, and all inside it, before the reader refused."""
    monkeypatch.setattr(Path, "rglob", lambda *_: pytest.fail("everything was listed"))
    monkeypatch.setattr("os.walk", lambda *_: pytest.fail("the root was walked"))
    (tmp_path / "a.csv").write_text("text\nsome words are here\n")
    options = TextOptions(model="/") if where == "model" else TextOptions()
    with pytest.raises(InputError, match="the root of all files"):
        stamp(str(tmp_path / "a.csv") if where == "model" else "/", options)


def test_a_link_to_nowhere_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some words are here")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop.txt").symlink_to(tmp_path / "loop.txt")
    assert len(stamp(str(tmp_path), TextOptions(model=str(tmp_path)))) == 3
