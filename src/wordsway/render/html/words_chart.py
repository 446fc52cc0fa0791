"""A word's profile over the layers as SVG: a chart and a small line, without names, so that any
number fit on one page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from wordsway.probing.results import WordSway
from wordsway.render.numbers import largest, number, share

WIDTH, HEIGHT = 420, 210
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 26, 38
#: class of the line, its name; colours and dashes come from the page's style.
LINES = (("worst", "worst Δ"), ("noise", "noise"), ("twin", "random twin"))


def chart(word: WordSway, layer: int) -> str:
    """Change against layer: the worst Δ, noise of the same norm, the random twin; the searched
    layer is marked.
    """
    series = {"worst": word.profile, "noise": word.noise, "twin": word.twin or ()}
    last = max(len(word.profile) - 1, 1)
    end, ticks = _ticks(largest([value for values in series.values() for value in values]))

    def x(at: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * at / last

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share(value, end)

    parts = [
        f'<rect class="searched" x="{x(layer) - 6:.1f}" y="{TOP}" width="12" height="{HEIGHT - TOP - BOTTOM}" rx="3"/>'
    ]
    for value in ticks:
        parts.append(f'<path class="grid" d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}"/>')
        parts.append(
            f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.6g}</text>'
        )
    step = max(1, math.ceil(last / 8))
    under = f'y="{HEIGHT - BOTTOM + 16}" text-anchor="middle"'
    parts += [
        f'<text x="{x(at):.1f}" {under}>{at}</text>' for at in range(0, len(word.profile), step)
    ]
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 5}" text-anchor="middle">layer ({layer} was searched)</text>'
    )
    lines = [(name, series[name]) for name in ("twin", "noise", "worst") if len(series[name]) > 1]
    parts += [
        f'<polyline class="{name}" points="{_points(values, x, y)}"/>' for name, values in lines
    ]
    for at, value in enumerate(word.profile):
        tip = f"<title>layer {at}: {number(value)}</title>"
        parts.append(
            f'<circle class="worst" cx="{x(at):.1f}" cy="{y(value):.1f}" r="{4 if at == layer else 2.6}">{tip}</circle>'
        )
    return _svg(WIDTH, HEIGHT, "chart", "relative change of every layer", [*parts, *_key(series)])


def spark(word: WordSway, layer: int, *, style: str = "") -> str:
    """The profile as a line of its own height, a dot at the searched layer."""
    wide, high, last, top = 96, 22, max(len(word.profile) - 1, 1), largest(word.profile)

    def x(at: int) -> float:
        return 3 + (wide - 6) * at / last

    def y(value: float) -> float:
        return high - 3 - (high - 6) * share(value, top)

    line = f'<polyline points="{_points(word.profile, x, y)}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
    dot = (
        f'<circle cx="{x(layer):.1f}" cy="{y(word.profile[layer]):.1f}" r="2.6" fill="#d55e00"/>'
        if layer < len(word.profile)
        else ""
    )
    return _svg(wide, high, "spark", "profile over the layers", [line, dot], style)


def _points(values: Sequence[float], x: Callable[[int], float], y: Callable[[float], float]) -> str:
    return " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in enumerate(values))


def _key(series: Mapping[str, Sequence[float]]) -> list[str]:
    at, parts = LEFT, []
    for name, title in LINES:
        if series[name]:
            parts.append(
                f'<path class="{name}" d="M{at} 10h18"/><text x="{at + 23}" y="14">{title}</text>'
            )
            at += 40 + 7 * len(title)
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
    head = f'<svg class="{kind}" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{label}"{dressed}>'
    return head + "".join(parts) + "</svg>"
