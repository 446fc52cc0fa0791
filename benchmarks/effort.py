"""Does a larger effort find more, and what is "converged" worth: `python -m benchmarks effort`;
what effort 4 gains where a search did not converge: `python -m benchmarks unconverged`.

Every draw of text and weights is searched with efforts 1, 2, 4, 8 and 10, and with effort 10 from
another seed. The largest of these values is the best known one.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import wordsway as ws

HEADING = "How far the attained end is below the best known"
UNCONVERGED = "What a larger effort gains where a search did not converge"
EFFORTS = (1, 2, 4, 8, 10)
#: Seeds of further searches with the last effort.
OTHER_SEEDS = (1,)
#: A value raised by more than this share was not converged.
RAISED = 5e-3

Make = Callable[[int, int, int], ws.FeatureMap]
#: Maps with the sizes (n, d) that the draws go through in turn.
CASES: dict[str, tuple[Make, tuple[tuple[int, int], ...]]] = {
    "RF": (lambda n, d, seed: ws.RF(n, d, seed=seed), ((8, 16), (24, 32), (16, 64))),
    "DRF, three layers": (lambda n, d, seed: ws.DRF(n, d, 3, seed=seed), ((8, 16), (12, 32))),
    "RAF": (lambda n, d, seed: ws.RAF(d, seed), ((24, 64), (128, 16), (120, 192), (256, 8))),
    "ReLU-RAF, n ≤ d": (lambda n, d, seed: ws.ReluRAF(d, seed), ((24, 64), (50, 192), (16, 64))),
    "ReLU-RAF, n > d": (lambda n, d, seed: ws.ReluRAF(d, seed), ((50, 16), (100, 32))),
    "softmax, four heads": (
        lambda n, d, seed: ws.Attention(d, seed, heads=4),
        ((16, 32), (30, 64), (40, 128)),
    ),
}
#: Scores that grow with n, whose searches rarely converge.
SHARP: dict[str, tuple[Make, tuple[tuple[int, int], ...]]] = {
    "softmax, s·log n": (
        lambda n, d, seed: ws.Attention(d, seed, scores="softmax-log-n"),
        ((10, 128), (40, 128), (160, 128)),
    ),
}


@dataclass(frozen=True)
class Draw:
    """The attained values of one draw at each effort, the status at effort 1, and the best known
    value.
    """

    lowers: tuple[float, ...]
    converged: bool
    best: float

    @property
    def falls(self) -> bool:
        """Whether a larger effort has a smaller value."""
        return any(b < a for a, b in zip(self.lowers, self.lowers[1:], strict=False))

    @property
    def raised(self) -> bool:
        """Whether ten times the effort raises the value of effort 1 by more than `RAISED`."""
        return self.lowers[-1] > (1 + RAISED) * self.lowers[0]

    @property
    def below(self) -> float:
        """How far effort 1 is below the best known value, as a share of it."""
        return 1 - self.lowers[0] / self.best


def search_of(make: Make, n: int, d: int, number: int) -> Callable[..., ws.Sensitivity]:
    """The search, by effort and seed, of draw ``number`` of a map at one size, first row."""
    X = ws.Sample.gaussian(n, d, 2000 + number)
    return partial(ws.sensitivity, make(n, d, number), X, positions=0, certificate=False)


def draw(make: Make, n: int, d: int, number: int) -> Draw:
    """Draw ``number`` of a map at one size, first row, Gaussian text."""
    search = search_of(make, n, d, number)
    found = [search(effort=effort) for effort in EFFORTS]
    lowers = tuple(one.lower for one in found)
    others = (search(effort=EFFORTS[-1], seed=seed).lower for seed in OTHER_SEEDS)
    return Draw(lowers, found[0].status == "converged", max(*lowers, *others))


def page(draws: int = 10) -> str:
    """The table over ``draws`` draws of each map."""
    lines = [
        "| map | draws | lower falls | converged | of these raised by 10 × effort | "
        "below the best known: mean | largest |",
        "|---|---|---|---|---|---|---|",
    ]
    everything: list[Draw] = []
    for name, (make, sizes) in CASES.items():
        found = [draw(make, *sizes[i % len(sizes)], i) for i in range(draws)]
        everything += found
        lines.append(_row(name, found))
        print(lines[-1], file=sys.stderr, flush=True)
    lines.append(_row("all", everything))
    text = (
        f"{draws} draws of text and weights per map, Gaussian texts, first row, efforts "
        f'{", ".join(map(str, EFFORTS))}. "Converged" is the status at effort 1; "raised" '
        f"means by more than {RAISED:.1%} at effort {EFFORTS[-1]}. The best known value is the "
        f"largest of these searches and {len(OTHER_SEEDS)} more with effort {EFFORTS[-1]} and "
        "another seed; the last two columns are how far effort 1 is below it."
    )
    return "\n".join([text, "", *lines]) + "\n"


def _row(name: str, draws: list[Draw]) -> str:
    settled = [one for one in draws if one.converged]
    below = [one.below for one in draws]
    return (
        f"| {name} | {len(draws)} | {sum(one.falls for one in draws)} | {len(settled)} | "
        f"{sum(one.raised for one in settled)} | {statistics.mean(below):.2%} | {max(below):.2%} |"
    )


def unconverged(draws: int = 24) -> str:
    """The searches that did not converge, and what four times their effort gains."""
    lines = ["| map | searches | not converged | nor with effort 4 | mean | largest |"]
    lines.append("|---|---|---|---|---|---|")
    counts, gains, still = 0, list[float](), 0
    for name, (make, sizes) in (CASES | SHARP).items():
        own, loose = list[float](), 0
        for number in range(draws):
            search = search_of(make, *sizes[number % len(sizes)], number)
            if (found := search()).status != "converged":
                longer = search(effort=4)
                own.append(longer.lower / found.lower - 1)
                loose += longer.status != "converged"
        lines.append(_gain_row(name, draws, own, loose))
        print(lines[-1], file=sys.stderr, flush=True)
        counts, gains, still = counts + draws, gains + own, still + loose
    lines.append(_gain_row("all", counts, gains, still))
    about = (
        f"{draws} draws per map, as above, and softmax with s·log n at 10, 40 and 160 × 128. The "
        "last two columns are by how much effort 4 raises S of the searches that did not converge."
    )
    return "\n".join([about, "", *lines]) + "\n"


def _gain_row(name: str, draws: int, gains: list[float], loose: int) -> str:
    gain = f"{statistics.mean(gains):.2%} | {max(gains):.2%}" if gains else "– | –"
    return f"| {name} | {draws} | {len(gains)} | {loose} | {gain} |"
