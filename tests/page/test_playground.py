"""The playground in a real browser: its numbers are Python's, and it can be used by anyone."""

from __future__ import annotations

import contextlib
import io
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import wordsway as ws
from wordsway.cli.app import run
from wordsway.core.errors import InputError
from wordsway.page.playground import Instance, instance, playground
from wordsway.page.playground.instance import SCORES, TEXT, normals, threefry

#: n, d, temperature, seed: usual, largest, a single word, more words than dimensions, saturated,
#: hot, and a saturated text of which every row already looks at one word.
STATES = [
    (12, 32, 1.0, 0),
    (64, 64, 1.0, 1),
    (1, 8, 1.0, 3),
    (2, 2, 1.0, 1),
    (40, 4, 1.0, 5),
    (32, 64, 0.05, 2),
    (20, 16, 20.0, 7),
    (64, 2, 0.05, 4_294_967_295),
]


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("playground") / "playground.html"
    playground(path)
    return path


@contextlib.contextmanager
def opened(chromium, file: Path, address: str = "", **how: Any) -> Iterator[Any]:
    """The page from its file, offline; whatever it complains of, or asks the network for, fails."""
    how = {"viewport": {"width": 1300, "height": 900}, "reduced_motion": "reduce", **how}
    context = chromium.new_context(offline=True, **how)
    context.set_default_timeout(60_000)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on(
        "request",
        lambda sent: None if sent.url.startswith("file:") else wrong.append(sent.url),
    )
    page.goto(file.as_uri() + address)
    until(page, "window.playground && document.getElementById('S').textContent !== ''")
    yield page
    context.close()
    assert wrong == []


def until(page, expression: str) -> None:
    """Wait for a condition; Playwright's own way needs `eval`, which the page forbids."""
    for _ in range(1200):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never true: {expression}")


@pytest.fixture(scope="module")
def tab(chromium, file) -> Iterator[Any]:
    with opened(chromium, file) as page:
        yield page


def numbers(page, wanted: dict[str, Any], *work: str) -> dict[str, Any]:
    """The numbers of a state, once the named work is done."""
    page.evaluate("(wanted) => playground.set(wanted)", wanted)
    page.evaluate("(work) => playground.done(...work)", list(work))
    return dict(page.evaluate("playground.numbers()"))


def relative_change(phi: ws.FeatureMap, X: ws.Sample, delta: list[float]) -> float:
    before, after = phi(X), phi(X.replaced(0, delta))
    return float((after - before).norm() / before.norm())


def states(scores: str) -> Iterator[tuple[dict[str, Any], ws.FeatureMap, ws.Sample]]:
    """Each state, with a handle anywhere in the disc, where the features are not all zero."""
    places = random.Random(scores)
    for n, d, temperature, seed in STATES:
        angle, length = places.uniform(0, 2 * math.pi), places.choice([0.3, 0.9, 1.0])
        state: dict[str, Any] = {
            "n": n,
            "d": d,
            "temperature": temperature,
            "seed": seed,
            "scores": scores,
        }
        phi, X = instance(**state)
        if float(phi(X).norm()) > 0:
            place = {"x": length * math.cos(angle), "y": length * math.sin(angle)}
            yield {**state, **place}, phi, X


# ---- the numbers ----


