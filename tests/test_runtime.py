"""This process: its devices, and its end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest
import torch

import wordsway as ws
from wordsway.core.runtime import checked_device, survives_products
from wordsway.models.load import Loading

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
    with torch.backends.mkldnn.flags(enabled=False, allow_tf32=None):
        assert survives_products(torch.bfloat16)
    monkeypatch.setattr(torch, "ones", die)
    assert not survives_products(torch.bfloat16)
    with pytest.raises(ws.InputError, match=r"that this processor multiplies.*use float32"):
        Loading(dtype="bfloat16")
    assert Loading(dtype="float64").dtype == "float64"
    assert capfd.readouterr().err == ""
