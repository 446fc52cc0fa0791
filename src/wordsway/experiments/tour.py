"""The verb `tour`: every map over a few n, with the theory's curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wordsway.chart import Chart, Curve, Panel, Reference
from wordsway.experiments.measure import Measurement, run_trials
from wordsway.experiments.request import Request
from wordsway.maps.registry import MAPS, kind_of
from wordsway.progress import Progress, part_of, silent
from wordsway.result import SequenceResult

if TYPE_CHECKING:
    import pandas

LENGTHS = (10, 20, 40, 80, 120)
#: Options that show a map better than its defaults.
OPTIONS = {"depth": 4}
#: Points of a smooth reference curve.
FINE = 60


@dataclass(frozen=True)
class Tour(SequenceResult[Measurement], items="measurements"):
    """Measurements of every map at every n."""

    measurements: tuple[Measurement, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"measurements": [result.to_dict() for result in self.measurements]}

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per trial."""
        import pandas

        return pandas.concat([result.frame() for result in self.measurements], ignore_index=True)

    def chart(self) -> Chart:
        """Attained means (± sd) and certified ends against n, with the theory; log–log."""
        curves: list[Curve] = []
        references: list[Reference] = []
        for name in dict.fromkeys(result.request.map for result in self.measurements):
            own = [result for result in self.measurements if result.request.map == name]
            own.sort(key=lambda result: result.request.n)
            curves.append(_curve(own))
            references += _references(own)
        widths = ", ".join(str(d) for d in sorted({r.request.d for r in self.measurements}))
        title = f"How far one word can move each layer (d = {widths}): attained, certified (shaded)"
        return Chart([Panel(title, curves, references, logarithmic=True)], shared_key=True)


def tour(
    *,
    d: int = 192,
    trials: int = 3,
    seed: int = 0,
    lengths: Sequence[int] | None = None,
    progress: Progress = silent,
) -> Tour:
    """Measure the maps of the registry at a few n, on Gaussian texts; not those composed of
    choices, whose simplest ones are here under their own names.

    >>> tour(d=4, trials=1, lengths=[6]).frame()["map"].tolist()[:2]
    ['rf', 'drf']
    """
    requests = [
        Request(name, n, d, _options(name), trials=trials, seed=seed)
        for name, kind in MAPS.items()
        if not kind.composed
        for n in lengths or LENGTHS
    ]
    results = []
    for index, request in enumerate(requests):
        stage = f"measurement {index + 1} of {len(requests)}"
        part = part_of(progress, stage, index, len(requests))
        results.append(run_trials(request, progress=part))
        if results[-1].interrupted:
            raise KeyboardInterrupt
    return Tour(tuple(results))


def _options(name: str) -> dict[str, Any]:
    known = {option.name for option in kind_of(name).options}
    return {option: value for option, value in OPTIONS.items() if option in known}


def _label(request: Request) -> str:
    depth = request.settings.get("depth")
    return request.kind.title + (f", L = {depth}" if depth else "")


def _curve(results: Sequence[Measurement]) -> Curve:
    style = results[0].request.kind.style
    return Curve(
        _label(results[0].request),
        [result.request.n for result in results],
        [result.mean or 0.0 for result in results],
        [result.sd or 0.0 for result in results],
        [result.mean_upper for result in results],
        style.colour,
        style.marker,
    )


def _references(results: Sequence[Measurement]) -> list[Reference]:
    measured = {result.request.n: result.mean or 0.0 for result in results}
    low, high = min(measured), max(measured)
    if low == high:
        return []
    request = results[0].request
    fine = [low * (high / low) ** (step / FINE) for step in range(FINE + 1)]
    lines = []
    for curve in request.kind.references(request.d, **request.settings):
        x: list[float] = fine if curve.smooth else [float(n) for n in measured]
        label = f"{request.kind.title}: {curve.label}"
        values = curve.values(x, measured)
        lines.append(Reference(label, x, values, request.kind.style.colour, curve.dash))
    return lines
