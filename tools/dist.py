"""Build a reproducible wheel and source archive, and test the wheel in an empty environment without
extras: commands, the error for each missing extra, and a user's script under `mypy --strict`.

    python -m tools.dist            build twice, compare, install, try
    python -m tools.dist --build    build twice and compare
    python -m tools.dist --sizes    build, and print what each extra downloads
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "dist"
EXTRAS = ("models", "figures", "cluster", "page", "proofs", "notebook", "all")

#: A user's script, run in the empty environment; `smoke` checks what it prints.
SCRIPT = """
import wordsway as ws
X = ws.Sample.gaussian(n=12, d=16, seed=0)
s = ws.sensitivity(ws.RAF(d=16, seed=1), X, positions=0, seed=2)
assert s.lower <= s.upper and s.frame().shape[0] == 1
print(f"{s.lower:.3f} <= S <= {s.upper:.3f}")
"""

#: Runs the given commands in one process; prints the status of each and its standard error.
COMMANDS = """
import contextlib, io, json, sys
from wordsway.cli.app import run
found = []
for words in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run(words)
    found.append((status, err.getvalue()))
print(json.dumps(found))
"""

#: A user's typed script: it has to pass `mypy --strict` against the installed wheel.
TYPED = Path(__file__).with_name("typed_user.py").read_text("utf-8")

#: What works without extras; and what does not, with the extra that its one line has to name.
WORKS = (
    ["--version"],
    ["--help"],
    ["measure", "--help"],
    ["words", "--help"],
    ["measure", "--map", "raf", "--n", "12", "--d", "16", "--json"],
    ["learn", "--map", "raf", "--n", "8", "--d", "12", "--train", "6"],
    ["data", "list"],
    ["sweep", "{grid}", "--out", "grid"],
)
REMEDIES = (
    (["words", "I love her much", "--model", "{model}"], "models"),
    (["pairs", "It is.", "It was.", "--model", "minilm"], "models"),
    (["audit", "--model", "minilm"], "models"),
    (["audit", "--model", "python:statistics:mean"], "figures"),
    (["words", "I love her much", "--out", "words.png"], "figures"),
    (["reproduce", "2-left", "--quick"], "figures"),
    (["verify", "{grid}"], "proofs"),
    (["serve", "--no-open"], "page"),
    (["sweep", "{grid}", "--out", "grid", "--cluster", "tcp://127.0.0.1:9"], "cluster"),
)
#: What needs an extra in Python alone.
SCRIPTS = (
    ("import wordsway as ws; ws.clickable(None)", "notebook"),
    ("import wordsway.integrations.evaluator", "models"),
)
GRID = """
trials = 1
[[grid]]
map = "raf"
n = 8
d = 12
"""


def epoch() -> str:
    """The time of the last commit, or a fixed one outside a checkout."""
    log = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True
    )
    return os.environ.get("SOURCE_DATE_EPOCH") or log.stdout.strip() or "1700000000"


def repack(archive: Path, when: int) -> None:
    """The same members in order of their names, with one owner and one time."""
    with tarfile.open(archive) as old:
        members = sorted(old.getmembers(), key=lambda member: member.name)
        contents = {m.name: file.read() for m in members if (file := old.extractfile(m))}
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in members:
            member.mtime, member.uid, member.gid = when, 0, 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            content = contents.get(member.name)
            new.addfile(member, None if content is None else io.BytesIO(content))
    archive.write_bytes(gzip.compress(plain.getvalue(), mtime=when))


def build(folder: Path) -> dict[str, str]:
    """Wheel and source archive into ``folder``; SHA-256 by name."""
    when = epoch()
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(
        command, env=os.environ | {"SOURCE_DATE_EPOCH": when}, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
    for archive in folder.glob("*.tar.gz"):
        repack(archive, int(when))
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


def built_twice() -> list[Path]:
    """Both archives in dist/, once a second build gave the same bytes."""
    OUT.mkdir(exist_ok=True)
    for old in OUT.iterdir():
        old.unlink()
    first = build(OUT)
    with tempfile.TemporaryDirectory() as folder:
        second = build(Path(folder))
    if first != second:
        sys.exit(f"two builds differ: {first} and {second}")
    for name, digest in first.items():
        print(f"{digest}  {name}  {(OUT / name).stat().st_size / 1e6:.2f} MB, twice the same")
    return [OUT / name for name in first]


def smoke(wheel: Path) -> None:
    """Install into an empty environment, without extras, and try."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        venv.create(folder / "env", with_pip=True)
        python = folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
        pip = [str(python), "-m", "pip", "install", "--quiet"]
        pip += ["--constraint", str(ROOT / "constraints.txt")]
        for what in ("torch", str(wheel)):
            subprocess.run([*pip, what], check=True, env=_own_packages())
        print(f"without extras: {installed_mb(folder):,.0f} MB installed")
        attempt(python, folder)
        check_types(python, folder)


