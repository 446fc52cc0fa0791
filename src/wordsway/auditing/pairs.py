"""The verb `pairs`: two texts that differ in a few words, and their distance in models."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from wordsway.auditing.background import Place, place_of
from wordsway.auditing.changes import EditedText, changes_of, tokens_of
from wordsway.auditing.encoder import AnyEncoder, Encoder, encoder_for
from wordsway.auditing.scores import intervals
from wordsway.auditing.table import (
    PairRow,
    PairTable,
    RefusedRow,
    checked_pair,
    read_table,
    table_of,
)
from wordsway.core.checks import Natural, Seed, validated
from wordsway.core.errors import InputError, first_line
from wordsway.core.format import format_seconds
from wordsway.core.progress import Progress, silent
from wordsway.core.result import SequenceResult, json_fields, json_value, versions
from wordsway.core.runtime import checked_device
from wordsway.models.encoders import distinct_names, listed, names_a_model
from wordsway.models.endpoint import CHARACTERS_PER_TOKEN, Endpoint
from wordsway.models.files import labels_of
from wordsway.text.files import Encoding

if TYPE_CHECKING:
    import pandas


#: Texts that a forecast times.
TIMED = 64
#: Random real words that a pair is compared with.
DRAWS = 100
#: Memory for the vectors of pairs that are measured together.
BLOCK_BYTES = 2**29


@validated
def pairs(
    a: str | Path | Sequence[Sequence[str]],
    b: str | None = None,
    models: Any = "minilm",
    *,
    draws: Natural = DRAWS,
    seed: Seed = 0,
    encoding: Encoding | None = None,
    device: str = "cpu",
    progress: Progress = silent,
) -> Pairs:
    """Compare two texts in several models: cosine, relative change, percentile among random words,
    and the layer in which the difference grows most.

    Parameters
    ----------
    a, b : two texts; or ``a`` alone, a list of (a, b) or (a, b, kind), or the path of a table with
        columns a, b or text, word, replacement, and optionally kind
    models : one or several encoders: names, hub ids, folders, `Probe`s, functions
        ``list[str] → array``, `Endpoint`s, or objects that encode texts (`models.encoders`)
    draws : number of random real words in the same place; ``percentile`` is the share of them that
        moves the model less. 0 for none
    device : the device for models that are loaded by this call
    """
    started = time.perf_counter()
    checked_device(device)
    table = _rows(a, b, encoding)
    rows, refused = table.pairs, list(table.refused)
    if not rows:
        got = str(refused[0]) if refused else "none"
        raise InputError("a pair to measure", got, "change the text")
    asked = listed(models)
    labels = labels_of(str(one) for one in asked if names_a_model(one))
    found: dict[int, list[PairInModel]] = {row.row: [] for row in rows}
    described: list[dict[str, Any]] = []
    for number, model in enumerate(asked):
        encoder = encoder_for(model, device=device)
        name, taken = str(encoder.describe()["name"]), [str(one["name"]) for one in described]
        if not names_a_model(model):
            taken = list({*taken, *labels.values()})
        elif labels[str(model)].endswith(f"/{name}"):  # two folders of one name
            name = labels[str(model)]
        *_, name = distinct_names([*taken, name])
        left = [row for row in rows if row.row in found]
        size = max(1, BLOCK_BYTES // ((2 + draws) * encoder.bytes_per_text))
        for start in range(0, len(left), size):
            block = left[start : start + size]
            for row, one in zip(block, _measured(encoder, name, block, draws, seed), strict=True):
                if isinstance(one, InputError):
                    refused.append(RefusedRow(row.row, f"{name}: {first_line(one)}"))
                    del found[row.row]
                else:
                    found[row.row].append(one)
            done = number * len(left) + start + len(block)
            progress(f"pairs through {name}", done, len(asked) * len(left))
        described.append(encoder.describe() | {"name": name})
    if not found:
        raise InputError("a pair that the models can read", str(refused[0]), "change the text")
    measured = tuple(
        Pair(row.a, row.b, row.kind, row.row, place_of(row.a, row.b), tuple(found[row.row]))
        for row in rows
        if row.row in found
    )
    refused.sort(key=lambda one: one.row)
    seconds = time.perf_counter() - started
    return Pairs(measured, tuple(described), tuple(refused), draws, seed, seconds, versions())


@dataclass(frozen=True)
class PairsForecast:
    """What `pairs` would encode in one model: distinct ``texts`` with their ``tokens``, roughly for
    an encoder that does not show them; ``stored`` texts of an endpoint are not sent again.
    ``seconds`` come from timing some texts; None for encoders that a forecast does not call.
    """

    name: str
    texts: int
    tokens: int
    stored: int = 0
    seconds: float | None = None

    def __str__(self) -> str:
        took = "" if self.seconds is None else f", about {format_seconds(self.seconds)}"
        kept = f"; {self.stored:,} texts are stored" if self.stored else ""
        return f"{self.name}: {self.texts:,} texts, about {self.tokens:,} tokens{took}{kept}"


@validated
def forecast_pairs(
    a: str | Path | Sequence[Sequence[str]],
    b: str | None = None,
    models: Any = "minilm",
    *,
    draws: Natural = DRAWS,
    seed: Seed = 0,
    encoding: Encoding | None = None,
    device: str = "cpu",
) -> list[PairsForecast]:
    """The cost of `pairs` with the same arguments, per model; nothing is sent to an endpoint."""
    rows = _rows(a, b, encoding).pairs
    return [
        _forecast(encoder_for(model, device=checked_device(device)), rows, draws, seed)
        for model in listed(models)
    ]


def _forecast(encoder: AnyEncoder, rows: Sequence[PairRow], draws: int, seed: int) -> PairsForecast:
    tokens = tokens_of(encoder, _edited(rows), draws=draws, seed=seed)
    name = str(encoder.describe()["name"])
    if isinstance(encoder, Encoder):
        some = tokens[:: max(1, len(tokens) // TIMED)]
        started = time.perf_counter()
        encoder.pooled(some)
        pace = (time.perf_counter() - started) / max(1, sum(map(len, some)))
        count = sum(map(len, tokens))
        return PairsForecast(name, len(tokens), count, seconds=pace * count)
    texts = [text for (text,) in tokens]
    if isinstance(encoder.box, Endpoint):
        sent = encoder.box.forecast(texts)
        return PairsForecast(name, sent.texts, sent.tokens, sent.stored)
    return PairsForecast(name, len(texts), sum(map(len, texts)) // CHARACTERS_PER_TOKEN)


def _edited(rows: Sequence[PairRow]) -> list[EditedText]:
    return [(row.a, (place_of(row.a, row.b),), 1) for row in rows]


def _measured(
    encoder: AnyEncoder, name: str, rows: Sequence[PairRow], draws: int, seed: int
) -> list[PairInModel | InputError]:
    """Each pair's numbers, or the error if a text cannot be read."""
    effects = changes_of(encoder, _edited(rows), draws=draws, seed=seed)
    found: list[PairInModel | InputError] = []
    for row, effect in zip(rows, effects, strict=True):
        if isinstance(effect, InputError):
            found.append(effect)
            continue
        (change,) = effect
        typical = None if change.typical is None else 1.0 - change.typical
        layers = change.layers
        about = (change.cosine, layers[-1], change.percentile, typical, layers, change.parts)
        both = [row.a, row.b]
        labels = tuple(encoder.predictions(both))
        ends = _percentile_interval(change.percentile, draws)
        tokens, unknown = encoder.known(both)
        found.append(PairInModel(name, *about, tokens, unknown, labels, *ends))
    return found


