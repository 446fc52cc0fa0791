"""One model in several threads: hooks of one pass do not see the other, and torch's switches of
attention are as they were.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch

import tiny
from wordsway.models.probe import Probe
from wordsway.probing.words import words

TEXT = "the film was good"


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    return Probe(tiny.save(tmp_path_factory.mktemp("bert")))


def test_hooks_are_deaf_to_other_threads(probe: Probe) -> None:
    """While one thread is inside a pass to layer 1, another runs a whole one to the last layer."""
    layers, embeds = probe.layers, probe.read(TEXT).embeds[None]
    alone = {layer: layers.layer(layer, embeds) for layer in (1, layers.count)}
    between: list[torch.Tensor] = []

    def other(*_: Any) -> None:
        if threading.current_thread() is threading.main_thread() and not between:
            thread = threading.Thread(
                target=lambda: between.append(layers.layer(layers.count, embeds))
            )
            thread.start()
            thread.join()

    entry = layers.entry_points[0]
    assert entry is not None
    handle = entry.module.register_forward_pre_hook(other)
    try:
        assert torch.equal(layers.layer(1, embeds), alone[1])
    finally:
        handle.remove()
    assert len(between) == 1 and torch.equal(between[0], alone[layers.count])


def test_switches_of_attention_are_restored_whichever_thread_ends_first(probe: Probe) -> None:
    """Worst small moves need attention by its formula; the switch for it is one for all threads."""
    fused = torch.backends.cuda.flash_sdp_enabled()
    assert fused, "there would be nothing to restore"
    found: list[float | None] = []

    def work() -> None:
        found.append(words(TEXT, probe, tiers=["local"])[0].local)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.backends.cuda.flash_sdp_enabled() is fused
    assert found == pytest.approx([found[0]] * 3, rel=1e-6), "the same but for rounding"
