"""Importing torch with less of it, and sooner, in a process that runs wordsway alone.

A third of the time of ``import torch`` goes into operations for tensors without numbers (its
device "meta"): two thousand of them, written in Python, that compilers and empty models use. A
module that stands for them is filled when somebody asks it for something, or by
`import_meta_kernels`. (Whole packages cannot wait like that: importing what is in one, before it
is filled, would load it twice.) Of the rest a third is the system's loader, at work on one library
of 400 MB; it needs no Python, so it can work while other modules are imported.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.abc
import importlib.machinery
import os
import sys
import threading
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_META_KERNELS = "torch._meta_registrations"
#: Compiled modules that the command line imports. The system's loader takes one library at a time:
#: one of these, asked for while torch's is on its way, waits for the whole of it.
_SMALL = (
    *("_uuid", "_heapq", "_hashlib", "_blake2", "_decimal", "_ssl", "_queue", "grp"),
    *("_contextvars", "_zoneinfo", "pydantic_core"),
)


def import_torch_lightly() -> None:
    """From now on ``import torch`` leaves its device "meta" for later; nothing where it is here."""
    if "torch" not in sys.modules and not any(isinstance(one, _Later) for one in sys.meta_path):
        sys.meta_path.insert(0, _Later())


def import_meta_kernels() -> None:
    """Make torch's device "meta" whole, where it was left for later."""
    module = sys.modules.get(_META_KERNELS)
    if module is not None:
        _fill(module)


def load_torch_aside() -> None:
    """Have torch's largest library loaded in a thread, for an ``import torch`` that comes soon;
    where it cannot be, that import loads it as ever.

    Called as a foreign function, the system's own `dlopen` lets other threads go on meanwhile.
    """
    path = None if "torch" in sys.modules else _library()
    if path is not None:
        for name in _SMALL:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        dlopen = ctypes.CDLL(None).dlopen
        dlopen.argtypes, dlopen.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_void_p
        work = (os.fsencode(path), os.RTLD_NOW)
        threading.Thread(target=dlopen, args=work, daemon=True, name="loading torch").start()


def _library() -> Path | None:
    """Where it is, on Linux; the one for graphics cards wants others before it."""
    spec = importlib.machinery.PathFinder.find_spec("torch")
    if not sys.platform.startswith("linux") or spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "lib"
    path = folder / "libtorch_cpu.so"
    return path if path.is_file() and not (folder / "libtorch_cuda.so").exists() else None


class _Later(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the one module, and leaves it empty."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        real = name == _META_KERNELS and importlib.machinery.PathFinder.find_spec(name, path)
        return importlib.machinery.ModuleSpec(name, self, origin=real.origin) if real else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        def filled(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            _fill(module)
            return getattr(module, name)

        vars(module)["__getattr__"] = filled
        if not _generators_work():
            _fill(module)


def _fill(module: types.ModuleType) -> None:
    """Run the real module's code in the empty one, once."""
    if vars(module).pop("__getattr__", None) is None:
        return
    import torch

    real = importlib.machinery.PathFinder.find_spec(_META_KERNELS, torch.__path__)
    assert real is not None and real.loader is not None
    real.loader.exec_module(module)


def _generators_work() -> bool:
    """Whether random generators do without: one class of them is set where that code is run."""
    import torch

    try:
        from torch._opaque_base import OpaqueBaseMeta

        torch._C._set_generator_metaclass(OpaqueBaseMeta)
    except (ImportError, AttributeError):
        pass  # another version of torch
    try:
        torch._C.Generator()
    except RuntimeError:
        return False
    return True
