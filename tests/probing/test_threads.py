"""One model in several threads: hooks of one pass do not see the other, and no number depends on
what the other threads do.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import tiny
from wordsway.models.probe import Probe
from wordsway.probing.local import AttentionByFormula, attention_by_formula
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


def test_numbers_do_not_depend_on_other_threads(probe: Probe) -> None:
    """Worst small moves need attention by its formula; a switch for all threads would change the
    rounding of the others.
    """
    alone = words(TEXT, probe, tiers=["local"])[0].local
    found: list[float | None] = []
    threads = [
        threading.Thread(target=lambda: found.append(words(TEXT, probe, tiers=["local"])[0].local))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 3


@pytest.mark.parametrize("mask", [None, "causal", "bool", "float"])
@pytest.mark.parametrize("shared", [1, 2])
def test_attention_by_formula_is_torchs(mask: str | None, shared: int) -> None:
    noise = torch.Generator().manual_seed(0)
    query = torch.randn(2, 4, 5, 8, generator=noise)
    key, value = torch.randn(2, 2, 4 // shared, 6, 8, generator=noise)
    seen = torch.rand(5, 6, generator=noise) > 0.3
    seen[2] = False  # a row that attends to nothing
    masks = {"bool": seen, "float": torch.randn(5, 6, generator=noise)}
    given: dict[str, Any] = {
        "attn_mask": masks.get(mask or ""),
        "is_causal": mask == "causal",
        "enable_gqa": shared > 1,
    }
    with sdpa_kernel(SDPBackend.MATH):
        expected = scaled_dot_product_attention(query, key, value, **given)
    with AttentionByFormula():
        found = scaled_dot_product_attention(query, key, value, **given)
    assert torch.equal(found, expected)
    assert torch.equal(found, attention_by_formula(query, key, value, **given))
