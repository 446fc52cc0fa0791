"""Folders that somebody else wrote: what is missing, misnamed or built to do harm is refused in one
line, and nothing outside the folder is opened.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import tiny
from wordsway.core.errors import InputError, WordswayError
from wordsway.models.files import locate
from wordsway.models.layers import ModelLayers
from wordsway.models.load import Loading, load, quiet
from wordsway.models.probe import Probe

TEXT = "the film was good"


def rewrite(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> Path:
    """The folder with other weights."""
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def configure(folder: Path, **settings: Any) -> Path:
    """The folder with other settings."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))
    return folder


def drop(prefix: str) -> Callable[[dict[str, torch.Tensor]], None]:
    def change(weights: dict[str, torch.Tensor]) -> None:
        doomed = [name for name in weights if prefix in name]
        assert doomed, prefix
        for name in doomed:
            del weights[name]

    return change


def rename(old: str, new: str) -> Callable[[dict[str, torch.Tensor]], None]:
    def change(weights: dict[str, torch.Tensor]) -> None:
        for name in [name for name in weights if old in name]:
            weights[name.replace(old, new)] = weights.pop(name)

    return change


@pytest.mark.slow
@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_a_missing_weight_is_refused_by_name(tmp_path: Path, architecture: str) -> None:
    """One weight of the last layer gone, in every architecture."""
    folder = tiny.save(tmp_path / architecture, architecture)
    weights = load_file(folder / "model.safetensors")
    whole = ModelLayers(locate(folder))
    assert whole.count >= 2
    used = [name for name in weights if "decoder" not in name and "pooler" not in name]
    norms = [name for name in used if "norm" in name.lower() or "ln_" in name]
    gone = next(name for name in reversed(norms) if name.endswith("weight"))
    rewrite(folder, lambda some: some.pop(gone))
    with pytest.raises(WordswayError, match=r"lacks weights.*save the whole model") as caught:
        ModelLayers(locate(folder))
    assert gone.split(".", 1)[1] in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("harm", "named"),
    [
        (lambda folder: rewrite(folder, drop("layer.2.")), r"encoder\.layer\.2\.\S+ and \d+ more"),
        (lambda folder: rewrite(folder, rename("layer.1.", "layers.1.")), r"encoder\.layer\.1\."),
        (lambda folder: configure(folder, num_hidden_layers=4), r"encoder\.layer\.3\."),
        (lambda folder: rewrite(folder, drop("word_embeddings")), r"word_embeddings\.weight"),
    ],
    ids=["a missing layer", "renamed tensors", "one layer more", "no embeddings"],
)
def test_a_model_that_lacks_weights_is_refused(
    tmp_path: Path, harm: Callable[[Path], Path], named: str
) -> None:
    with pytest.raises(WordswayError, match=named):
        Probe(harm(tiny.save(tmp_path / "bert")))


@pytest.mark.slow
def test_weights_that_no_measured_layer_uses_may_be_missing(tmp_path: Path) -> None:
    folder = tiny.save(tmp_path / "bert")
    with torch.no_grad():
        before = Probe(folder).layers.every(torch.ones(1, 3, 16))
        after = Probe(rewrite(folder, drop("pooler"))).layers.every(torch.ones(1, 3, 16))
    for one, two in zip(before, after, strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=0)


def test_a_twin_needs_no_weights(tmp_path: Path) -> None:
    folder = rewrite(tiny.save(tmp_path / "bert"), drop("layer.2."))
    assert Probe(folder, twin=3).layers.count == 3


def classifier(folder: Path) -> Path:
    import transformers as tf

    tiny.save(folder)
    config = tf.AutoConfig.from_pretrained(folder, num_labels=2)
    tf.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def test_a_head_has_to_be_there_when_it_is_asked_for(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "classifier")
    assert load(locate(folder), Loading("classifier")).config.num_labels == 2
    rewrite(folder, drop("classifier"))
    with pytest.raises(WordswayError, match=r"classifier\.bias, classifier\.weight"):
        load(locate(folder), Loading("classifier"))
    ModelLayers(locate(folder))  # hidden states need no head
    rewrite(classifier(tmp_path / "pooled"), drop("pooler"))
    with pytest.raises(WordswayError, match="pooler"):
        load(locate(tmp_path / "pooled"), Loading("classifier"))


