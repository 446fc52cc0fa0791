"""A process of our own imports less of transformers, and computes the same numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tiny

STATES = """
import sys
from wordsway import runtime
if sys.argv[1] == "own":
    runtime.own_process()
import torch
from wordsway.models.files import locate
from wordsway.models.layers import Layers
from wordsway.models.load import Loading, load
found = {}
for folder in sys.argv[3:]:
    layers = Layers(locate(folder))
    with torch.no_grad():
        found[folder] = layers.every(layers.words(torch.arange(4, 13)[None]))
names = ("torch._dynamo", "torch.distributed.tensor", "scipy", "sympy", "accelerate")
names += ("torch._prims", "jinja2", "PIL")
extras = [name for name in names if name in sys.modules]
torch.save(found, sys.argv[2])
print(",".join(extras) or "none")
from wordsway.errors import WordswayError
try:
    Layers(locate(sys.argv[2] + "-broken"))
except WordswayError as error:
    print("lacks weights" in str(error))
from wordsway import light
light.import_meta_kernels()
import torch._meta_registrations as meta
print(torch.randn(3, 4, device="meta").softmax(0).shape, hasattr(meta, "meta_index_Tensor"))
print(torch.randn(2, generator=torch.Generator().manual_seed(3)).tolist())
import torch._dynamo, torch.distributed.tensor
print(torch._dynamo.disable.__module__, torch.distributed.is_available())
import transformers
models = [name for name in dir(transformers) if name.endswith(("Model", "LM", "Config"))]
print(len(models), transformers.BertModel.__module__)
twin = load(locate(sys.argv[3]), Loading(twin=1))
print(float(twin.get_input_embeddings().weight.double().sum()))
model = load(locate(sys.argv[3]), Loading("causal"))
print(model.generate(torch.arange(4, 9)[None], max_new_tokens=3).shape)
"""


@pytest.mark.slow
def test_own_processes_leave_out_what_is_not_needed_and_compute_the_same(tmp_path: Path) -> None:
    """Bit for bit, nine architectures; afterwards torch is whole, and models generate."""
    import torch
    import transformers as tf
    from safetensors.torch import load_file, save_file

    folders = [tiny.save(tmp_path / name, name) for name in tiny.ARCHITECTURES]
    causal = tmp_path / "causal"
    tiny.save(causal, "llama")
    tf.LlamaForCausalLM(tf.AutoConfig.from_pretrained(causal)).save_pretrained(causal)
    for mode in ("own", "shared"):
        broken = tiny.save(tmp_path / f"{mode}-broken")
        weights = load_file(broken / "model.safetensors")
        weights.pop("encoder.layer.2.output.dense.weight")
        save_file(weights, broken / "model.safetensors", {"format": "pt"})
    lines = {}
    for mode in ("own", "shared"):
        command = [sys.executable, "-c", STATES, mode, str(tmp_path / mode), str(causal)]
        done = subprocess.run(
            [*command, *map(str, folders)],
            capture_output=True,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        assert done.returncode == 0, done.stderr
        lines[mode] = done.stdout.splitlines()
    assert lines["own"][0] == "none"
    assert "torch._dynamo" in lines["shared"][0], "there would be nothing to leave out"
    assert lines["own"][1:] == lines["shared"][1:]
    assert lines["own"][1] == "True", "memory that was not initialised is never taken for weights"
    assert lines["own"][2].endswith("True") and lines["own"][4].startswith("torch._dynamo.")
    own, shared = (torch.load(tmp_path / mode) for mode in ("own", "shared"))
    for folder in own:
        for one, two in zip(own[folder], shared[folder], strict=True):
            assert torch.equal(one, two), folder


ASKED = """
from wordsway import light, runtime
runtime.own_process()
import os, sys, threading
light.load_torch_aside()
for thread in threading.enumerate():
    if thread.name == "loading torch":
        thread.join()
mapped = lambda: "libtorch_cpu" in open("/proc/self/maps").read()
print(light._library() is None or mapped(), "torch" in sys.modules)
from importlib.machinery import EXTENSION_SUFFIXES
file = lambda name: getattr(sys.modules[name], "__file__", None) or ""
compiled = lambda: {name for name in sys.modules if file(name).endswith(tuple(EXTENSION_SUFFIXES))}
before = compiled()
import typer, wordsway.cli.commands, wordsway.cli.words_request
print(sorted(name for name in compiled() - before if light._library() is not None))
import torch
print("torch._prims" in sys.modules, os.environ["GOMP_SPINCOUNT"])
from torch._meta_registrations import meta_index_Tensor
import torch._meta_registrations as meta
print("torch._prims" in sys.modules, meta.meta_index_Tensor is meta_index_Tensor)
try:
    meta.nothing_of_this_name
except AttributeError as error:
    print(error)
"""


@pytest.mark.slow
def test_what_was_left_for_later_comes_when_it_is_asked_for() -> None:
    done = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=True)
    loaded, waiting, *lines = done.stdout.splitlines()
    assert loaded == "True False", "the library is there before torch is imported"
    assert waiting == "[]", "the command line imports no other library while torch's is loaded"
    assert lines[0] == "False 30000", "torch came without"
    assert lines[1] == "True True"
    assert "nothing_of_this_name" in lines[2]


PARTS = """
import sys
from wordsway import light, runtime
runtime.own_process()
import torch
print(sorted(light._LEFT) == sorted(n for n in light._LEFT if light._is_empty(sys.modules[n])))
import torch.optim.lr_scheduler as schedules  # what is in a package, before the package
print(torch.optim.lr_scheduler is schedules, schedules.__spec__.name, torch.optim.SGD.__module__)
from torch.utils.data import DataLoader, TensorDataset
print([part[0].tolist() for part in DataLoader(TensorDataset(torch.arange(3)), 2)])
print(torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2)).tolist())
for name in sorted(light._LEFT):
    hasattr(sys.modules[name], "nothing_of_this_name")
print([n for n in light._LEFT if light._is_empty(sys.modules[n])], torch.export.export.__module__)
"""


@pytest.mark.slow
def test_every_part_of_torch_that_was_left_is_whole_when_it_is_asked_for() -> None:
    """Also by a name inside it, and by the compiler, which wants the kernels before itself."""
    done = subprocess.run([sys.executable, "-c", PARTS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "True",
        "True torch.optim.lr_scheduler torch.optim.sgd",
        "[[0, 1], [2]]",
        "[2.0, 2.0]",
        "[] torch.export",
    ]


RENAMED = """
import sys
from wordsway import runtime
if sys.argv[1] == "own":
    runtime.own_process()
from wordsway.models.startup import import_transformers
import_transformers()
from transformers import conversion_mapping as mapping
found = mapping._build_checkpoint_conversion_mapping()
kinds = {type(one.compiled_sources).__name__ for some in found.values() for one in some}
print(*sorted(kinds))
for name, some in sorted(found.items()):
    for one in some:
        print(name, one.source_patterns, one.target_patterns, one.compiled_sources.pattern)
"""


@pytest.mark.slow
def test_weights_are_renamed_by_the_same_patterns_compiled_later() -> None:
    lines = {}
    for mode in ("own", "shared"):
        command = [sys.executable, "-c", RENAMED, mode]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        kinds, *lines[mode] = done.stdout.splitlines()
        assert kinds == {"own": "LaterPattern", "shared": "Pattern"}[mode]
    assert lines["own"] == lines["shared"] and len(lines["own"]) > 100