def sizes(wheel: Path) -> None:
    """What `pip install wordsway` downloads into an empty environment, without extras and with
    each, as a table of docs/dependencies.md.
    """
    print("| installed as | packages | downloaded | unpacked |\n|---|---|---|---|")
    for extra in ("", *EXTRAS):
        asked = f"wordsway[{extra}]" if extra else "wordsway"
        with tempfile.TemporaryDirectory() as folder:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder]
            pip += ["--constraint", str(ROOT / "constraints.txt")]
            subprocess.run([*pip, str(wheel) + asked.removeprefix("wordsway")], check=True)
            files = list(Path(folder).iterdir())
            packed = sum(path.stat().st_size for path in files) / 1e6
            full = sum(map(unpacked, files)) / 1e6
        print(f"| `{asked}` | {len(files)} | {packed:,.0f} MB | {full:,.0f} MB |", flush=True)


def unpacked(archive: Path) -> int:
    """Bytes that an archive takes once it is installed; of a source archive, its own."""
    if archive.suffix != ".whl":
        return archive.stat().st_size
    with zipfile.ZipFile(archive) as files:
        return sum(member.file_size for member in files.infolist())


def _own_packages() -> dict[str, str]:
    """The environment, without packages that are elsewhere."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def installed_mb(folder: Path) -> float:
    """Megabytes of the environment, pip and its like apart."""
    files = (folder / "env").rglob("site-packages/**/*")
    own = ("/pip/", "/setuptools/", "/__pycache__/")
    counted = (p for p in files if p.is_file() and not any(name in str(p) for name in own))
    return sum(path.stat().st_size for path in counted) / 1e6


def check_types(python: Path, folder: Path) -> None:
    """The typed script under `mypy --strict`, against what ``python`` has installed."""
    script = folder / "typed.py"
    script.write_text(TYPED)
    how = ["--strict", "--cache-dir", str(folder / "types"), "--python-executable", str(python)]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *how, str(script)],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    print(f"mypy --strict: {done.stdout.strip()}")
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


def attempt(python: Path, folder: Path) -> None:
    """What works, and what says what to install; ``python`` has wordsway and no extras."""
    model, grid = folder / "model", folder / "grid.toml"
    model.mkdir(exist_ok=True)
    (model / "config.json").write_text('{"model_type": "bert"}')
    (model / "model.safetensors").write_bytes(b"")
    (model / "tokenizer.json").write_text("{}")
    grid.write_text(GRID)
    env = _own_packages() | {"HOME": str(folder)}
    wanted = [([word.format(model=model, grid=grid) for word in words], "") for words in WORKS]
    wanted += [
        ([word.format(model=model, grid=grid) for word in words], extra)
        for words, extra in REMEDIES
    ]
    asked = json.dumps([words for words, _ in wanted])
    command = [str(python), "-c", SCRIPT + COMMANDS, asked]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    *lines, answered = done.stdout.splitlines()
    print("import and sensitivity:", *lines)
    failures = []
    for (words, extra), (status, said) in zip(wanted, json.loads(answered), strict=True):
        lines = said.strip().splitlines()
        print(f"wordsway {' '.join(words)}: {status}" + (f", {lines[-1:]}" if extra else ""))
        refused = status == 1 and len(lines) == 1 and f"'wordsway[{extra}]'" in lines[0]
        if not refused if extra else status:
            failures.append(f"{words}: {said}")
    for script, extra in SCRIPTS:
        done = subprocess.run(
            [str(python), "-c", script], cwd=folder, env=env, capture_output=True, text=True
        )
        last = (done.stderr.strip().splitlines() or [""])[-1]
        print(f"{script}: {last}")
        if f"'wordsway[{extra}]'" not in last:
            failures.append(f"{script}: {done.stderr}")
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    archives = built_twice()
    built = next(path for path in archives if path.suffix == ".whl")
    if "--sizes" in sys.argv:
        sizes(built)
    elif "--build" not in sys.argv:
        smoke(built)
