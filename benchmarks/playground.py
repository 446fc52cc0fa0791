"""`python -m benchmarks.playground`: how smoothly the playground runs, how equal its numbers are.

The handle goes round the disc at n = d = 64, a new place in every frame, in the Chromium that is
installed; frames are counted by the browser. Equality is over random states and handles.
"""

from __future__ import annotations

import math
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from wordsway.page.playground import instance, playground
from wordsway.page.playground.instance import SCORES

SECONDS, STATES = 3, 40
ROUND = """async (seconds) => {
  const start = performance.now();
  let [frames, longest, last] = [0, 0, start];
  while (last - start < 1000 * seconds) {
    const angle = (last - start) / 400;
    playground.set({ x: 0.95 * Math.cos(angle), y: 0.95 * Math.sin(angle) });
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    longest = Math.max(longest, now - last);
    [frames, last] = [frames + 1, now];
  }
  return [(1000 * frames) / (last - start), longest];
}"""


def smoothness(page: Any) -> list[str]:
    """Frames a second for each kind of scores, at rest and while all the work is under way."""
    lines = ["| n = d = 64 | frames a second | longest frame |", "|---|---|---|"]
    for seed, scores in enumerate(SCORES):
        page.evaluate(
            "(s) => playground.set(s)", {"n": 64, "d": 64, "scores": scores, "seed": seed}
        )
        for when in ("while worst Δ, ceilings and chart are computed", "afterwards"):
            rate, longest = page.evaluate(ROUND, SECONDS)
            lines.append(f"| {scores}, {when} | {rate:.0f} | {longest:.0f} ms |")
            page.evaluate("playground.done()")
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
        told = page.evaluate("playground.numbers()")
        after = phi(X.replaced(0, told["delta"]))
        S = float((after - before).norm() / before.norm())
        features = torch.tensor(told["features"], dtype=torch.float64)
        bound = phi.view(X).certify([0], math.sqrt(X.d))
        assert bound is not None
        scale = float(after.abs().max())
        pairs = {
            "S": abs(told["S"] / S - 1) if S > 0 else abs(told["S"]),
            "features": float((features - after.flatten()).abs().max()) / scale if scale else 0.0,
            "ceiling": abs(told["ceiling"] / float(bound.upper[0]) - 1),
        }
        found = {name: max(found[name], pairs[name]) for name in found}
    return found


def main() -> None:
    from playwright.sync_api import sync_playwright

    path = next((p for p in map(shutil.which, ("chromium", "google-chrome")) if p), None)
    if path is None:
        sys.exit("no Chromium here: install one (Debian: apt install chromium)")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "playground.html"
        print(f"{playground(file).bytes / 1000:.0f} KB\n")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        page.goto(file.as_uri())
        if "equal" not in sys.argv[1:]:
            print("\n".join(smoothness(page)), flush=True)
        for name, worst in deviations(page).items():
            print(f"{name}: at most {worst:.1e} from Python, over {STATES} states")
        browser.close()


if __name__ == "__main__":
    main()
