"""The result of `length`: curves over the number of tokens, their laws, and what may be claimed.

Means are geometric: the mean of log change over texts. Every point of a curve is over the same
texts. All intervals are 95 % over texts, which are drawn with replacement; NaN of one text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wordsway.auditing.scores import FEW, intervals
from wordsway.core.laws import RESOLUTION, Interval, Laws, fit_laws, middle_part, resampled
from wordsway.core.result import SequenceResult, json_value
from wordsway.lengths.responses import READ_OUTS, Response
from wordsway.lengths.windows import ROLES, SAME_SIZE

if TYPE_CHECKING:
    import pandas

#: Samples for the laws of every layer and read-out.
LAYER_SAMPLES = 100


@dataclass(frozen=True)
class MeasuredText:
    """A text in one model: the responses to its edits by role, window by window."""

    id: str
    kind: str
    windows: tuple[Mapping[str, Response], ...]


@dataclass(frozen=True)
class LengthPoint:
    """One window: the mean number of tokens, the mean change with its interval, the median cosine
    distance, and the share of texts whose cosine distance is below the level.
    """

    window: int
    tokens: float
    change: float
    low: float
    high: float
    cosine_distance: float
    below: float
    below_low: float
    below_high: float


@dataclass(frozen=True)
class Invisible:
    """From how many tokens on at least half of the edits stay below the level of cosine distance.

    ``claim`` is "from" (``tokens`` with its interval), "always" (at the shortest window already),
    "never" (up to the longest), or "open" if the interval, or fewer than `FEW` texts, allow none.
    """

    claim: str
    tokens: Interval | None = None


@dataclass(frozen=True)
class LengthCurve:
    """One role of edits in one model: its points, its laws, and where it becomes invisible."""

    role: str
    texts: int
    points: tuple[LengthPoint, ...]
    laws: Laws = field(compare=False)
    invisible: Invisible
    unit: str = "tokens"

    _derived: ClassVar[tuple[str, ...]] = ("best",)

    @property
    def best(self) -> str | None:
        return self.laws.best


@dataclass(frozen=True)
class Discrimination:
    """One window: the share of texts that the change of meaning moves farther than a rewording does
    (ties count half), with its interval. 0.5 is a coin.
    """

    window: int
    tokens: float
    against: str
    auc: float
    low: float
    high: float


@dataclass(frozen=True)
class LayerDecay:
    """A layer by one read-out: the mean change at the shortest and the longest window, the exponent
    of its power law, and where its floor begins if the law with a floor fits best.
    """

    layer: int
    read_out: str
    short: float
    long: float
    exponent: Interval
    floor: Interval | None


@dataclass(frozen=True)
class ModelLength:
    """A model (or a theory) over all windows; ``unit`` is what its lengths count: "tokens", or
    "words" for an encoder without a tokenizer.
    """

    name: str
    windows: tuple[int, ...]
    measured: tuple[MeasuredText, ...]
    failed: tuple[str, ...]
    level: float
    seed: int
    sha256: str = ""
    unit: str = "tokens"

    def values(self, role: str, name: str) -> np.ndarray:
        """A field of the responses to edits of a role, (texts, windows)."""
        return np.array(
            [[getattr(window[role], name) for window in text.windows] for text in self._with(role)],
            dtype=float,
        )

    def _with(self, *roles: str) -> list[MeasuredText]:
        return [text for text in self.measured if all(role in text.windows[0] for role in roles)]

    @cached_property
    def curves(self) -> tuple[LengthCurve, ...]:
        """A curve for every role that the texts have."""
        return tuple(self._curve(role) for role in ROLES if self._with(role))

    def curve(self, role: str = "change") -> LengthCurve:
        """The curve of a role."""
        return next(one for one in self.curves if one.role == role)

    def _curve(self, role: str) -> LengthCurve:
        tokens, change, distance = (
            self.values(role, name) for name in ("tokens", "change", "cosine_distance")
        )
        logs = np.log(np.maximum(change, RESOLUTION))
        means = np.exp(resampled(logs, self.seed))
        low, high = middle_part(means[1:], len(tokens))
        shares = intervals((distance < self.level).astype(float))
        sizes = np.exp(np.log(tokens).mean(0))
        points = tuple(
            LengthPoint(
                window,
                float(sizes[at]),
                float(means[0, at]),
                float(low[at]),
                float(high[at]),
                float(np.median(distance[:, at])),
                *shares[at],
            )
            for at, window in enumerate(self.windows)
        )
        laws = fit_laws(tokens, change, seed=self.seed)
        invisible = self._invisible(distance, sizes)
        return LengthCurve(role, len(tokens), points, laws, invisible, self.unit)

    def _invisible(self, distance: np.ndarray, sizes: np.ndarray) -> Invisible:
        if len(distance) < FEW:
            return Invisible("open")
        below = resampled((distance < self.level).astype(float), self.seed)
        crossed = np.array([_crossing(sizes, share) for share in below])
        low, high = np.quantile(crossed[1:], (0.025, 0.975), method="nearest")
        if high == 0:
            return Invisible("always")
        if math.isinf(low):
            return Invisible("never")
        if low > 0 and not math.isinf(high):
            return Invisible("from", Interval(crossed[0], low, high, len(distance)))
        return Invisible("open")

    @cached_property
    def discrimination(self) -> tuple[Discrimination, ...]:
        """The change of meaning against each kind of rewording, by cosine distance."""
        found = []
        for against in ("rewording", "heavy rewording"):
            texts = self._with("change", against)
            if not texts:
                continue
            apart = np.array(
                [
                    [
                        np.sign(one["change"].cosine_distance - one[against].cosine_distance)
                        for one in text.windows
                    ]
                    for text in texts
                ]
            )
            sizes = np.exp(np.log(self.values(against, "tokens")).mean(0))
            found += [
                Discrimination(window, float(size), against, *score)
                for window, size, score in zip(
                    self.windows, sizes, intervals((apart + 1) / 2), strict=True
                )
            ]
        return tuple(found)

    @cached_property
    def layers(self) -> tuple[LayerDecay, ...]:
        """Every layer by every read-out, for the word alone, where it changes at all."""
        texts = self._with("word")
        if not texts or not texts[0].windows[0]["word"].layers:
            return ()
        tokens = self.values("word", "tokens")
        every = {
            name: np.array(
                [[one["word"].layers[name] for one in text.windows] for text in texts]
            )  # (texts, windows, layers)
            for name in READ_OUTS
        }
        found = []
        for name, values in every.items():
            for layer in range(values.shape[2]):
                y = values[..., layer]
                if np.median(y) <= RESOLUTION:
                    continue
                laws = fit_laws(tokens, y, seed=self.seed, samples=LAYER_SAMPLES)
                means = np.exp(np.log(np.maximum(y, RESOLUTION)).mean(0))
                floor = laws["floor"].begins if laws.best == "floor" else None
                exponent = laws["power"].exponent
                assert exponent is not None
                ends = float(means[0]), float(means[-1])
                found.append(LayerDecay(layer, name, *ends, exponent, floor))
        return tuple(found)

    def laws(self) -> list[dict[str, Any]]:
        """Every law of every role."""
        rows = []
        for curve in self.curves:
            for law in curve.laws.laws:
                exponent = law.exponent
                rows.append(
                    {
                        "model": self.name,
                        "role": curve.role,
                        "law": law.law,
                        "exponent": exponent.value if exponent else None,
                        "low": exponent.low if exponent else None,
                        "high": exponent.high if exponent else None,
                        "error": law.error,
                        "best": law.law == curve.best,
                        "begins": law.begins if law.law == curve.best else None,
                    }
                )
        return rows

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "sha256": self.sha256,
            "texts": len(self.measured),
            "curves": json_value(self.curves),
            "discrimination": json_value(self.discrimination),
            "layers": json_value(self.layers),
            "failed": list(self.failed),
        }


def _crossing(sizes: np.ndarray, share: np.ndarray) -> float:
    """The size from which on the share stays at ½ or above, between windows by a line over log n;
    0 if it does at all windows, infinite if not at the last.

    >>> round(_crossing(np.array([10.0, 100.0]), np.array([0.25, 0.75])) ** 2, 9)
    1000.0
    """
    under = np.flatnonzero(share < 0.5)
    if not len(under):
        return 0.0
    at = int(under[-1])
    if at == len(share) - 1:
        return math.inf
    part = (0.5 - share[at]) / (share[at + 1] - share[at])
    return float(np.exp((1 - part) * np.log(sizes[at]) + part * np.log(sizes[at + 1])))


@dataclass(frozen=True)
class Length(SequenceResult[ModelLength], items="models", brief="data host windows"):
    """Models and theory over growing texts; below the distance ``level`` a change is invisible.

    ``rewording`` names the edits of that role, ``overlaps`` are the median shares of words that an
    edit has in common with its sentence, by role, ``moves_positions`` is the share of texts whose
    change adds or removes words.
    """

    models: tuple[ModelLength, ...]
    baselines: tuple[ModelLength, ...]
    data: str
    host: str
    place: str
    kinds: tuple[str, ...]
    target: str
    windows: tuple[int, ...]
    texts: int
    too_long: int
    level: float
    seed: int
    interrupted: bool
    seconds: float
    versions: dict[str, str]
    files: tuple[Path, ...] = ()
    rewording: str = SAME_SIZE
    overlaps: Mapping[str, float] = field(default_factory=dict)
    moves_positions: float = 0.0

    @property
    def every(self) -> tuple[ModelLength, ...]:
        """Models, then baselines and theory."""
        return (*self.models, *self.baselines)

    @property
    def failed(self) -> list[tuple[str, str]]:
        """Models with the texts that they could not read, and why."""
        return [(model.name, reason) for model in self.every for reason in model.failed]

    def to_dict(self) -> dict[str, Any]:
        laws = [row for model in self.every for row in model.laws()]
        return super().to_dict() | {"laws": json_value(laws)}

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per model, text, edit and window."""
        import pandas

        numbers = ("tokens", "behind", "change", "cosine_distance")
        rows = [
            (
                model.name,
                text.id,
                text.kind,
                role,
                window,
                *(getattr(one, name) for name in numbers),
            )
            for model in self.every
            for text in model.measured
            for window, roles in zip(self.windows, text.windows, strict=True)
            for role, one in roles.items()
        ]
        columns = ["model", "text", "kind", "role", "window", *numbers]
        return pandas.DataFrame(rows, columns=columns)
