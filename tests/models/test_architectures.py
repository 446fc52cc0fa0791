"""Tiny models of many architectures against transformers alone: equal numbers, or one line that
gives the reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import tiny
import wordsway as ws
from benchmarks.architectures import ARCHITECTURES, CHECKS, Architecture, faults, judge, save
from wordsway.core.errors import InputError, WordswayError
from wordsway.models.attention_layer import LayerReader
from wordsway.models.layers import ModelLayers
from wordsway.models.prefix import Prefix, prefix_of
from wordsway.models.probe import Probe

BY_NAME = {architecture.name: architecture for architecture in ARCHITECTURES}
#: Each of them was wrong, raw or refused for a reason that was not true.
SAMPLE = (
    *("ctrl", "esm", "lfm2", "jamba", "opt-projected", "gemma3n_text"),
    *("xlnet", "ibert", "clip_text_model", "mamba", "yoso", "reformer"),
)
#: Left to `python -m benchmarks architectures`, which compares all of them: layers that another
#: one has here.
LIKE_ANOTHER = """
xlm-roberta xlm-roberta-xl camembert electra megatron-bert layoutlm ernie data2vec-text splinter
tapas bert-generation flaubert eurobert gte jina_embeddings_v3 roc_bert xmod luke mt5 umt5 mbart
pegasus marian blenderbot blenderbot-small plbart mvp gpt_neox_japanese mistral qwen2 qwen3
gemma gemma3_text phi olmo olmo2 olmo3 olmoe cohere2 stablelm starcoder2 granite glm glm4 helium
xglm smollm3 ernie4_5 exaone4 arcee apertus seed_oss vaultgemma ministral hunyuan_v1_dense cwm
flex_olmo jais2 nanochat codegen falcon_mamba lfm2_moe led qwen3_moe phimoe deberta bamba
""".split()  # noqa: SIM905
QUICK = [name for name in CHECKS if name != "verbs"]
#: Some modules of transformers still use it.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
TEXT = "the film was good and not dull"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Saved models by name, made once."""
    made: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in made:
            made[name] = save(BY_NAME[name], tmp_path_factory.mktemp(name))
        return made[name]

    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "architecture",
    [pytest.param(one, id=one.name) for one in ARCHITECTURES if one.name not in LIKE_ANOTHER],
)
def test_an_architecture_agrees_with_transformers_or_is_refused(
    tmp_path: Path, architecture: Architecture
) -> None:
    assert faults(architecture, judge(architecture, tmp_path, QUICK)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_every_verb_ends_in_a_result_or_in_one_line(tmp_path: Path, name: str) -> None:
    """`python -m benchmarks architectures` tries the verbs on all of them."""
    assert faults(BY_NAME[name], judge(BY_NAME[name], tmp_path, ["verbs"])) == []


def test_there_are_many_of_them() -> None:
    assert len(BY_NAME) == len(ARCHITECTURES) >= 130
    assert sum(not one.refused for one in ARCHITECTURES) >= 110
    assert set(BY_NAME) >= set(LIKE_ANOTHER) and set(LIKE_ANOTHER).isdisjoint(SAMPLE)


def test_wrong_numbers_and_raw_errors_are_faults(tmp_path: Path, monkeypatch: Any) -> None:
    """The comparison itself can fail: a layer that is 1 % off, an error of another library, and a
    refusal that was not expected.
    """
    hidden = ModelLayers.hidden

    def off(self: ModelLayers, *arguments: Any) -> torch.Tensor:
        return 1.01 * hidden(self, *arguments)

    def broken(*_: Any, **__: Any) -> None:
        raise KeyError("layer")

    monkeypatch.setattr(ModelLayers, "hidden", off)
    monkeypatch.setattr(ws, "attention", broken)
    verdicts = judge(BY_NAME["bert"], tmp_path, ("states", "embeddings", "attention"))
    assert [one.outcome for one in verdicts.values()] == ["differs", "refused", "raw"]
    assert len(faults(BY_NAME["bert"], verdicts)) == 3


def test_a_model_never_changes_the_embeddings_of_a_text(folders: Any) -> None:
    """CTRL multiplies the embeddings that it is given by √d, in place."""
    probe = Probe(folders("ctrl"))
    encoded = probe.read(TEXT)
    kept = encoded.embeds.clone()
    probe.layers.layer(2, encoded.embeds[None])
    ws.swap(TEXT, "good", probe, among=["bad"], target="next-token", worst_case=False)
    probe.layers.every(encoded.embeds[None])
    assert torch.equal(encoded.embeds, kept)
    assert torch.equal(kept, probe.layers.words(encoded.ids))


def test_a_text_that_spells_the_padding_token_is_refused_where_it_counts(tmp_path: Path) -> None:
    """MPNet gives token 1 (here [UNK]) no position when it reads ids, and one when it reads
    embeddings; attention reads ids.
    """
    probe = Probe(tiny.save(tmp_path / "mpnet", "mpnet"))
    assert ws.words("the film was good", probe, tiers="mean-local", passes=2).words
    with pytest.raises(WordswayError, match=r"computes other numbers from embeddings .* layer 0"):
        ws.words("the zebra was good", probe)
    assert ws.attention("the zebra was good", model=probe).layers == 3


@pytest.mark.parametrize(
    ("name", "layers", "with_attention"), [("lfm2", 3, [2]), ("jamba", 4, [2, 4])]
)
def test_layers_of_hybrids_have_the_models_own_numbers(
    folders: Any, name: str, layers: int, with_attention: list[int]
) -> None:
    """LFM2's only attention, in layer 2, was "layer 1 of 1"."""
    probe = Probe(folders(name), eager=True)
    found = ws.attention(TEXT, model=probe, layer=2)
    assert found.name.startswith(f"layer 2 of {layers}")
    assert ws.attention(TEXT, model=probe, layer="last").layer == with_attention[-1]
    listed = ", ".join(map(str, with_attention))
    with pytest.raises(InputError, match=f"a layer with attention, {listed} or last, got 1"):
        ws.attention(TEXT, model=probe, layer=1)
    with pytest.raises(InputError, match=r"attention in its first layer, .* first is in layer 2"):
        ws.attract(TEXT, "good", probe)
    for layer in range(1, layers + 1):
        if layer in with_attention:
            out = LayerReader(probe, layer).passed(probe.read(TEXT).ids).outputs
            assert out.shape == (probe.read(TEXT).n, 32)
        else:
            with pytest.raises(InputError, match=f"layer {layer} has no attention"):
                LayerReader(probe, layer)


@pytest.mark.parametrize("name", ["esm", "clip_text_model"])
def test_the_input_layer_comes_from_ids(folders: Any, name: str) -> None:
    """Behind the input layer no ids count: rows of hidden_states[0] can be moved where words
    cannot.
    """
    probe = Probe(folders(name))
    encoded = probe.read(TEXT, "input")
    ids, mask = _ids(probe)
    assert torch.equal(encoded.embeds, probe.layers.hidden(0, ids, mask)[0])
    found = ws.words(TEXT, probe, at="input", tiers="mean-local", passes=2)
    assert all(word.mean_local for word in found.words)


def test_any_failure_of_a_prefix_cache_means_no_cache(
    folders: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four kinds of error were caught, and LFM2's was another one."""

    def failing(*_: Any) -> None:
        raise KeyError("no such layer")

    probe = Probe(folders("ctrl"))
    encoded = probe.read(TEXT)
    asked = probe, encoded, encoded.last_word, probe.layers.model
    assert prefix_of(*asked) is not None
    monkeypatch.setattr(Prefix, "__init__", failing)
    assert prefix_of(*asked) is None


def test_no_limit_of_positions_is_none(folders: Any) -> None:
    """XLNet's configuration says −1: "a text of at most −1 tokens"."""
    probe = Probe(folders("xlnet"))
    assert probe.limit is None
    assert probe.read("the film was good " * 40).n == 162


def test_a_next_token_needs_a_causal_model(folders: Any) -> None:
    """XLNet was saved with a language head, and its rows see later words."""
    with pytest.raises(InputError, match="do not attend to later ones"):
        ws.swap(TEXT, "good", Probe(folders("xlnet")), target="next-token", worst_case=False)


@pytest.mark.slow
def test_all_layers_of_a_model_with_a_narrow_last_one(folders: Any) -> None:
    """OPT with projected embeddings: zeros fill up the narrow layer, and no distance changes."""
    probe = Probe(folders("opt-projected"))
    assert [probe.layers.hidden(layer, *_ids(probe)).shape[-1] for layer in range(4)] == [
        32,
        32,
        32,
        16,
    ]
    found = ws.swap(
        TEXT, "good", probe, target="all", among=["bad"], scaling="frobenius", worst_case=False
    )
    before, after = (
        probe.layers.every_hidden(torch.tensor(probe.reader.ids([text])))[1:]
        for text in (TEXT, TEXT.replace("good", "bad"))
    )
    squares = [
        ((b - a).double().norm() / a.double().norm()).square()
        for a, b in zip(before, after, strict=True)
    ]
    assert found.swaps[0].change == pytest.approx(float(torch.stack(squares).mean().sqrt()), 1e-4)
    assert ws.pairs(TEXT, TEXT.replace("good", "bad"), models=probe).pairs


def _ids(probe: Probe) -> tuple[torch.Tensor, torch.Tensor]:
    ids = torch.tensor(probe.reader.ids([TEXT]))
    return ids, torch.ones_like(ids)
