"""A quantised file is unpacked into a folder once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wordsway.core.errors import WordswayError
from wordsway.models import gguf


def written(folder: Path) -> Path:
    """A decoder of one layer as a GGUF file."""
    library = pytest.importorskip("gguf")
    folder.mkdir()
    writer = library.GGUFWriter(folder / "tiny.Q8_0.gguf", "llama")
    writer.add_context_length(32)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(16)
    tokens = ["<s>", "</s>", *"abcdefg", "ab", "Ġ"]
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3, *[1] * 9])
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    noise = np.random.default_rng(0)
    shapes = {"token_embd": (len(tokens), 32), "output_norm": (32,), "output": (len(tokens), 32)}
    shapes |= {f"blk.0.attn_{name}": (32, 32) for name in ("q", "k", "v", "output")}
    shapes |= {f"blk.0.ffn_{name}": (32, 32) for name in ("gate", "up", "down")}
    shapes |= {f"blk.0.{name}_norm": (32,) for name in ("attn", "ffn")}
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", noise.standard_normal(shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return folder


@pytest.mark.slow
def test_a_quantised_file_becomes_a_folder_that_transformers_loads(tmp_path: Path) -> None:
    source, target = written(tmp_path / "source"), tmp_path / "target"
    gguf._unpack(source, "tiny.Q8_0.gguf", target)
    assert gguf._whole(target)

    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(target)
    noise = np.random.default_rng(0).standard_normal((11, 32)).astype(np.float32)
    np.testing.assert_allclose(model.get_input_embeddings().weight.detach().numpy(), noise)


@pytest.mark.slow
def test_a_file_that_cannot_be_unpacked_says_so_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "broken.Q8_0.gguf").write_bytes(b"no such format")
    with pytest.raises(WordswayError, match=r"broken.Q8_0.gguf could not be unpacked \(.+\): pip"):
        gguf._unpack(tmp_path, "broken.Q8_0.gguf", tmp_path / "target")
    assert [path.name for path in tmp_path.iterdir()] == ["broken.Q8_0.gguf"]