def _percentile_interval(
    percentile: float | None, draws: int
) -> tuple[float, float] | tuple[None, None]:
    """The 95 % interval of a percentile among random words, over these.

    >>> [round(end) for end in _percentile_interval(35.0, 100)], _percentile_interval(None, 0)
    ([26, 45], (None, None))
    """
    if percentile is None:
        return None, None
    (score,) = intervals(np.clip(percentile * draws / 100 - np.arange(draws), 0, 1)[:, None])
    return 100 * score.low, 100 * score.high


def _rows(
    a: str | Path | Sequence[Sequence[str]], b: str | None, encoding: str | None
) -> PairTable:
    if b is not None:
        if not isinstance(a, str):
            raise InputError("two texts", type(a).__name__, "pass them as strings")
        return table_of([checked_pair(1, a, b)])
    if isinstance(a, (str, Path)):
        table = read_table(a, encoding, "pairs")
        if (table.texts or table.triples) and not table.pairs:
            held = "triples: `wordsway audit --data` reads them" if table.triples else "texts only"
            raise InputError(
                f"pairs in {Path(a).name}", held, "name the columns a,b in the first line"
            )
        return table
    for cells in a:
        if isinstance(cells, str) or len(cells) not in (2, 3):
            raise InputError(
                "pairs (a, b) or (a, b, kind)", repr(cells)[:60], "pass two texts each"
            )
        if len(cells) == 3 and _is_sentence(cells[2]):
            raise InputError(
                "pairs (a, b) or (a, b, kind)",
                f"a third text, {cells[2][:40]!r}",
                "pass pairs; audit reads triples from a file (columns text,rewording,change)",
            )
    return table_of(checked_pair(number, *cells) for number, cells in enumerate(a, 1))


