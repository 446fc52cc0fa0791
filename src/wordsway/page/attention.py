"""The place *Attention*: any layer and head before and after a Δ along the attracting direction.

Δ is that of `wordsway attract`: it raises the scores that the first layer gives to a word, in
closed form. The slider sets its length; every position of the slider is computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from wordsway.core.errors import InputError
from wordsway.models.probe import EncodedText
from wordsway.page.commands import call, line, script
from wordsway.page.worker import WorkerState, file_event, key_of
from wordsway.probing.attention import head_numbers, layer_among
from wordsway.probing.attract import Attracted, attract

#: Positions of the slider: lengths of Δ, relative to the length of the word's embedding.
REACHES = tuple(0.25 * step for step in range(1, 13))
#: The largest number of tokens that is drawn.
TOKENS = 128


def attention_steps(request: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    """The attention of the text, then that after a Δ of each length, the requested one first."""
    probe = state.probe(request["model"], eager=True)
    encoded = probe.read(request["text"], "input")
    if encoded.n > TOKENS:
        raise InputError(f"a text of at most {TOKENS} tokens", encoded.n, "shorten it")
    request = _completed(request, encoded)
    rows = encoded.word(request["word"]).rows

    def matrices(embeds: torch.Tensor) -> dict[int, torch.Tensor]:
        with torch.no_grad():
            return probe.layers.attentions(embeds[None], "input")

    every = matrices(encoded.embeds)
    layer = layer_among(request["layer"], every)
    count = every[layer].shape[1]
    heads = head_numbers(request["head"], count)

    def shown(every: dict[int, torch.Tensor]) -> dict[str, Any]:
        matrix = every[layer][0].double()[heads].mean(0)
        # Attention is between 0 and 1: seven decimals are enough.
        rounded = [[round(value, 7) for value in row] for row in matrix.tolist()]
        return {"matrix": rounded, "share": _share(matrix, rows)}

    yield {
        "kind": "before",
        "tokens": [{"piece": token.piece, "word": token.word} for token in encoded.reading.tokens],
        "words": [{"index": one.index, "text": one.text} for one in encoded.words],
        "word": request["word"],
        "rows": list(rows),
        "layers": probe.layers.count,
        "heads": count,
        "layer": layer,
        "reaches": list(REACHES),
        **shown(every),
        **_commands(request, encoded),
    }
    wanted = float(request["reach"])
    for done, reach in enumerate(sorted(REACHES, key=lambda one: (abs(one - wanted), one))):
        state.progress(f"Δ of length {reach:g}", done, len(REACHES))
        key = key_of("attract", request | {"reach": reach, "layer": None, "head": None})
        name, seed = _named(encoded, request["word"]), request["seed"]
        make = partial(attract, request["text"], name, probe, reach=reach, seed=seed)
        found: Attracted = state.answers.get(key, make)
        assert found.delta is not None
        moved = encoded.embeds.clone()
        moved[list(rows)] += found.delta.to(moved)
        yield {
            "kind": "after",
            "reach": reach,
            **shown(matrices(moved)),
            "profile": list(found.profile),
            "noise": list(found.noise),
            "drawn": list(found.drawn),
            **_commands(request | {"reach": reach}, encoded),
        }
    yield {"kind": "done"}


def attention_file(request: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    """The result of `wordsway attract` as a file, with the layer and head that the place shows."""
    probe = state.probe(request["model"], eager=True)
    encoded = probe.read(request["text"], "input")
    found = attract(
        request["text"],
        _named(encoded, _completed(request, encoded)["word"]),
        probe,
        show_layer=request["layer"],
        show_head=request["head"],
        reach=float(request["reach"]),
        seed=request["seed"],
    )
    yield file_event(found, request["ending"], "attention")


TASKS = {"attention": attention_steps, "attention/file": attention_file}


def _commands(request: dict[str, Any], encoded: EncodedText) -> dict[str, str]:
    """The command and the lines of Python with the same numbers."""
    text, word = request["text"], _named(encoded, request["word"])
    options = {"model": request["model"], "show_layer": request["layer"]}
    options |= {"show_head": None if request["head"] == "mean" else request["head"]}
    options |= {"reach": f"{request['reach']:g}", "seed": request["seed"]}
    return {
        "command": line("attract", [text], {"word": word} | options | {"json": True}),
        "python": script(call("attract", [text, word], options | {"reach": request["reach"]})),
    }


def _completed(request: dict[str, Any], encoded: EncodedText) -> dict[str, Any]:
    """The request with its word: the last one by default."""
    words = [word for word in encoded.words if any(char.isalnum() for char in word.text)]
    last = (words or list(encoded.words))[-1].index
    return request | {"word": last if request["word"] is None else request["word"]}


def _named(encoded: EncodedText, index: int) -> str:
    """A word for `attract`: its number, or its spelling if the number is itself a word."""
    number = str(index)
    return encoded.word(index).text if any(w.text == number for w in encoded.words) else number


def _share(matrix: torch.Tensor, rows: tuple[int, ...]) -> float:
    """Attention of the other tokens to these, on average."""
    others = [at for at in range(len(matrix)) if at not in rows]
    if not others:
        return 0.0
    return float(matrix[others][:, list(rows)].sum(1).mean())
