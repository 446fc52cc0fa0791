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
from collections.abc import Sequence
from typing import Any

import torch

from wordsway.core.checks import OneText, takes, validated
from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, silent
from wordsway.core.reading import Word
from wordsway.core.result import versions
from wordsway.core.seeds import generator
from wordsway.core.vectors import unit
from wordsway.models.encoders import AnyModel, opened, with_vectors
from wordsway.models.prefix import prefix_of
from wordsway.models.probe import Probe
from wordsway.probing.black_boxes import swap_by_vectors
from wordsway.probing.candidates import Candidates, candidates
from wordsway.probing.moves import Blocks, at_once
from wordsway.probing.plausible import plausible
from wordsway.probing.real_words import order_of
from wordsway.probing.request import SwapRequest
from wordsway.probing.results import Swap, Swaps
from wordsway.probing.search import worst
from wordsway.probing.targets import LogitsTarget, Outcome, Target, target_of
from wordsway.text.clean import checked

#: Candidates of the first round (drawn at random) and of each later one, and how many rounds
#: follow.
FIRST, ROUND, ROUNDS = 300, 200, 5
TRIED = FIRST + ROUND * ROUNDS
#: The process: correlation exp((cos − 1)/SCALE) of unit embeddings, and the share of variance that
#: embeddings do not explain.
SCALE, NUGGET = 0.5, 0.05


@takes(SwapRequest)
@validated
def swap(
    text: OneText,
    word: int | str | None = None,
    model: Any = "minilm",
    *,
    progress: Progress = silent,
    **options: Any,
) -> Swaps:
    """The vocabulary's words in the place of ``word`` (its number, from 0, or its spelling; the
    last one by default), ranked by the relative change that they cause in a model or any encoder of
    texts (`wordsway.models.encoders`). Of an encoder that only returns vectors the embedding is
    compared, and candidates are ``among`` or WordNet's words.

    ``options`` are the fields of `SwapRequest`, which explains them: layer, target, top, kind,
    keep_case, among, exhaustive, flip, plausible, worst_case, scaling, cut, seed,
    memory.
    """
    request = SwapRequest(**options)
    checked(text)
    return swaps_of(text, word, opened(model), request, progress)


def swaps_of(
    text: str,
    word: int | str | None,
    probe: AnyModel,
    request: SwapRequest,
    progress: Progress = silent,
) -> Swaps:
    """The result of `swap` for a checked request."""
    if not isinstance(probe, Probe):
        tried = None if request.exhaustive else TRIED
        return swap_by_vectors(text, word, with_vectors(probe, "swap"), request, tried, progress)
    started = time.perf_counter()
    encoded = probe.read(probe.cut(text) if request.cut else text)
    place = encoded.last_word if word is None else encoded.word(word)
    bound = target_of(probe, encoded, request.wanted, request.scaling)
    label, probability = bound.prediction
    if request.flip and label is None:
        got = "one output, or several labels at once"
        raise InputError("a classifier of two or more labels, one at a time", got, "leave out flip")
    found = candidates(
        probe,
        encoded,
        place,
        kind=request.kind,
        keep_case=request.keep_case,
        among=request.among,
    )
    chances: dict[str, float] = {}
    judge = None
    if request.plausible:
        found, chances, judge = plausible(probe, encoded, place, found, progress)
    values = _screened(bound, place, found, request, progress)
    limit = None
    if request.worst_case:
        climbed = worst(
            Blocks(bound, [place], 1.0, request.memory), seed=request.seed, progress=progress
        )
        limit = bound.reported(float(climbed.value[0]) ** 0.5)
    row = min(place.rows)
    return Swaps(
        text=encoded.text,
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
            for at in order_of(found.words, values, request.flip)[: request.top]
        ),
        candidates=len(found),
        evaluated=len(values),
        worst=limit,
        model=probe.describe(),
        seed=request.seed,
        seconds=time.perf_counter() - started,
        versions=versions(),
        label=label,
        probability=probability,
        flips=None if label is None else sum(value.flips for value in values.values()),
        only_flips=request.flip,
        refused=found.refused,
        plausible=judge,
        searched=len(values) < len(found),
    )


def _swap(target: Target, name: str, outcome: Outcome, **about: Any) -> Swap:
    if isinstance(target, LogitsTarget) and outcome.logits is not None:
        label = target.names[int(outcome.logits.argmax())]
        about |= {"label": label, "probability": target.probability(outcome.logits)}
        about |= {"margin": outcome.margin}
    return Swap(name, outcome.change, **about)


def _screened(
    target: Target,
    place: Word,
    found: Candidates,
    request: SwapRequest,
    progress: Progress,
) -> dict[int, Outcome]:
    """Exact values of the candidates that were tried, by their number."""
    probe, encoded, model = target.probe, target.encoded, target.prefix_model
    prefix = None if model is None else prefix_of(probe, encoded, place, model)
    rows = encoded.n - (0 if prefix is None else prefix.length)
    size = at_once(probe, rows, probe.layers.count, request.memory)
    values: dict[int, Outcome] = {}
    total = len(found) if request.exhaustive else min(len(found), TRIED)

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
    evaluate(torch.randperm(len(found), generator=generator(request.seed, "swap"))[:FIRST].tolist())
    for _ in range(ROUNDS):
        score = _promise(features, {at: value.effect for at, value in values.items()})
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
