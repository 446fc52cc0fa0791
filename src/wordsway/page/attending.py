"""The place *Attention*: any layer and head before and after a Δ along the attracting direction.

Δ is that of `wordsway attention --attract`: it raises the scores that the first layer gives to a
word, in closed form. The slider is its length; every position of the slider is computed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch

from wordsway.errors import InputError
from wordsway.models.probe import Prepared, Probe
from wordsway.page.commands import attention_command, attention_python
from wordsway.page.desk import Desk, key_of
from wordsway.probing.attract import Attracted, attract

#: Positions of the slider: lengths of Δ, relative to the word's own.
REACHES = tuple(0.25 * step for step in range(1, 13))
#: More tokens than these are no picture any more.
TOKENS = 128


def attention_steps(ask: dict[str, Any], desk: Desk) -> Iterator[dict[str, Any]]:
    """Events: the text with its attention before, then after a Δ of each length, the one that was
    asked for first.
    """
    probe = desk.probe(ask["model"], eager=True)
    prepared = probe.read(ask["text"], "input")
    if prepared.n > TOKENS:
        raise InputError(f"a text of at most {TOKENS} tokens", prepared.n, "shorten it")
    index = _last_word(prepared) if ask["word"] is None else ask["word"]
    word = prepared.word(index)
    layers, heads = _sizes(probe, prepared)
    layer = _layer(ask["layer"], layers)
    head = _head(ask["head"], heads)
    with torch.no_grad():
        before = _matrix(probe, prepared.embeds, layer, head)
    full = ask | {"word": index}
    yield {
        "kind": "before",
        "tokens": [{"piece": token.piece, "word": token.word} for token in prepared.reading.tokens],
        "words": [{"index": one.index, "text": one.text} for one in prepared.words],
        "word": index,
        "rows": list(word.rows),
        "layers": layers,
        "heads": heads,
        "layer": layer,
        "matrix": _plain(before),
        "share": _share(before, word.rows),
        "reaches": list(REACHES),
        "command": attention_command(full | {"word": _named(prepared, index)}),
        "python": attention_python(full | {"word": _named(prepared, index)}),
    }
    asked = float(ask["reach"])
    for done, reach in enumerate(sorted(REACHES, key=lambda one: (abs(one - asked), one))):
        desk.progress(f"Δ of length {reach:g}", done, len(REACHES))
        found = attracted(full, desk, reach)
        assert found.delta is not None
        with torch.no_grad():
            moved = prepared.embeds.clone()
            moved[list(word.rows)] += found.delta.to(moved)
            after = _matrix(probe, moved, layer, head)
        yield {
            "kind": "after",
            "reach": reach,
            "matrix": _plain(after),
            "share": _share(after, word.rows),
            "profile": list(found.profile),
            "noise": list(found.noise),
            "drawn": list(found.drawn),
        }
    yield {"kind": "done"}


def attracted(ask: dict[str, Any], desk: Desk, reach: float) -> Attracted:
    """`wordsway.attract` for one length of Δ, kept for a second visit."""
    named = {name: ask[name] for name in ("text", "model", "word", "seed")}
    key = key_of("attract", named | {"reach": reach})
    if key not in desk.answers.values:
        probe = desk.probe(ask["model"], eager=True)
        name = _named(probe.read(ask["text"], "input"), ask["word"])
        desk.answers.keep(key, attract(ask["text"], name, probe, reach=reach, seed=ask["seed"]))
    found: Attracted = desk.answers.values[key]
    return found


def asked_for(ask: dict[str, Any], desk: Desk) -> Attracted:
    """What the file of an attention place holds."""
    if ask["word"] is None:
        prepared = desk.probe(ask["model"], eager=True).read(ask["text"], "input")
        ask = ask | {"word": _last_word(prepared)}
    return attracted(ask, desk, float(ask["reach"]))


def _named(prepared: Prepared, index: int) -> str:
    """A word as `attract` takes it: its number, or its spelling where that would be another one."""
    number = str(index)
    return prepared.word(index).text if any(w.text == number for w in prepared.words) else number


def _last_word(prepared: Prepared) -> int:
    words = [word for word in prepared.words if any(char.isalnum() for char in word.text)]
    return (words or list(prepared.words))[-1].index


def _sizes(probe: Probe, prepared: Prepared) -> tuple[int, int]:
    with torch.no_grad():
        every = probe.layers.attentions(prepared.embeds[None], "input")
    return len(every), int(every[0].shape[1])


def _layer(value: str, count: int) -> int:
    """A layer by its number, as `wordsway attention` counts: from 1, for 0 is the input."""
    if value == "last":
        return count
    if not re.fullmatch("[0-9]{1,3}", value) or not 1 <= int(value) <= count:
        raise InputError(f"a layer, 1 to {count} or last", repr(value), "choose one of these")
    return int(value)


def _head(value: str, count: int) -> int | None:
    """A head by its number, from 0; None is the mean of all."""
    if value == "mean":
        return None
    if not re.fullmatch("[0-9]{1,3}", value) or int(value) >= count:
        raise InputError(f"a head, 0 to {count - 1} or mean", repr(value), "choose one of these")
    return int(value)


def _matrix(probe: Probe, embeds: torch.Tensor, layer: int, head: int | None) -> torch.Tensor:
    """Attention (n, n) of one layer, of one head or the mean over heads."""
    rows = probe.layers.attentions(embeds[None], "input")[layer - 1][0].double()
    return rows.mean(0) if head is None else rows[head]


def _share(matrix: torch.Tensor, rows: tuple[int, ...]) -> float:
    """What the other tokens give to these, on average."""
    others = [at for at in range(len(matrix)) if at not in rows]
    if not others:
        return 0.0
    return float(matrix[others][:, list(rows)].sum(1).mean())


def _plain(matrix: torch.Tensor) -> list[list[float]]:
    """Seven digits behind the point: an attention lies between 0 and 1."""
    return [[round(value, 7) for value in row] for row in matrix.tolist()]