def _is_sentence(kind: str) -> bool:
    """Whether what should name a kind is a text.

    >>> _is_sentence("It is not safe."), _is_sentence("light rewording")
    (True, False)
    """
    return len(kind.split()) > 4 or kind.rstrip().endswith((".", "!", "?"))


@dataclass(frozen=True)
class PairInModel:
    """The distance between two texts in one model.

    ``cosine`` of the pooled embeddings, ``change`` their relative distance ‖v − u‖/‖u‖,
    ``percentile`` the share of random real words in that place that move the embedding less (in
    percent), ``percentile_low`` and ``percentile_high`` its 95 % interval over the words that are
    drawn, ``typical`` the median cosine of those; ``layers`` the relative change of every
    layer's pooled states, ``parts`` the layer in which it grows most; ``tokens`` of both texts
    without special ones, ``unknown`` those of them that are not in its vocabulary ([UNK]), all
    three None for a model that shows vectors alone;
    ``labels`` of both texts with their probabilities, for a model with a classification head or a
    function that returns probabilities of classes.
    """

    name: str
    cosine: float
    change: float
    percentile: float | None
    typical: float | None
    layers: tuple[float, ...]
    parts: int | None
    tokens: int | None = None
    unknown: int | None = None
    labels: tuple[tuple[str, float], ...] = ()
    percentile_low: float | None = None
    percentile_high: float | None = None

    @property
    def doubt(self) -> str:
        """A warning about these numbers; "" if there is none."""
        if not self.unknown:
            return ""
        return (
            f"{self.unknown} of the {self.tokens} tokens of these texts are not in the vocabulary "
            f"of {self.name} ([UNK]): all unknown words look the same to it, so its numbers are "
            "unreliable"
        )


@dataclass(frozen=True)
class Pair:
    """Two texts; ``before``, at character ``start`` of the first, is ``after`` in the second."""

    a: str
    b: str
    kind: str
    row: int
    place: Place
    models: tuple[PairInModel, ...]

    def to_dict(self) -> dict[str, Any]:
        found = json_fields(self)
        del found["place"]
        return found | self.place._asdict()


@dataclass(frozen=True)
class Pairs(SequenceResult[Pair], items="pairs", brief="names"):
    """Every pair in every model; ``refused`` are the rows that could not be measured."""

    pairs: tuple[Pair, ...]
    models: tuple[dict[str, Any], ...]
    refused: tuple[RefusedRow, ...]
    draws: int
    seed: int
    seconds: float
    versions: dict[str, str]

    @property
    def names(self) -> list[str]:
        """The names of the models, in the requested order."""
        return [str(model["name"]) for model in self.models]

    def kinds(self) -> list[dict[str, Any]]:
        """Medians per kind and model, in the order in which kinds appear."""
        rows = []
        for kind in dict.fromkeys(pair.kind for pair in self.pairs):
            for number, name in enumerate(self.names):
                here = [pair.models[number] for pair in self.pairs if pair.kind == kind]
                shares = [one.percentile for one in here if one.percentile is not None]
                rows.append(
                    {
                        "kind": kind,
                        "name": name,
                        "pairs": len(here),
                        "cosine": median(one.cosine for one in here),
                        "change": median(one.change for one in here),
                        "percentile": median(shares) if shares else None,
                    }
                )
        return rows

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"kinds": json_value(self.kinds())}

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per pair and model."""
        import pandas

        numbers = ("cosine", "change", "percentile", "percentile_low", "percentile_high", "parts")
        rows = [
            (one.row, one.a, one.b, one.kind, model.name, *(getattr(model, n) for n in numbers))
            for one in self.pairs
            for model in one.models
        ]
        return pandas.DataFrame(rows, columns=["row", "a", "b", "kind", "model", *numbers])
