"""The verb: which real word, in the place of another, moves the model most?

Every candidate is a real text: the sentence with the word replaced, tokenised anew. Evaluating all
of a vocabulary takes minutes, so it is screened: words with similar embeddings do similar things,
and a Gaussian process on the embeddings of those already evaluated says which others are promising.
Rounds of `ROUND` candidates, each chosen by mean + deviation, are evaluated exactly; only exact
values are reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch

from wordsway.errors import InputError
from wordsway.models.probe import Prepared, Probe
from wordsway.probing.goals import Goal, goal
from wordsway.probing.results import Swap, Swaps
from wordsway.probing.search import MEMORY, Blocks, Effort, at_once, worst
from wordsway.reading import Word, word_spans
from wordsway.result import versions
from wordsway.seeds import generator
from wordsway.vectors import unit

#: Candidates of the first round (drawn at random) and of each later one, and how many rounds
#: follow.
FIRST, ROUND, ROUNDS = 300, 200, 5
TRIED = FIRST + ROUND * ROUNDS
#: The process: correlation exp((cos − 1)/SCALE) of unit embeddings, and the share of variance that
#: embeddings do not explain.
SCALE, NUGGET = 0.5, 0.05
#: Pieces that begin a word carry one of these marks in vocabularies that mark beginnings, and
#: pieces inside one these in the others.
BEGINNING, INSIDE = ("Ġ", "▁"), ("##",)
KINDS = ("words", "all")


@dataclass(frozen=True)
class Candidates:
    """Real words with the token ids of the changed text."""

    words: list[str]
    ids: list[list[int]]
    refused: int = 0

    def __len__(self) -> int:
        return len(self.words)


def swap(
    text: str,
    word: int | str | None = None,
    model: str | Probe = "minilm",
    *,
    target: int | str = "last",
    top: int = 10,
    kind: str = "words",
    keep_case: bool = True,
    among: Iterable[str] | None = None,
    exhaustive: bool = False,
    worst_case: bool = True,
    seed: int = 0,
    memory: int = MEMORY,
    progress: Callable[[str, int, int], None] | None = None,
) -> Swaps:
    """The vocabulary's words in the place of ``word``, ranked by the relative change that they
    cause.

    Parameters
    ----------
    word : by its number or spelling; the last word by default
    target : a layer ("last" or a number), "pooled", or "logits" of a classifier
    kind : "words" (whole, alphabetic, two letters or more) or "all" whole pieces of the vocabulary
    keep_case : capitalise as the word in the text is
    among : candidates of your own instead of the vocabulary; words of several tokens are welcome
    exhaustive : evaluate every candidate exactly, without a screen
    worst_case : also search the worst Δ, to tell how much of it a real word reaches
    """
    started = time.perf_counter()
    if top < 1:
        raise InputError("top ≥ 1", top, "leave it at 10")
    probe = model if isinstance(model, Probe) else Probe(model)
    prepared = probe.read(text)
    place = _last(prepared) if word is None else prepared.word(word)
    judged = goal(probe, prepared, place, target)
    told = progress or (lambda what, done, total: None)
    found = candidates(probe, prepared, place, kind=kind, keep_case=keep_case, among=among)
    values = _screened(
        probe,
        prepared,
        place,
        judged,
        found,
        exhaustive,
        seed,
        memory,
        lambda d, t: told("trying words", d, t),
    )
    order = sorted(values, key=lambda at: (-values[at], found.words[at]))[:top]
    limit = None
    if worst_case:
        blocks, effort = Blocks(prepared, [place], 1.0), Effort()
        layer = (
            probe.layers.count
            if judged.name in ("pooled", "logits")
            else int(judged.name.split()[1])
        )
        _, reached, _ = worst(
            probe,
            blocks,
            layer,
            effort=effort,
            seed=seed,
            memory=memory,
            progress=lambda _, done, total, note="": told(
                "searching the worst Δ", int(done), int(total)
            ),
            target=judged.change2,
        )
        limit = float(reached[0])
    swaps = tuple(Swap(found.words[at], values[at], found.ids[at][place.rows[0]]) for at in order)
    about = (
        len(found),
        len(values),
        limit,
        probe.describe(),
        seed,
        time.perf_counter() - started,
        versions(),
    )
    return Swaps(text, place.index, place.text, judged.name, swaps, *about)


def _last(prepared: Prepared) -> Word:
    words = [word for word in prepared.words if any(char.isalnum() for char in word.text)] or list(
        prepared.words
    )
    return words[-1]


def candidates(
    probe: Probe,
    prepared: Prepared,
    word: Word,
    *,
    kind: str = "words",
    keep_case: bool = True,
    among: Iterable[str] | None = None,
) -> Candidates:
    """Words that can stand in this place, with the token ids of the changed text; the word itself
    is left out.
    """
    if kind not in KINDS:
        raise InputError(
            f"a part of the vocabulary among {', '.join(KINDS)}",
            repr(kind),
            "words leaves out numbers and signs",
        )
    spelled = (
        _vocabulary(probe, kind) if among is None else [one.strip() for one in among if one.strip()]
    )
    if keep_case:
        spelled = [_cased(one, word.text) for one in spelled]
    before, after = prepared.text[: word.start], prepared.text[word.end :]
    alone = {
        sign: (word.start, word.start + 1) in word_spans(before + sign + after) for sign in "a?"
    }  # or would it join its neighbours?
    names = [
        one
        for one in dict.fromkeys(spelled)
        if one not in (word.text, word.text.lower())
        and len(word_spans(one)) == 1
        and alone["a" if one[0].isalnum() else "?"]
    ]
    texts = [before + one + after for one in names]
    encoded = [tokens.ids for tokens in probe.reader(texts)]
    front, behind = (
        list(prepared.ids[: min(word.rows)].tolist()),
        list(prepared.ids[max(word.rows) + 1 :].tolist()),
    )
    kept_words, kept_ids = [], []
    for name, ids in zip(names, encoded, strict=True):
        middle = len(ids) - len(front) - len(behind)
        whole = (
            list(ids[: len(front)]) == front
            and middle >= 1
            and list(ids[len(ids) - len(behind) :]) == behind
        )
        if whole and (middle == 1 or among is not None):
            kept_words.append(name)
            kept_ids.append(list(ids))
    if not kept_words:
        got = f"none for {word.text!r}" + ("" if alone["a"] else ", which touches another word")
        raise InputError(
            "words that can stand in that place",
            got,
            "choose another word, or kind='all' (--kind all)",
        )
    return Candidates(kept_words, kept_ids, len(names) - len(kept_words))


def _vocabulary(probe: Probe, kind: str) -> list[str]:
    """Whole words of the vocabulary, as they are written."""
    pieces = sorted(probe.reader.tokenizer.get_vocab(with_added_tokens=False))
    marked = any(piece.startswith(BEGINNING) for piece in pieces)
    found = []
    for piece in pieces:
        if marked:
            if not piece.startswith(BEGINNING):
                continue
            piece = piece[1:]
        elif piece.startswith(INSIDE):
            continue
        if kind == "all" or (piece.isalpha() and len(piece) > 1):
            found.append(piece)
    return [piece for piece in found if piece]


def _cased(word: str, like: str) -> str:
    if len(like) > 1 and like.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word


def _screened(
    probe: Probe,
    prepared: Prepared,
    place: Word,
    judged: Goal,
    found: Candidates,
    exhaustive: bool,
    seed: int,
    memory: int,
    meter: Callable[[int, int], None],
) -> dict[int, float]:
    """Exact values of the candidates that were tried, by their number."""
    size = at_once(probe, prepared.n, probe.layers.count, memory)
    values: dict[int, float] = {}
    if exhaustive or len(found) <= TRIED:
        _evaluate(
            judged, found, range(len(found)), size, values, lambda done: meter(done, len(found))
        )
        return values
    row = place.rows[0]
    ids = torch.tensor([one[row] for one in found.ids], device=probe.layers.device)
    with torch.no_grad():
        weight = probe.layers.model.get_input_embeddings().weight
        features = unit((weight[ids] - weight.mean(0)).float()).cpu()
    first = torch.randperm(len(found), generator=generator(seed, "swap"))[:FIRST].tolist()
    _evaluate(judged, found, first, size, values, lambda done: meter(done, TRIED))
    for _ in range(ROUNDS):
        score = _promise(features, values)
        chosen = [at for at in score.argsort(descending=True).tolist() if at not in values][:ROUND]
        _evaluate(judged, found, chosen, size, values, lambda done: meter(done, TRIED))
    return values


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
    return mean + (1 - (half * half).sum(0)).clamp_min(0).sqrt()


def _evaluate(
    judged: Goal,
    found: Candidates,
    which: Sequence[int],
    size: int,
    values: dict[int, float],
    done: Callable[[int], None],
) -> None:
    """Exact values, in batches of texts of equal length."""
    by_length: dict[int, list[int]] = {}
    for at in which:
        by_length.setdefault(len(found.ids[at]), []).append(at)
    for some in by_length.values():
        for start in range(0, len(some), size):
            batch = some[start : start + size]
            changes = judged.change(torch.tensor([found.ids[at] for at in batch]))
            values |= dict(zip(batch, changes.tolist(), strict=True))
            done(len(values))
