"""`make picture`: the rooms of the house and what flows between them, drawn from the imports.

Left, the rooms: what a room imports stands below it, and an arrow shows what flows up, named by
the two names that are imported most. An arrow is left out where the same room can be reached
through another (transitive reduction). Right, all imports between rooms, as a matrix: a room's row
has a dot in the column of each room that it imports from; data flows one way where nothing is above
the diagonal. The same imports give the same bytes.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from html import escape
from pathlib import Path

from tools.imports import FRONT, ROOMS, ROOT, imports, modules, room_of, syntax

PICTURE = ROOT / "docs" / "architecture.svg"

#: The small modules that all others may import, drawn as one band.
GROUND = ROOMS[: ROOMS.index("data")]

#: What each room is about, and its column in the picture.
ABOUT = {
    "data": ("fetching by hash", 0.0),
    "text": ("corpora, draws by seed", 0.0),
    "models": ("Hugging Face models", 0.0),
    "gaussian": ("drawn where looked at", 2.5),
    "optimize": ("solvers, one driver", 1.5),
    "theory": ("the paper's curves", 3.5),
    "maps": ("definition, view, certificate", 2.5),
    "intervals": ("S as an interval", 2.0),
    "learning": ("one word flips the label", 2.0),
    "probing": ("one text, a real model", 0.0),
    "experiments": ("requests, jobs, stores", 1.0),
    "paper": ("a figure is one class", 1.5),
    "auditing": ("does a model notice", 0.0),
    "render": ("terminal, page, picture", 1.0),
    "page": ("places in a browser", 1.0),
    "cli": ("thin commands", 1.0),
}

WIDTH = 160
HEIGHT = 46
STEP = (200, 106)
MARGIN = 24
CELL = 22
INK = "#1f2933"
SOFT = "#7b8794"
FILL = "#eef4fb"
EDGE = "#2f6fb0"


def flows() -> dict[tuple[str, str], Counter[str]]:
    """For each (importing room, imported room): how often each name is imported."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for edge in imports():
        here, there = edge.rooms
        if here not in FRONT and here != there:
            found.setdefault((here, there), Counter())
    for module, path in modules().items():
        for target, name in _imported_names(syntax(path)):
            pair = room_of(module), room_of(target)
            if pair in found and not name.startswith("_"):
                found[pair][name] += 1
    return found


def _imported_names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(module, name) of what is imported by name, or used as an attribute of a module."""
    whole = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if node.module == "wordsway":
                    whole.add(alias.name)
                elif (node.module or "").startswith("wordsway."):
                    yield node.module or "", alias.name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            module = getattr(node.value, "id", None)
            if module in whole:
                yield f"wordsway.{module}", node.attr


def levels(below: dict[str, set[str]]) -> dict[str, int]:
    """How high each room stands: one above the highest room that it imports from.

    >>> levels({"cli": {"maps"}, "maps": set()})
    {'maps': 0, 'cli': 1}
    """
    found: dict[str, int] = {}
    while len(found) < len(below):
        ready = [
            room for room in below if room not in found and all(r in found for r in below[room])
        ]
        if not ready:
            raise ValueError(f"rooms import each other: {sorted(set(below) - set(found))}")
        for room in ready:
            found[room] = 1 + max((found[r] for r in below[room]), default=-1)
    return found


def reduced(below: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The pairs (importing, imported) that no longer path stands for.

    >>> reduced({"c": {"a", "b"}, "b": {"a"}, "a": set()})
    [('c', 'b'), ('b', 'a')]
    """

    def reach(room: str) -> set[str]:
        return below[room].union(*(reach(r) for r in below[room]))

    return [
        (room, other)
        for room in below
        for other in sorted(below[room])
        if not any(other in reach(third) for third in below[room] - {other})
    ]


def draw() -> str:
    """The picture as SVG."""
    rooms = [room for room in ROOMS if room not in GROUND]
    missing = set(rooms) - set(ABOUT)
    if missing:
        raise ValueError(f"say what {sorted(missing)} is about, in ABOUT of {Path(__file__).name}")
    carried = flows()
    below = {room: {b for a, b in carried if a == room and b in rooms} for room in rooms}
    height_of = levels(below)
    top = max(height_of.values())
    place = {
        room: (
            MARGIN + ABOUT[room][1] * STEP[0],
            MARGIN + 30 + (top - height_of[room]) * STEP[1],
        )
        for room in rooms
    }
    floor = MARGIN + 30 + (top + 1) * STEP[1]
    left = MARGIN + 3.5 * STEP[0] + WIDTH
    parts = [_title(MARGIN, "What flows between the rooms")]
    arrows = reduced(below)
    parts += [_arrow(place[lower], place[upper]) for upper, lower in arrows]
    parts += [_room(room, place[room]) for room in rooms]
    parts += [
        _label(place[lower], place[upper], _names(carried[upper, lower])) for upper, lower in arrows
    ]
    parts.append(_band(floor, left))
    matrix = left + 170
    parts.append(_title(matrix - 92, "Every import: a row uses its columns"))
    parts += _matrix(matrix, [*rooms], carried)
    width = matrix + CELL * (len(rooms) + 1) + MARGIN + 20
    height = floor + 78
    style = "font-family='Helvetica, Arial, sans-serif'"
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_n(width)} {_n(height)}' "
        f"width='{_n(width)}' height='{_n(height)}' {style} role='img'>"
    )
    marker = (
        "<defs><marker id='tip' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='8' "
        f"markerHeight='8' orient='auto'><path d='M0,0 L8,4 L0,8 z' fill='{EDGE}'/></marker></defs>"
    )
    title = "<title>The rooms of wordsway and what flows between them</title>"
    paper = f"<rect width='{_n(width)}' height='{_n(height)}' fill='white'/>"
    return "\n".join([head, title, marker, paper, *parts, "</svg>", ""])


