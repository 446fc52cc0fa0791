"""This process: its devices, and its end."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
import torch

import wordsway as ws
from wordsway.experiments.workers import _serve
from wordsway.models.load import Loading
from wordsway.runtime import Alone, checked_device, survives_products

MAPS: list[Callable[[str], object]] = [
    lambda device: ws.RAF(d=4, seed=0, device=device),
    lambda device: ws.ReluRAF(d=4, seed=0, device=device),
    lambda device: ws.RF(n=2, d=4, seed=0, device=device),
    lambda device: ws.DRF(n=2, d=4, depth=2, seed=0, device=device),
    lambda device: ws.FeatureMap.of(torch.relu, device=device),
]


@pytest.mark.parametrize("build", MAPS)
@pytest.mark.parametrize("device", ["cuda:63", "meta", "nonsense"])
def test_a_map_on_a_device_that_is_not_here_is_one_line(
    build: Callable[[str], object], device: str
) -> None:
    with pytest.raises(ws.InputError, match=rf"a device of this machine, got {device} .*use cpu"):
        build(device)


def test_the_processor_is_always_here() -> None:
    assert checked_device(torch.device("cpu")) == "cpu"


def test_a_type_whose_products_end_the_process_is_refused(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Some virtual machines promise instructions for half precision that they do not have."""
    die = lambda *size, dtype: os.kill(os.getpid(), signal.SIGILL)  # noqa: E731
    with torch.backends.mkldnn.flags(enabled=False):
        assert survives_products(torch.bfloat16)
    monkeypatch.setattr(torch, "ones", die)
    assert not survives_products(torch.bfloat16)
    with pytest.raises(ws.InputError, match=r"that this processor multiplies.*use float32"):
        Loading(dtype="bfloat16")
    assert Loading(dtype="float64").dtype == "float64"
    assert capfd.readouterr().err == ""


LEAVING = """
import atexit, sys, threading, time
from wordsway.runtime import leave
class Kept:
    def __del__(self):
        print("taken apart")
kept = Kept()
atexit.register(print, "at exit")
def late():
    time.sleep(0.1)
    print("the thread is done")
{before}
print("printed", end=" ")
leave(3)
"""


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ("", "printed at exit"),
        ("sys.setprofile(''.format)", "printed at exit taken apart"),
        (
            "threading.Thread(target=late).start()",
            "printed the thread is done at exit taken apart",
        ),
    ],
)
def test_processes_end_with_everything_said_and_done(before: str, told: str) -> None:
    """Modules are taken apart only where somebody watches or still works."""
    command = [sys.executable, "-c", LEAVING.format(before=before)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, " ".join(done.stdout.split())) == (3, told), done.stderr


def test_what_cannot_be_written_is_an_error_at_the_end() -> None:
    """As Python itself does it: status 120."""
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-c", LEAVING.format(before="")]
        done = subprocess.run(
            command,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": ""},
        )
    assert done.returncode == 120 and "No space left" in done.stderr


ALONE = """
import pickle, sys
found = pickle.loads(bytes.fromhex(sys.argv[1]))
from wordsway.runtime import is_own_process
print(found.function.__name__, is_own_process())
print("torch" in sys.modules, "torch._prims" in sys.modules)
"""


def test_a_process_that_is_started_for_a_function_imports_less_of_torch_for_it() -> None:
    sent = pickle.dumps(Alone(_serve)).hex()
    command = [sys.executable, "-c", ALONE, sent]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["_serve", "True", "True", "False"]
