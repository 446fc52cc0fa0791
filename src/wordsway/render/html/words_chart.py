"""Charts of one word as SVG, without names, so that any number fit on one page: S(ρ) with its
ceiling, the profile over the layers, and what real words do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from wordsway.probing.curve import CurvePoint
from wordsway.probing.real_words import RealWords
from wordsway.probing.results import WordSway
from wordsway.render.numbers import largest, number, share
from wordsway.render.wording.words import moved_by

WIDTH, HEIGHT = 420, 210
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 26, 38
#: Height of a row of dots.
STRIP = 64


def curve_chart(points: Sequence[CurvePoint], upper: float | None) -> str:
    """The largest change found against the reach (logarithmic), the spread of the branches below
    it, and the ceiling where there is one.
    """
    top = largest([points[-1].lower, *([] if upper is None else [upper])])
    end, ticks = _ticks(top)
    low, high = math.log(points[0].reach), math.log(points[-1].reach)

    def x(reach: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * share(math.log(reach) - low, (high - low) or 1.0)

    parts = _grid(ticks, end)
    parts += [_below(x(reach), f"{reach:g}") for reach in _some([p.reach for p in points])]
    parts.append(_caption("reach ρ: length of Δ, relative to the word's own"))
    band = [(x(point.reach), _y(point.lower, end)) for point in points]
    band += [(x(p.reach), _y(p.lower - p.spread, end)) for p in reversed(points)]
    parts.append(f'<polygon class="spread" points="{_points(band)}"/>')
    line = [(x(point.reach), _y(point.lower, end)) for point in points]
    parts.append(f'<polyline class="worst" points="{_points(line)}"/>')
    for point, (across, down) in zip(points, line, strict=True):
        tip = f"<title>reach {point.reach:g}: at least {number(point.lower)}</title>"
        parts.append(_circle("worst", across, down, 2.6, tip))
    keys = [("worst", "found"), *([] if upper is None else [("ceiling", "certified ceiling")])]
    if upper is not None:
        parts.append(f'<path class="ceiling" d="M{LEFT} {_y(upper, end):.1f}H{WIDTH - RIGHT}"/>')
    return _svg(WIDTH, HEIGHT, "chart", "change against reach", [*parts, *_key(keys)])


def profile_chart(word: WordSway, layer: int) -> str:
    """Change against layer: the worst Δ, noise of the same length, the random twin; the target's
    layer is marked.
    """
    series = {
        "worst": word.profile or (),
        "noise": word.noise or (),
        "twin": word.twin or (),
    }
    count = len(word.profile or ())
    end, ticks = _ticks(largest([value for values in series.values() for value in values]))

    def x(at: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * at / max(count - 1, 1)

    high = HEIGHT - TOP - BOTTOM
    parts = [
        f'<rect class="searched" x="{x(layer) - 6:.1f}" y="{TOP}" width="12" '
        f'height="{high}" rx="3"/>'
    ]
    parts += _grid(ticks, end)
    parts += [_below(x(at), str(at)) for at in range(0, count, max(1, math.ceil((count - 1) / 8)))]
    parts.append(_caption("layer"))
    for name in ("twin", "noise", "worst"):
        if len(series[name]) > 1:
            line = [(x(at), _y(value, end)) for at, value in enumerate(series[name])]
            parts.append(f'<polyline class="{name}" points="{_points(line)}"/>')
    for at, value in enumerate(series["worst"]):
        tip = f"<title>layer {at}: {number(value)}</title>"
        parts.append(_circle("worst", x(at), _y(value, end), 4 if at == layer else 2.6, tip))
    names = {"worst": moved_by(word), "noise": "noise", "twin": "random twin"}
    keys = [(name, names[name]) for name, values in series.items() if values]
    return _svg(WIDTH, HEIGHT, "chart", "relative change of every layer", [*parts, *_key(keys)])


def real_chart(real: RealWords) -> str:
    """Every draw as a dot, their mean with twice its standard error."""
    end, ticks = _ticks(real.worst)

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * share(value, end)

    parts = [
        f'<text x="{x(value):.1f}" y="{STRIP - 6}" text-anchor="middle">{value:.6g}</text>'
        for value in ticks
    ]
    parts += [
        _circle("draw", x(value), 24 + 5 * (at % 3), 3) for at, value in enumerate(real.changes)
    ]
    low, high = x(real.mean - 2 * real.error), x(real.mean + 2 * real.error)
    parts.append(f'<path class="mean" d="M{low:.1f} 10H{high:.1f}M{x(real.mean):.1f} 4V40"/>')
    return _svg(WIDTH, STRIP, "chart strip", "changes by real words", parts)


def spark(word: WordSway, layer: int, *, style: str = "") -> str:
    """The profile as a line of its own height, a dot at the target's layer."""
    profile = word.profile or ()
    wide, high = 96, 22
    top = largest(profile)

    def place(at: int, value: float) -> tuple[float, float]:
        across = 3 + (wide - 6) * at / max(len(profile) - 1, 1)
        return across, high - 3 - (high - 6) * share(value, top)

    line = _points([place(at, value) for at, value in enumerate(profile)])
    drawn = f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
    dot = ""
    if layer < len(profile):
        across, down = place(layer, profile[layer])
        dot = f'<circle cx="{across:.1f}" cy="{down:.1f}" r="2.6" fill="#d55e00"/>'
    return _svg(wide, high, "spark", "profile over the layers", [drawn, dot], style)


