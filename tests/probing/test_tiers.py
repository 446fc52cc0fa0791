"""The tiers of `words` against their definitions: dense Jacobians, transformers alone, random Δ."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import tiny
from wordsway.core.errors import InputError
from wordsway.core.vectors import unit
from wordsway.models.norms import NormLayer, largest_moves
from wordsway.models.prefix import prefix_of
from wordsway.models.probe import Probe
from wordsway.probing.attention import attention
from wordsway.probing.attract import attract
from wordsway.probing.candidates import Candidates, WordPlace, vocabulary
from wordsway.probing.ceiling import ceilings
from wordsway.probing.compare import compare
from wordsway.probing.local import local, mean_local, sketch_of
from wordsway.probing.moves import Blocks, profiles
from wordsway.probing.real_words import real_words
from wordsway.probing.search import REACHES
from wordsway.probing.swap import swap
from wordsway.probing.targets import target_of
from wordsway.probing.tiers import TIERS, leaders, rank_ranges
from wordsway.probing.words import words
from wordsway.render.views.words import headline, notes

TEXT = "the film was good , films and the plot"
CAUSAL = {"gpt2", "llama"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: tiny.save(tmp_path_factory.mktemp(name), name) for name in tiny.ARCHITECTURES}


@pytest.fixture(scope="module")
def probes(folders: dict[str, Path]) -> dict[str, Probe]:
    return {name: Probe(folder) for name, folder in folders.items()}


def jacobian(target: Any, encoded: Any) -> torch.Tensor:
    """∂g/∂X as one dense array (features, n, d)."""
    found: torch.Tensor = torch.autograd.functional.jacobian(
        lambda embeds: target.features(embeds[None])[0].flatten(), encoded.embeds
    )
    return found.double()


@pytest.mark.slow
@pytest.mark.parametrize("name", tiny.ARCHITECTURES)
def test_local_tiers_are_the_dense_jacobians(probes: dict[str, Probe], name: str) -> None:
    """σ_max to 1 % and its direction; ‖J‖_F within four standard errors, most within two."""
    probe = probes[name]
    encoded = probe.read(TEXT)
    chosen = list(encoded.words)
    for which in (1, "last"):
        target = target_of(probe, encoded, which)
        J = jacobian(target, encoded)
        sketch = sketch_of(target, passes=64, seed=3)
        means = mean_local(sketch, encoded, chosen)
        worst = local(Blocks(target, chosen, 1.0), sketch)
        near = 0
        for word, mean, one in zip(chosen, means, worst, strict=True):
            rows = list(word.rows)
            block = J[:, rows].flatten(1)
            radius = float(encoded.embeds[rows].double().norm()) / len(rows) ** 0.5
            assert one.converged
            true = float(torch.linalg.matrix_norm(block, 2)) * radius
            assert one.value == pytest.approx(true, rel=0.01)
            assert float(one.direction.norm()) == pytest.approx(1, abs=1e-5)
            along = float((block @ one.direction.double().flatten()).norm()) * radius
            assert along == pytest.approx(one.value, rel=0.01), "the direction is the witness"
            exact = float(block.norm()) * radius / block.shape[1] ** 0.5
            assert abs(mean[0] - exact) < 4 * mean[1]
            near += abs(mean[0] - exact) < 2 * mean[1]
        assert near >= 6, "of nine words: the standard error is one"


def test_mean_local_is_the_response_to_small_random_moves(probes: dict[str, Probe]) -> None:
    """Its definition, by brute force: the root mean square over random Δ of relative length ρ."""
    probe = probes["bert"]
    encoded = probe.read(TEXT)
    target = target_of(probe, encoded, "last")
    word = encoded.word("films")
    assert len(word.rows) == 2
    (mean,) = mean_local(sketch_of(target, passes=256), encoded, [word])
    blocks = Blocks(target, [word], 1e-3)
    torch.manual_seed(0)
    delta = blocks.radius[0] * unit(torch.randn(2000, blocks.size))
    with torch.no_grad():
        squares = target.change2(blocks.moved(torch.zeros(2000, dtype=torch.long), delta))
    assert float(squares.mean().sqrt()) / 1e-3 == pytest.approx(mean[0], rel=0.05)


@pytest.mark.parametrize("name", tiny.ARCHITECTURES)
def test_no_random_change_exceeds_a_ceiling(probes: dict[str, Probe], name: str) -> None:
    """All layers, random Δ up to reach 100, some of them along the directions that do most."""
    probe = probes[name]
    encoded = probe.read(TEXT)
    chosen = list(encoded.words)
    torch.manual_seed(1)
    proved = 0
    for layer in range(probe.layers.count + 1):
        target = target_of(probe, encoded, layer)
        uppers = ceilings(target, chosen)
        if uppers[0] is None:
            assert probe.layers.norm_after(layer) is None
            continue
        proved += 1
        for reach in (0.3, 1.0, 10.0, 100.0):
            blocks = Blocks(target, chosen, reach)
            which = torch.arange(len(chosen)).repeat_interleave(12)
            noise = unit(torch.randn(len(which), blocks.size))
            with torch.no_grad():
                moved = blocks.moved(which, blocks.inside(which, noise))
                changes = target.change2(moved).sqrt()
            for word, change in zip(which.tolist(), changes.tolist(), strict=True):
                assert change <= (uppers[word] or 0.0)
    assert proved >= 1


def test_the_ceiling_is_attained() -> None:
    """Against a grid of the ball: LayerNorm and RMSNorm with unequal gains, d = 3."""
    gain = torch.tensor([0.5, 1.0, 2.0]).double()
    bias = torch.tensor([0.3, -0.1, 0.2]).double()
    torch.manual_seed(0)
    ball = 3**0.5 * unit(torch.randn(200_000, 3).double())
    for centred in (True, False):
        norm = NormLayer(centred, gain, bias, 0.0)
        reachable = ball - ball.mean(1, keepdim=True) if centred else ball
        reachable = 3**0.5 * unit(reachable)
        here = norm(torch.tensor([[1.0, 2.0, -1.0], [0.1, -3.0, 0.4]]).double())
        bounds = largest_moves(norm, here)
        for row, bound in zip(here, bounds.tolist(), strict=True):
            attained = float(((reachable * gain + bias - row) ** 2).sum(1).max())
            assert attained <= bound * (1 + 1e-9)
            assert attained >= 0.999 * bound, "the dual has no gap"


def test_a_pooled_embedding_and_distributions_have_ceilings(probes: dict[str, Probe]) -> None:
    probe = probes["bert"]
    encoded = probe.read(TEXT)
    chosen = list(encoded.words)
    torch.manual_seed(2)
    for name, most in (("pooled", None), ("cosine", 2.0), ("all", None)):
        target = target_of(probe, encoded, name)
        upper = ceilings(target, chosen)[0]
        assert upper is not None and (most is None or upper == pytest.approx(most, rel=1e-3))
        blocks = Blocks(target, chosen, 50.0)
        which = torch.arange(9).repeat_interleave(20)
        noise = unit(torch.randn(len(which), blocks.size))
        with torch.no_grad():
            square = target.change2(blocks.moved(which, blocks.inside(which, noise))).max()
        assert target.reported(float(square) ** 0.5) <= upper


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert", "albert", "llama"])
def test_the_curve_begins_linearly_and_never_falls(probes: dict[str, Probe], name: str) -> None:
    result = words(TEXT, probes[name], tiers=("local", "curve"), word=[1, 5], seed=4)
    for word in result.words:
        assert word.curve is not None and word.local is not None
        assert [point.reach for point in word.curve] == list(REACHES)
        assert word.curve[0].lower >= 0.95 * 0.03 * word.local
        lows = [point.lower for point in word.curve]
        assert lows == sorted(lows) and all(point.spread >= 0 for point in word.curve)
        assert word.sensitivity == pytest.approx(lows[-1], rel=1e-4)
        assert word.upper is not None and lows[-1] <= word.upper
        assert word.delta is not None and float(word.delta.norm()) <= word.radius


def test_real_words_are_real_texts(folders: dict[str, Path], probes: dict[str, Probe]) -> None:
    """Every draw recomputed with transformers alone, in an encoder and in a causal model."""
    import transformers as tf

    encode = tiny.tokenizer().encode
    text = "the film was good"
    for name in ("bert", "mpnet", "llama", "gpt2"):
        probe = probes[name]
        result = words(text, probe, tiers=("real-words",), draws=6, seed=1)
        model: Any = tf.AutoModel.from_pretrained(folders[name]).eval()

        def states(sentence: str, model: Any = model) -> torch.Tensor:
            with torch.no_grad():
                out = model(torch.tensor([encode(sentence).ids]), output_hidden_states=True)
            found: torch.Tensor = out.hidden_states[-1][0].double()
            return found

        base = states(text)
        for word in result.words:
            assert word.real is not None and word.real.draws == 6
            for other, change in zip(word.real.words, word.real.changes, strict=True):
                changed = text[: word.start] + other + text[word.end :]
                true = float((states(changed) - base).norm() / base.norm())
                assert change == pytest.approx(true, rel=1e-4)
            values = torch.tensor(word.real.changes).double()
            assert word.real.mean == pytest.approx(float(values.mean()))
            assert word.real.error == pytest.approx(float(values.std()) / 6**0.5)
            assert word.real.worst == max(word.real.changes)


@pytest.mark.parametrize("name", ["bert", "roberta", "t5", "llama"])
def test_a_word_of_several_tokens_is_replaced_by_such(
    folders: dict[str, Path], probes: dict[str, Probe], name: str, monkeypatch: Any
) -> None:
    """No later word moves to another position, and its own rows count as one; every draw recomputed
    with transformers alone.
    """
    import transformers as tf

    known = ("plots", "film", "casts", "goods", "zebras", "was", "fines")
    monkeypatch.setattr("wordsway.probing.real_words.known_words", lambda progress: known)
    encode = tiny.tokenizer().encode
    found = words(TEXT, probes[name], tiers=("real-words",), draws=4)
    (word,) = [word for word in found.words if word.pieces == 2]
    assert word.real is not None and set(word.real.words) == {"plots", "casts", "goods", "fines"}
    model: Any = tf.AutoModel.from_pretrained(folders[name]).eval()
    model = model.get_encoder() if name == "t5" else model

    def states(sentence: str) -> torch.Tensor:
        with torch.no_grad():
            out = model(torch.tensor([encode(sentence).ids]), output_hidden_states=True)
        rows: torch.Tensor = out.hidden_states[-1][0].double()
        return rows

    base = states(TEXT)
    weight = torch.ones(len(base)).double()
    weight[list(word.rows)] = 1 / 2
    size = (weight * base.square().sum(1)).sum()
    for other, change in zip(word.real.words, word.real.changes, strict=True):
        moved = states(TEXT[: word.start] + other + TEXT[word.end :])
        assert len(moved) == len(base), "as many tokens"
        true = ((weight * (moved - base).square().sum(1)).sum() / size).sqrt()
        assert change == pytest.approx(float(true), rel=1e-4)
    single = [one.real.mean for one in found.words if one.pieces == 1 and one.real is not None]
    assert word.real.mean < 1.5 * max(single), "it does not lead by its length"


@pytest.mark.slow
def test_words_of_several_tokens_come_from_wordnet(monkeypatch: Any) -> None:
    probe = Probe("minilm")
    text = "The disinterested hero mumbled through it"
    found = words(text, probe, tiers=("real-words",))
    encode = probe.reader.ids
    for word in found.words:
        assert word.real is not None and word.real.draws == 32
        texts = [text[: word.start] + other + text[word.end :] for other in word.real.words]
        assert {len(ids) for ids in encode(texts)} == {len(found.tokens)}
    assert max(word.pieces for word in found.words) >= 2
    monkeypatch.setattr("wordsway.probing.real_words.known_words", lambda progress: ())
    without = words(text, probe, tiers=("real-words",))
    assert without.tier == "real-words" and "data get wordnet" in without.status
    for a, b in zip(found.words, without.words, strict=True):
        assert b.real == (a.real if a.pieces == 1 else None)


@pytest.mark.slow
def test_candidates_keep_the_tokens_around_them(monkeypatch: Any) -> None:
    """By their definition, with the tokenizer itself, in a long text."""
    probe = Probe("minilm")
    text = "the film was good and the plot was dull , " * 20
    encoded = probe.read(text)
    word = encoded.words[90]
    place, names = WordPlace(probe, encoded, word), ["zebra", "unfairness", "movie", "dully"]
    front, back = encoded.ids.tolist()[: word.rows[0]], encoded.ids.tolist()[word.rows[-1] + 1 :]
    many = vocabulary(probe, "words")[:3000]
    found, some = place.encode(many), place.encode(names, pieces=None)
    assert len(found) > 2000 and some.words == names
    for name, ids in zip(found.words + some.words, found.ids + some.ids, strict=True):
        assert ids == probe.reader.ids([place.changed(name)])[0]
        assert ids[: len(front)] == front and ids[len(ids) - len(back) :] == back
    inner = probe.reader.ids
    monkeypatch.setattr(probe.reader, "ids", lambda texts: [[9, *ids[1:]] for ids in inner(texts)])
    assert place.encode(names, pieces=None) == Candidates([], []), "another reading: no candidate"


def test_signs_are_replaced_by_signs_and_draws_are_shared(probes: dict[str, Probe]) -> None:
    result = words(TEXT, probes["bert"], tiers=("real-words",), draws=8)
    comma = result.words[4]
    assert comma.word == "," and comma.real is not None and comma.real.words == (".",)
    first, second = result.words[1].real, result.words[3].real
    assert first is not None and second is not None
    assert len(set(first.words) & set(second.words)) >= 6
    alone = words(TEXT, probes["bert"], tiers=("real-words",), draws=8, word=[3]).words[0]
    assert alone.real == second, "whatever the company"


@pytest.mark.parametrize("name", tiny.ARCHITECTURES)
def test_the_rows_before_a_word_are_computed_once(probes: dict[str, Probe], name: str) -> None:
    probe = probes[name]
    encoded = probe.read(TEXT)
    assert probe.is_causal == (name in CAUSAL)
    word = encoded.word("plot")
    target = target_of(probe, encoded, "last")
    prefix = prefix_of(probe, encoded, word, target.prefix_model)
    assert (prefix is not None) == (name in CAUSAL)
    if prefix is not None:
        ids = encoded.ids.repeat(3, 1)
        ids[:, word.rows[0]] = torch.tensor([5, 7, 9])
        for which in ("last", 2, "all", "pooled", "cosine"):
            bound = target_of(probe, encoded, which)
            whole = bound.change(ids, word)
            torch.testing.assert_close(bound.change(ids, word, prefix), whole, rtol=1e-5, atol=0)


def test_rows_behind_a_window_are_those_of_the_whole_text(tmp_path: Path) -> None:
    """A layer that sees the last eight tokens keeps the keys of seven: the swaps of longer texts
    were off by a quarter, since the check read six tokens only.
    """
    import transformers as tf

    torch.manual_seed(0)
    sizes = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 3, "intermediate_size": 24}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 64}
    model = tf.MistralModel(tf.MistralConfig(**sizes, **heads, sliding_window=8)).eval()
    for weight in model.parameters():
        weight.data *= 8 if weight.dim() > 1 else 1
    model.save_pretrained(tmp_path)
    tiny.tokenizer().save(str(tmp_path / "tokenizer.json"))
    probe = Probe(tmp_path)
    text = "the film was good and the plot was bad or not very dull and she was fine it was good"
    encoded = probe.read(text)
    word = encoded.words[16]
    assert prefix_of(probe, encoded, word, probe.layers.model) is not None
    with torch.no_grad():
        before = model(encoded.ids[None]).last_hidden_state[0].double()
        for one in swap(text, 16, probe, worst_case=False, exhaustive=True).swaps:
            ids = encoded.ids.clone()
            ids[word.rows[0]] = one.token
            after = model(ids[None]).last_hidden_state[0].double()
            change = float((after - before).norm() / before.norm())
            assert one.change == pytest.approx(change, rel=1e-4)


def test_a_sink_row_does_not_decide(probes: dict[str, Probe], monkeypatch: Any) -> None:
    """With one row a hundred times longer, rows count alike by default, and it is said."""
    probe = probes["llama"]

    def with_sink(states_of: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        def scaled(*arguments: Any) -> torch.Tensor:
            states = states_of(*arguments)
            scale = torch.ones(states.shape[1], 1)
            scale[0] = 1e3
            return states * scale

        return scaled

    plain = words(TEXT, probe, tiers=("mean-local",))
    for name in ("layer", "hidden"):
        monkeypatch.setattr(probe.layers, name, with_sink(getattr(probe.layers, name)))
    sunk = words(TEXT, probe, tiers=("mean-local",))
    by_norm = words(TEXT, probe, tiers=("mean-local",), scaling="frobenius")
    assert (plain.scaling, sunk.scaling) == ("frobenius", "rows")
    for before, after, drowned in zip(plain.words, sunk.words, by_norm.words, strict=True):
        assert after.mean_local == pytest.approx(before.mean_local, rel=0.3)
        assert (drowned.mean_local or 0) < 0.05 * (before.mean_local or 0)


def test_a_profile_counts_rows_as_its_layers_do(probes: dict[str, Probe], monkeypatch: Any) -> None:
    """A layer with a sink row: every row alike; the others by their norm, and the target's own
    layer as it was asked for.
    """
    probe, sink = probes["llama"], 2
    every = probe.layers.every

    def with_sink(embeds: torch.Tensor, at: str = "words") -> list[torch.Tensor]:
        states = list(every(embeds, at))
        states[sink] = (
            states[sink] * torch.tensor([1e3, *[1.0] * (states[sink].shape[1] - 1)])[:, None]
        )
        return states

    monkeypatch.setattr(probe.layers, "every", with_sink)
    encoded = probe.read(TEXT)
    place = encoded.words[1]
    delta = encoded.embeds[list(place.rows)]
    moved = encoded.embeds.clone()
    moved[list(place.rows)] += delta
    (found,) = profiles(probe, encoded, [place], [delta], 2**30)
    states = [with_sink(one[None]) for one in (encoded.embeds, moved)]
    for layer, (before, after) in enumerate(zip(*states, strict=True)):
        b, a = before[0].double(), after[0].double()
        alike = ((a - b).norm(dim=1) / b.norm(dim=1)).square().mean().sqrt()
        true = alike if layer == sink else (a - b).norm() / b.norm()
        assert found[layer] == pytest.approx(float(true), rel=1e-5)
    asked = target_of(probe, encoded, sink, "frobenius")
    (by_norm,) = profiles(probe, encoded, [place], [delta], 2**30, asked)
    assert by_norm[sink] < 0.1 * found[sink] and by_norm[:sink] == found[:sink]


def test_a_word_of_several_tokens_has_no_larger_ball(probes: dict[str, Probe]) -> None:
    """Two rows of equal length: Δ may be as long as one of them."""
    encoded = probes["bert"].read("films film")
    pair, single = encoded.words
    assert len(pair.rows) == 2
    norms = encoded.embeds[list(pair.rows)].double().norm(dim=1)
    expected = float(norms.square().mean().sqrt())
    assert encoded.radius(pair) == pytest.approx(expected)
    assert encoded.radius(single) == pytest.approx(float(encoded.embeds[3].double().norm()))
    blocks = Blocks(target_of(probes["bert"], encoded, "last"), [pair], 1.0)
    assert float(blocks.radius[0]) == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
def test_numbers_do_not_depend_on_company_or_batches(folders: dict[str, Path]) -> None:
    probe = Probe(folders["bert"], dtype="float64")
    tiers = ("mean-local", "local", "curve")
    together = words(TEXT, probe, tiers=tiers, effort=0.2)
    for index in (1, 5):
        alone = words(TEXT, probe, tiers=tiers, effort=0.2, word=[index]).words[0]
        other = together.words[index]
        for name in ("mean_local", "local", "sensitivity"):
            assert getattr(alone, name) == pytest.approx(getattr(other, name), rel=1e-6), name
    tight = words(TEXT, probe, tiers=tiers, effort=0.2, memory=2**20)
    for a, b in zip(tight.words, together.words, strict=True):
        assert a.sensitivity == pytest.approx(b.sensitivity, rel=1e-6)


def test_default_tiers_follow_the_length(probes: dict[str, Probe], monkeypatch: Any) -> None:
    short = words(TEXT, probes["bert"])
    assert short.tiers == ("mean-local", "local", "real-words") and short.partial == ()
    monkeypatch.setattr("wordsway.probing.words.SHORT", 1)
    monkeypatch.setattr("wordsway.probing.words.REAL_TOKENS", 32 * 12 * 0.1 * 2)
    long = words(TEXT, probes["bert"])
    assert long.partial == ("real-words",) and long.words[0].local is None
    assert "real words were tried only for the 2 words with the largest mean local" in notes(long)
    measured = [word for word in long.words if word.real is not None]
    best = sorted(long.words, key=lambda word: -(word.mean_local or 0))[:2]
    assert {word.index for word in measured} == {word.index for word in best}
    assert [word.mean_local for word in long.words] == [word.mean_local for word in short.words]


@pytest.mark.slow
def test_the_headline_follows_from_the_request_alone(
    probes: dict[str, Probe], monkeypatch: Any
) -> None:
    """One tier names the word that moves the model most, whatever else is measured, and the
    sentence says which.
    """
    said = set()
    for limit in (1500, 1):  # as a short text, and as a long one
        monkeypatch.setattr("wordsway.probing.words.SHORT", limit)
        for tiers in (None, ["mean-local"], ["real-words", "mean-local"]):
            found = words(TEXT, probes["bert"], tiers=tiers)
            assert found.tier == "mean-local"
            said.add(headline(found))
    assert len(said) == 1 and "by mean local" in said.pop().text
    for tier, record in TIERS.items():
        found = words(TEXT, probes["bert"], colour=tier)
        assert found.tier == tier and {"mean-local", tier} <= set(found.tiers)
        assert tier not in found.partial and record.title in headline(found).text
    only = words(TEXT, probes["bert"], tiers=["local", "real-words"])
    assert only.tier == "real-words" and only.tiers == ("local", "real-words")
    assert words(TEXT, probes["bert"], reach=0.1).tier == "curve"


def test_ties_are_ties() -> None:
    assert rank_ranges([1.0, 1.0], [0.0, 0.0]) == [(1, 2), (1, 2)]
    close = [0.01193530142840639, 0.011935301428406596]
    assert rank_ranges(close, [0.0, 0.0]) == [(1, 2), (1, 2)], "rounding makes no rank"
    assert rank_ranges([2.0, 1.0], [0.1, 0.1]) == [(1, 1), (2, 2)]
    assert rank_ranges([2.0, 1.0], [0.5, 0.5]) == [(1, 2), (1, 2)]
    assert leaders([0.1, 0.3, 0.29], [0.01, 0.01, 0.01]) == [1, 2]


def test_unknown_words_are_flagged_and_long_texts_cut(probes: dict[str, Probe]) -> None:
    result = words("the zebra was good", probes["bert"])
    assert [word.unknown for word in result.words] == [False, True, False, False]
    long = "film " * 200
    with pytest.raises(InputError, match="--cut"):
        words(long, probes["bert"])
    cut = words(long, probes["bert"], cut=True, tiers=("mean-local",))
    assert len(cut.tokens) == 64 and cut.cut == len(long)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tiers": ("worst",)}, "a tier among"),
        ({"colour": "red"}, "a tier among"),
        ({"scaling": "max"}, "a scaling among"),
        ({"target": "mood"}, "a layer"),
        ({"passes": 0}, "passes"),
        ({"draws": -1}, "draws"),
        ({"target": "logits"}, "saved with a classifier"),
        ({"target": "next-token"}, "saved with its head"),
    ],
)
def test_bad_requests(probes: dict[str, Probe], options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        words(TEXT, probes["bert"], **options)


@pytest.mark.parametrize("verb", [words, swap, attract, attention, compare])
def test_a_list_of_texts_gets_the_right_remedy(probes: dict[str, Probe], verb: Any) -> None:
    more = ("the film",) if verb is compare else ()
    with pytest.raises(InputError, match=r"a string, got .*: pass one text at a time"):
        verb(["the film", "the plot"], *more, model=probes["bert"])


@pytest.mark.slow
def test_json_has_the_contract_fields(probes: dict[str, Probe]) -> None:
    result = words(TEXT, probes["bert"], tiers=("mean-local", "local", "real-words", "curve"))
    document = json.loads(result.to_json())
    for name in ("model", "layer", "target", "seed", "words"):
        assert name in document
    for word in document["words"]:
        for name in ("index", "text", "start", "end", "mean_local", "mean_local_error", "local"):
            assert word[name] is not None
        real = {"mean", "error", "q90", "worst", "worst_word", "draws"}
        assert real <= set(word["real"])
        assert {"reach", "lower", "spread"} <= set(word["curve"][0])
        assert word["upper"] > word["sensitivity"] > 0
        assert len(word["profile"]) == len(word["noise"]) == 4
    assert len(result.frame()) == 9


@pytest.mark.slow
def test_real_words_stay_within_memory(probes: dict[str, Probe]) -> None:
    probe = probes["bert"]
    encoded = probe.read(TEXT)
    target = target_of(probe, encoded, "last")
    chosen = list(encoded.words)
    many = real_words(target, chosen, draws=5, size=64)
    few = real_words(target, chosen, draws=5, size=2)
    for a, b in zip(many, few, strict=True):
        assert a is not None and b is not None and a.mean == pytest.approx(b.mean, rel=1e-5)


def test_words_that_share_one_token_are_measured_as_one(probes: dict[str, Probe]) -> None:
    """A Thai phrase is one [UNK]: the model cannot tell its nine words apart, and says so."""
    phrase = "ฉันรักเธอมา"
    found = words(f"the film was {phrase} good", probes["bert"], tiers=("mean-local", "real-words"))
    (joined,) = (word for word in found.words if word.unknown)
    assert (joined.word, joined.index, joined.joined) == (phrase, 3, 9)
    assert [word.index for word in found.words] == [0, 1, 2, 3, 12]
    assert joined.real is not None and joined.real.mean > 0, "a real word in place of all of them"
    assert joined.to_dict()["joined"] == 9
    assert f"measured as one: “{phrase}” (9 words)" in " ".join(notes(found))
    (again,) = words(found.text, probes["bert"], tiers=("mean-local",), word=[7]).words
    assert again.word == phrase, "any of the nine names it"
