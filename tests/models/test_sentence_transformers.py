"""Whole pipelines of sentence-transformers, as folders and as objects: what is measured is what the
library itself returns, and gradients are those through all of its modules.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tiny
import wordsway as ws
from wordsway.auditing.encoder import encoder_for
from wordsway.core.errors import InputError
from wordsway.models.encoders import opened
from wordsway.models.probe import Probe
from wordsway.probing.targets import target_of

pytestmark = pytest.mark.slow
TEXTS = ["the film was good", "The film was bad, and dull.", "not very fine", "i", "it was films"]


def pooling(mode: Any = "mean", **options: Any) -> list[Any]:
    from sentence_transformers.sentence_transformer.modules import Pooling

    return [Pooling(16, mode, **options)]


def dense(*, tanh: bool = True) -> list[Any]:
    from sentence_transformers.sentence_transformer.modules import Dense

    return [Dense(16, 6, activation_function=torch.nn.Tanh() if tanh else torch.nn.Identity())]


def normalised() -> list[Any]:
    from sentence_transformers.sentence_transformer.modules import Normalize

    return [Normalize()]


def layer_norm() -> list[Any]:
    from sentence_transformers.sentence_transformer.modules import LayerNorm

    return [LayerNorm(16)]


E5: dict[str, Any] = {
    "prompts": {"query": "the plot: ", "passage": "the cast, "},
    "default_prompt_name": "query",
}
#: The shapes that people use: modules, architecture and options.
SHAPES: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "mean": (pooling, "bert", {}),
    "mean, normalised": (lambda: [*pooling(), *normalised()], "mpnet", {}),
    "CLS, normalised": (lambda: [*pooling("cls"), *normalised()], "bert", {}),
    "last token": (lambda: pooling("lasttoken"), "llama", {}),
    "weighted mean": (lambda: pooling("weightedmean"), "gpt2", {}),
    "mean and maximum": (lambda: pooling(("mean", "max")), "bert", {}),
    "Dense and tanh": (lambda: [*pooling(), *dense(), *normalised()], "bert", {}),
    "two Dense": (lambda: [*pooling("cls"), *dense(tanh=False)], "modernbert", {}),
    "LayerNorm": (lambda: [*pooling(), *layer_norm()], "roberta", {}),
    "asymmetric prompts": (pooling, "bert", E5),
    "prompt left out": (lambda: pooling(include_prompt=False), "bert", E5),
    "Matryoshka": (lambda: [*pooling(), *normalised()], "bert", {"truncate_dim": 5}),
    "all of it": (
        lambda: [*pooling("weightedmean", include_prompt=False), *dense(), *normalised()],
        "bert",
        E5 | {"truncate_dim": 4},
    ),
    "lower case": (pooling, "bert", {"do_lower_case": True}),
    "short": (pooling, "bert", {}),
}


@pytest.fixture(scope="module", params=SHAPES)
def shape(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Any, Path]:
    """A pipeline and its folder, for all tests of that shape."""
    modules, architecture, options = SHAPES[request.param]
    tmp_path = tmp_path_factory.mktemp("pipeline")
    made = tiny.sentence_transformer(tmp_path, modules, architecture, **dict(options))
    if request.param == "short":
        made.max_seq_length = 20
        made.save(str(tmp_path / "whole"))
    return made.eval(), tmp_path / "whole"


def test_embeddings_are_those_of_sentence_transformers(shape: tuple[Any, Path]) -> None:
    from sentence_transformers import SentenceTransformer

    made, folder = shape
    expected = made.encode(TEXTS)
    again = SentenceTransformer(str(folder), device="cpu").encode(TEXTS)
    assert np.abs(again - expected).max() <= 1e-6
    for given in (made, str(folder)):
        probe = opened(given)
        assert isinstance(probe, Probe)
        assert probe.limit <= made.max_seq_length
        encoder: Any = encoder_for(given)
        found = encoder.pooled(encoder.tokens(TEXTS))[:, -1].numpy()
        width = expected.shape[1]
        assert np.abs(found[:, :width] - expected).max() <= 1e-5
        assert np.abs(probe.encode(TEXTS) - expected).max() <= 1e-5
        assert not found[:, width:].any()
    (pair,) = ws.pairs(TEXTS[0], TEXTS[1], models=[made]).pairs
    a, b = expected[:2].astype(float)
    assert pair.models[0].cosine == pytest.approx(
        a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-5
    )
    assert pair.models[0].change == pytest.approx(
        np.linalg.norm(b - a) / np.linalg.norm(a), abs=1e-5
    )


def own_jacobian(made: Any, text: str, shape: torch.Size) -> tuple[torch.Tensor, torch.Tensor]:
    """The unit embedding of a text and its derivative with respect to the rows of its word
    embeddings, by autograd through sentence-transformers itself.
    """
    table = made.transformers_model.get_input_embeddings()
    prompt = made.prompts.get(made.default_prompt_name)

    def embedding(delta: torch.Tensor) -> torch.Tensor:
        handle = table.register_forward_hook(lambda module, given, rows: rows + delta)
        try:
            out = made(made.preprocess([text], prompt=prompt))["sentence_embedding"][0]
        finally:
            handle.remove()
        kept = out[: made.truncate_dim]
        return kept / kept.norm()

    zero = torch.zeros(shape)
    return embedding(zero).detach(), torch.autograd.functional.jacobian(embedding, zero)


def test_gradients_pass_through_every_module(shape: tuple[Any, Path]) -> None:
    made, folder = shape
    for given in (made, str(folder)):
        probe = Probe(given)
        encoded = probe.read(TEXTS[1])
        target = target_of(probe, encoded, "cosine")
        embeds = encoded.embeds.detach()

        def features(moved: torch.Tensor, target: Any = target) -> torch.Tensor:
            return target.features(moved[None])[0]

        expected, derivative = own_jacobian(made, TEXTS[1], embeds.shape)
        found = torch.autograd.functional.jacobian(features, embeds)
        assert (features(embeds) - expected).abs().max() <= 1e-5
        assert (found - derivative).abs().max() <= 1e-4 * derivative.abs().max()


@pytest.mark.parametrize(
    "shape", ["mean", "last token", "asymmetric prompts", "all of it"], indirect=True
)
def test_verbs_agree_with_the_library(shape: tuple[Any, Path]) -> None:
    made, _ = shape
    found = ws.swap(TEXTS[0], "good", made, target="cosine", among=["bad", "dull"])
    for swap in found.swaps:
        a, b = made.encode([TEXTS[0], TEXTS[0].replace("good", swap.word)]).astype(float)
        cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
        assert swap.change == pytest.approx(1 - cosine, abs=1e-5)
    words = ws.words(TEXTS[0], made, target="cosine", tiers=["local", "real-words"], draws=4)
    assert [word.word for word in words.words] == TEXTS[0].split(), "a prompt is no word"
    assert all(word.local is not None and word.real is not None for word in words.words)


def test_the_users_object_stays_as_it_is(tmp_path: Path) -> None:
    made = tiny.sentence_transformer(tmp_path, lambda: [*pooling(), *dense()])
    before = {name: weight.clone() for name, weight in made.state_dict().items()}
    text = made.tokenizer.backend_tokenizer.to_str()
    ws.words(TEXTS[0], made, target="cosine", tiers="local")
    ws.attention(TEXTS[0], model=made)
    assert made.tokenizer.backend_tokenizer.to_str() == text
    assert all(torch.equal(weight, before[name]) for name, weight in made.state_dict().items())
    assert all(weight.requires_grad for weight in made.parameters())
    assert made.transformers_model.config._attn_implementation == "sdpa"


def test_prompts_are_chosen_by_name(tmp_path: Path) -> None:
    made = tiny.sentence_transformer(tmp_path, pooling, **E5)
    folder = tmp_path / "whole"
    digests = set()
    for name in ("query", "passage"):
        probe = Probe(f"{folder}:prompt={name}")
        digests.add(probe.files.digest)
        encoder: Any = encoder_for(probe)
        found = encoder.pooled(encoder.tokens(TEXTS))[:, -1].numpy()
        assert np.abs(found - made.encode(TEXTS, prompt_name=name)).max() <= 1e-5
        assert probe.describe()["name"] == f"whole:prompt={name}"
    assert len(digests) == 2
    with pytest.raises(InputError, match=r"passage, query, got 'other'"):
        Probe(f"{folder}:prompt=other")


def test_the_digest_covers_every_module(tmp_path: Path) -> None:
    made = tiny.sentence_transformer(tmp_path, lambda: [*pooling(), *dense()])
    folder = tmp_path / "whole"
    names = {"object": Probe(made).files.digest, "folder": Probe(folder).files.digest}
    with torch.no_grad():
        made[2].linear.bias += 1
    made.save(str(folder))
    assert Probe(made).files.digest != names["object"]
    assert Probe(folder).files.digest != names["folder"]


def test_pipelines_without_one_vector_per_text_are_refused(tmp_path: Path) -> None:
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
    from sentence_transformers.sentence_transformer.modules import Transformer

    tiny.sentence_transformer(tmp_path, lambda: [])
    first = Transformer(str(tmp_path / "alone"))
    made = MultiVectorEncoder(modules=[first, MultiVectorMask()])
    with pytest.raises(InputError, match="one per token"):
        opened(made)
    made.save(str(tmp_path / "many"))
    with pytest.raises(InputError, match="no Pooling: one vector per token"):
        ws.pairs(TEXTS[0], TEXTS[1], models=str(tmp_path / "many"))


def test_a_pipeline_that_reads_texts_otherwise_is_a_black_box(tmp_path: Path) -> None:
    """Its own `encode` decides; layers can still be reached."""
    made = tiny.sentence_transformer(tmp_path, pooling)

    class Doubled(type(made)):  # type: ignore[misc]
        def preprocess(self, inputs: Any, **options: Any) -> Any:
            return super().preprocess([f"{text} not {text}" for text in inputs], **options)

    made.__class__ = Doubled
    found = opened(made)
    assert not isinstance(found, Probe)
    assert np.abs(found.encode(TEXTS) - made.encode(TEXTS)).max() <= 1e-6  # type: ignore[union-attr]
    assert ws.attention(TEXTS[0], model=made).layers == 3
