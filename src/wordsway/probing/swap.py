"""The verb: which real word, in the place of another, moves the model most?

Every candidate is a real text: the sentence with the word replaced, tokenised again. Evaluating all
of a vocabulary takes minutes, so it is screened: words with similar embeddings do similar things,
and a Gaussian process on the embeddings of those already evaluated predicts which others are
promising. Rounds of `ROUND` candidates, each chosen by mean + deviation, are evaluated exactly;
only exact values are reported. In a causal model the rows before the word are computed once.

A classifier is bound by the margin of the label that it predicts, its logit minus the largest
other one: the words that leave the least margin come first, a negative margin is a flipped label.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from wordsway.core.checks import Bytes, Count, OneText, Seed, validated
from wordsway.core.errors import InputError, positive
from wordsway.core.progress import Progress, silent
from wordsway.core.reading import Word
from wordsway.core.result import versions
from wordsway.core.seeds import generator
from wordsway.core.vectors import unit
from wordsway.models.encoders import opened, with_vectors
from wordsway.models.heads import labels_of
from wordsway.models.prefix import prefix_of
from wordsway.models.probe import EncodedText, Probe
from wordsway.probing.black_boxes import swap_by_vectors
from wordsway.probing.candidates import Candidates, candidates, check_among, check_kind
from wordsway.probing.moves import MEMORY, Blocks, at_once, memory_budget
from wordsway.probing.plausible import SamePart
from wordsway.probing.plausible import plausible as likely
from wordsway.probing.results import Swap, Swaps
from wordsway.probing.search import Effort, worst
from wordsway.probing.targets import LogitsTarget, Outcome, Target, target_of
from wordsway.text.clean import checked

#: Candidates of the first round (drawn at random) and of each later one, and how many rounds
#: follow.
FIRST, ROUND, ROUNDS = 300, 200, 5
TRIED = FIRST + ROUND * ROUNDS
#: The process: correlation exp((cos − 1)/SCALE) of unit embeddings, and the share of variance that
#: embeddings do not explain.
SCALE, NUGGET = 0.5, 0.05


@validated
def swap(
    text: OneText,
    word: int | str | None = None,
    model: Any = "minilm",
    *,
    layer: int | str = "last",
    target: int | str = "layer",
    top: Count = 10,
    kind: str = "words",
    keep_case: bool = True,
    among: Iterable[str] | None = None,
    exhaustive: bool = False,
    flip: bool = False,
    plausible: bool = False,
    same_part: SamePart | None = None,
    worst_case: bool = True,
    scaling: str = "auto",
    cut: bool = False,
    seed: Seed = 0,
    memory: Bytes = MEMORY,
    progress: Progress = silent,
) -> Swaps:
    """The vocabulary's words in the place of ``word``, ranked by the relative change that they
    cause.

    Parameters
    ----------
    word : by its number (from 0) or spelling; the last word by default
    model : any encoder of texts (`wordsway.models.encoders`); of one that only returns vectors the
        embedding is compared, and candidates are ``among`` or WordNet's words
    layer : the layer whose hidden states are bound: 0 … L, "input" or "last"
    target : "layer", or "all" layers, "pooled", "cosine", "logits" of a classifier or "next-token"
        of a causal model; a layer's name is understood here, too
    kind : "words" (whole, alphabetic, two letters or more) or "all" whole pieces of the vocabulary
    keep_case : capitalise as the word in the text is
    among : candidates of your own instead of the vocabulary; words of several tokens are welcome
    exhaustive : evaluate every candidate exactly, without a screen: a proof for the vocabulary
    flip : of a classifier, only words that change its label, the smallest change first
    plausible : only words likely in that place, by the model's own masked or next-token head, else
        by ``same_part(word, candidate)`` where it is given, else by a language model that is here
        (`wordsway.probing.plausible.HELPERS`), else by WordNet and the word's neighbours
    worst_case : also search the worst Δ, to tell how much of it a real word reaches
    cut : keep the beginning of a text that is too long for the model
    """
    started = time.perf_counter()
    checked(text)
    check_request(top, kind, among, flip, target)
    probe = opened(model)
    wanted = layer if target == "layer" else target
    if not isinstance(probe, Probe):
        return swap_by_vectors(
            text,
            word,
            with_vectors(probe, "swap"),
            wanted,
            top=top,
            keep_case=keep_case,
            among=among,
            plausible=plausible,
            tried=None if exhaustive else TRIED,
            seed=seed,
            progress=progress,
        )
    if cut:
        text = probe.cut(text)
    encoded = probe.read(text)
    place = _last(encoded) if word is None else encoded.word(word)
    bound = target_of(probe, encoded, wanted, scaling)
    if flip and isinstance(bound, LogitsTarget) and bound.label is None:
        raise InputError("a classifier of two or more labels", "one", "leave --flip out")
    found = candidates(probe, encoded, place, kind=kind, keep_case=keep_case, among=among)
    chances: dict[str, float] = {}
    how = None
    if plausible:
        found, chances, how = likely(probe, encoded, place, found, same_part, progress)
    values = _screened(bound, place, found, exhaustive, seed, memory, progress)
    limit = None
    if worst_case:
        climbed = worst(
            probe,
            Blocks(encoded, [place], 1.0),
            bound,
            effort=Effort(),
            seed=seed,
            budget=memory_budget(probe, encoded.n, bound.layer, memory),
            progress=progress,
        )
        limit = bound.reported(float(climbed.value[0]) ** 0.5)
    label, probability = bound.prediction
    row = min(place.rows)
    return Swaps(
        text=text,
        index=place.index,
        word=place.text,
        target=bound.name,
        swaps=tuple(
            _swap(
                bound,
                found.words[at],
                values[at],
                token=found.ids[at][row],
                plausibility=chances.get(found.words[at]),
                pieces=len(found.ids[at]) - encoded.n + len(place.rows),
            )
            for at in _order(found, values, flip)[:top]
        ),
        candidates=len(found),
        evaluated=len(values),
        worst=limit,
        model=probe.describe(),
        seed=seed,
        seconds=time.perf_counter() - started,
        versions=versions(),
        label=label,
        probability=probability,
        flips=None if label is None else sum(value.flips for value in values.values()),
        only_flips=flip,
        refused=found.refused,
        plausible=how,
    )


def check_request(
    top: int, kind: str, among: Iterable[str] | None, flip: bool, target: int | str
) -> None:
    """What can be refused before a model is loaded."""
    positive("top", top)
    check_kind(kind)
    check_among(among)
    if flip and target != "logits":
        raise InputError("a classifier's logits to flip", f"target {target}", "add --target logits")


def _effect(outcome: Outcome) -> float:
    """The quantity that the screen maximises; larger is worse."""
    return outcome.change if outcome.margin is None else -outcome.margin


def _order(found: Candidates, values: dict[int, Outcome], flip: bool) -> list[int]:
    """The candidates to show, first ones first."""
    if flip:
        kept = [at for at, value in values.items() if value.flips]
        return sorted(kept, key=lambda at: (values[at].change, found.words[at]))
    return sorted(values, key=lambda at: (-_effect(values[at]), found.words[at]))


def _swap(target: Target, name: str, outcome: Outcome, **about: Any) -> Swap:
    if isinstance(target, LogitsTarget) and outcome.logits is not None:
        label = labels_of(target.model)[int(outcome.logits.argmax())]
        about |= {"label": label, "probability": target.probability(outcome.logits)}
        about |= {"margin": outcome.margin}
    return Swap(name, outcome.change, **about)


def _last(encoded: EncodedText) -> Word:
    words = [word for word in encoded.words if any(char.isalnum() for char in word.text)]
    return (words or list(encoded.words))[-1]


def _screened(
    target: Target,
    place: Word,
    found: Candidates,
    exhaustive: bool,
    seed: int,
    memory: int,
    progress: Progress,
) -> dict[int, Outcome]:
    """Exact values of the candidates that were tried, by their number."""
    probe, encoded, model = target.probe, target.encoded, target.prefix_model
    prefix = None if model is None else prefix_of(probe, encoded, place, model)
    rows = encoded.n - (0 if prefix is None else prefix.length)
    size = at_once(probe, rows, probe.layers.count, memory)
    values: dict[int, Outcome] = {}
    total = len(found) if exhaustive or len(found) <= TRIED else TRIED

    def evaluate(which: Sequence[int]) -> None:
        for batch in _batches(found, which, size):
            ids = torch.tensor([found.ids[at] for at in batch])
            values.update(zip(batch, target.outcomes(ids, place, prefix), strict=True))
            progress("trying words", len(values), total)

    if total == len(found):
        evaluate(range(len(found)))
        return values
    row = place.rows[0]
    ids = torch.tensor([tokens[row] for tokens in found.ids], device=probe.layers.device)
    with torch.no_grad():
        weight = probe.layers.model.get_input_embeddings().weight
        features = unit((weight[ids] - weight.mean(0)).float()).cpu()
    evaluate(torch.randperm(len(found), generator=generator(seed, "swap"))[:FIRST].tolist())
    for _ in range(ROUNDS):
        score = _promise(features, {at: _effect(value) for at, value in values.items()})
        order = score.argsort(descending=True).tolist()
        evaluate([at for at in order if at not in values][:ROUND])
    return values


def _batches(found: Candidates, which: Sequence[int], size: int) -> list[list[int]]:
    """Candidates whose texts have equal lengths, ``size`` at a time."""
    by_length: dict[int, list[int]] = {}
    for at in which:
        by_length.setdefault(len(found.ids[at]), []).append(at)
    return [
        same[start : start + size]
        for same in by_length.values()
        for start in range(0, len(same), size)
    ]


def _promise(features: torch.Tensor, values: dict[int, float]) -> torch.Tensor:
    """Mean + deviation of the process at every candidate, given the exact values so far."""
    seen = torch.tensor(list(values))
    y = torch.tensor(list(values.values()), dtype=torch.float32)
    scaled = (y - y.mean()) / y.std().clamp_min(1e-12)
    K = torch.exp((features[seen] @ features[seen].T - 1) / SCALE)
    factor = torch.linalg.cholesky(K + NUGGET * torch.eye(len(seen)))
    across = torch.exp((features[seen] @ features.T - 1) / SCALE)
    half = torch.linalg.solve_triangular(factor, across, upper=False)
    mean = half.T @ torch.linalg.solve_triangular(factor, scaled[:, None], upper=False)[:, 0]
    score: torch.Tensor = mean + (1 - (half * half).sum(0)).clamp_min(0).sqrt()
    return score
