"""Pretrained models from inside: states and attention equal transformers' own, on every architecture."""

from __future__ import annotations

import pytest
import torch

import tiny
from wordsway.pretrained.files import locate
from wordsway.pretrained.load import Loading
from wordsway.pretrained.model import Layers


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {name: tiny.save(tmp_path_factory.mktemp(name), name) for name in tiny.ARCHITECTURES}


@pytest.mark.parametrize("name", tiny.ARCHITECTURES)
def test_states_and_attentions_equal_the_models_own(folders, name):
    """From word embeddings, and from hidden_states[0]; alone and in a batch."""
    layers = Layers(locate(folders[name]), Loading(eager=True))
    ids = torch.tensor([[4, 6, 7, 8, 9, 3], [4, 9, 9, 5, 20, 3]])
    with torch.no_grad():
        own = layers.model(
            input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True, output_attentions=True, use_cache=False
        )
        words = layers.words(ids)
        places = {"words": words, "input": own.hidden_states[0]}
        for at, embeds in places.items():
            for found, true in zip(layers.every(embeds, at), own.hidden_states, strict=True):
                torch.testing.assert_close(found, true, rtol=0, atol=1e-6)
            for number, true in enumerate(own.hidden_states):
                torch.testing.assert_close(layers.layer(number, embeds, at), true, rtol=0, atol=1e-6)
            for found, true in zip(layers.attentions(embeds, at), own.attentions, strict=True):
                torch.testing.assert_close(found, true, rtol=0, atol=1e-6)
