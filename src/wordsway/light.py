"""Importing torch with less of it, and sooner, in a process that runs wordsway alone.

A third of the time of ``import torch`` goes into operations for tensors without numbers (its
device "meta"): two thousand of them, written in Python, that compilers and empty models use; a
tenth into packages that export, quantise or train models. A module that stands for each of them is
filled when somebody asks it for something. Of the rest a third is the system's loader, at work on
one library of 400 MB; it needs no Python, so it can work while other modules are imported.
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
_COMPILER = "torch._dynamo"
#: What ``import torch`` imports, and neither itself nor transformers' models ask anything of.
_LEFT = frozenset(
    (
        *(_META_KERNELS, "torch.export", "torch.masked", "torch.optim", "torch.profiler"),
        *("torch.sparse", "torch.utils.data", "torch.ao", "torch.quantization"),
        *("torch.nn.intrinsic", "torch.nn.qat", "torch.nn.quantizable", "torch.nn.quantized"),
    )
)
#: Compiled modules that the command line imports. The system's loader takes one library at a time:
#: one of these, asked for while torch's is on its way, waits for the whole of it.
_SMALL = (
    *("_uuid", "_heapq", "_hashlib", "_blake2", "_decimal", "_ssl", "_queue", "grp"),
    *("_contextvars", "_zoneinfo", "pydantic_core"),
)


def import_torch_lightly() -> None:
    """From now on ``import torch`` leaves parts of it for later; nothing where it is here."""
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
    """Finds the modules of `_LEFT`, and leaves them empty."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        parent = sys.modules.get(name.rpartition(".")[0])
        if target is None and parent is not None and _is_empty(parent):
            _fill(parent)  # a package comes before what is in it
            if name in sys.modules:  # and may import it
                return importlib.machinery.ModuleSpec(name, _Here(sys.modules[name]))
        if name == _COMPILER:  # it imports what they need before they could
            import_meta_kernels()
        real = importlib.machinery.PathFinder.find_spec(name, path) if name in _LEFT else None
        if real is None:
            return None
        spec = importlib.machinery.ModuleSpec(name, self, origin=real.origin, loader_state=real)
        spec.submodule_search_locations = real.submodule_search_locations
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        def filled(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            _fill(module)
            return getattr(module, name)

        vars(module)["__getattr__"] = filled
        if module.__name__ == _META_KERNELS and not _generators_work():
            _fill(module)


class _Here(importlib.abc.Loader):
    """Loads a module that is loaded."""

    def __init__(self, module: types.ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return self.module

    def exec_module(self, module: types.ModuleType) -> None:
        module.__spec__ = self.spec


def _is_empty(module: types.ModuleType) -> bool:
    return isinstance(getattr(module.__spec__, "loader", None), _Later)


def _fill(module: types.ModuleType) -> None:
    """Run the real module's code in the empty one, once."""
    if not _is_empty(module):
        return
    assert module.__spec__ is not None
    real = module.__spec__.loader_state
    del vars(module)["__getattr__"]
    module.__spec__, module.__loader__, module.__file__ = real, real.loader, real.origin
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
