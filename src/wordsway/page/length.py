"""The place *Length*: how one word fades as the text around it grows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wordsway.auditing.edits import TURNING
from wordsway.core.errors import WordswayError
from wordsway.lengths.length import length
from wordsway.lengths.result import Length, ModelLength
from wordsway.lengths.windows import WINDOWS
from wordsway.page.commands import line, script
from wordsway.page.worker import WorkerState, file_event, key_of
from wordsway.render.views.length import DRAWN, MEANINGS, fall, said


def length_kinds(request: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    """The kinds of edits to choose from, and the sentences that explain numbers."""
    yield {"kind": "kinds", "kinds": list(TURNING), "meanings": MEANINGS}


def length_steps(request: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    """Measure, or return what was measured before."""
    yield {"kind": "started", **_commands(request)}
    found = _measured(request, state)
    colours = {model.name: place for place, model in enumerate(found.models)}
    yield {
        "kind": "length",
        "texts": found.texts,
        "level": found.level,
        "said": [sentence.strip() for model in found.models for sentence in said(model, found)],
        "beside": [
            f"{model.name}, the word alone: {fall(model.curve('word'))}"
            for model in found.baselines
        ],
        "series": [_series(model, colours) for model in found.every],
        "layers": [_layers(model) for model in found.models if model.layers],
    }
    yield {"kind": "done"}


def length_file(request: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    yield file_event(_measured(request, state), request["ending"], "length")


TASKS = {"length/kinds": length_kinds, "length": length_steps, "length/file": length_file}


def _measured(request: dict[str, Any], state: WorkerState) -> Length:
    for name in request["models"]:
        state.checked(name)

    def measured() -> Length:
        options = _options(request) | {"out": state.store / "length", "workers": 1}
        found = length(**options, progress=state.progress)
        if found.interrupted:
            raise WordswayError("the measurement was interrupted: start it again to resume")
        return found

    asked = {name: one for name, one in request.items() if name != "ending"}
    return state.answers.get(key_of("length", asked), measured)


def _options(request: dict[str, Any]) -> dict[str, Any]:
    names = ("models", "data", "texts", "place", "level", "baselines", "seed")
    chosen = {name: request[name] for name in names}
    return chosen | {"kinds": [request["edit"]], "windows": WINDOWS, "host": request["host"]}


def _series(model: ModelLength, colours: dict[str, int]) -> dict[str, Any]:
    points, alone = model.curve().points, model.curve("word").points
    own = model.name.partition(":")[0]
    return {
        "name": model.name,
        "colour": colours.get(model.name, colours.get(own)),
        "model": model.name in colours,
        "n": [round(one.tokens, 1) for one in points],
        "change": [(one.change, one.low, one.high) for one in points],
        "word": [(one.change, one.low, one.high) for one in alone],
        "cosine": [1 - one.cosine_distance for one in points],
        "below": [(one.below, one.below_low, one.below_high) for one in points],
        "auc": [
            (one.auc, one.low, one.high)
            for one in model.discrimination
            if one.against == "rewording"
        ],
    }


def _layers(model: ModelLength) -> dict[str, Any]:
    rates = {
        name: [[one.layer, one.exponent.value] for one in model.layers if one.read_out == name]
        for name in DRAWN
    }
    return {"name": model.name, "rates": rates}


def _commands(request: dict[str, Any]) -> dict[str, str]:
    """The command and the lines of Python with the same numbers."""
    chosen = _options(request) | {"kinds": [request["edit"]]}
    windows = {"windows": ",".join(map(str, WINDOWS)), "no-baselines": not chosen["baselines"]}
    del chosen["baselines"]
    models, data = chosen.pop("models"), chosen.pop("data")
    python = chosen | ({} if request["baselines"] else {"baselines": False})
    options = ", ".join(f"{name}={one!r}" for name, one in python.items() if one is not None)
    return {
        "command": line("length", [], {"models": models, "data": data} | chosen | windows),
        "python": script(f"ws.length({models!r}, {data!r}, {options})"),
    }
