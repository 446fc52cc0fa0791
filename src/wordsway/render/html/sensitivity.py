"""A measured interval in a notebook: what was attained in full colour, what is certified in a
lighter one.
"""

from __future__ import annotations

from wordsway.format import format_seconds
from wordsway.render.html import blocks
from wordsway.render.html.parts import number, share
from wordsway.render.letters import escaped_line, escaped_name
from wordsway.render.terminal.tables import SHOWN, interval
from wordsway.sensitivity import Sensitivity, WordSensitivity


def sensitivity_fragment(s: Sensitivity) -> str:
    """The interval, the words that sway most, and where the numbers come from."""
    ranked = sorted(s.words, key=lambda word: -word.lower)
    name = next((word.word for word in s.words if word.position == s.position), None)
    told = f" “<b>{escaped_name(name)}</b>”" if name else ""
    at = f"attained at word {s.position}{told} of {s.n}, ‖Δ‖ ≤ {number(s.radius)}"
    parts = [f"<div><b>S {escaped_line(interval(s.lower, s.upper, s.certificate))}</b>, {at}</div>"]
    if len(ranked) > 1:
        parts.append(_table(ranked[:SHOWN]))
    if len(ranked) > SHOWN:
        parts.append(
            f'<div style="opacity:.7">… and {len(ranked) - SHOWN} more, none above {number(ranked[SHOWN - 1].lower)}</div>'
        )
    return blocks.frame(
        [
            *parts,
            blocks.source(
                f"{s.map.get('map', 'map')} · {s.status} · {format_seconds(s.seconds)} · seed {s.seed}"
            ),
        ]
    )


def _table(words: list[WordSensitivity]) -> str:
    named = any(word.word for word in words)
    top = max(word.lower if word.upper is None else word.upper for word in words)
    heads = [("position", blocks.RIGHT), *([("word", blocks.LEFT)] if named else [])]
    heads += [("lower", blocks.RIGHT), ("upper", blocks.RIGHT), ("", f"{blocks.LEFT};width:18em")]
    rows = [
        [
            str(word.position),
            *([escaped_name(word.word or "")] if named else []),
            number(word.lower),
            number(word.upper),
            _bar(share(word.lower, top), share(word.upper or word.lower, top)),
        ]
        for word in words
    ]
    return blocks.table(heads, rows)


def _bar(lower: float, upper: float) -> str:
    whole = f"linear-gradient(90deg,{blocks.ORANGE} {100 * lower / upper if upper else 100:.1f}%,rgba({blocks.HEAT},.3) 0)"
    return blocks.bar(upper, whole)
