"""A quantised model file (GGUF) as an ordinary folder: dequantised once, kept as safetensors."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import shutil
import tempfile
from pathlib import Path

from wordsway.core.errors import WordswayError, first_line, needs
from wordsway.data import Installed, home
from wordsway.data.home import one_at_a_time, sha256, write_json, writing

log = logging.getLogger("wordsway")
RECORD = "unpacked.json"


def target(here: Installed) -> Path | None:
    """Where a quantised model of the catalogue is unpacked to; None for the others."""
    if not any(name.endswith(".gguf") for name in here.files):
        return None
    return (home() / "models" / f"{here.entry.name}-{here.digest[:16]}").resolve()


def unpacked(here: Installed) -> tuple[str, Path]:
    """The quantisation ("Q4_1"), and the folder with dequantised weights, made on first use."""
    source = next(name for name in here.files if name.endswith(".gguf"))
    folder = target(here)
    assert folder is not None
    if not _whole(folder):
        with writing(here.entry.name), one_at_a_time(f"unpack-{here.entry.name}"):
            if not _whole(folder):
                log.warning(
                    "unpacking %s once (dequantised %s); this takes about a minute",
                    here.entry.name,
                    _kind(source),
                )
                _unpack(here.folder, source, folder)
    return _kind(source), folder


def _kind(source: str) -> str:
    return source.split(".")[-2]


def _unpack(folder: Path, source: str, target: Path) -> None:
    """Convert in a separate folder, write the hashes, then rename."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for stale in target.parent.glob(f".{target.name}-*"):  # we hold the lock: none are in use
        shutil.rmtree(stale, ignore_errors=True)
    room = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        _convert(folder, source, room)
        write_json(room / RECORD, {path.name: sha256(path) for path in sorted(room.iterdir())})
        room.chmod(0o755)  # a temporary folder is its owner's alone; a cache may be shared
        shutil.rmtree(target, ignore_errors=True)
        os.replace(room, target)
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _whole(folder: Path) -> bool:
    try:
        files = json.loads((folder / RECORD).read_text("utf-8"))
        return bool(files) and all(
            sha256(folder / name) == digest for name, digest in files.items()
        )
    except (OSError, ValueError, AttributeError):
        return False


def _convert(folder: Path, source: str, target: Path) -> None:
    """Dequantise and save as a plain model; transformers refuses to save the quantised one."""
    needs("models", "transformers", "gguf", "accelerate")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    file = {"gguf_file": source, "local_files_only": True}
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            AutoTokenizer.from_pretrained(folder, **file).save_pretrained(target)
            model = AutoModelForCausalLM.from_pretrained(folder, **file, dtype="float32")
            about = model.config.to_dict()
            about.pop("quantization_config", None)
            plain = AutoModelForCausalLM.from_config(type(model.config)(**about))
            plain.load_state_dict(model.state_dict())
            plain.save_pretrained(target)
    except Exception as error:  # as many kinds as files
        raise WordswayError(
            f"{source} could not be unpacked ({first_line(error)}): "
            "pip install -U transformers gguf"
        ) from None