def _y(value: float, end: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share(value, end)


def _grid(ticks: Sequence[float], end: float) -> list[str]:
    parts = []
    for value in ticks:
        down = _y(value, end)
        parts.append(f'<path class="grid" d="M{LEFT} {down:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(
            f'<text x="{LEFT - 6}" y="{down + 4:.1f}" text-anchor="end">{value:.6g}</text>'
        )
    return parts


def _below(across: float, text: str) -> str:
    return f'<text x="{across:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{text}</text>'


def _caption(text: str) -> str:
    middle = (LEFT + WIDTH - RIGHT) / 2
    return f'<text x="{middle:.0f}" y="{HEIGHT - 5}" text-anchor="middle">{text}</text>'


def _some(values: Sequence[float]) -> list[float]:
    """Every second value, the last one included."""
    return [value for at, value in enumerate(reversed(values)) if at % 2 == 0][::-1]


def _circle(kind: str, across: float, down: float, radius: float, inner: str = "") -> str:
    return f'<circle class="{kind}" cx="{across:.1f}" cy="{down:.1f}" r="{radius}">{inner}</circle>'


def _points(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{across:.1f},{down:.1f}" for across, down in places)


def _key(lines: Sequence[tuple[str, str]]) -> list[str]:
    across = LEFT
    parts = []
    for name, title in lines:
        parts.append(f'<path class="{name}" d="M{across} 10h18"/>')
        parts.append(f'<text x="{across + 23}" y="14">{title}</text>')
        across += 40 + 7 * len(title)
    return parts


def _ticks(top: float) -> tuple[float, list[float]]:
    """A round end of the axis at or above ``top``, and three to six round ticks.

    >>> _ticks(0.43)
    (0.5, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    """
    if top <= 0:
        return 1.0, [0.0, 0.5, 1.0]
    power = 10.0 ** math.floor(math.log10(top))
    step = next(
        power * part
        for part in (0.2, 0.25, 0.5, 1.0, 2.0, 2.5)
        if top <= 5 * power * part * (1 + 1e-9)
    )
    count = math.ceil(top / step - 1e-9)
    return step * count, [
        round(step * at, 12 - math.floor(math.log10(step))) for at in range(count + 1)
    ]


def _svg(
    width: int, height: int, kind: str, label: str, parts: Sequence[str], style: str = ""
) -> str:
    dressed = f' style="{style}"' if style else ""
    head = (
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{label}"{dressed}>'
    )
    return head + "".join(parts) + "</svg>"
