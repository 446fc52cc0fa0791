"""Importing transformers: with little chatter, and in a process of our own with little else.

transformers' modelling code imports torch's compiler (`torch._dynamo`), distributed tensors (with
sympy), scipy.optimize where it is installed, and a table of every installed distribution, none of
which a forward pass needs, reads two thousand files to learn which names they define, and composes
docstrings: two thirds of the time. A process that runs nothing but wordsway may leave them out
(`runtime.own_process`, called by the command line). In a user's own process transformers is
imported as it is, since other code there may want the rest.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.metadata
import importlib.util
import json
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from wordsway.data.home import home, write_json
from wordsway.errors import needs
from wordsway.models.shortcuts import unchanged, without_docstrings, without_patterns
from wordsway.runtime import is_own_process

_COMPILER = "torch._dynamo"
#: What all models import of transformers, directly or not.
_SHARED = ("modeling_utils", "masking_utils", "modeling_layers", "generation.utils", "models.auto")


def _transform_get_item(*arguments: Any, **options: Any) -> Any:
    from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    return TransformGetItemToIndex(*arguments, **options)


#: What importing and building a model asks of modules that are left out meanwhile.
_STAND_INS: dict[str, dict[str, Any]] = {
    _COMPILER: {
        "disable": unchanged,
        "allow_in_graph": unchanged,
        "assume_constant_result": unchanged,
    },
    "torch._dynamo._trace_wrapped_higher_order_op": {
        "TransformGetItemToIndex": _transform_get_item
    },
}


def import_transformers() -> Any:
    """The package, with its modelling code; the only door to it."""
    needs("models", "transformers")
    if "transformers" not in sys.modules and is_own_process():
        with _without_extras(), without_compiler(), _known_structure():
            without_docstrings()
            import transformers

            for name in _SHARED:
                importlib.import_module(f"transformers.{name}")
            without_patterns()
    import transformers

    return transformers


@contextlib.contextmanager
def _known_structure() -> Iterator[None]:
    """While the body imports transformers: which file defines which of its names is read from a
    table of ours, instead of from all two thousand files, twice.

    The table is what transformers' own scan found before, kept for this version and folder.
    """
    spec = importlib.util.find_spec("transformers")
    if spec is None or not spec.submodule_search_locations:
        yield
        return
    folder = Path(spec.submodule_search_locations[0])
    # Its utilities before itself: a package with nothing in it stands for their parent meanwhile.
    parent: Any = types.ModuleType("transformers")
    parent.__path__ = [str(folder)]
    parent.__version__ = importlib.metadata.version("transformers")
    sys.modules["transformers"] = parent
    try:
        utils: Any = importlib.import_module("transformers.utils.import_utils")
    finally:
        del sys.modules["transformers"]
    original = getattr(utils, "define_import_structure", None)
    if original is None:  # a transformers that works in another way
        yield
        return
    models = folder / "models"
    kept = home() / "startup" / f"transformers-{parent.__version__}.json"

    def define(path: Any, prefix: str | None = None) -> dict[frozenset[str], dict[str, set[str]]]:
        if Path(path) not in (models, models / "__init__.py"):
            return dict(original(path, prefix))
        start = "" if prefix is None else f"{prefix}."
        return {
            frozenset(backends): {start + file: set(names) for file, names in files.items()}
            for backends, files in _structure(kept, models, original)
        }

    utils.define_import_structure = define
    try:
        yield
    finally:
        utils.define_import_structure = original


def _structure(
    kept: Path, models: Path, scan: Callable[[Path], Any]
) -> list[tuple[list[str], dict[str, list[str]]]]:
    """The table: what a name needs to be installed, and the files with the names that need it."""
    stamp = [str(models), models.stat().st_mtime_ns]
    try:
        found = json.loads(kept.read_text("utf-8"))
        if found["stamp"] == stamp:
            return [(backends, files) for backends, files in found["table"]]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    table = [
        (sorted(backends), {file: sorted(names) for file, names in files.items()})
        for backends, files in scan(models).items()
    ]
    with contextlib.suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_json(kept, {"stamp": stamp, "table": table})
    return table


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No bars and no chatter of transformers on standard error."""
    import_transformers()
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextlib.contextmanager
def without_compiler() -> Iterator[None]:
    """In a process of our own, while the body imports or builds a model: no torch._dynamo.

    Its decorators mark functions for compilation and do nothing else, so a stand-in may hand a
    function back unchanged; the one class that a forward pass uses is found when it is called.
    Whatever else is asked for comes from the real module, which is then imported after all.
    """
    if not is_own_process() or _COMPILER in sys.modules:
        yield
        return
    stand_ins = {name: types.ModuleType(name) for name in _STAND_INS if name not in sys.modules}

    def remove(name: str) -> None:
        if sys.modules.get(name) is stand_ins[name]:
            del sys.modules[name]

    def real(module: str, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        remove(module)
        return getattr(importlib.import_module(module), attribute)

    for name, module in stand_ins.items():
        vars(module).update(_STAND_INS[name], __getattr__=functools.partial(real, name))
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for name in stand_ins:
            remove(name)


@contextlib.contextmanager
def without_meta_device() -> Iterator[None]:
    """In a process of our own, while the body loads a model: it is built in memory, with weights
    that are not initialised, instead of on torch's meta device.

    That device works with symbolic shapes and imports sympy for them. transformers does the same
    for DeepSpeed; every weight that is used is read from the files afterwards.
    """
    model = import_transformers().PreTrainedModel
    original = vars(model).get("get_init_context")
    if not is_own_process() or not isinstance(original, classmethod):
        yield
        return
    import torch
    from transformers.initialization import no_init_weights

    def contexts(cls: Any, *arguments: Any, **options: Any) -> list[Any]:
        found = original.__func__(cls, *arguments, **options)
        kept = [context for context in found if not isinstance(context, torch.device)]
        return kept if len(kept) == len(found) else [*kept, no_init_weights()]

    model.get_init_context = classmethod(contexts)
    try:
        yield
    finally:
        model.get_init_context = original


#: Packages that transformers imports where they are installed, and that no forward pass needs;
#: what is imported already stays (`wordsway.models.causal` needs jinja2).
_EXTRAS = ("scipy", "accelerate", "jinja2", "PIL")


@contextlib.contextmanager
def _without_extras() -> Iterator[None]:
    """While the body imports transformers: no distributed tensors, none of its optional packages,
    no table of the installed distributions.

    transformers remembers that there are none; torch and the packages are as they were afterwards.
    """
    import torch

    available = torch.distributed.is_available
    distributions = importlib.metadata.packages_distributions
    hidden = [name for name in _EXTRAS if name not in sys.modules]
    try:
        torch.distributed.is_available = lambda: False
        importlib.metadata.packages_distributions = dict
        for name in hidden:
            sys.modules[name] = None  # type: ignore[assignment]
        yield
    finally:
        torch.distributed.is_available = available
        importlib.metadata.packages_distributions = distributions
        for name in hidden:
            del sys.modules[name]
