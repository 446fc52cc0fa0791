"""`words` and `swap` for an encoder that only returns vectors: real words are tried, and vectors of
whole texts compared.

Without a tokenizer words are those of `wordsway.core.reading`, one token each, and random words are
WordNet's with as many characters as the word they replace, or the next number of characters where
these are too few.
"""

from __future__ import annotations

import string
import time
from collections.abc import Sequence
from itertools import islice

import torch

from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, silent
from wordsway.core.reading import Reading, word_spans
from wordsway.core.result import versions
from wordsway.core.runtime import peak_bytes
from wordsway.models.encoders import BlackBox, TextEncoder
from wordsway.models.probe import EncodedText
from wordsway.probing.candidates import TextPlace, cased
from wordsway.probing.real_words import known_words, order_of, shuffled, summarised
from wordsway.probing.relative import cosine_distance, relative
from wordsway.probing.request import SwapRequest, WordsRequest
from wordsway.probing.results import Swap, Swaps, Words, WordSway
from wordsway.probing.targets import Outcome

#: The tier that needs vectors alone.
TIER = "real-words"


def words_by_vectors(
    text: str, box: TextEncoder, request: WordsRequest, progress: Progress = silent
) -> Words:
    """How far random real words in the place of each word move the text's embedding."""
    started = time.perf_counter()
    _check_words(box, request)
    target = checked_target(box, request.wanted)
    encoded = read_plainly(text)
    chosen = request.words_of(encoded)
    order = shuffled(known_words(progress), request.seed, "known words")
    places = [TextPlace(text, word) for word in chosen]
    draws = [_draw(place, order, request.draws) for place in places]
    own, outcomes = _outcomes(box, target, places, draws, progress)
    label, probability = _predicted(own)
    found = tuple(
        WordSway(
            word.index,
            word.text,
            word.start,
            word.end,
            word.rows,
            0.0,
            real=summarised(names, some) if names else None,
            joined=word.joined,
        )
        for word, names, some in zip(chosen, draws, outcomes, strict=True)
    )
    alone = [word.word for word in found if word.real is None]
    status = "random words have as many characters, not as many tokens"
    if alone:
        status += f"; none known for {', '.join(map(repr, alone[:3]))}: wordsway data get wordnet"
    return Words(
        text=text,
        words=found,
        tokens=tuple(token.piece for token in encoded.reading.tokens),
        target=target,
        layer=0,
        layers=0,
        tier=TIER,
        tiers=(TIER,),
        scaling="frobenius",
        passes=request.passes,
        draws=request.draws,
        reach=1.0,
        at="words",
        model=dict(box.describe()),
        seed=request.seed,
        seconds=time.perf_counter() - started,
        peak_mb=peak_bytes() / 1e6,
        status=status,
        versions=versions(),
        label=label,
        probability=probability,
    )


def swap_by_vectors(
    text: str,
    word: int | str | None,
    box: TextEncoder,
    request: SwapRequest,
    tried: int | None,
    progress: Progress = silent,
) -> Swaps:
    """Real words in the place of ``word`` by the change that they cause: those of ``among``, or
    WordNet's, of which ``tried`` are drawn (all: None).
    """
    started = time.perf_counter()
    name = checked_target(box, request.wanted)
    if request.plausible:
        raise _lacks(box, "a tokenizer", "plausible words", "among=[…]")
    encoded = read_plainly(text)
    own = encoded.last_word if word is None else encoded.word(word)
    place = TextPlace(text, own)
    mine = None
    if request.among is not None:
        mine = [one.strip() for one in request.among if one.strip()]
    spelled = shuffled(known_words(progress), request.seed, "known words") if mine is None else mine
    if request.keep_case:
        spelled = [cased(one, own.text) for one in spelled]
    fit = [one for one in dict.fromkeys(spelled) if place.takes(one)]
    if not fit:
        raise InputError(
            "words that can stand in that place",
            f"none for {own.text!r}",
            "name some (among=[…]), or fetch WordNet: wordsway data get wordnet",
        )
    names = fit if mine is not None else fit[:tried]
    base, (outcomes,) = _outcomes(box, name, [place], [names], progress)
    label, probability = _predicted(base)
    groups: dict[object, list[int]] = {}  # words of equal effect, such as unknown ones
    for at in order_of(names, dict(enumerate(outcomes)), request.flip):
        effect = (outcomes[at].change, outcomes[at].margin)
        groups.setdefault(at if mine is not None else effect, []).append(at)
    shown = [
        (names[same[0]], outcomes[same[0]], len(same) - 1)
        for same in islice(groups.values(), request.top)
    ]
    known = {*fit, own.text, own.text.lower()}
    return Swaps(
        text=text,
        index=own.index,
        word=own.text,
        target=name,
        swaps=tuple(
            Swap(name, one.change, -1, *_predicted(one.logits, one.label), one.margin, others=more)
            for name, one, more in shown
        ),
        candidates=len(fit),
        evaluated=len(names),
        worst=None,
        model=dict(box.describe()),
        seed=request.seed,
        seconds=time.perf_counter() - started,
        versions=versions(),
        label=label,
        probability=probability,
        flips=None if label is None else sum(one.flips for one in outcomes),
        only_flips=request.flip,
        refused=tuple(one for one in spelled if one not in known) if mine else (),
    )


