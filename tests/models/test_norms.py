"""Norms behind hidden states: found for every architecture, equal to what transformers gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import tiny
from wordsway.core.errors import InputError
from wordsway.models.files import locate
from wordsway.models.layers import ModelLayers
from wordsway.models.norms import NormLayer, norms_of
from wordsway.models.pipeline import pipeline_in, pool
from wordsway.models.probe import Probe
from wordsway.models.tracing import Call

#: Which of the hidden states 0 … 3 come out of a norm, and of which kind.
NORMED = {
    "bert": ({0, 1, 2, 3}, "LayerNorm"),
    "distilbert": ({0, 1, 2, 3}, "LayerNorm"),
    "albert": ({1, 2, 3}, "LayerNorm"),
    "roberta": ({0, 1, 2, 3}, "LayerNorm"),
    "mpnet": ({0, 1, 2, 3}, "LayerNorm"),
    "gpt2": ({3}, "LayerNorm"),
    "llama": ({3}, "RMSNorm"),
    "t5": ({3}, "RMSNorm"),
    "modernbert": ({0, 3}, "LayerNorm"),
}


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_rows_of_a_normed_layer_are_weight_times_s_plus_bias(
    tmp_path: Path, architecture: str
) -> None:
    """s = (H − b)/γ has ‖s‖ ≤ √d in every row, for texts and for inputs that no text has."""
    layers = ModelLayers(locate(tiny.save(tmp_path / architecture, architecture)))
    normed, kind = NORMED[architecture]
    found = [layers.norm_after(layer) for layer in range(layers.count + 1)]
    assert {layer for layer, norm in enumerate(found) if norm is not None} == normed
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(4, 24, (3, 11), generator=generator)
    embeds = layers.words(ids)
    embeds[1] += 100 * torch.randn(embeds[1].shape, generator=generator)
    embeds[2] *= 1e-3  # where ε matters
    with torch.no_grad():
        states = layers.every(embeds)
    for layer, norm in enumerate(found):
        if norm is None:
            continue
        d = states[layer].shape[-1]
        s = (states[layer].double() - norm.bias) / norm.weight
        assert norm.centred == (kind == "LayerNorm")
        assert s.norm(dim=-1).max() <= d**0.5 * (1 + 1e-5)
        assert s[0].norm(dim=-1).min() > 0.5 * d**0.5, "a bound that is nearly met"
        assert not norm.centred or s.sum(dim=-1).abs().max() < 1e-4 * d
    for layer in set(range(layers.count + 1)) - normed - {0}:
        rows = states[layer].double()
        assert rows.norm(dim=-1).max() > 2 * rows.norm(dim=-1).min(), "nothing holds these rows"


def test_minilm_normalises_every_layer() -> None:
    layers = ModelLayers(locate("minilm"))
    model: Any = layers.model
    for layer in range(1, 7):
        norm = layers.norm_after(layer)
        theirs = model.encoder.layer[layer - 1].output.LayerNorm
        assert norm is not None and norm.centred and norm.eps == theirs.eps
        torch.testing.assert_close(norm.weight, theirs.weight.double())
        torch.testing.assert_close(norm.bias, theirs.bias.double())


class Gemma(torch.nn.Module):
    """RMSNorm with 1 + weight."""

    def __init__(self) -> None:
        super().__init__()
        self.eps = 1e-6
        self.weight = torch.nn.Parameter(torch.tensor([0.5, -0.25, 0.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * (x.square().mean(-1, keepdim=True) + self.eps).rsqrt() * (1 + self.weight)


def call(module: torch.nn.Module, x: torch.Tensor) -> tuple[Call, torch.Tensor]:
    with torch.no_grad():
        given = module(x)
    return Call(module, 1, x, given), given


def test_what_a_module_computes_decides_not_its_name() -> None:
    x = torch.tensor([[[1.0, 2.0, -4.0], [0.3, 0.1, 0.2]]])
    gemma, given = call(Gemma(), x)
    (norm,) = norms_of([given], [gemma])
    assert norm is not None and not norm.centred
    torch.testing.assert_close(norm.weight, torch.tensor([1.5, 0.75, 1.0]).double())

    class LayerNorm(torch.nn.LayerNorm):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x) + x  # a residual inside: not a norm any more

    liar, given = call(LayerNorm(3), x)
    assert norms_of([given], [liar]) == [None]
    assert norms_of([x], [gemma]) == [None], "another state"


def test_a_norm_is_its_formula() -> None:
    x = torch.randn(5, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    theirs = torch.nn.LayerNorm(7, eps=0.1, dtype=torch.float64)
    norm = NormLayer(True, theirs.weight.detach(), theirs.bias.detach(), 0.1)
    torch.testing.assert_close(norm(x), theirs(x).detach(), rtol=1e-12, atol=0)
    assert norm.standardised(x).norm(dim=1).max() < 7**0.5


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (None, "mean"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True}, "mean"),
        ({"pooling_mode_lasttoken": True, "include_prompt": True}, "last"),
        ({"pooling_mode": "lasttoken"}, "last"),
        ({"pooling_mode": "max"}, "max"),
    ],
)
def test_pooling_is_the_models_own(
    tmp_path: Path, settings: dict[str, Any] | None, expected: Any
) -> None:
    folder = tiny.save(tmp_path / "bert")
    if settings is not None:
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(settings))
    assert Probe(folder).pooling == expected
    states = torch.randn(2, 5, 4)
    naive = {
        "mean": sum(states[:, row] for row in range(5)) / 5,
        "cls": states[:, 0],
        "last": states[:, 4],
        "max": states.max(dim=1).values,
    }
    torch.testing.assert_close(pool(states, expected), naive[expected])


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"pooling_mode": "sideways"}',
        '{"pooling_mode_mean_tokens": false}',
        '{"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true}',
    ],
)
def test_a_pooling_that_cannot_be_followed_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(content)
    with pytest.raises(InputError, match="1_Pooling"):
        pipeline_in(tmp_path)
