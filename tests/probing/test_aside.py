"""Work in a thread beside the rest: its result, its errors, its end, and a model that two threads
run at once.
"""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import tiny
from wordsway.models.probe import Probe
from wordsway.probing import aside, measuring
from wordsway.probing import words as verb
from wordsway.probing.aside import Aside
from wordsway.probing.local import _PlainAttention
from wordsway.probing.words import words
from wordsway.progress import Progress, silent

TEXT = "the film was good"


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    return Probe(tiny.save(tmp_path_factory.mktemp("bert")))


@pytest.mark.parametrize("apart", [False, True])
def test_work_runs_beside_or_when_it_is_asked_for(apart: bool) -> None:
    begun, told = threading.Event(), []

    def work(progress: Progress) -> bool:
        begun.set()
        return threading.current_thread() is threading.main_thread()

    with Aside(work, apart, lambda *call: told.append(call)) as later:
        assert begun.wait(5 if apart else 0) is apart
        assert later.result() is not apart


@pytest.mark.parametrize("apart", [False, True])
def test_errors_belong_to_who_asks(apart: bool) -> None:
    def work(progress: Progress) -> None:
        raise KeyError("gone")

    with Aside(work, apart, silent) as later, pytest.raises(KeyError, match="gone"):
        later.result()


def test_progress_is_told_once_somebody_waits() -> None:
    told: list[str] = []
    early, waiting = threading.Event(), threading.Event()

    def work(progress: Progress) -> None:
        progress("early", 1, 2)
        early.set()
        assert waiting.wait(5) and later._waiting.wait(5)
        progress("late", 2, 2)

    with Aside(work, True, lambda stage, *_: told.append(stage)) as later:
        assert early.wait(5)
        waiting.set()
        later.result()
    assert told == ["late"]


def test_an_error_beside_it_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C, too: the work stops where it next tells how far it is."""
    monkeypatch.setattr(aside, "PATIENCE", 30.0)
    ended: list[BaseException] = []

    def work(progress: Progress) -> None:
        try:
            while True:
                progress("on and on", 0, 0)
        except Exception as error:
            ended.append(error)
            raise

    with pytest.raises(KeyboardInterrupt), Aside(work, True, silent):
        raise KeyboardInterrupt
    assert [type(error).__name__ for error in ended] == ["_Interrupted"]


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


def test_short_texts_use_both_cores_in_a_process_of_our_own(
    probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same numbers, to the bit; not in a user's process, and not without the memory."""
    apart: list[bool] = []

    class Noted(Aside[Any]):
        def __init__(self, work: Any, beside: bool, progress: Progress) -> None:
            apart.append(beside)
            super().__init__(work, beside, progress)

    monkeypatch.setattr(measuring, "Aside", Noted)
    before = torch.get_num_threads()
    found = []
    try:
        for threads, own in ((2, False), (2, True), (1, True)):
            torch.set_num_threads(threads)
            monkeypatch.setattr(verb, "is_own_process", lambda own=own: own)
            found.append(words(TEXT, probe, draws=4))
        torch.set_num_threads(2)
        words(TEXT, probe, draws=20, memory=2**20)
    finally:
        torch.set_num_threads(before)
    assert apart == [False, True, False, False]
    told = [dataclasses.replace(one, seconds=0.0, peak_mb=0.0).to_dict() for one in found]
    assert told[0] == told[1] == told[2]


MASKS: list[dict[str, Any]] = [
    {},
    {"is_causal": True, "scale": 0.3},
    {"attn_mask": torch.ones(5, 5).tril().bool()},
    {"attn_mask": torch.randn(5, 5, generator=torch.Generator().manual_seed(1)), "dropout_p": 0.0},
]


@pytest.mark.parametrize("options", MASKS)
def test_plain_attention_is_torchs_own(options: dict[str, Any]) -> None:
    """To the bit, with two derivatives; other threads keep the fused one."""
    q = torch.randn(1, 2, 5, 4, generator=torch.Generator().manual_seed(0)).requires_grad_(True)
    with sdpa_kernel(SDPBackend.MATH):
        expected = scaled_dot_product_attention(q, q, q, **options)
    with _PlainAttention():
        found = scaled_dot_product_attention(q, q, q, **options)
    assert torch.equal(found, expected)
    (slope,) = torch.autograd.grad(found.square().sum(), q, create_graph=True)
    (second,) = torch.autograd.grad(slope.square().sum(), q)
    assert second.abs().max() > 0
