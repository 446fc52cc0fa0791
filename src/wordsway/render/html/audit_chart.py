"""The score against depth as SVG: one small chart per kind, a line per model, and dotted beside it
how sensitive the layers are to the word.
"""

from __future__ import annotations

from collections.abc import Sequence

from wordsway.auditing.jobs import LocalScore
from wordsway.auditing.scores import Score

WIDTH, HEIGHT = 300, 170
LEFT, RIGHT, TOP, BOTTOM = 34, 10, 8, 30
#: Okabe and Ito's colours, which read on light and on dark ground.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def colour(number: int) -> str:
    """The colour of the model with this number."""
    return COLOURS[number % len(COLOURS)]


def profile_chart(
    profiles: Sequence[tuple[int, Sequence[Score], Sequence[LocalScore]]],
) -> str:
    """The score from the input (left) to the last layer (right) of each model, with its interval;
    dotted, where the edited word stands among the words of its text by local sensitivity.
    """
    parts = []
    for value in (0.0, 0.5, 1.0):
        dash = ' stroke-dasharray="4 3"' if value == 0.5 else ""
        line = f'd="M{LEFT} {_y(value):.1f}H{WIDTH - RIGHT}"'
        parts.append(f'<path {line} stroke="currentColor" opacity=".3" fill="none"{dash}/>')
        parts.append(_label(LEFT - 6, _y(value) + 4, f"{value:g}", "end"))
    parts.append(_label(LEFT, HEIGHT - 10, "input", "start"))
    parts.append(_label(WIDTH - RIGHT, HEIGHT - 10, "last layer", "end"))
    for number, scores, local in profiles:
        look = colour(number)
        if local:
            dots = _path([(_x(one.layer, scores), _y(one.share)) for one in local])
            how = 'stroke-width="1.6" stroke-dasharray="1.5 3.5" stroke-linecap="round"'
            parts.append(f'<path d="{dots}" fill="none" stroke="{look}" {how}/>')
        upper = [(_x(at, scores), _y(score.high)) for at, score in enumerate(scores)]
        lower = [(_x(at, scores), _y(score.low)) for at, score in enumerate(scores)]
        band = _path([*upper, *reversed(lower)])
        parts.append(f'<path d="{band}Z" fill="{look}" opacity=".13"/>')
        line = _path([(_x(at, scores), _y(score.auc)) for at, score in enumerate(scores)])
        parts.append(f'<path d="{line}" fill="none" stroke="{look}" stroke-width="2"/>')
        end = scores[-1]
        spot = f'cx="{_x(len(scores) - 1, scores):.1f}" cy="{_y(end.auc):.1f}" r="3"'
        parts.append(f'<circle {spot} fill="{look}"><title>{end.auc:.3f}</title></circle>')
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    look = 'style="max-width:100%;height:auto;font-size:11px"'
    return f'<svg {size} {look} role="img">{"".join(parts)}</svg>'


def _x(at: int, scores: Sequence[Score]) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * at / max(1, len(scores) - 1)


def _y(value: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _label(x: float, y: float, text: str, anchor: str) -> str:
    look = f'text-anchor="{anchor}" fill="currentColor" opacity=".75"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{text}</text>'