def _names(names: Counter[str]) -> list[str]:
    """The two that are imported most: classes, else functions, else constants."""
    ranked = sorted(names, key=lambda name: (_rank(name), -names[name], name))
    return ranked[:2]


def _rank(name: str) -> int:
    return 2 if name.isupper() else int(not name[0].isupper())


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(x: float, y: float, text: str, size: int, colour: str = INK, more: str = "") -> str:
    return (
        f"<text x='{_n(x)}' y='{_n(y)}' font-size='{size}' fill='{colour}' {more}>"
        f"{escape(text)}</text>"
    )


def _title(x: float, text: str) -> str:
    return _text(x, MARGIN + 6, text, 15, more="font-weight='bold'")


def _room(room: str, place: tuple[float, float]) -> str:
    x, y = place
    middle = "text-anchor='middle'"
    return "".join(
        [
            f"<rect x='{_n(x)}' y='{_n(y)}' width='{WIDTH}' height='{HEIGHT}' rx='6' "
            f"fill='{FILL}' stroke='{EDGE}'/>",
            _text(x + WIDTH / 2, y + 20, room, 15, more=f"{middle} font-weight='bold'"),
            _text(x + WIDTH / 2, y + 36, ABOUT[room][0], 11, SOFT, middle),
        ]
    )


def _arrow(lower: tuple[float, float], upper: tuple[float, float]) -> str:
    x0, y0, x1, y1 = _ends(lower, upper)
    half = (y0 + y1) / 2
    points = [(x0, half), (x1, half), (x1, y1)]
    curve = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
    return (
        f"<path d='M{_n(x0)},{_n(y0)} C{curve}' fill='none' stroke='{EDGE}' stroke-width='1.4' "
        "marker-end='url(#tip)'/>"
    )


def _ends(
    lower: tuple[float, float], upper: tuple[float, float]
) -> tuple[float, float, float, float]:
    """Where an arrow leaves the lower room's top and meets the upper room's bottom: the further to
    the side the other room stands, the further to the side.
    """
    lean = max(-1.0, min(1.0, (upper[0] - lower[0]) / (2 * STEP[0])))
    return (
        lower[0] + WIDTH / 2 + lean * WIDTH * 0.35,
        lower[1],
        upper[0] + WIDTH / 2 - lean * WIDTH * 0.35,
        upper[1] + HEIGHT + 2,
    )


def _label(lower: tuple[float, float], upper: tuple[float, float], names: list[str]) -> str:
    """On the arrow: in its middle between neighbours, nearer its foot where it is long."""
    x0, y0, x1, y1 = _ends(lower, upper)
    t = 0.5 if y0 - y1 < STEP[1] else 0.35
    s = 1 - t
    x = s**3 * x0 + 3 * s**2 * t * x0 + 3 * s * t**2 * x1 + t**3 * x1
    half = (y0 + y1) / 2
    y = s**3 * y0 + 3 * s * t * half + t**3 * y1
    halo = "text-anchor='middle' stroke='white' stroke-width='4' paint-order='stroke'"
    first = y + 4 - 6 * (len(names) - 1)
    lines = [_text(x, first + 12 * k, name, 10, INK, halo) for k, name in enumerate(names)]
    return "".join(lines)


def _band(y: float, right: float) -> str:
    names = " · ".join(GROUND)
    return "".join(
        [
            f"<rect x='{MARGIN}' y='{_n(y)}' width='{_n(right - MARGIN)}' height='{HEIGHT}' rx='6' "
            f"fill='#f5f7fa' stroke='{SOFT}'/>",
            _text(MARGIN + 14, y + 19, "small modules that every room may import", 11, SOFT),
            _text(MARGIN + 14, y + 36, names, 12),
        ]
    )


def _matrix(x: float, rooms: list[str], carried: dict[tuple[str, str], Counter[str]]) -> list[str]:
    y = MARGIN + 136
    order = [*rooms, "small modules"]
    parts = []
    for column, room in enumerate(order):
        at = x + CELL * (column + 0.68)
        turned = f"transform='rotate(-60 {_n(at)} {_n(y - 8)})'"
        parts.append(_text(at, y - 8, room, 11, more=turned))
    for row, room in enumerate(order):
        middle = y + CELL * (row + 0.5)
        parts.append(_text(x - 8, middle + 4, room, 11, more="text-anchor='end'"))
        for column, other in enumerate(order):
            corner = f"x='{_n(x + CELL * column)}' y='{_n(y + CELL * row)}'"
            fill = "#d9e2ec" if row == column else "white"
            parts.append(
                f"<rect {corner} width='{CELL}' height='{CELL}' fill='{fill}' stroke='#e4e7eb'/>"
            )
            if row != column and _imports(room, other, carried):
                colour = EDGE if column < row or other not in rooms else "#c0392b"
                parts.append(
                    f"<circle cx='{_n(x + CELL * (column + 0.5))}' cy='{_n(middle)}' r='5' "
                    f"fill='{colour}'/>"
                )
    return parts


def _imports(room: str, other: str, carried: dict[tuple[str, str], Counter[str]]) -> bool:
    here = GROUND if room == "small modules" else (room,)
    there = GROUND if other == "small modules" else (other,)
    return any((a, b) in carried for a in here for b in there)


def main() -> None:
    PICTURE.write_text(draw())
    print(PICTURE.relative_to(ROOT))


if __name__ == "__main__":
    main()
