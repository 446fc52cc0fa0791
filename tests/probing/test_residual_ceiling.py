"""Ceilings inside residual streams: found by what a model computes, and never broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import tiny
from wordsway.core.vectors import unit
from wordsway.models.probe import Probe
from wordsway.probing.ceiling import _largest_sum, residual_ceilings
from wordsway.probing.moves import Blocks
from wordsway.probing.targets import target_of
from wordsway.probing.words import words

TEXT = "the film was good , films and the plot"
PRE_NORM = ("gpt2", "llama", "t5", "modernbert")


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Probe]:
    return {
        name: Probe(tiny.save(tmp_path_factory.mktemp(name), name)) for name in (*PRE_NORM, "bert")
    }


@pytest.fixture(scope="module")
def loud(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Probe]:
    """Models whose sublayers are as large as the stream: weights of linear maps times 10, biases
    and gains that are not those of a new model.
    """
    found = {}
    for name in PRE_NORM:
        probe = Probe(tiny.save(tmp_path_factory.mktemp(f"loud-{name}"), name))
        torch.manual_seed(4)
        for parameter in probe.layers.model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.5 * torch.randn_like(parameter))
            elif parameter.shape[0] != 40:  # not the vocabulary
                parameter.mul_(10)
        found[name] = probe
    return found


@pytest.mark.parametrize("name", [*PRE_NORM, "bert"])
def test_sublayers_are_found_where_the_stream_is_a_sum(probes: dict[str, Probe], name: str) -> None:
    found = probes[name].layers.residual
    if name not in PRE_NORM:
        assert found is None
        return
    assert found is not None and len(found) == probes[name].layers.count - 1
    gated = name in ("llama", "modernbert")
    for attention, mlp in found:
        assert attention.heads == 2 and len(attention.first) == 1
        assert mlp.heads == 0 and len(mlp.first) == 1 + gated


@pytest.mark.slow
@pytest.mark.parametrize("name", PRE_NORM)
@pytest.mark.parametrize("loudness", ["as built", "loud"])
def test_nothing_breaks_a_ceiling_of_a_residual_stream(
    probes: dict[str, Probe], loud: dict[str, Probe], name: str, loudness: str
) -> None:
    """All layers, random Δ and Δ that climb, up to reach 100."""
    probe = (loud if loudness == "loud" else probes)[name]
    encoded = probe.read(TEXT)
    chosen = list(encoded.words)[::2]
    torch.manual_seed(1)
    for layer in range(probe.layers.count + 1):
        target = target_of(probe, encoded, layer)
        for reach in (0.3, 1.0, 10.0, 100.0):
            uppers = residual_ceilings(target, chosen, reach)
            blocks = Blocks(target, chosen, reach)
            which = torch.arange(len(chosen)).repeat_interleave(8)
            way = torch.randn(len(which), blocks.size)
            for step in range(3):
                way = unit(way).requires_grad_(True)
                squares = target.change2(blocks.moved(which, blocks.inside(which, way)))
                for word, square in zip(which.tolist(), squares.tolist(), strict=True):
                    upper = uppers[word]
                    assert upper is not None and square**0.5 <= upper
                (gradient,) = torch.autograd.grad(squares.sum(), way)
                way = (way + (step + 1) * unit(gradient)).detach()


def test_sums_of_heads_are_bounded_from_above_and_closely() -> None:
    """max ‖Σ_h O_h V_h s_h‖ over unit vectors, against block coordinate ascent."""
    torch.manual_seed(0)
    for heads in (1, 2, 4):
        O, V = torch.randn(6, 8).double(), torch.randn(8, 6).double()
        M = [O[:, rows] @ V[rows] for rows in torch.arange(8).chunk(heads)]
        bound, best = _largest_sum(O, V, heads), 0.0
        for _ in range(20):
            s = [unit(torch.randn(1, 6).double())[0] for _ in M]
            for _ in range(30):
                total = torch.stack([m @ one for m, one in zip(M, s, strict=True)]).sum(0)
                s = [unit((m.T @ total)[None])[0] for m in M]
            total = torch.stack([m @ one for m, one in zip(M, s, strict=True)]).sum(0)
            best = max(best, float(total.norm()))
        assert best <= bound <= 1.25 * best


def test_words_say_up_to_which_reach_it_holds(probes: dict[str, Probe]) -> None:
    def asked(**options: Any) -> Any:
        return words(TEXT, probes["llama"], tiers=("mean-local",), word=[3], **options).words[0]

    inner, last = asked(layer=1), asked(layer="last")
    assert inner.upper is not None and inner.upper_reach == 1.0
    assert last.upper is not None and last.upper_reach is None
    far = words(TEXT, probes["llama"], tiers=("curve",), word=[3], layer=1, reach=3.0).words[0]
    assert far.upper_reach == 3.0 and far.upper > inner.upper >= (far.curve or ())[0].lower
    assert far.sensitivity <= far.upper


def test_another_kind_of_model_has_no_such_ceiling(
    probes: dict[str, Probe], tmp_path: Path
) -> None:
    """One whose attention is not known to be a softmax; one whose stream is scaled on the way."""
    import transformers as tf

    config = tf.Gemma2Config(
        vocab_size=40, hidden_size=16, num_hidden_layers=3, num_attention_heads=2,
        intermediate_size=24, num_key_value_heads=1, head_dim=8, pad_token_id=0,
    )  # fmt: skip
    tf.AutoModel.from_config(config).save_pretrained(tmp_path)
    tiny.tokenizer().save(str(tmp_path / "tokenizer.json"))
    assert words(TEXT, Probe(tmp_path), tiers=("mean-local",), layer=1).words[0].upper is None
    probe = Probe(tiny.save(tmp_path / "llama", "llama"))
    layer = probe.layers.model.layers[0]
    layer.register_forward_hook(lambda module, taken, given: given * 1.5)
    assert probe.layers.residual is None, "the sum does not add up"