@pytest.mark.parametrize("tied", [True, False])
def test_a_causal_head_is_tied_or_there(tmp_path: Path, tied: bool) -> None:
    import transformers as tf

    folder = tiny.save(tmp_path / "llama", "llama")
    config = tf.AutoConfig.from_pretrained(folder, tie_word_embeddings=tied)
    tf.LlamaForCausalLM(config).save_pretrained(folder)
    assert load(locate(folder), Loading("causal")).lm_head.weight.shape == (40, 16)
    if not tied:
        rewrite(folder, drop("lm_head"))
        with pytest.raises(WordswayError, match=r"lm_head\.weight"):
            load(locate(folder), Loading("causal"))


def sharded(folder: Path) -> Path:
    """The model in two files with an index."""
    from transformers import AutoModel

    tiny.save(folder)
    with quiet():
        model = AutoModel.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="8KB")
    assert len(list(folder.glob("model-*.safetensors"))) > 1
    return folder


def test_shards_are_read_and_hashed(tmp_path: Path) -> None:
    whole = ModelLayers(locate(tiny.save(tmp_path / "whole")))
    folder = sharded(tmp_path / "shards")
    shards = ModelLayers(locate(folder))
    ids = torch.arange(5, 9)[None]
    for layer in range(4):
        torch.testing.assert_close(
            shards.hidden(layer, ids, torch.ones_like(ids)),
            whole.hidden(layer, ids, torch.ones_like(ids)),
        )
    before = locate(folder).digest
    shard = sorted(folder.glob("model-*.safetensors"))[-1]
    weights = load_file(shard)
    save_file({name: value + 1 for name, value in weights.items()}, shard, {"format": "pt"})
    assert locate(folder).digest != before


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (os.mkdir, (self.path,))


@pytest.mark.parametrize(
    "shard",
    [
        "../outside.safetensors",
        "/etc/passwd",
        "pytorch_model.bin",
        "missing.safetensors",
        "sub/inside.safetensors",
        3,
    ],
)
def test_an_index_names_only_safetensors_of_its_own_folder(tmp_path: Path, shard: Any) -> None:
    folder = sharded(tmp_path / "shards")
    first = sorted(folder.glob("model-*.safetensors"))[0]
    (folder / "sub").mkdir()
    shutil.copy(first, tmp_path / "outside.safetensors")
    shutil.copy(first, folder / "sub" / "inside.safetensors")
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb(str(tmp_path / "harmed"))))
    path = folder / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    index["weight_map"] = {
        name: shard if file == first.name else file for name, file in index["weight_map"].items()
    }
    path.write_text(json.dumps(index))
    with pytest.raises(InputError, match=r"safetensors files beside model\.safetensors\.index"):
        ModelLayers(locate(folder))
    assert not (tmp_path / "harmed").exists()


