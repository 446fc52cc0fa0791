"""Common random numbers: which draws settings share, and what that shows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wordsway.core.checks import Count, fits
from wordsway.core.errors import InputError
from wordsway.core.laws import mean_interval

if TYPE_CHECKING:
    import pandas

#: How many draws: of text and weights together, or of each, every text with every draw of the
#: weights: {"text": 5, "weights": 4}.
Trials = Count | Mapping[str, Count]
#: The number of a trial, or those of its text and its weights.
Draw = int | tuple[int, int]
KINDS = ("text", "weights")
#: The columns of a draw; ``weights_trial`` is the draw of the weights, where texts and weights are
#: crossed, and ``weights`` an option of maps.
DRAW = ("seed", "trial", "weights_trial")
#: More cells than this are taken for a mistake.
MOST = 1_000_000


def draws_of(trials: Trials, settings: int) -> list[Draw]:
    """The draws of each setting.

    >>> draws_of(2, 9), draws_of({"text": 2, "weights": 2}, 9)
    ([0, 1], [(0, 0), (0, 1), (1, 0), (1, 1)])
    """
    given = trials if isinstance(trials, Mapping) else {"text": trials}
    texts, weights = (given.get(kind, 1) for kind in KINDS)
    if not (fits(texts, Count) and fits(weights, Count)) or set(given) - set(KINDS):
        raise InputError(
            "trials ≥ 1, a whole number, or numbers of text and weights",
            repr(trials),
            'pass 10, or {"text": 5, "weights": 4}',
        )
    if texts * weights > MOST // settings:
        raise InputError(f"at most {MOST:,} cells", "more", "split the study")
    if isinstance(trials, Mapping):
        return list(itertools.product(range(texts), range(weights)))
    return list(range(texts))


def numbers_of(draw: Draw) -> tuple[int, int | None]:
    """The trial and the weights of a draw."""
    return draw if isinstance(draw, tuple) else (draw, None)


def paired_names(names: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The parameters that do not change the seeds, in one order."""
    if isinstance(names, str) or any(name not in known for name in names):
        raise InputError(
            f"pair_by as a list of parameters among {', '.join(known)}",
            repr(names),
            "name parameters whose settings are to have the same text and weights",
        )
    return tuple(sorted(set(names)))


def design(
    weights: int | None, pair_by: tuple[str, ...], name: str = "weights_trial"
) -> dict[str, Any]:
    """What a job's content holds of its weights' number and its pairing."""
    found: dict[str, Any] = {} if weights is None else {name: weights}
    return found | ({"pair_by": list(pair_by)} if pair_by else {})


def unpaired(content: Mapping[str, Any], pair_by: tuple[str, ...]) -> dict[str, Any]:
    """A content without the paired parameters, those of the texts included.

    >>> unpaired({"n": 3, "texts": {"layer": 1, "model": "m"}}, ("layer", "n"))
    {'texts': {'model': 'm'}}
    """
    return {
        name: unpaired(value, pair_by) if isinstance(value, Mapping) else value
        for name, value in content.items()
        if name not in pair_by
    }


def paired_differences(
    values: pandas.DataFrame, settings: list[str], pair_by: Sequence[str]
) -> pandas.DataFrame:
    """Differences of settings from the first, in their order, that differs in ``pair_by`` alone.

    ``values`` has a row per cell: the settings, ``measured``, ``value``, ``upper`` and the columns
    that identify the draw. A row of the answer has the mean difference over draws with its 95 %
    interval, the standard error with and without pairing, and, with certificates, the means of:

        lower − upper of the first ≤ difference ≤ upper − lower of the first
    """
    import pandas

    varied = [name for name in settings if name in pair_by]
    if not varied:  # only one setting is done
        return pandas.DataFrame()
    others = ["measured", *(name for name in settings if name not in pair_by)]
    draw = [name for name in DRAW if name in values]
    rows = []
    for group, cells in values.groupby(others, dropna=False, sort=False):
        parts = cells.groupby(varied, dropna=False, sort=False)
        (first_key, first), *rest = ((key, part.set_index(draw)) for key, part in parts)
        for key, part in rest:
            both = part.join(first.add_suffix("_first"), how="inner")
            change = both["value"] - both["value_first"]
            interval = mean_interval(change.tolist())
            apart = both["value"].var() + both["value_first"].var()
            row = dict(zip(others, group, strict=True)) | dict(zip(varied, key, strict=True))
            row |= {f"{n}_first": one for n, one in zip(varied, first_key, strict=True)}
            row |= {
                "trials": len(both),
                "difference": change.mean(),
                "low": None if interval is None else interval.low,
                "high": None if interval is None else interval.high,
                "certified_low": (both["value"] - both["upper_first"]).mean(skipna=False),
                "certified_high": (both["upper"] - both["value_first"]).mean(skipna=False),
                "error": (change.var() / len(both)) ** 0.5,
                "error_unpaired": (apart / len(both)) ** 0.5,
            }
            rows.append(row)
    return pandas.DataFrame(rows).dropna(axis=1, how="all")


def variance_components(values: pandas.DataFrame, settings: list[str]) -> pandas.DataFrame:
    """The variance of each setting, split between text and weights by the mean squares of a crossed
    design of T texts and W draws of the weights:

        text     (MS_text − MS_rest) / W
        weights  (MS_weights − MS_rest) / T
        rest     MS_rest, their interaction and the search

    A negative estimate counts as 0. Settings without all T·W cells are left out. A setting with the
    name of another column, such as the distribution ``weights``, is named ``weights_setting``.
    """
    import pandas

    rows = []
    by = [*settings, "measured"]
    for group, cells in values.groupby(by, dropna=False, sort=False):
        table = cells.pivot_table(index=["seed", "trial"], columns="weights_trial", values="value")
        texts, draws = table.shape
        if texts < 2 or draws < 2 or bool(table.isna().any(axis=None)):
            continue
        y = table.to_numpy()
        by_text, by_weights = y.mean(1, keepdims=True), y.mean(0, keepdims=True)
        rest = ((y - by_text - by_weights + y.mean()) ** 2).sum() / ((texts - 1) * (draws - 1))
        parts = {
            "text": max(0.0, by_text.var(ddof=1) - rest / draws),
            "weights": max(0.0, by_weights.var(ddof=1) - rest / texts),
            "rest": rest,
        }
        whole = sum(parts.values()) or 1.0
        shares = {f"{name}_share": part / whole for name, part in parts.items()}
        found = {"texts": texts, "draws": draws, "mean": y.mean()} | parts | shares
        names = [f"{name}_setting" if name in found else name for name in by]
        rows.append(dict(zip(names, group, strict=True)) | found)
    return pandas.DataFrame(rows)
