"""The place *Attention*: any layer and head before and after a Δ along the attracting direction.

Δ is that of `wordsway attract`: it raises the scores that the first layer gives to a
word, in closed form. The slider is its length; every position of the slider is computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from wordsway.core.errors import InputError
from wordsway.models.probe import EncodedText, Probe
from wordsway.page.commands import attention_command, attention_python
from wordsway.page.desk import Desk, key_of
from wordsway.probing.attention import layer_among
from wordsway.probing.attract import Attracted, attract, head_numbers

#: Positions of the slider: lengths of Δ, relative to the word's own.
REACHES = tuple(0.25 * step for step in range(1, 13))
#: More tokens than these are no picture any more.
TOKENS = 128


def attention_steps(ask: dict[str, Any], desk: Desk) -> Iterator[dict[str, Any]]:
    """Events: the text with its attention before, then after a Δ of each length, the one that was
    asked for first.
    """
    probe = desk.probe(ask["model"], eager=True)
    encoded = probe.read(ask["text"], "input")
    if encoded.n > TOKENS:
        raise InputError(f"a text of at most {TOKENS} tokens", encoded.n, "shorten it")
    index = _last_word(encoded) if ask["word"] is None else ask["word"]
    word = encoded.word(index)
    layers = probe.layers.count
    with torch.no_grad():
        every = probe.layers.attentions(encoded.embeds[None], "input")
    layer = layer_among(ask["layer"], every, layers)
    heads = every[layer].shape[1]
    head = head_numbers("all" if ask["head"] == "mean" else ask["head"], heads)
    before = every[layer][0].double()[head].mean(0)
    full = ask | {"word": index}
    yield {
        "kind": "before",
        "tokens": [{"piece": token.piece, "word": token.word} for token in encoded.reading.tokens],
        "words": [{"index": one.index, "text": one.text} for one in encoded.words],
        "word": index,
        "rows": list(word.rows),
        "layers": layers,
        "heads": heads,
        "layer": layer,
        "matrix": _plain(before),
        "share": _share(before, word.rows),
        "reaches": list(REACHES),
        **_exports(full, encoded),
    }
    asked = float(ask["reach"])
    for done, reach in enumerate(sorted(REACHES, key=lambda one: (abs(one - asked), one))):
        desk.progress(f"Δ of length {reach:g}", done, len(REACHES))
        found = attracted(full, desk, reach)
        assert found.delta is not None
        with torch.no_grad():
            moved = encoded.embeds.clone()
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
            **_exports(full | {"reach": reach}, encoded),
        }
    yield {"kind": "done"}


def _exports(ask: dict[str, Any], encoded: EncodedText) -> dict[str, str]:
    """The command and the lines of Python with the same numbers."""
    full = ask | {"word": _named(encoded, ask["word"])}
    return {"command": attention_command(full), "python": attention_python(full)}


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
    """What the file of an attention place holds: the layer and head that the place shows."""
    probe = desk.probe(ask["model"], eager=True)
    encoded = probe.read(ask["text"], "input")
    index = _last_word(encoded) if ask["word"] is None else ask["word"]
    return attract(
        ask["text"],
        _named(encoded, index),
        probe,
        show_layer=ask["layer"],
        show_head="all" if ask["head"] == "mean" else ask["head"],
        reach=float(ask["reach"]),
        seed=ask["seed"],
    )


def _named(encoded: EncodedText, index: int) -> str:
    """A word as `attract` takes it: its number, or its spelling where that would be another one."""
    number = str(index)
    return encoded.word(index).text if any(w.text == number for w in encoded.words) else number


def _last_word(encoded: EncodedText) -> int:
    words = [word for word in encoded.words if any(char.isalnum() for char in word.text)]
    return (words or list(encoded.words))[-1].index


def _matrix(probe: Probe, embeds: torch.Tensor, layer: int, heads: list[int]) -> torch.Tensor:
    """Attention (n, n) of one layer, the mean over these heads."""
    rows: torch.Tensor = probe.layers.attentions(embeds[None], "input")[layer][0].double()
    return rows[heads].mean(0)


def _share(matrix: torch.Tensor, rows: tuple[int, ...]) -> float:
    """What the other tokens give to these, on average."""
    others = [at for at in range(len(matrix)) if at not in rows]
    if not others:
        return 0.0
    return float(matrix[others][:, list(rows)].sum(1).mean())


def _plain(matrix: torch.Tensor) -> list[list[float]]:
    """Seven digits behind the point: an attention lies between 0 and 1."""
    return [[round(value, 7) for value in row] for row in matrix.tolist()]