@pytest.mark.parametrize("document", ["{", "[]", '{"weight_map": []}', '{"weight_map": {}}'])
def test_a_broken_index_is_one_line(tmp_path: Path, document: str) -> None:
    folder = tiny.save(tmp_path / "bert")
    (folder / "model.safetensors.index.json").write_text(document)
    with pytest.raises(InputError, match=r"model\.safetensors\.index\.json"):
        locate(folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json", "a.txt"])
@pytest.mark.parametrize("kind", ["fifo", "device", "nowhere"])
def test_files_that_never_end_are_not_opened(tmp_path: Path, name: str, kind: str) -> None:
    folder = tiny.save(tmp_path / "bert")
    path = folder / name
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if kind == "device" else "nowhere")
    with pytest.raises(InputError, match=rf"(regular files|that can be read).*{name}"):
        locate(folder)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"num_hidden_layers": 10**7}, r"at most 1,024 layers.*num_hidden_layers = 10,000,000"),
        ({"text_config": {"n_layer": 10**7}}, r"n_layer = 10,000,000"),
        ({"num_hidden_layers": 10**400}, r"num_hidden_layers of 401 digits"),
        ({"num_labels": 10**9}, r"at most 100,000 labels"),
        ({"max_position_embeddings": 10**12}, r"at most 16,777,216 positions"),
        ({"transformers_weights": "../x.safetensors"}, r"a config\.json that names"),
    ],
)
def test_a_configuration_asks_for_no_more_than_any_model_has(
    tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    folder = configure(tiny.save(tmp_path / "bert"), **settings)
    with pytest.raises(InputError, match=said):
        ModelLayers(locate(folder))
    with pytest.raises(InputError, match=said):
        Probe(folder, twin=0)


@pytest.mark.parametrize("key", ["_attn_implementation", "attn_implementation"])
@pytest.mark.parametrize("eager", [True, False])
def test_attention_from_a_configuration_is_never_a_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, eager: bool
) -> None:
    from transformers import modeling_utils

    asked: list[object] = []
    monkeypatch.setattr(
        modeling_utils, "lazy_import_flash_attention", lambda *some, **_: asked.append(some)
    )
    folder = configure(tiny.save(tmp_path / "bert"), **{key: "someone/evil-kernel"})
    layers = ModelLayers(locate(folder), Loading(eager=eager))
    assert not asked
    assert layers.model.config._attn_implementation == ("eager" if eager else "sdpa")
    folder = configure(tiny.save(tmp_path / "own"), **{key: "eager"})
    assert ModelLayers(locate(folder)).model.config._attn_implementation == "eager"


def test_an_adapter_is_no_model(tmp_path: Path) -> None:
    folder = tiny.save(tmp_path / "bert")
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "someone/else"}')
    with pytest.raises(InputError, match="with an adapter to another one"):
        locate(folder)


SLOW_TOKENIZER = """
import sys, time
from wordsway.core import runtime
from wordsway.core.errors import WordswayError
from wordsway.models import tokens as guard
from wordsway.models.files import locate
from wordsway.models.tokens import Reader
runtime.hide_panics()
guard.PATIENCE, guard.CHARACTERS_PER_SECOND = float(sys.argv[2]), 1e9
try:
    Reader(locate(sys.argv[1]), None)([sys.argv[3]])
except WordswayError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("pattern", "text", "patience", "said"),
    [
        ("(a+)+b", "a" * 60, 60.0, "retry-limit"),
        ("(a+)+b", ("a" * 18 + " ") * 6000, 1.0, "no answer within"),
    ],
    ids=["gives up", "never ends"],
)
@pytest.mark.slow
def test_a_tokenizer_whose_expression_explodes(
    tmp_path: Path, pattern: str, text: str, patience: float, said: str
) -> None:
    """One line, in time, and nothing else on standard error."""
    from tokenizers import Regex, pre_tokenizers

    folder = tiny.save(tmp_path / "bert")
    made: Any = tiny.tokenizer()
    made.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), "isolated")
    made.save(str(folder / "tokenizer.json"))
    done = subprocess.run(
        [sys.executable, "-c", SLOW_TOKENIZER, str(folder), str(patience), text],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1 and said in done.stdout
    assert "cannot read this text" in done.stdout and "tokenizer.json" in done.stdout


def test_one_digest_by_name_and_by_folder(tmp_path: Path) -> None:
    by_name = locate("minilm")
    assert locate(by_name.folder).digest == by_name.digest
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in by_name.folder.iterdir():
        (copy / path.name).symlink_to(path)
    by_folder = locate(copy)
    assert by_folder.digest == by_name.digest


@pytest.mark.parametrize("device", ["cuda", "cuda:7", "meta", "nonsense", ""])
def test_a_device_that_is_not_here_is_one_line(tmp_path: Path, device: str) -> None:
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("this machine has one")
    with pytest.raises(InputError, match=r"a device of this machine.*use cpu"):
        Probe(tiny.save(tmp_path / "bert"), device=device)
