"""`python -m benchmarks playground`: how smoothly the playground runs, how equal its numbers are.

The handle goes round the disc at n = d = 64, a new place in every frame, in the Chromium that is
installed; frames are counted by the browser. Equality is over random states and handles.
"""

from __future__ import annotations

import math
import random
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from tools.browser import REMEDY, find
from wordsway.page.playground import Instance, instance, playground
from wordsway.page.playground.instance import SCORES

SECONDS, DRAWS, STATES = 2, 3, 40
ROUND = """async ([seconds, working]) => {
  const start = performance.now();
  let [frames, longest, last] = [0, 0, start];
  while (working ? playground.busy() : last - start < 1000 * seconds) {
    const angle = (last - start) / 400;
    playground.set({ x: 0.95 * Math.cos(angle), y: 0.95 * Math.sin(angle) });
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    longest = Math.max(longest, now - last);
    [frames, last] = [frames + 1, now];
  }
  return [frames, (last - start) / 1000, longest];
}"""


def smoothness(page: Any) -> list[str]:
    """Frames a second while Δ is dragged, for each kind of scores: with all the work under way, and
    once it is done. Each frame shows S, matrix and the ceiling known so far.
    """
    lines = ["| n = d = 64 | frames a second | longest frame |", "|---|---|---|"]
    for scores in SCORES:
        for working in (True, False):
            rounds = []
            for seed in range(DRAWS if working else 1):
                state = {"n": 64, "d": 64, "scores": scores, "seed": seed}
                page.evaluate("(s) => playground.set(s)", state)
                if not working:
                    page.evaluate("playground.done()")
                rounds.append(page.evaluate(ROUND, [SECONDS, working]))
            frames, seconds, longest = zip(*rounds, strict=True)
            when = f"while all is computed ({DRAWS} draws)" if working else "afterwards"
            rate = sum(frames) / sum(seconds)
            lines.append(
                f"| {scores}, {when}, {sum(seconds):.1f} s | {rate:.0f} | {max(longest):.0f} ms |"
            )
    return lines


def deviations(page: Any) -> dict[str, float]:
    """The largest relative deviation from Python over random states."""
    found = {"S": 0.0, "features": 0.0, "ceiling": 0.0}
    draw = random.Random(0)
    for turn in range(STATES):
        state: dict[str, Any] = {
            "n": draw.choice([1, 2, 3, 7, 12, 24, 40, 64]),
            "d": draw.choice([2, 5, 16, 33, 64]),
            "seed": draw.randrange(2**32),
            "temperature": draw.choice([0.05, 0.2, 1.0, 1.0, 5.0, 20.0]),
            "scores": SCORES[turn % len(SCORES)],
        }
        phi, X = instance(**state)
        before = phi(X)
        if not float(before.norm()) > 0:
            continue
        angle = draw.uniform(0, 2 * math.pi)
        state |= {"x": math.cos(angle), "y": math.sin(angle)}
        page.evaluate("(s) => playground.set(s)", state)
        page.evaluate("playground.done('search', 'ceiling')")
        shown = page.evaluate("playground.numbers()")
        after = phi(X.replaced(0, shown["delta"]))
        S = float((after - before).norm() / before.norm())
        features = torch.tensor(shown["features"], dtype=torch.float64)
        scale = float(after.abs().max())
        pairs = {
            "S": abs(shown["S"] / S - 1) if S > 0 else abs(shown["S"]),
            "features": float((features - after.flatten()).abs().max()) / scale if scale else 0.0,
            "ceiling": abs(shown["ceiling"] / Instance(phi, X).ceiling() - 1),
        }
        found = {name: max(found[name], pairs[name]) for name in found}
    return found


PARTS = ("smooth", "equal")


def table(parts: Iterable[str] = PARTS) -> str:
    """Size, frames and deviations, as they stand in docs/notes/performance.md."""
    from playwright.sync_api import sync_playwright

    path = find()
    if path is None:
        sys.exit(REMEDY)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "playground.html"
        size = playground(file).bytes
        lines = [
            f"One file of {size / 1000:.0f} kB, in Chromium. Δ goes round the disc, a new place in "
            "every frame (a screen shows 60 a second at most); every number of the page is "
            "compared with Python's for random states."
        ]
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        page.goto(file.as_uri())
        if "smooth" in parts:
            lines += ["", *smoothness(page)]
        if "equal" in parts:
            found = deviations(page)
            lines += ["", "| number | deviation from Python at most |", "|---|---|"]
            lines += [f"| {name} ({STATES} states) | {most:.1e} |" for name, most in found.items()]
        browser.close()
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(sys.argv[1:] or PARTS))
