"""Small models with random weights, saved as a user's own folder would be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

WORDS = ("the a film was good bad dull fine and or not very i you it she he they plot cast").split()  # noqa: SIM905
ARCHITECTURES = (
    "bert",
    "distilbert",
    "albert",
    "roberta",
    "mpnet",
    "gpt2",
    "llama",
    "t5",
    "modernbert",
)


def tokenizer() -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]  # 1 is MPNet's padding, and no token of a text
    vocabulary = {word: number for number, word in enumerate([*special, *WORDS, ",", ".", "##s"])}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return made


def sentence_transformer(
    folder: Path, modules: Callable[[], list[Any]], architecture: str = "bert", **options: Any
) -> Any:
    """A `SentenceTransformer` around a small model, and its folder: its Transformer, ``modules``,
    and ``options`` of its own.
    """
    import transformers as tf
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Transformer

    save(folder / "alone", architecture)
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]"}
    tf.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer(), **special, sep_token="[SEP]"
    ).save_pretrained(folder / "alone")
    lower = options.pop("do_lower_case", False)
    first = Transformer(str(folder / "alone"), do_lower_case=lower)
    torch.manual_seed(1)
    made = SentenceTransformer(modules=[first, *modules()], device="cpu", **options)
    made.save(str(folder / "whole"))
    return made


def save(folder: Path, architecture: str = "bert", seed: int = 0) -> Path:
    """A model of 3 layers (2 for t5), d = 16, in ``folder``, with its tokenizer."""
    import transformers as tf

    torch.manual_seed(seed)
    common: dict[str, Any] = {
        "vocab_size": 40,
        "hidden_size": 16,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "intermediate_size": 24,
    }
    ids: dict[str, Any] = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    config = {
        "bert": lambda: tf.BertConfig(**common, max_position_embeddings=64),
        "distilbert": lambda: tf.DistilBertConfig(
            vocab_size=40, dim=16, n_layers=3, n_heads=2, hidden_dim=24, max_position_embeddings=64
        ),
        "albert": lambda: tf.AlbertConfig(**common, embedding_size=8, max_position_embeddings=64),
        "roberta": lambda: tf.RobertaConfig(**common, **ids, max_position_embeddings=80),
        "mpnet": lambda: tf.MPNetConfig(**common, **ids, max_position_embeddings=80),
        "gpt2": lambda: tf.GPT2Config(
            vocab_size=40,
            n_embd=16,
            n_layer=3,
            n_head=2,
            n_positions=64,
            bos_token_id=2,
            eos_token_id=3,
        ),
        "llama": lambda: tf.LlamaConfig(
            **common, **ids, num_key_value_heads=1, max_position_embeddings=64
        ),
        "mistral": lambda: tf.MistralConfig(
            **common, **ids, num_key_value_heads=1, max_position_embeddings=64, sliding_window=8
        ),
        "t5": lambda: tf.T5Config(
            vocab_size=40, d_model=16, d_kv=8, num_layers=3, num_heads=2, d_ff=24
        ),
        "modernbert": lambda: tf.ModernBertConfig(
            **common, **ids, cls_token_id=2, sep_token_id=3, max_position_embeddings=64
        ),
    }[architecture]()
    model = tf.AutoModel.from_config(config).eval()
    model.save_pretrained(folder)
    tokenizer().save(str(folder / "tokenizer.json"))
    return folder