def test_the_generator_is_threefry():
    """The published answers of Threefry-2×32 with 20 rounds."""
    known = [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((2**32 - 1, 2**32 - 1), (2**32 - 1, 2**32 - 1), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ]
    for key, counter, answer in known:
        halves = [np.array([half], dtype=np.uint32) for half in counter]
        assert tuple(int(half[0]) for half in threefry(key, (halves[0], halves[1]))) == answer


def test_the_numbers_are_gaussian():
    drawn = normals(7, TEXT, np.arange(40_000))
    below = [0.5 * math.erfc(-x / math.sqrt(2)) for x in np.sort(drawn)]
    distance = np.abs(np.array(below) - (np.arange(40_000) + 0.5) / 40_000).max()
    assert distance < 1.95 / math.sqrt(40_000)  # Kolmogorov's test at one in a thousand
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 0.02
    assert abs(np.corrcoef(drawn, normals(8, TEXT, np.arange(40_000)))[0, 1]) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("scores", SCORES)
def test_the_page_computes_what_python_computes(tab, scores):
    """S and features at any handle, the worst Δ's S and the ceiling: equal to 1e-6."""
    for state, phi, X in states(scores):
        page = numbers(tab, state, "search", "ceiling")
        assert {name: page[name] for name in ("n", "d", "seed")} == {
            name: state[name] for name in ("n", "d", "seed")
        }
        radius = math.sqrt(X.d)
        assert np.linalg.norm(page["delta"]) <= radius * (1 + 1e-12)
        features = phi(X.replaced(0, page["delta"])).flatten()
        error = (torch.tensor(page["features"], dtype=torch.float64) - features).abs().max()
        assert float(error) <= 1e-9 * float(features.abs().max()), state
        assert page["S"] == pytest.approx(relative_change(phi, X, page["delta"]), abs=1e-9), state
        worst = relative_change(phi, X, page["worstDelta"])
        assert page["worst"] == pytest.approx(worst, rel=1e-9), state
        ceiling = Instance(phi, X).ceiling()
        assert page["ceiling"] == pytest.approx(ceiling, rel=1e-6), state
        own = phi.view(X).certify([0], radius)
        assert own is not None and own.kind == "float64"
        assert page["worst"] <= float(own.upper[0]) <= 1.02 * ceiling, state
        assert max(page["S"], page["worst"]) <= page["ceiling"] * (1 + 1e-9), state


@pytest.mark.slow
@pytest.mark.parametrize("scores", SCORES)
def test_no_place_of_the_handle_passes_the_ceiling(tab, scores):
    """Neither the ceiling of the ball nor that of the length; both are Python's at eighths."""
    state = {"n": 10, "d": 12, "seed": 4, "scores": scores, "temperature": 0.5}
    page = numbers(tab, state, "search", "ceiling", "lengths")
    phi, X = instance(**state)
    upper = math.inf
    for eighth in range(8, 0, -1):
        upper = min(upper, Instance(phi, X).ceiling(math.sqrt(12) * eighth / 8))
        assert page["lengths"][eighth - 1] == pytest.approx(upper, rel=1e-6)
    reached = tab.evaluate(
        """() => {
          const found = [];
          for (let a = 0; a < 64; a++) for (const r of [0.05, 0.125, 0.4, 0.75, 0.9, 1, 1.2]) {
            const angle = (a * Math.PI) / 32;
            playground.set({ x: r * Math.cos(angle), y: r * Math.sin(angle) });
            const { S, ceiling, ceilingHere } = playground.numbers();
            found.push([S, ceiling, ceilingHere]);
          }
          return found;
        }"""
    )
    assert len(reached) == 448
    for S, ceiling, here in reached:
        assert S / (1 + 1e-9) <= here <= ceiling * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("scores", SCORES)
def test_the_worst_change_is_nearly_pythons(tab, scores):
    state = {"n": 10, "d": 12, "seed": 4, "scores": scores, "temperature": 1.0}
    page = numbers(tab, state, "search")
    phi, X = instance(**state)
    found = ws.sensitivity(phi, X, positions=0, certificate=False, effort=0.5).lower
    assert page["worst"] >= 0.97 * found


@pytest.mark.slow
def test_the_comparison_and_the_chart_are_pythons(tab):
    """The fully connected layer beside attention, and S over n: attained below certified."""
    state = {"n": 8, "d": 6, "seed": 2, "scores": "softmax", "temperature": 1.0, "x": 0.4, "y": 0.3}
    page = numbers(tab, state)
    dense, X = instance(8, 6, 2, scores="fully-connected")
    assert page["otherS"] == pytest.approx(relative_change(dense, X, page["delta"]), rel=1e-9)
    assert page["otherCeiling"] == pytest.approx(Instance(dense, X).ceiling(), rel=1e-6)
    assert page["otherWorst"] <= page["otherCeiling"]
    for kind, scores in (("attention", "softmax"), ("dense", "fully-connected")):
        assert list(page["growth"][kind]) == ["1", "2", "4", "8", "16", "32", "64"]
        for n in ("2", "64"):
            ceiling = instance(int(n), 6, 2, scores=scores).ceiling()
            point = page["growth"][kind][n]
            assert point["ceiling"] == pytest.approx(ceiling, rel=1e-6)
            assert 0 < point["S"] <= point["ceiling"] * (1 + 1e-9)
    cells = tab.locator("#growth-table tbody td").all_inner_texts()
    assert len(cells) == 28
    assert float(cells[0]) == pytest.approx(page["growth"]["attention"]["1"]["S"], abs=5e-4)


def test_python_refuses_what_the_page_has_not():
    sizes: list[dict[str, Any]] = [
        {"n": 65},
        {"n": 0},
        {"d": 1},
        {"seed": -1},
        {"n": 2.5},
        {"temperature": 0.01},
    ]
    for wrong in sizes:
        with pytest.raises(InputError):
            instance(**({"n": 4, "d": 4} | wrong))
    with pytest.raises(InputError, match="softmax"):
        instance(4, 4, scores="soft")


# ---- the file ----


def test_one_small_file_by_verb_and_by_command(tmp_path, capsys):
    page = playground()
    assert page.bytes <= 500_000
    assert run(["playground", "--out", str(tmp_path / "deep" / "play.html")]) == 0
    assert (tmp_path / "deep" / "play.html").read_text("utf-8") == page.html
    assert "open it in any browser" in capsys.readouterr().out
    assert run(["playground", "--out", str(tmp_path / "play.txt")]) == 2
    assert "ends in .html" in capsys.readouterr().err
    assert not list(tmp_path.glob("play.*"))
    assert "srcdoc" in page._repr_html_() and "bytes" in repr(page)


@pytest.mark.slow
def test_the_policy_forbids_the_network(chromium, file):
    """A request from inside the page is stopped by the page's own policy, network or not."""
    context = chromium.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("requestfinished", lambda sent: asked.append(sent.url))
    page.goto(file.as_uri())
    stopped = page.evaluate(
        """async () => {
          const seen = [];
          const note = (event) => seen.push(event.violatedDirective);
          addEventListener("securitypolicyviolation", note);
          await fetch("http://127.0.0.1:9/").catch(() => null);
          const picture = new Image();
          picture.src = "http://127.0.0.1:9/a.png";
          const script = document.createElement("script");
          script.textContent = "window.intruder = true";
          document.body.append(script);
          await new Promise((resolve) => setTimeout(resolve, 100));
          return [seen.sort(), window.intruder ?? null];
        }"""
    )
    assert stopped == [["connect-src", "img-src", "script-src-elem"], None]
    assert asked == [file.as_uri()]
    context.close()


# ---- people ----


@pytest.mark.slow
def test_the_handle_follows_a_pointer_and_the_keys(chromium, file):
    with opened(chromium, file) as page:
        assert page.inner_text("#S") == "0.000"
        box = page.locator("#plane").bounding_box()
        centre = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.move(*centre)
        page.mouse.down()
        page.mouse.move(centre[0] + box["width"] / 5.2, centre[1], steps=4)
        page.mouse.up()
        until(page, "document.getElementById('S').textContent !== '0.000'")
        state = page.evaluate("playground.state()")
        assert state["x"] == pytest.approx(0.5, abs=0.02) and abs(state["y"]) < 0.02
        assert "50 % of the word’s length" in page.inner_text("#length")
        for key in ("ArrowLeft", "ArrowUp", "Shift+ArrowUp"):
            page.keyboard.press(key)
        moved = page.evaluate("playground.state()")
        assert moved["x"] == pytest.approx(state["x"] - 0.05)
        assert moved["y"] == pytest.approx(state["y"] + 0.06)
        S = page.evaluate("playground.numbers().S")
        until(page, f"document.getElementById('S').textContent === '{S:.3f}'")
        assert f"change {S:.3f}" in page.locator("#handle").get_attribute("aria-valuetext")
        page.keyboard.press("Home")
        until(page, "document.getElementById('S').textContent === '0.000'")
        page.mouse.move(*centre)
        page.mouse.down()
        page.mouse.move(centre[0] + box["width"], centre[1] - box["height"])
        page.mouse.up()
        state = page.evaluate("playground.state()")
        assert math.hypot(state["x"], state["y"]) == pytest.approx(1)


@pytest.mark.slow
def test_the_tour_by_keyboard(chromium, file):
    """Seven steps, each with its title, its numbers, and a layer of its own; then any slider."""
    with opened(chromium, file) as page:
        page.focus("#tour-next")
        titles = []
        for step in range(1, 8):
            assert page.inner_text("#tour-count") == f"Tour, step {step} of 7"
            page.evaluate("playground.done('search', 'ceiling', 'other')")
            until(page, "!document.getElementById('tour-text').textContent.includes('…')")
            titles.append(page.inner_text("#tour-title"))
            assert page.evaluate("playground.state().d") == 32, "one size in all steps"
            if step == 4:
                shown = page.evaluate("playground.numbers()")
                said = page.inner_text("#tour-text")
                assert f"{shown['worst']:.2f}" in said and f"{shown['ceiling']:.2f}" in said
                assert page.inner_text("#S") == page.inner_text("#worst-S")
            if step == 5:
                assert page.evaluate("playground.state().scores") == "fully-connected"
                assert page.inner_text("#attention-title") == "The 512 features"
            if step < 7:
                page.keyboard.press("ArrowRight" if step % 2 else "Enter")
                count = "document.getElementById('tour-count').textContent"
                until(page, f"{count}.includes('step {step + 1}')")
        assert len(set(titles)) == 7
        page.focus("#n")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("playground.state().n") == 33
        page.focus("#t")
        page.keyboard.press("Home")
        assert page.evaluate("playground.state().temperature") == 0.05
        assert page.inner_text("#t-value") == "0.05"
        page.check("input[value=softmax]", force=True)
        page.click("#redraw")
        assert page.evaluate("playground.state().seed") == 1


@pytest.mark.slow
def test_a_state_is_an_address_and_lines_of_python(chromium, file):
    where = "#n=5&d=7&temperature=0.3&scores=sigmoid&seed=11&x=0.25&y=-0.5"
    with opened(chromium, file, where) as page:
        page.evaluate("playground.done('search', 'ceiling')")
        page.click("#check summary")
        until(page, "document.getElementById('code').textContent.includes('upper')")
        told = page.evaluate("playground.numbers()")
        code = page.inner_text("#code")
        page.focus("#handle")
        page.keyboard.press("ArrowRight")
        until(page, "location.hash.includes('x=0.3000')")
        assert "scores=sigmoid" in page.evaluate("location.hash")
    assert (told["n"], told["d"], told["seed"], told["temperature"]) == (5, 7, 11, 0.3)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(code, {})
    S, ceiling, upper = (float(line) for line in said.getvalue().split())
    assert told["S"] == pytest.approx(S, rel=1e-9)
    assert told["ceiling"] == pytest.approx(ceiling, rel=1e-6)
    assert told["S"] <= upper <= 1.02 * ceiling
    assert f"here: {told['S']}" in code and f"here: {told['ceiling']}" in code


@pytest.mark.slow
def test_nonsense_in_the_address_is_no_harm(chromium, file):
    where = "#n=9999&d=-3&temperature=hot&scores=<b>&seed=x&x=NaN&y=7&step=99&pin=nowhere"
    with opened(chromium, file, where) as page:
        state = page.evaluate("playground.state()")
        assert (state["n"], state["d"], state["temperature"]) == (64, 2, 1)
        assert (state["scores"], state["seed"], state["x"], state["y"]) == ("softmax", 0, 0, 1)


def silent_at(seed: int) -> bool:
    phi, X = instance(1, 8, seed, scores="relu")
    return float(phi(X).norm()) == 0


@pytest.mark.slow
def test_features_that_are_zero_are_told(chromium, file):
    """One word whose own score is negative: ReLU attention has nothing to say, and no S."""
    seed = next(s for s in range(20) if silent_at(s))
    with opened(chromium, file, f"#n=1&d=8&scores=relu&seed={seed}&x=1&y=0") as page:
        assert "take another draw" in page.inner_text("#message")
        assert page.inner_text("#S") == "—"
        assert "NaN" not in page.inner_text("main")


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1300])
def test_every_width_and_theme_can_be_read(chromium, file, theme, width):
    """Nothing is wider than the window; text has a contrast of at least 4.5; all has a name."""
    how = {"viewport": {"width": width, "height": 900}, "color_scheme": theme}
    with opened(chromium, file, "#n=12&d=32&pin=worst&step=4", **how) as page:
        page.evaluate("playground.done()")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        poor = page.evaluate(
            """() => {
              const light = ([r, g, b]) => [r, g, b]
                .map((v) => v / 255)
                .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
                .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
              const rgb = (colour) => colour.match(/[\\d.]+/g).map(Number);
              const ground = (node) => {
                for (let at = node; at; at = at.parentElement) {
                  const colour = rgb(getComputedStyle(at).backgroundColor);
                  if (colour.length === 3 || colour[3] > 0) return colour;
                }
                return [255, 255, 255];
              };
              const poor = [];
              for (const node of document.querySelectorAll("main *")) {
                const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.data.trim());
                if (!own || node.closest("svg, :disabled, .sr") || !node.offsetParent) continue;
                const pair = [rgb(getComputedStyle(node).color), ground(node)].map(light);
                const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
                if (ratio < 4.5) poor.push([node.outerHTML.slice(0, 80), ratio]);
              }
              return poor;
            }"""
        )
        assert poor == []
        told = page.locator("body").aria_snapshot()
        for name in (
            'slider "Change Δ of the first word"',
            'slider "Words, n',
            'slider "Temperature',
            'radio "Normalised ReLU"',
            'button "Another draw"',
            'heading "The worst change, and a ceiling above it"',
        ):
            assert name in told, name
        assert "button:" not in told.replace('button "', "")  # no button without a name
