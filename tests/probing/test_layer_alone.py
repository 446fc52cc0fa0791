"""`ws.TrainedAttention`: a layer's attention, against transformers alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import wordsway as ws
from tiny import save
from wordsway.core.errors import InputError
from wordsway.models.probe import Probe

TEXT = "the film was not very good and she was fine"
#: What a layer's attention is called in each architecture, and what of its output is the output.
MODULES = {
    "bert": ("encoder.layer.{}.attention", "output.dense"),
    "roberta": ("encoder.layer.{}.attention", "output.dense"),
    "distilbert": ("transformer.layer.{}.attention", ""),
    "gpt2": ("h.{}.attn", ""),
    "llama": ("layers.{}.self_attn", ""),
    "modernbert": ("layers.{}.attn", ""),
}


def by_transformers(folder: Path, ids: torch.Tensor, layer: int, architecture: str) -> Any:
    """What went into a layer's attention and came out of it, nothing of ours involved."""
    import transformers

    model = transformers.AutoModel.from_pretrained(folder).eval()
    name, last = MODULES[architecture]
    module = model.get_submodule(name.format(layer - 1))
    end = module.get_submodule(last) if last else module
    found: dict[str, torch.Tensor] = {}

    def before(_: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
        found["in"] = positional[0] if positional else named["hidden_states"]

    def after(_: Any, __: Any, output: Any) -> None:
        found["out"] = output if isinstance(output, torch.Tensor) else output[0]

    module.register_forward_pre_hook(before, with_kwargs=True)
    end.register_forward_hook(after)
    with torch.no_grad():
        model(input_ids=ids[None])
    return found["in"][0].double(), found["out"][0].double()


@pytest.mark.slow
@pytest.mark.parametrize("architecture", MODULES)
def test_features_are_the_models_own_attention(architecture: str, tmp_path: Path) -> None:
    probe = Probe(save(tmp_path / "model", architecture))
    for layer in (1, 3):
        phi = ws.TrainedAttention(probe, layer)
        X = phi.sample(TEXT)
        taken, given = by_transformers(
            tmp_path / "model", probe.read(TEXT).ids, layer, architecture
        )
        assert torch.allclose(X.X, taken, atol=1e-6)
        assert float((phi(X) - given).abs().max()) <= 1e-5 * float(given.abs().max())
        assert phi.causal == (architecture in ("gpt2", "llama"))


@pytest.fixture(scope="module")
def phi(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One trained layer with biases and shared keys."""
    return ws.TrainedAttention(Probe(save(tmp_path_factory.mktemp("llama"), "llama")), 2)


def test_the_view_is_the_definition(phi: Any) -> None:
    X = phi.sample(TEXT)
    noise = torch.Generator().manual_seed(0)
    delta = torch.randn(3, X.d, generator=noise, dtype=torch.float64)
    found = phi.view(X).value(torch.tensor([4, 4, 0]), delta)
    for i, move, value in zip((4, 4, 0), delta, found, strict=True):
        change = (phi(X.replaced(i, move)) - phi(X)).norm() / phi(X).norm()
        assert float(value) ** 0.5 == pytest.approx(float(change), rel=1e-9)


def test_it_is_measured_and_certified(phi: Any) -> None:
    X = phi.sample(TEXT)
    s = ws.sensitivity(phi, X, positions=3, radius=float(X.X[3].norm()), effort=0.3)
    assert s.upper is not None
    assert s.certificate == "float64"
    assert s.lower <= s.upper <= 4 * s.lower
    assert s.map["layer"] == 2
    assert X.words is not None and X.words[3] == "was"


def test_large_moves_stay_below_the_certificate(phi: Any) -> None:
    X = phi.sample(TEXT)
    noise = torch.Generator().manual_seed(1)
    for radius in (0.1, 10.0, 1e4):
        delta = torch.randn(200, X.d, generator=noise, dtype=torch.float64)
        delta = radius * delta / delta.norm(dim=1, keepdim=True)
        view = phi.view(X)
        most = view.value(torch.full((200,), 2), delta).max() ** 0.5
        assert float(most) <= float(view.certify([2], radius).upper[0])


@pytest.mark.parametrize("layer", [0, 4, "2"])
def test_layers_that_are_not_there_are_refused(phi: Any, layer: Any) -> None:
    with pytest.raises(InputError):
        ws.TrainedAttention(phi.probe, layer)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["mpnet", "t5"])
def test_attention_of_another_form_is_refused(architecture: str, tmp_path: Path) -> None:
    """Distances enter their scores in a way of their own."""
    with pytest.raises(InputError, match="does something else"):
        ws.TrainedAttention(Probe(save(tmp_path / "model", architecture)), 1)
