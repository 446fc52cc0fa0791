"""This process: its devices."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import wordsway as ws
from wordsway.runtime import checked_device

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
