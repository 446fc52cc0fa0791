"""Saved words and the notebook widget in Chromium: the page's own modules over embedded data."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pages import HARMFUL, HOSTILE
from probed import words_of
from wordsway.core.errors import WordswayError
from wordsway.probing.results import Words
from wordsway.render.files import save
from wordsway.render.html.document import bundled
from wordsway.render.numbers import number
from wordsway.render.views.words import ranks, shades
from wordsway.render.widget import widget_data

TEXT = "The film was not bad, but the end of the film was."

pytestmark = pytest.mark.slow


def opened(chromium: Any, document: Path, **how: Any) -> Any:
    """The document from its file; nothing is requested and nothing goes wrong."""
    page = chromium.new_page(**({"viewport": {"width": 1200, "height": 900}} | how))
    page.wrong = []
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("console", lambda said: page.wrong.append(said.text))
    page.on(
        "request",
        lambda sent: None if sent.url.startswith("file:") else page.wrong.append(sent.url),
    )
    page.goto(document.as_uri())
    return page


def saved(words: Words, folder: Path) -> Path:
    return save(words, folder / "words.html")


def test_a_saved_page_shows_the_numbers_of_the_result(chromium: Any, tmp_path: Path) -> None:
    words = words_of(TEXT, twin=True, swaps=True)
    page = opened(chromium, saved(words, tmp_path))
    found = page.locator(".w")
    assert found.all_inner_texts() == [word.word for word in words.words]
    for at, (word, shade, rank) in enumerate(
        zip(words.words, shades(words), ranks(words), strict=True)
    ):
        label = found.nth(at).get_attribute("aria-label")
        assert label.startswith(f"{word.word}, real words {number(word.real.mean)}")
        assert label.endswith(f"rank {rank}")
        assert found.nth(at).evaluate("e => e.style.getPropertyValue('--share')") == f"{shade:.3f}"
    top = words.words[words.ranked[0]]
    assert top.word in page.locator(".chosen h2").inner_text(), "the leading word is open"
    assert page.locator("table tbody tr").count() == len(words.words)
    page.locator(".w").first.click()
    card = page.locator(".chosen").inner_text()
    first = words.words[0]
    for value in (first.mean_local, first.local, first.real.mean, first.sensitivity, first.upper):
        assert number(value) in card
    assert "0.5123" in card, "the real words that were searched for it"
    bars = page.locator(".chosen .swap").evaluate_all(
        "all => all.map((one) => [+one.lastChild.textContent,"
        " one.querySelector('.bar').getBoundingClientRect().width])"
    )
    (widest, width), *rest = sorted(bars, reverse=True)
    assert page.locator(".chosen .swaps").count() == 2, "both lists of real words"
    assert [one for _, one in rest] == pytest.approx([width * v / widest for v, _ in rest], abs=1)
    charts = page.locator(".chosen .chart:not(.key)")
    assert charts.count() == 2
    tips = charts.nth(1).locator(".dot.worst title").all_text_contents()
    assert [float(tip.rpartition(": ")[2]) for tip in tips] == pytest.approx(
        first.profile, rel=1e-3
    )
    assert charts.nth(0).locator(".ceiling").count() == 1
    page.click(".chip[data-tier=local]")
    assert ", local " in found.first.get_attribute("aria-label")
    found.first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.index") == "1"
    assert page.wrong == []
    page.close()


def test_a_chart_draws_to_scale(chromium: Any, tmp_path: Path) -> None:
    words = words_of("alone")
    page = opened(chromium, saved(words, tmp_path))
    chart = page.locator(".chosen .chart:not(.key)").nth(1)
    labels = "c => [...c.querySelectorAll('text[text-anchor=end]')]"
    ticks = chart.evaluate(f"{labels}.map(t => [+t.textContent, +t.getAttribute('y')])")
    circles = "c => [...c.querySelectorAll('.dot.worst')]"
    dots = chart.evaluate(f"{circles}.map(d => +d.getAttribute('cy'))")
    (low, y_low), (high, y_high) = min(ticks), max(ticks)
    for value, y in zip(words.words[0].profile or (), dots, strict=True):
        expected = y_low + (y_high - y_low) * (value - low) / (high - low)
        assert y + 4 == pytest.approx(expected, abs=0.2)
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("text", [TEXT, HOSTILE.replace("\ud800", ""), "", "x" * 300], ids=range(4))
def test_any_text_fits_and_is_harmless(
    chromium: Any, tmp_path: Path, text: str, width: int, scheme: str
) -> None:
    size = {"width": width, "height": 800}
    document = saved(words_of(text, swaps=True), tmp_path)
    page = opened(chromium, document, viewport=size, color_scheme=scheme)
    if text:
        page.locator(".w").first.click()
        shown = page.locator("#view").inner_text()
        assert not HARMFUL.search(shown)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.wrong == []
    page.close()


def test_without_scripts_the_blocks_remain(chromium: Any, tmp_path: Path) -> None:
    words = words_of(TEXT, twin=True)
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(saved(words, tmp_path).as_uri())
    shown = page.locator("#view").inner_text()
    assert TEXT in shown and all(number(word.real.mean) in shown for word in words.words)
    context.close()


def test_the_widget_is_the_same_heat_map(chromium: Any, tmp_path: Path) -> None:
    """In a shadow root; ``chosen`` goes both ways."""
    words = words_of(TEXT)
    script = bundled("widget.js", module=True)
    data = json.dumps(widget_data(words)).replace("</", "<\\/")
    (tmp_path / "widget.html").write_text(
        f"""<!doctype html><meta charset="utf-8"><div id="cell"></div><script type="module">
        {script.replace("export default", "const widget =")}
        const model = {{ values: {{ data: {data}, chosen: 0 }}, listeners: [],
          get(name) {{ return this.values[name]; }},
          set(name, value) {{ this.values[name] = value; }},
          save_changes() {{ this.saved = this.values.chosen; }},
          on(name, call) {{ this.listeners.push(call); }} }};
        window.model = model;
        widget.render({{ model, el: document.getElementById("cell") }});
        </script>""",
        "utf-8",
    )
    page = opened(chromium, tmp_path / "widget.html")
    assert page.locator(".w").all_inner_texts() == [word.word for word in words.words]
    page.locator(".w").nth(2).click()
    assert page.evaluate("model.saved") == 2
    page.evaluate("model.values.chosen = 1; model.listeners.forEach((call) => call())")
    assert "“film”, word 1" in page.locator(".chosen h2").inner_text()
    assert page.evaluate("getComputedStyle(document.body).fontSize") == "16px", "no style leaks"
    assert page.wrong == []
    page.close()


def test_names_of_modules_do_not_clash(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not re.search(r"^(import|export) ", bundled("saved.js"), flags=re.MULTILINE)
    parts = {"a.js": 'import { x } from "./b.js";\nconst y = x;\n', "b.js": "const y = 1;\n"}
    found = import_module("wordsway.render.html.document")
    monkeypatch.setattr(found, "asset", lambda name, package="": parts[name])
    with pytest.raises(WordswayError, match="is named in both"):
        bundled("a.js")
