"""The verb `pairs`: two texts that differ in a few words, and how far apart models hold them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wordsway.auditing.background import place_of
from wordsway.auditing.changes import changes
from wordsway.auditing.encoder import Encoder
from wordsway.auditing.pairs_result import Pair, PairInModel, Pairs
from wordsway.auditing.table import PairRow, Refused, read_table, unusable
from wordsway.core.checks import Natural, Seed, validated
from wordsway.core.errors import InputError, first_line
from wordsway.core.progress import Progress, silent
from wordsway.core.result import versions
from wordsway.core.runtime import checked_device
from wordsway.models.files import labels_of
from wordsway.models.probe import Probe
from wordsway.text.opening import Encoding

#: Random real words that a pair is compared with.
DRAWS = 100


@validated
def pairs(
    a: str | Path | Sequence[Sequence[str]],
    b: str | None = None,
    models: str | Path | Probe | Sequence[str | Path | Probe] = "minilm",
    *,
    draws: Natural = DRAWS,
    seed: Seed = 0,
    encoding: Encoding | None = None,
    device: str = "cpu",
    progress: Progress = silent,
) -> Pairs:
    """Two texts in several models: cosine, change, percentile, and the layer in which they part.

    Parameters
    ----------
    a, b : two texts; or ``a`` alone, a list of (a, b) or (a, b, kind), or the path of a table with
        columns a, b or text, word, replacement, and optionally kind
    models : names, hub ids, folders or probes
    draws : random real words in the same place, of which ``percentile`` is the share that moves
        the model less; 0 for none
    device : where models run that are not probes yet
    """
    started = time.perf_counter()
    checked_device(device)
    rows, refused = _rows(a, b, encoding)
    if not rows:
        raise InputError("a pair to measure", str(refused[0]) if refused else "none", "mend it")
    asked = [models] if isinstance(models, (str, Probe, Path)) else list(models)
    if not asked:
        raise InputError("a model", "none", "name one: minilm")
    found: dict[int, list[PairInModel]] = {row.row: [] for row in rows}
    described: list[dict[str, Any]] = []
    labels = labels_of(str(one) for one in asked if not isinstance(one, Probe))
    for number, model in enumerate(asked):
        probe = model if isinstance(model, Probe) else Probe(model, device=device)
        described.append(probe.describe() | {"pooling": probe.pooling})
        encoder, name = Encoder(probe), str(described[-1]["name"])
        if labels.get(str(model), name).endswith(f"/{name}"):  # two folders of one name
            described[-1]["name"] = name = labels[str(model)]
        for count, row in enumerate(rows):
            if row.row in found:
                try:
                    found[row.row].append(_measured(encoder, name, row, draws, seed))
                except InputError as error:
                    refused.append(Refused(row.row, f"{name}: {first_line(error)}"))
                    del found[row.row]
            done = number * len(rows) + count + 1
            progress(f"pairs through {name}", done, len(asked) * len(rows))
    if not found:
        raise InputError("a pair that the models can read", str(refused[0]), "mend it")
    measured = tuple(
        Pair(row.a, row.b, row.kind, row.row, place_of(row.a, row.b), tuple(found[row.row]))
        for row in rows
        if row.row in found
    )
    refused.sort(key=lambda one: one.row)
    seconds = time.perf_counter() - started
    return Pairs(measured, tuple(described), tuple(refused), draws, seed, seconds, versions())


def _measured(encoder: Encoder, name: str, row: PairRow, draws: int, seed: int) -> PairInModel:
    (change,) = changes(encoder, row.a, [place_of(row.a, row.b)], draws=draws, seed=seed)
    typical = None if change.typical is None else 1.0 - change.typical
    layers = change.layers
    about = (change.cosine, layers[-1], change.percentile, typical, layers, change.parts)
    return PairInModel(name, *about, *encoder.known([row.a, row.b]))


def _rows(
    a: str | Path | Sequence[Sequence[str]], b: str | None, encoding: str | None
) -> tuple[list[PairRow], list[Refused]]:
    if b is not None:
        if not isinstance(a, str):
            raise InputError("two texts", type(a).__name__, "pass them as strings")
        return _checked([(a, b)])
    if isinstance(a, (str, Path)):
        table = read_table(a, encoding)
        if table.texts and not table.pairs:
            raise InputError(
                f"pairs in {Path(a).name}", "texts only", "name the columns a,b in the first line"
            )
        return list(table.pairs), list(table.refused)
    return _checked(a)


def _checked(given: Sequence[Sequence[str]]) -> tuple[list[PairRow], list[Refused]]:
    rows, refused = [], []
    for number, cells in enumerate(given, 1):
        if isinstance(cells, str) or len(cells) not in (2, 3):
            raise InputError(
                "pairs (a, b) or (a, b, kind)", repr(cells)[:60], "pass two texts each"
            )
        a, b, kind = (*cells, "")[:3]
        same = "the two texts are the same" if a == b else None
        reason = unusable(a) or unusable(b) or same
        if reason:
            refused.append(Refused(number, reason))
        else:
            rows.append(PairRow(number, a, b, kind))
    return rows, refused
