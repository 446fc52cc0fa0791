"""Every constraint, edit and objective against brute force at n = 3, d = 2.

    python -m benchmarks constraints [200 [5]]

A draw has a text, weights of three maps, a row, a set of every kind and a direction. Brute force
evaluates plain formulas of the maps on a grid of the set and refines the best points of the grid.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch

import wordsway as ws
from benchmarks.record import UNFINISHED
from wordsway import constraints as c

N, D, K = 3, 2, 6
OBJECTIVES = ("frobenius", "largest row", "one row", "operator", "direction")
SETS = ("L2", "Linf", "Lp", "Shell", "Subspace", "Ellipsoid", "Choices")
CHANGES = (*SETS, "together", "insert", "delete")
POWERS = (1.0, 1.5, 3.0, 8.0)
MAPS = ("RAF", "ReLU-RAF", "RF")
STORE = UNFINISHED.with_name("constraints.jsonl")
#: Rounds of refinement, the points of each, and the share by which each shrinks their spread.
ROUNDS, POINTS, SHRINK = 16, 100, 0.4

ABOUT = """the largest shortfall of `lower`, 1 − lower ÷ brute force, at n = 3, d = 2.
Each draw has a text, weights, a row, and a set of each kind with a random radius; `together` (two
rows) and `insert` take the kinds of sets in turn. Brute force refines the best points
of a grid of the set. A map's column covers all objectives, an objective's all maps."""

Features = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Region:
    """A set of Δ, and its points as the images of the unit disc."""

    constraint: Any
    points: Callable[[torch.Tensor], torch.Tensor]


def softmax_attention(W: torch.Tensor) -> Features:
    return lambda X: torch.softmax(X @ W @ X.mT / math.sqrt(D), -1) @ X


def relu_attention(W: torch.Tensor) -> Features:
    def phi(X: torch.Tensor) -> torch.Tensor:
        shares = (X @ W @ X.mT / math.sqrt(D)).clamp_min(0)
        total = shares.sum(-1, keepdim=True)
        return torch.where(total > 0, shares / total, 0.0) @ X

    return phi


def random_features(V: torch.Tensor) -> Features:
    return lambda X: (X.flatten(-2) @ V.T).clamp_min(0)


def maps(noise: torch.Generator) -> dict[str, tuple[Any, Features]]:
    """Our map and the plain formula of each kind, with the same weights."""
    W = torch.randn(D, D, generator=noise).double() / math.sqrt(D)
    V = torch.randn(K, N * D, generator=noise).double() / math.sqrt(N * D)
    return {
        "RAF": (ws.RAF(weight=W), softmax_attention(W)),
        "ReLU-RAF": (ws.ReluRAF(weight=W), relu_attention(W)),
        "RF": (ws.RF(n=N, weight=V), random_features(V)),
    }


def region(kind: str, seed: int, noise: torch.Generator) -> Region:
    """A random set of this kind, of a radius between 0.1 and 2.1."""
    r = 0.1 + 2 * float(torch.rand(1, generator=noise))
    A = torch.randn(D, D, generator=noise).double()
    if kind == "Choices":
        return Region(c.Choices(torch.randn(7, D, generator=noise)), lambda z: z)
    if kind == "Shell":
        return Region(c.Shell(r), lambda z: r * z / z.norm(dim=-1, keepdim=True).clamp_min(1e-300))
    if kind == "Subspace":
        line = A[:1] / A[:1].norm()
        return Region(c.Subspace(A[:1], r), lambda z: r * z[..., :1] * line)
    if kind == "Ellipsoid":
        return Region(c.Ellipsoid(A @ A.T, r), lambda z: r * z @ A.T)
    p = {"L2": 2.0, "Linf": math.inf, "Lp": POWERS[seed % len(POWERS)]}[kind]
    ball = c.Lp(p, r) if kind == "Lp" else c.L2(r) if kind == "L2" else c.Linf(r)

    def points(z: torch.Tensor) -> torch.Tensor:
        other = torch.linalg.vector_norm(z, p, dim=-1, keepdim=True).clamp_min(1e-300)
        return r * z * z.norm(dim=-1, keepdim=True) / other

    return Region(ball, points)


@dataclass(frozen=True)
class Norm:
    """An objective with its row and its direction."""

    objective: str
    row: int
    theta: torch.Tensor

    def __call__(self, change: torch.Tensor) -> torch.Tensor:
        """The norm of every change, (B,)."""
        if self.objective == "direction":
            return (change.flatten(1) @ self.theta.flatten()).abs() / self.theta.norm()
        if self.objective == "operator":
            return torch.linalg.matrix_norm(change, 2)
        if self.objective == "largest row":
            return change.norm(dim=2).amax(1)
        if self.objective == "one row":
            return change[:, self.row].norm(dim=1)
        return change.flatten(1).norm(dim=1)

    def scale(self, before: torch.Tensor) -> float:
        """What changes are relative to."""
        whole = self.objective == "direction"
        return float(before.norm()) if whole else float(self(before[None]))

    @property
    def argument(self) -> Any:
        """The objective as `ws.sensitivity` takes it."""
        names: dict[str, Any] = {"direction": self.theta, "one row": f"row:{self.row}"}
        return names.get(self.objective, self.objective.replace(" ", "-"))


def disc(directions: int, radii: int) -> torch.Tensor:
    """A grid of the unit disc, its boundary and its centre included."""
    angle = 2 * math.pi * torch.arange(directions).double() / directions
    circle = torch.stack([angle.cos(), angle.sin()], 1)
    rings = [share * circle for share in torch.linspace(1, 0, radii + 1).double()[:-1]]
    return torch.cat([*rings, torch.zeros(1, D).double()])


GRID = disc(120, 25)[:, None]
SMALL = disc(16, 3)
PAIRS = torch.stack([torch.stack(pair) for pair in product(SMALL, repeat=2)])


def brute_force(value: Callable[[torch.Tensor], torch.Tensor], grid: torch.Tensor) -> float:
    """The largest value over points (B, m, 2) of unit discs: the best of each tenth of the grid is
    improved by random steps that become shorter.
    """
    noise = torch.Generator().manual_seed(0)
    found = value(grid)
    parts = torch.randperm(len(grid), generator=noise).tensor_split(10)
    best = torch.stack([grid[part[found[part].argmax()]] for part in parts])
    top = torch.stack([found[part].max() for part in parts])
    spread = 0.3
    for _ in range(ROUNDS):
        steps = spread * torch.randn(len(best), POINTS, *grid.shape[1:], generator=noise).double()
        near = best[:, None] + steps
        near = near / near.norm(dim=-1, keepdim=True).clamp_min(1)
        values = value(near.flatten(0, 1)).unflatten(0, near.shape[:2])
        new, place = values.max(1)
        better = new > top
        best[better] = near[torch.arange(len(best)), place][better]
        top = torch.maximum(top, new)
        spread *= SHRINK
    return float(top.max())


@dataclass(frozen=True)
class Problem:
    """A change of a text: the arguments of `ws.sensitivity`, the changed texts for points of the
    discs or for given Δ, and the rows of both features that are compared.
    """

    arguments: dict[str, Any]
    texts: Callable[[torch.Tensor], torch.Tensor]
    points: Callable[[torch.Tensor], torch.Tensor]
    grid: torch.Tensor
    before: list[int]
    after: list[int]
    finite: bool = False


def replaced(X: torch.Tensor, rows: list[int], moves: torch.Tensor) -> torch.Tensor:
    texts = X.repeat(len(moves), 1, 1)
    texts[:, rows] += moves
    return texts


def inserted(X: torch.Tensor, place: int, words: torch.Tensor) -> torch.Tensor:
    every = X.expand(len(words), -1, -1)
    return torch.cat([every[:, :place], words, every[:, place:]], 1)


def problem(change: str, seed: int, X: torch.Tensor, noise: torch.Generator) -> Problem:
    kind = change if change in SETS else SETS[seed % len(SETS)]
    place, every = region(kind, seed, noise), list(range(N))
    row, set_ = seed % N, {"constraint": place.constraint}
    finite = kind == "Choices"
    if change == "delete":
        kept = [j for j in every if j != row]
        none = torch.zeros(1, 1, D)
        arguments = {"edit": "delete", "positions": row}
        return Problem(
            arguments, lambda _: X[None, kept], lambda z: z, none, kept, [0, 1], finite=True
        )
    if change == "insert":
        where = seed % (N + 1)
        words = place.constraint.vectors[:, None] if finite else GRID
        return Problem(
            {"edit": "insert", "positions": where} | set_,
            lambda words: inserted(X, where, words),
            place.points,
            words,
            every,
            [j + (j >= where) for j in every],
            finite,
        )
    rows = [row] if change in SETS else [(row + 2) % N, row]
    grid = GRID if change in SETS else PAIRS
    if finite:
        chosen = place.constraint.vectors
        grid = torch.stack([torch.stack(each) for each in product(chosen, repeat=len(rows))])
        grid = grid - X[rows]
    which = {"positions": row} if change in SETS else {"together": tuple(rows)}
    return Problem(
        which | set_,
        lambda moves: replaced(X, rows, moves),
        place.points,
        grid,
        every,
        every,
        finite,
    )


def measure(
    task: Problem, sample: ws.Sample, phi: Any, formula: Features, norm: Norm
) -> tuple[float, float | None, float] | None:
    """Attained, certified and brute force; None where S is undefined. The witness must have the
    attained value by the plain formula, and lie in the set.
    """
    before = formula(sample.X)
    scale = norm.scale(before)
    if scale == 0:
        return None

    def changed(texts: torch.Tensor) -> torch.Tensor:
        after = formula(texts)
        whole = torch.zeros(len(after), *before.shape).double()
        if before.ndim == 1:
            whole = after - before
        else:
            whole[:, task.before] = after[:, task.after] - before[task.before]
        return norm(whole) / scale

    if task.finite:
        best = float(changed(task.texts(task.grid)).max())
    else:
        best = brute_force(lambda z: changed(task.texts(task.points(z))), task.grid)
    s = ws.sensitivity(phi, sample, objective=norm.argument, **task.arguments)
    delta = task.grid if "delete" in task.arguments.values() else s.delta.reshape(1, -1, D)
    again = float(changed(task.texts(delta)))
    assert math.isclose(again, s.lower, rel_tol=1e-9, abs_tol=1e-12)
    constraint = task.arguments.get("constraint")
    if isinstance(constraint, c.Constraint):
        assert bool((constraint.gauge(delta) <= constraint.size(D)).all())
    return s.lower, s.upper, best


def compare(seed: int, turn: int) -> Iterator[dict[str, Any]]:
    """Every change and map of a draw, for one objective each; all turns have every objective."""
    noise = torch.Generator().manual_seed(seed)
    sample = ws.Sample.gaussian(n=N, d=D, seed=seed)
    made = maps(noise)
    for change in CHANGES:
        task = problem(change, seed, sample.X, noise)
        for name, (phi, formula) in made.items():
            if name == "RF" and change in ("insert", "delete"):
                continue  # RF is defined for one n
            theta = torch.randn(formula(sample.X).shape, generator=noise).double()
            able = OBJECTIVES if theta.ndim == 2 else ("frobenius", "direction")
            if turn >= len(able):
                continue
            objective = able[(seed + turn) % len(able)]
            norm = Norm(objective, seed // N % N, theta)
            found = measure(task, sample, phi, formula, norm)
            if found is not None:
                about = {"seed": seed, "change": change, "map": name, "objective": objective}
                set_ = {"set": repr(task.arguments.get("constraint"))}
                yield about | set_ | dict(zip(("lower", "upper", "brute"), found, strict=True))


def shortfall(found: dict[str, Any]) -> float:
    """How far ``lower`` is below brute force, as a share; negative where it is above."""
    return 1 - found["lower"] / found["brute"] if found["brute"] > 1e-12 else 0.0


def exceeded(found: dict[str, Any]) -> bool:
    upper = found["upper"]
    return upper is not None and max(found["lower"], found["brute"]) > upper * (1 + 1e-12)


def compared(draws: int, turns: int, store: Path) -> list[dict[str, Any]]:
    """All comparisons; those of an interrupted run are read from the store."""
    store.parent.mkdir(parents=True, exist_ok=True)
    lines = store.read_text().splitlines() if store.exists() else []
    done = {(seed, turn): found for seed, turn, found in map(json.loads, lines)}
    todo = [key for turn in range(turns) for key in ((seed, turn) for seed in range(draws))]
    with store.open("a") as file:
        for count, key in enumerate(todo, 1):
            if key not in done:
                done[key] = list(compare(*key))
                print(json.dumps([*key, done[key]]), file=file, flush=True)
                print(f"{count} of {len(todo)}", file=sys.stderr, flush=True)
    return [one for key in todo for one in done[key]]


def page(draws: int = 200, turns: int = len(OBJECTIVES), *, store: Path = STORE) -> str:
    """The table. With fewer turns each map and change has that many objectives per draw."""
    every = compared(draws, turns, store)
    cells: dict[tuple[str, str], list[float]] = defaultdict(list)
    for one in every:
        cells[one["change"], one["map"]].append(shortfall(one))
        cells[one["change"], one["objective"]].append(shortfall(one))
    columns = [*MAPS, *OBJECTIVES]
    lines = [f"| change | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]
    for change in CHANGES:
        worst = [max(cells[change, name], default=None) for name in columns]
        told = ["–" if one is None else f"{max(0.0, one):.0e}" for one in worst]
        lines.append(f"| {change} | {' | '.join(told)} |")
    certified = sum(one["upper"] is not None for one in every)
    low = sum(shortfall(one) > 1e-3 for one in every)
    lines += [
        "",
        f"{draws} draws, {len(every):,} comparisons, {certified:,} of them certified: {low} "
        "attained values are more than\n0.1 % below brute force, "
        f"{sum(map(exceeded, every))} certificates are exceeded.",
    ]
    return "\n".join(lines)
