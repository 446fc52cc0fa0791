"""How far edits of texts move a model: its output, and every layer by four read-outs.

Let H (n×d) be the states of a layer for a text and H′ those for the edited text. Rows that stand
for tokens that both texts have in common are compared one to one. Read-outs:

    rows    the root mean square over common rows of ‖h′_j − h_j‖/‖h_j‖
    mean    ‖m′ − m‖/‖m‖ of the mean m over all rows
    first   the same of the first row
    last    the same of the last row
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import torch

from wordsway.auditing.background import Place
from wordsway.auditing.encoder import AnyEncoder, BlackBoxEncoder, ScoringEncoder
from wordsway.core.errors import InputError
from wordsway.core.reading import word_spans
from wordsway.models.probe import Probe
from wordsway.probing.differences import common, common_end
from wordsway.probing.relative import cosine_distance, relative

READ_OUTS = ("rows", "mean", "first", "last")
#: A text in its window, and the places of its edits.
WindowText = tuple[str, tuple[Place, ...]]
Version = TypeVar("Version")


@dataclass(frozen=True)
class Response:
    """What one edit does: ``tokens`` of the text, those ``behind`` the edit, the relative change
    and the cosine distance of the output, the ``shift`` ‖v′ − v‖, and the change of layers 0 … L by
    read-out (empty for a model without layers).
    """

    tokens: int
    behind: int
    change: float
    cosine_distance: float
    shift: float | None
    layers: dict[str, tuple[float, ...]]


class TextStates(NamedTuple):
    """A text in a model: its token ids, the states (n, d) of every layer, and the output (k,)."""

    ids: tuple[int | str, ...]
    layers: Sequence[torch.Tensor]
    output: torch.Tensor


def response(text: TextStates, edited: TextStates) -> Response:
    """What an edit changes."""
    head, tail = common(text.ids, edited.ids), common_end(text.ids, edited.ids)
    found: dict[str, list[float]] = {name: [] for name in READ_OUTS}
    for a, b in zip(text.layers, edited.layers, strict=True):
        one, two = (torch.cat([H[:head], H[len(H) - tail :]]).double() for H in (a, b))
        rows = relative(one, two).square().mean().sqrt() if head + tail else torch.tensor(0.0)
        found["rows"].append(float(rows))
        found["mean"].append(float(relative(a.double().mean(0), b.double().mean(0))))
        found["first"].append(float(relative(a[0].double(), b[0].double())))
        found["last"].append(float(relative(a[-1].double(), b[-1].double())))
    return Response(
        len(text.ids),
        tail,
        float(relative(text.output, edited.output)),
        float(cosine_distance(text.output, edited.output)),
        float((edited.output - text.output).norm()),
        {name: tuple(values) for name, values in found.items() if values},
    )


def output_of(probe: Probe, states: Sequence[torch.Tensor], target: int | str) -> torch.Tensor:
    """The output (B, k) of a target: the embedding, the last token, or a pooled layer."""
    if target == "pooled":
        return probe.pipeline.embedding(states[-1]).double()
    if target == "last-token":
        return states[-1][:, -1].double()
    return probe.pipeline.pooled(states[probe.layers.number(target)]).double()


@torch.no_grad()
def states_of(
    probe: Probe, ids: Sequence[tuple[int, ...]], target: int | str = "pooled"
) -> list[TextStates]:
    """Texts in a model."""

    def run(batch: torch.Tensor) -> list[tuple[list[torch.Tensor], torch.Tensor]]:
        states = probe.layers.every_hidden(batch)
        outputs = output_of(probe, states, target).cpu()
        return [([H[at].cpu() for H in states], one) for at, one in enumerate(outputs)]

    found = probe.by_length(ids, run)
    return [TextStates(one, *more) for one, more in zip(ids, found, strict=True)]


def all_responses(
    places: Sequence[Place],
    versions: Sequence[Version],
    compare: Callable[[Version, Version], Response],
) -> list[Response]:
    """The responses to every edit of a text, and to its word alone; ``versions`` are the text and
    its edited texts.

    A word that is put in or taken out moves the positions of all words behind it. The word alone is
    the change against the last edit, a random word in its place: both texts are equally long. If
    the change takes the word out, it is the text itself against the random word.
    """
    found = [compare(versions[0], one) for one in versions[1:]]
    if len(places) > 1:
        has_word = versions[1] if places[0].after.strip() else versions[0]
        found.append(compare(versions[-1], has_word))
    return found


def versions_of(window: WindowText) -> list[str]:
    """The text and its edited texts."""
    text, places = window
    return [text, *(place.edited(text) for place in places)]


def responses(
    encoder: AnyEncoder, texts: Sequence[WindowText], target: int | str = "pooled"
) -> list[list[Response] | InputError]:
    """What each edit of each text changes and the word alone, or why the text cannot be read."""
    found: list[list[Response] | InputError] = []
    read: list[tuple[int, list[tuple[Any, ...]]]] = []
    for number, one in enumerate(texts):
        try:
            read.append((number, encoder.tokens(versions_of(one))))
            found.append([])
        except InputError as error:
            found.append(error)
    every = [one for _, tokens in read for one in tokens]
    if isinstance(encoder, ScoringEncoder):
        versions: Iterator[Any] = iter(every)
        compare: Any = partial(_scored, encoder)
    elif isinstance(encoder, BlackBoxEncoder):
        outputs = encoder.pooled(every)[:, 0] if every else ()
        versions = (
            TextStates(tuple(_words(text)), (), output)
            for (text,), output in zip(every, outputs, strict=True)
        )
        compare = response
    else:
        versions, compare = iter(states_of(encoder.probe, every, target)), response
    for number, tokens in read:
        own = [next(versions) for _ in tokens]
        found[number] = all_responses(texts[number][1], own, compare)
    return found


def _words(text: str) -> list[str]:
    """The words of a text, in the place of the tokens that a black box does not show."""
    return [text[a:b] for a, b in word_spans(text)]


def _scored(encoder: ScoringEncoder, text: tuple[str], edited: tuple[str]) -> Response:
    """How far the score of (text, edited text) is below that of (text, text)."""
    own, other = encoder.scores([text, edited]).tolist()
    words = _words(text[0])
    fall = own - other
    behind = common_end(words, _words(edited[0]))
    return Response(len(words), behind, abs(fall) / (abs(own) or 1.0), fall, None, {})