def read_plainly(text: str) -> EncodedText:
    """A text whose tokens are its words, for encoders that do not show theirs."""
    pieces = [(text[start:end], start, end, "word") for start, end in word_spans(text)]
    if not pieces:
        raise InputError("a text with at least one word", repr(text[:40]), "write a sentence")
    reading = Reading.of(text, pieces)  # type: ignore[arg-type]
    nothing = torch.zeros(len(pieces), 1)
    return EncodedText(reading, nothing[:, 0].long(), nothing, "words")


def checked_target(box: TextEncoder, target: int | str) -> str:
    """ "cosine" or "pooled"; the last layer of a black box is its embedding. "logits" of a function
    are its rows, which have a score or probability for each class.
    """
    name = {"last": "pooled", "layer": "pooled"}.get(str(target), str(target))
    if name == "logits" and isinstance(box, BlackBox) and box.kind == "function":
        return name
    if name == "logits":
        raise InputError(
            "a classifier for target logits",
            f"{box.name} ({box.describe().get('type')}), which only encodes texts",
            "pass a Hugging Face classifier, or a function that returns a score for each class, "
            "such as pipeline.predict_proba (docs/how-to/classifier.md)",
        )
    if name not in ("pooled", "cosine"):
        raise _lacks(box, "layers or a head", f"target {target}", "target pooled or cosine")
    return name


def distances_of(box: TextEncoder, target: str, vectors: torch.Tensor) -> torch.Tensor:
    """How far the vectors 1 … B are from vector 0 by the target, (B,)."""
    if target == "logits" and vectors.shape[-1] == 1:
        raise InputError(
            f"a score for each of two or more classes from {box.name}",
            "one number per text",
            "return all columns (predict_proba); to compare labels: wordsway.testing.assert_flips "
            "(docs/how-to/classifier.md)",
        )
    if target in ("pooled", "logits"):
        return relative(vectors[:1], vectors[1:])
    if vectors.shape[-1] == 1:
        raise InputError(
            f"two or more numbers per text from {box.name} for the cosine",
            "one, whose cosine with another is 1 or −1",
            "return all columns (predict_proba); or compare changes in words, swap and audit: "
            "target pooled",
        )
    return cosine_distance(vectors[:1], vectors[1:])


def _check_words(box: TextEncoder, request: WordsRequest) -> None:
    others = [tier for tier in request.planned or () if tier != TIER]
    if others:
        raise _lacks(box, "gradients", f"tier {others[0]}", f"tier {TIER}")
    if request.twin or request.at != "words":
        what = "a twin" if request.twin else f"at {request.at}"
        raise _lacks(box, "layers", what, f"tier {TIER}")


def _lacks(box: TextEncoder, capability: str, request: str, instead: str) -> InputError:
    """The error for what a black box cannot do."""
    return InputError(
        f"a model with {capability} for {request}",
        f"{box.name} ({box.describe().get('type')}), which only encodes texts",
        f"use {instead}; or pass a Hugging Face model, a SentenceTransformer or (model, tokenizer)",
    )


def _draw(place: TextPlace, order: Sequence[str], count: int) -> list[str]:
    """The first ``count`` words of the order, those nearest in length first; signs for signs."""
    like = place.word.text
    if not any(char.isalnum() for char in like):
        return [sign for sign in string.punctuation if place.takes(sign)][:count]
    nearest = sorted(order, key=lambda one: abs(len(one) - len(like)))
    names = dict.fromkeys(cased(one, like) for one in nearest)
    return list(islice(filter(place.takes, names), count))


def _outcomes(
    box: TextEncoder,
    target: str,
    places: Sequence[TextPlace],
    names: Sequence[Sequence[str]],
    progress: Progress,
) -> tuple[torch.Tensor | None, list[list[Outcome]]]:
    """The text's own class scores, None for other targets than logits, and the outcome of each name
    in each place; each distinct text is encoded once.
    """
    texts = [
        place.changed(name) for place, some in zip(places, names, strict=True) for name in some
    ]
    vectors = torch.from_numpy(box.encode([places[0].text, *texts], progress))
    values = distances_of(box, target, vectors).tolist()
    own, rows = (vectors[0], vectors[1:]) if target == "logits" else (None, [None] * len(values))
    left = (Outcome(one, row, own) for one, row in zip(values, rows, strict=True))
    return own, [[next(left) for _ in some] for some in names]


def _predicted(
    scores: torch.Tensor | None, label: int | None = None
) -> tuple[str | None, float | None]:
    """The predicted class, and the probability of a ``label`` (of this class by default) if the
    scores are probabilities.
    """
    if scores is None:
        return None, None
    at = int(scores.argmax()) if label is None else label
    return class_name(scores), float(scores[at]) if are_shares(scores) else None


def class_name(scores: torch.Tensor) -> str:
    """The class with the largest score."""
    return f"class {int(scores.argmax())}"


def are_shares(scores: torch.Tensor) -> bool:
    """Whether two or more numbers can be the probabilities of classes."""
    return len(scores) > 1 and bool((scores >= 0).all()) and abs(float(scores.sum()) - 1) < 1e-3
